"""claim: take the lease, open the workspace, and keep the lease fresh while the step works."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from contracts.errors import bare
from contracts.ports import Lease
from controller.rig import LEASE_SECONDS, Fence, Rig


@asynccontextmanager
async def claim(run: str, rig: Rig) -> AsyncIterator[Fence]:
    """The fence of one step of `run` (a run id or a task name). Raises Busy when somebody else holds the
    lease, Lost when it is taken meanwhile, ConfigError when the workspace can't be used. `rig.hold` keeps the
    lease at the end; the next claim of the same rig renews it when a third of its time is over."""
    rig.watch.phase("claim")
    began = time.monotonic()
    task = run.partition("@")[0]
    if rig.lease is None:
        rig.lease = await rig.store.lease(task, LEASE_SECONDS)
    elif rig.lease.expires - time.time() < LEASE_SECONDS * 2 / 3:
        rig.lease = await rig.store.renew(rig.lease, LEASE_SECONDS)
    try:
        async with renewed(rig):  # from here on: the set-up of a worktree may take longer than a lease
            opened = await rig.workspace.open()
            took = time.monotonic() - began
            yield Fence(
                rig.store,
                rig.workspace,
                rig.artifacts,
                rig.lease,
                opened,
                rig.watch,
                rig.room,
                took={"claim": took, "step": took},
            )
    finally:
        if not rig.hold:
            await release(rig)


async def release(rig: Rig) -> None:
    """Give the lease up, whatever happens around us."""
    lease, rig.lease = rig.lease, None
    if lease is not None:
        with anyio.CancelScope(shield=True):
            await rig.store.release(lease)


@asynccontextmanager
async def renewed(rig: Rig) -> AsyncIterator[None]:
    """Renews the rig's lease every third of its time; losing it cancels the body with Lost. One that is not
    renewed in time is taken by the next controller, which ends us."""
    lease = rig.lease
    assert lease is not None, "claim() comes first"

    async def renew(lease: Lease) -> None:
        while True:
            await anyio.sleep(LEASE_SECONDS / 3)
            rig.lease = await rig.store.renew(lease, LEASE_SECONDS)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(renew, lease)
            yield
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        # The task group wraps what the body raised; callers match on the bare error.
        first = bare(several)
        raise first from first.__cause__
