"""A process that is started before its input is known, and the port that starts one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from contracts.ports import Ran, Runner, Settle


class Spare(Protocol):
    """A child that waits for its standard input. It is fed or ended, once; an end of this process closes that input.

    feed  gives it `stdin`, closed after it; the rest as Runner.run, `timeout` and `idle` from now on. None when it took
          nothing, and is ended: it was over, too old or stopped, or `early` refused what it had printed so far.
    end   ends it and its descendants.
    """

    async def feed(
        self,
        stdin: bytes,
        *,
        timeout: float,
        idle: float | None = None,
        settle: Settle | None = None,
        early: Callable[[bytes], bool],
    ) -> Ran | None: ...
    async def end(self) -> Ran: ...


class Spawner(Runner, Protocol):
    """A Runner that can start a child ahead of its input, too. `age`: seconds after which it is ended unfed; `cap` and
    `redact` as in `run`. What can't be started is a Spare that takes nothing."""

    async def spawn(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], age: float, cap: int, redact: bool
    ) -> Spare: ...
