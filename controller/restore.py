"""restore: the record of a task put back on its remote, as this clone saw it there last or as its lease names it, or
rebuilt from its audit chain where it can't be read. What others pushed onto the run's branch is left alone."""

from __future__ import annotations

import time

from contracts.errors import ConfigError, Unavailable
from contracts.ports import Lease
from contracts.record import AuditRow
from controller import audit
from controller.rebuild import Recovered, rebuilt
from controller.stores import document
from controller.stores import git_layout as at
from controller.stores.git import GitStore
from controller.stores.git_found import Found
from controller.stores.mirror import Row, sound

SAW, REBUILT = "put {} back as it had stood there", "rebuilt {} from its audit"
TAKEN = "took {} as it stands there, without a lease that named it"


async def restore(store: GitStore, task: str) -> Recovered:
    """`store` trusts what is there. Raises ConfigError when nothing is to be put back, Unavailable when nothing can be,
    Busy when somebody is at work."""
    lease = await store.lease(task, 60)
    try:
        now, lost = await store.found(task)
        if lost is not None:
            return await _written(store, lease, lost, now)
        if at.RECORD not in now.stands:
            raise ConfigError(f"task {task!r} has no run on the remote", hint="`controller run` opens one")
        if _whole(now) and now.unnamed:
            return await _written(store, lease, now, now, TAKEN)
        if _whole(now):
            hint = "nothing to recover"
            raise ConfigError(f"the record of task {task!r} is whole", where=now.refs.address, hint=hint)
        return await _written(store, lease, now, now)
    finally:
        await store.release(lease)


def _whole(found: Found) -> bool:
    record = found.readable
    if record is None:
        return False
    rows = _rows(found, record.number)
    return len(rows) == record.rows and not document.faults(rows, record)


def _rows(found: Found, number: int) -> list[Row]:
    """The audit rows as far as the chain holds."""
    rows: list[Row] = []
    try:
        for row in found.rows(number):
            rows.append(row)
    except Unavailable:
        pass
    return sound(rows)


async def _written(store: GitStore, lease: Lease, base: Found, now: Found, how: str = SAW) -> Recovered:
    """`base`, as it is or with a record rebuilt, as what stands on the remote; the audit says so."""
    if not base.runs:
        raise Unavailable("no run is left to put back", where=base.refs.address)
    number, record = base.runs[0], base.readable
    lost: tuple[str, ...] = ()
    if record is not None and _whole(base):
        await store.restore(lease, base.stands[at.RECORD])
    else:
        rows = _rows(base, number)
        record, lost = rebuilt(f"{lease.task}#{number}", rows, now.stands.get(at.WORK))
        how = REBUILT
        await store.restore(lease, base.stands[at.RECORD], number, len(rows))
    row = AuditRow(
        kind="decision",
        at=time.time(),
        step_id=f"{record.run}/{record.step}",
        step=record.step,
        extra={"what": f"on the remote: {how.format(record.run)}", "lost": list(lost)}
        | audit.refused(record),
    )
    return Recovered(await store.swap(record, row, lease), (), lost, how)
