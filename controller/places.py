"""Where a task's things are on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controller.taskfile import LoadedTask
from tool_adapters.gitdir import GitDir
from tool_adapters.worktree_home import Home

RUNTIME = ".agent-runtime"


@dataclass(frozen=True)
class Places:
    """Where a task's things are. All absolute."""

    base: Path  # the folder of the task file
    repo: Path
    runtime: Path
    home: Home  # of the worktree

    @property
    def worktree(self) -> Path:
        return self.home.path

    @classmethod
    def of(cls, loaded: LoadedTask) -> Places:
        base = loaded.base_dir.resolve()
        repo = (base / loaded.task.workspace.repo).resolve()
        found = GitDir.around(repo)  # a task file in a subfolder: the repository is the one around it
        if found is not None and found.root is not None:
            repo = found.root
        runtime, usual = base / RUNTIME, (base / loaded.task.worktree).resolve()
        return cls(base, repo, runtime, Home.of(usual, runtime, loaded.task.name))
