"""What a step works with: the ports, filled, and the fence, the only pen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from contracts.charter import Charter
from contracts.ports import (
    Actions,
    Agent,
    Artifacts,
    Board,
    Lease,
    Opened,
    Reconciler,
    Store,
    Voices,
    Workspace,
)

LEASE_SECONDS = 60.0


class Watch:
    """What is told to somebody who watches: `phase` when a verb begins, `output` what a child prints, `note` a
    line. Does nothing itself."""

    def phase(self, verb: str, detail: str = "") -> None:
        """A verb begins."""

    def waiting(self, due: float) -> None:
        """A wait goes on, until `due` (UTC seconds); told once a second."""

    def output(self, program: str, line: str) -> None:
        """The last line that a running child printed; called from a worker thread."""

    def note(self, line: str) -> None:
        """Something worth a line."""


@dataclass
class Rig:
    """Everything that a step needs. `readers` in the order in which they are shown. `hold`: the lease is kept
    between steps (`controller.loop` gives it up at its end). `end_now` kills every child at once. `room` raises
    NoRoom when the disk is too full to begin something. `sandbox` names the one that commands run in. `board` is where
    on the forge what waits for people is put, `voices` what they say there."""

    task: Charter
    agent: Agent
    actions: Actions
    readers: tuple[Reconciler, ...]
    store: Store
    workspace: Workspace
    artifacts: Artifacts
    watch: Watch = field(default_factory=Watch)
    end_now: Callable[[], None] = lambda: None
    room: Callable[[], None] = lambda: None
    hold: bool = False
    lease: Lease | None = None
    sandbox: str = "none"
    voices: Voices | None = None
    board: Board | None = None


@dataclass
class Fence:
    """The only pen. Every write goes through it: it holds the lease's epoch, the opened worktree and the time.

    now   UTC epoch seconds when the claim was made.
    took  seconds by verb so far: `claim`, `commit`, and `step` for all of it.
    lap   seconds of wall clock since the last call (monotonic): what `budgets.wall` counts.
    """

    store: Store
    workspace: Workspace
    artifacts: Artifacts
    lease: Lease
    opened: Opened
    watch: Watch
    room: Callable[[], None] = lambda: None
    now: float = field(default_factory=time.time)
    took: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.monotonic)

    def lap(self) -> float:
        now = time.monotonic()
        past, self._last = now - self._last, now
        self.took["step"] = self.took.get("step", 0.0) + past
        return past

    def clock(self) -> float:
        """UTC epoch seconds, now."""
        return time.time()
