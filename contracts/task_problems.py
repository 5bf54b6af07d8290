"""What only the whole task can tell: names that nothing answers to, agents that can't be started."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from contracts.agents import AgentConfig
from contracts.task import Task

READ_ALWAYS = ("git", "view", "setup", "forge")  # also where no authority has that name
BUILT_IN_AGENTS = ("claude", "codex", "pi", "gemini", "opencode", "qwen", "openai-compatible", "command")


@dataclass(frozen=True)
class Problem:
    """What is wrong at `loc` (keys and indexes from the root), and what to do about it."""

    loc: tuple[str | int, ...]
    message: str
    hint: str = ""


def problems(
    task: Task, *, actions: Collection[str] | None = None, agents: Collection[str] = BUILT_IN_AGENTS
) -> Iterator[Problem]:
    """What only the whole task can tell: names that nothing answers to, and agents that can't be started.
    `actions` and `agents` are the installed names; None leaves the actions unchecked."""
    for place, name in enumerate(task.actions.allow):
        if actions is not None and name not in actions:
            yield Problem(("actions", "allow", place), f"there is no action {name!r}", _near(name, actions))
    known = {*task.agents, *agents}
    chosen: list[tuple[tuple[str | int, ...], str]] = [(("agent", "use"), task.agent.use)]
    chosen += [(("agent", "fallback", place), name) for place, name in enumerate(task.agent.fallback)]
    for at, (loc, name) in enumerate(chosen):
        if name in (earlier for _, earlier in chosen[:at]):
            yield Problem(
                loc, f"agent {name!r} is in the chain twice: it can't take over from itself", "take it out"
            )
        elif name not in known:
            yield Problem(loc, f"there is no agent {name!r}", _near(name, known))
        elif name not in task.agents and name == "command":
            yield Problem(loc, "the agent 'command' needs an entry in agents with `run`")
    for name in task.agents:
        yield from _agent_problems(name, task.agent_config(name), agents)
    read = {*task.authorities, *READ_ALWAYS}
    for place, check in enumerate(task.checks):
        if check.name in read:
            said = (
                f"an authority has the name {check.name!r}, too: what one says would be taken for the other"
            )
            yield Problem(("checks", place, "name"), said, "give one of them another name")


def _agent_problems(name: str, config: AgentConfig, agents: Collection[str]) -> Iterator[Problem]:
    loc = ("agents", name)
    if config.kind not in agents:
        hint = "an entry under a name of its own says `kind`: " + ", ".join(sorted(agents))
        yield Problem((*loc, "kind"), f"there is no kind of agent {config.kind!r}", hint)
    if (config.kind == "command") != (config.run is not None):
        yield Problem((*loc, "run"), f"agent {name!r}: kind command needs `run`, and only it takes one")
    if config.auth == "gateway" and config.base_url is None:
        yield Problem((*loc, "auth"), f"agent {name!r}: auth gateway needs `base_url`")


def _near(name: str, names: Collection[str]) -> str:
    found = get_close_matches(name, sorted(names), n=1)
    return f"did you mean {found[0]!r}?" if found else "known: " + ", ".join(sorted(names))
