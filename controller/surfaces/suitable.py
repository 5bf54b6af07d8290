"""Whether a task is one for this controller, and whether its state can be carried from version to version."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.errors import ConfigError
from contracts.schema_refs import BadSchema
from contracts.state import StateSchema
from controller.schema_chain import chain_of, drifted
from controller.taskfile import LoadedTask

FEW = 5  # steps; below that a task is done better in one session of an agent
LOOK_AND_FINISH = 2  # steps that any task takes beside those for its items


def migrations(loaded: LoadedTask, schema: StateSchema, warnings: list[str]) -> Iterator[str]:
    """What is wrong with the versions of the state's schema; what is only one-way goes into `warnings`."""
    try:
        chain = chain_of(loaded)
        yield from drifted(loaded, schema)
    except (ConfigError, BadSchema) as error:
        yield str(error)
        return
    found = chain.problems()
    yield from found
    if not found:
        warnings += chain.one_way()


def warnings(loaded: LoadedTask) -> Iterator[str]:
    """What can be said before anything is run: how many steps the task may take at all."""
    task = loaded.task
    if task.budgets.steps < FEW:
        yield (
            f"{loaded.where('budgets', 'steps')}: at most {task.budgets.steps} steps: what so few steps can do is done "
            "better in one session of the agent; this controller pays from about five on"
        )


def exploring(loaded: LoadedTask) -> Iterator[str]:
    """What an agent with tools of its own leaves open in this task."""
    task = loaded.task
    for name in task.agent.chain:
        config = task.agent_config(name)
        if config.explore == "none":
            continue
        does = "edits" if config.explore == "delegate" else "looks around"
        yield (
            f"agent {name} {does} by itself (explore: {config.explore}): a launch makes as many requests as it likes, "
            f"which are counted after it; its timeout of {config.timeout:g} s and the budgets bound it"
        )
        if config.explore == "delegate" and not any(
            check.role == "guard" and check.when == "edit" for check in task.checks
        ):
            yield f"nothing tests what agent {name} edits by itself before it is committed: give a guard `when: edit`"


def few(left: dict[str, int]) -> Iterator[str]:
    """`left`: what the worklists count now. A step does an item, as a rule; two more look and finish."""
    items = sum(left.values())
    if left and items + LOOK_AND_FINISH < FEW:
        yield (
            f"the worklist{'s' if len(left) > 1 else ''} {', '.join(left)} show{'' if len(left) > 1 else 's'} "
            f"{items} left: that is fewer than five steps, which one session of the agent does better"
        )
