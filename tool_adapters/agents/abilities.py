"""What a task may ask of one kind of agent and not of another: to look around, to edit, to be started ahead."""

from __future__ import annotations

from typing import Protocol

from contracts.errors import ConfigError
from tool_adapters.agents.settings import AgentSettings


class Able(Protocol):
    """A kind of agent. `explores`: the values of `explore:` that it takes, `none` first; `prespawns`: whether a process
    of it asks for nothing, and waits, until it has its prompt."""

    @property
    def kind(self) -> str: ...
    @property
    def explores(self) -> tuple[str, ...]: ...
    @property
    def prespawns(self) -> bool: ...


def able(settings: AgentSettings, agent: Able) -> list[str]:
    """Notices, where the task asks for what does nothing. Raises ConfigError for what this kind can't do."""
    config, name = settings.config, settings.name
    if config.explore not in agent.explores:
        raise ConfigError(
            f"agent {name}: `explore: {config.explore}` is not for kind {agent.kind}",
            hint=f"use explore: {' or '.join(agent.explores)}",
        )
    if config.explore != "none" and settings.worktree is None:
        raise ConfigError(f"agent {name}: `explore: {config.explore}` needs a worktree", hint="use none")
    if config.prespawn and not agent.prespawns:
        raise ConfigError(
            f"agent {name}: `prespawn` is not for kind {agent.kind}: nothing says that it waits for its prompt",
            hint="remove `prespawn`",
        )
    if config.prespawn and config.explore != "none":
        return [
            f"agent {name}: `prespawn` does nothing with `explore: {config.explore}`: a process that was started ahead "
            "would see the worktree as it was before the step"
        ]
    return []
