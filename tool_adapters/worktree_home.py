"""Where a task's worktree is. One that a controller of another host may still be using is left to it for good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tool_adapters.durable import replace


@dataclass(frozen=True)
class Home:
    """`usual` is where the task says; `marker` a file of the runtime folder, with a line for every time that the
    task was taken over from a controller of another host: it can't be ended, and may wake and write into the
    worktree it had. Every folder of files is of one controller."""

    usual: Path
    marker: Path

    @classmethod
    def of(cls, usual: Path, runtime: Path, task: str) -> Home:
        return cls(usual, runtime / "left" / task)

    @property
    def path(self) -> Path:
        """The worktree to work in."""
        return self._all()[-1]

    @property
    def left(self) -> tuple[Path, ...]:
        """The worktrees that were left to others."""
        return tuple(self._all()[:-1])

    def leave(self, epoch: int) -> None:
        """From now on another worktree. `epoch` is that of the lease which ran out: saying it twice is saying it
        once. Durable when it returns. Raises OSError."""
        line = f"@{epoch}"
        if line in self._lines():
            return
        self.marker.parent.mkdir(parents=True, exist_ok=True)
        replace(self.marker, "".join(f"{each}\n" for each in (*self._lines(), line)).encode("ascii"))

    def _all(self) -> list[Path]:
        return [self.usual, *(self.usual.with_name(self.usual.name + line) for line in self._lines())]

    def _lines(self) -> list[str]:
        try:
            return self.marker.read_text("ascii", "replace").split()
        except FileNotFoundError:
            return []
