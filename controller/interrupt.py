"""interrupt: what a signal does to work that has children. The first INT, TERM or HUP ends it at once, children
included; the second ends the process, and so does time, whatever still hangs then: the next call finds it half-done and
looks."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from contracts.errors import Interrupted, bare
from contracts.outcomes import Outcome
from controller.rig import Rig

T = TypeVar("T")
LONGEST_END = 28.0  # seconds from the first signal until the process ends, whatever is still running


async def interruptible(rig: Rig, work: Callable[[], Awaitable[None]]) -> Outcome | None:
    """Awaits `work`. Returns None, or what the signal that ended it stands for; what `work` raises is raised. A HUP
    that is ignored, as under `nohup`, stays ignored."""
    ended: list[Outcome] = []
    try:
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(_heard, group, scope, ended, rig)
            with scope:
                await work()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        first = bare(several)
        raise first from first.__cause__
    return ended[0] if ended else None


async def unless_interrupted(rig: Rig, work: Callable[[], Awaitable[T]]) -> T:
    """What `work` returns. Raises Interrupted when a signal ended it."""
    made: list[T] = []

    async def kept() -> None:
        made.append(await work())

    if (ended := await interruptible(rig, kept)) is not None:
        raise interrupted(ended, "ended before it was done")
    return made[0]


def interrupted(ended: Outcome, said: str) -> Interrupted:
    """The error that ends a call with nothing to report."""
    return Interrupted(said, signal.SIGINT if ended is Outcome.interrupted else signal.SIGTERM)


async def _heard(group: TaskGroup, work: anyio.CancelScope, ended: list[Outcome], rig: Rig) -> None:
    try:
        heard = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            heard.append(signal.SIGHUP)
        with anyio.open_signal_receiver(*heard) as signals:
            async for number in signals:
                if ended:
                    await _end_now(rig, number, 0)
                ended.append(Outcome.interrupted if number == signal.SIGINT else Outcome.terminated)
                work.cancel()
                group.start_soon(_end_now, rig, number, LONGEST_END)
    except RuntimeError:  # not the main thread: the host program handles its own signals
        await anyio.sleep_forever()


async def _end_now(rig: Rig, number: int, delay: float) -> None:
    await anyio.sleep(delay)
    rig.end_now()
    os._exit(128 + number)
