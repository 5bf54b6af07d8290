"""The commands that begin a task and carry it on; `cli` takes them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from contracts.outcomes import Outcome
from controller.surfaces.arguments import AgentName, Json, Task, TaskOption, WaitLimit
from controller.surfaces.call import MAY_BE_ZERO, call


def add(app: typer.Typer) -> None:
    """Puts the commands into `app`."""
    app.command()(init)
    app.command()(validate)
    app.command()(run)
    app.command()(step)
    app.command()(answer)
    app.command()(stop)


def init(
    name: Annotated[
        str | None, typer.Option(help="name of the task; the folder's when absent", show_default=False)
    ] = None,
    goal: Annotated[str, typer.Option(help="what shall be reached, in your words")] = "",
    template: Annotated[str, typer.Option(help="coding, batch, warehouse, ctf or repository")] = "coding",
    layout: Annotated[str, typer.Option(help="of the prompt: full, compact or paper")] = "full",
    agent: Annotated[
        str | None,
        typer.Option(
            help="claude, codex, pi or command; the first that can be used when absent", show_default=False
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="the test command; detected when absent", show_default=False)
    ] = None,
    done: Annotated[
        str | None, typer.Option(help="command that exits 0 when the goal is reached", show_default=False)
    ] = None,
    contract: Annotated[bool, typer.Option("--contract", help="also write .agent-contract/ to edit")] = False,
    no_prove: Annotated[bool, typer.Option("--no-prove", help="don't run the checks now")] = False,
) -> int:
    """Write a task.yaml for this repository."""
    from controller.surfaces.init import Wishes, init

    return init(Wishes(name, goal, template, layout, agent, test, done, contract, not no_prove))


def validate(
    task: Task = None,
    effective: Annotated[
        bool, typer.Option("--effective", help="print the task with every default filled in")
    ] = False,
    prove_checks: Annotated[
        bool, typer.Option("--prove-checks", help="run the checks, also with a broken file")
    ] = False,
    criteria: Annotated[
        bool, typer.Option("--criteria", help="from each success criterion to what proves it")
    ] = False,
    as_json: Json = False,
) -> int:
    """Look at a task without starting an agent: faults, bounds, price."""
    if criteria:
        from controller.surfaces.criteria import show

        return show(task, as_json)
    from controller.surfaces.validate import validate

    return validate(task, as_json=as_json, show_effective=effective, prove=prove_checks)


def run(
    task: Task = None,
    agent: AgentName = None,
    new: Annotated[
        bool, typer.Option("--new", help="open another run although the last one is finished")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="go on after failed, stuck or blocked")] = False,
    accept: Annotated[
        bool, typer.Option("--accept-new-intent", help="take an edited intent as it is")
    ] = False,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="at most so many steps now", show_default=False)
    ] = None,
    until: Annotated[
        Literal["waiting", "deadline", "blocked"] | None,
        typer.Option(
            "--until",
            help="waiting: a wait ends the call (so in CI anyway); deadline: so does only one that does not end "
            "before it; blocked: waits are slept through",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            metavar="DURATION|TIME",
            help="begin no step that can't be expected to end before it: 50m, 06:00, 2026-12-01T06:00Z",
            show_default=False,
        ),
    ] = None,
    wait_limit: WaitLimit = None,
    exit_zero_on: Annotated[
        str,
        typer.Option(
            "--exit-zero-on",
            metavar="OUTCOME,…",
            help=f"exit 0 also for these outcomes, of {', '.join(MAY_BE_ZERO)}",
            show_default=False,
        ),
    ] = "",
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="write JUnit XML there", show_default=False)
    ] = None,
    github: Annotated[
        bool,
        typer.Option("--github", help="write the job summary, annotations and outputs of GitHub Actions"),
    ] = False,
    as_json: Json = False,
) -> int:
    """Carry the task through, or go on where it stands."""
    from controller.surfaces.run import Asked, run

    call.json_lines, call.zero = as_json, _zero(exit_zero_on)
    return run(
        task, Asked(agent, new, retry, accept, steps, until, deadline, wait_limit, as_json, junit, github)
    )


def _zero(said: str) -> frozenset[Outcome]:
    """The outcomes that `--exit-zero-on` names."""
    names = [name.strip() for name in said.split(",") if name.strip()]
    if wrong := [name for name in names if name not in MAY_BE_ZERO]:
        raise typer.BadParameter(
            f"{wrong[0]!r} is none of {', '.join(MAY_BE_ZERO)}", param_hint="--exit-zero-on"
        )
    return frozenset(map(Outcome, names))


def step(task: Task = None, agent: AgentName = None, as_json: Json = False) -> int:
    """Do one step."""
    from controller.surfaces.run import Asked, run

    call.json_lines = as_json
    return run(task, Asked(agent, steps=1, as_json=as_json))


def answer(
    entry: Annotated[str, typer.Argument(help="id of the question", metavar="ID")],
    text: Annotated[str, typer.Argument(help="the answer")],
    task: TaskOption = None,
) -> int:
    """Answer a question of the run."""
    from controller.surfaces.inbox import answer

    return answer(task, entry, text)


def stop(
    task: Task = None,
    now: Annotated[bool, typer.Option("--now", help="end the step at once")] = False,
    why: Annotated[str, typer.Option(help="for the audit")] = "",
) -> int:
    """End the run that is at work, after its step."""
    from controller.surfaces.inbox import stop

    return stop(task, now, why)
