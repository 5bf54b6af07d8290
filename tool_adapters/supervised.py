"""Blocking work in a worker thread that ends before its waiter does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


async def supervised(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """What `work` returns or raises. Cancelled, it is told to `stop`, and is over before this raises."""
    result: list[T] = []
    failure: list[BaseException] = []
    over = anyio.Event()

    async def supervise() -> None:
        with anyio.CancelScope(shield=True):
            try:
                result.append(await anyio.to_thread.run_sync(work))
            except BaseException as error:
                failure.append(error)
            finally:
                over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(supervise)
        try:
            await over.wait()
        except BaseException:
            stop()
            raise
    if failure:
        raise failure[0]
    return result[0]
