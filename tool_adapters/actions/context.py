"""What every action is given when it is made, and what the reads among them share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from contracts.actions import ActionCall, Probed
from contracts.commands import Command
from contracts.paths import PathPolicy
from contracts.ports import Artifacts, Memory, Runner
from contracts.redact import Redactor
from contracts.task import Limits


class Listing(Protocol):
    """What actions ask of Git; see contracts.repository.GitReader. All block: only called in worker threads."""

    def files(self) -> Sequence[str]: ...
    def ignored(self, paths: Sequence[str]) -> Collection[str]: ...
    def show(self, commit: str, path: str) -> bytes | None: ...


@dataclass(frozen=True)
class ActionContext:
    """The worktree and the means to act in it: `root` the worktree, `paths` what may be changed there, `env`
    the whole environment of children, `git` the reading verbs on the worktree, `redactor` what every text of a
    file goes through before it is shown (what is edited is the file itself), `boxed` what starts the task's own
    commands, by whether they may use the network (`runner` starts our own programs), `memory` the run's past,
    `schemas` the folder for versions of the state's schema that people agreed to, `forum` the forge, where the task
    has one (tool_adapters.forge.forum)."""

    root: Path
    paths: PathPolicy
    runner: Runner
    artifacts: Artifacts
    env: Mapping[str, str]
    commands: Mapping[str, Command]
    git: Listing
    limits: Limits = field(default_factory=Limits)
    redactor: Redactor = field(default_factory=Redactor)
    boxed: Callable[[bool], Runner] | None = None
    memory: Memory | None = None
    schemas: Path | None = None
    forum: object | None = None

    @property
    def room(self) -> int:
        """Bytes that the results of one action may take: two thirds of the observation."""
        return self.limits.observation * 2 // 3

    @property
    def cwd(self) -> Path:
        """Where commands run: the task's own folder in the worktree."""
        return self.root / self.paths.prefix if self.paths.prefix else self.root


class Inside:
    """An action that changes nothing outside the worktree: it may be ended at any moment."""

    def lasting(self, call: ActionCall) -> bool:
        return False


class Repeatable(Inside):
    """An action that changes nothing: what is found half-done is simply done again."""

    async def probe(self, call: ActionCall) -> Probed:
        return Probed(kind="not_yet", why=f"{call.tool} changes nothing and is done again")
