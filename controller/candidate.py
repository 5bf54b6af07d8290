"""candidate: one of a task's agents, made to be asked what it needs and never launched."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.charter import Charter
from contracts.errors import ConfigError
from contracts.ports import Agent, Configured
from controller.assemble import charter
from controller.installed import found
from controller.places import Places
from controller.taskfile import LoadedTask
from tool_adapters.agents.delegate import need_bubblewrap
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import ProcessRunner, child_environment
from tool_adapters.sandbox import SandboxPlan
from tool_adapters.sandbox_box import Found


@dataclass(frozen=True)
class Candidate:
    """What is known of it as the task has it (`configured`), and on this machine (`preflight`): both return what the
    user should know, and raise ConfigError for what keeps it from making a step."""

    loaded: LoadedTask
    agent: Agent
    delegated: bool

    @classmethod
    def of(cls, loaded: LoadedTask, law: Charter, scratch: Path) -> Candidate:
        """The agent of a charter; `scratch` is a folder for what it may write. Raises ConfigError."""
        name, places = law.agent.name, Places.of(loaded)
        config = loaded.task.agent_config(name)
        made = unlaunched(
            found("agents", config.kind or name),
            scratch,
            name=name,
            config=config,
            dialect=law.dialect,
            base_dir=places.base,
            worktree=places.worktree,
        )
        return cls(loaded, made, config.explore == "delegate")

    def configured(self) -> list[str]:
        """Looks at nothing but the task, starts nothing."""
        notices = self.agent.configured() if isinstance(self.agent, Configured) else []
        if self.delegated and self.loaded.task.sandbox.mode == "none":
            need_bubblewrap(self.agent.profile.name, None)
        return notices

    def preflight(self) -> list[str]:
        """Looks for its program, its credential, its sandbox, too."""
        self.configured()
        notices = self.agent.preflight()
        if self.delegated:
            need_bubblewrap(self.agent.profile.name, self._sandbox())
        return notices

    def _sandbox(self) -> Found | None:
        places, env = Places.of(self.loaded), child_environment({})
        wanted = self.loaded.task.sandbox
        return SandboxPlan.of(wanted, places.worktree, places.base, places.runtime, env, os.environ).found


def unlaunched(kind: Callable[[AgentSettings], Agent], scratch: Path, **known: Any) -> Agent:
    """An agent of a kind, to be asked and not launched. `known` are more of its settings."""
    return kind(
        AgentSettings(
            runner=ProcessRunner(scratch / "spool"),
            home=scratch / "home",
            cwd=scratch / "empty",
            environ=os.environ,
            **known,
        )
    )


def heirs(loaded: LoadedTask, asked: str, scratch: Path) -> Iterator[str]:
    """What the configuration of the agents says that may have to go on in the place of `asked`. Raises ConfigError for
    one that never could: that is mended before anything is spent."""
    for name in loaded.task.agent.chain:
        if name != asked:
            yield from Candidate.of(loaded, charter(loaded, name), scratch).configured()


def unusable(loaded: LoadedTask, scratch: Path) -> dict[str, str]:
    """The agents of the chain that could make no step on this machine as it is, and why: no program, no credential."""
    whys: dict[str, str] = {}
    for name in loaded.task.agent.chain:
        try:
            Candidate.of(loaded, charter(loaded, name), scratch).preflight()
        except ConfigError as error:
            whys[name] = str(error)
    return whys
