"""A bound on the number of processes for the one user whom the kernel's own limit does not hold: root."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from contracts.ports import Captured, Ran
from tool_adapters.descendants import Process, below

_EVERY = 0.2


async def watch_crowd(run: Callable[[], Awaitable[Ran]], token: str, most: int) -> Ran:
    """What `run` returns. As root its processes, those below the child that has `token` in its environment, are
    counted meanwhile, and all ended when there are more than `most`. Where there is no /proc nothing is counted."""
    if os.getuid() != 0 or not Path("/proc/self").is_dir():
        return await run()
    ended: list[int] = []

    async def look() -> None:
        while True:
            await anyio.sleep(_EVERY)
            count = await anyio.to_thread.run_sync(lambda: _thinned(token, most))
            if count:
                ended.append(count)

    async with anyio.create_task_group() as group:
        group.start_soon(look)
        try:
            ran = await run()
        finally:
            group.cancel_scope.cancel()
    if not ended:
        return ran
    note = f"\nended: more than {most:,} processes at once\n".encode()
    err = ran.err
    return replace(ran, err=Captured(err.data + note, err.total + len(note), err.artifact))


def _thinned(token: str, most: int) -> int:
    """How many there were, when they were too many and were ended; else 0."""
    root = next((each.pid for each in below(os.getpid()) if _is_root(each, token)), None)
    if root is None or len(below(root)) <= most:
        return 0
    frozen: set[int] = set()
    # Stopped first: what is stopped starts no others, so that the rounds come to an end.
    for _ in range(100):
        fresh = [each.pid for each in below(root) if each.pid not in frozen]
        if not fresh:
            break
        for pid in fresh:
            _signal(pid, signal.SIGSTOP)
        frozen.update(fresh)
    for pid in (*frozen, root):
        _signal(pid, signal.SIGKILL)
    return len(frozen)


def _is_root(process: Process, token: str) -> bool:
    if process.parent != os.getpid():
        return False
    try:
        return f"{token}=".encode() in Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:
        return False


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
