"""What an agent adapter is built from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.agents import AgentConfig
from contracts.dialects import Dialect
from contracts.ports import Runner
from contracts.spares import Spawner


@dataclass(frozen=True)
class AgentSettings:
    """One agent of a run.

    name      as the task calls it. config: its entry in the task, `kind` filled in.
    dialect   gives `.schema`, the JSON Schema of a reply, handed to the CLI.
    home      folder of this run and agent: HOME, generated configuration, temporary files. Made 0700.
    cwd       folder in which each launch gets a fresh empty one; never the repository or a part of it.
    environ   the caller's environment. Of its credentials only the one that the task names goes on.
    cli       the binary; None: `options: {cli: PATH}` of the task, else found on the caller's PATH.
    base_dir  folder of the task file: relative paths of the task start here.
    worktree  what `explore: read-only` may read, and where `delegate` works in a copy. now: UTC epoch seconds.
    ahead     starts a process before its prompt is known; None where there is no next launch.
    """

    name: str
    config: AgentConfig
    dialect: Dialect
    runner: Runner
    home: Path
    cwd: Path
    environ: Mapping[str, str]
    cli: Path | None = None
    base_dir: Path = Path()
    worktree: Path | None = None
    now: Callable[[], float] = time.time
    ahead: Spawner | None = None

    @property
    def starts_ahead(self) -> bool:
        """Whether the next launch's process is started ahead. Not in the worktree: it would see it as it was before."""
        return self.config.prespawn and self.config.explore == "none" and self.ahead is not None

    def place(self, empty: Path) -> Path:
        """Where the agent is started: in the worktree where it may look at it or edit, else in the `empty` folder."""
        return empty if self.config.explore == "none" or self.worktree is None else self.worktree
