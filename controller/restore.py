"""restore: the record of a task put back on its remote, as this clone saw it there last, or rebuilt from its audit
chain where it can't be read. What others pushed onto the run's branch is left alone."""

from __future__ import annotations

import time

from contracts.errors import ConfigError, Unavailable
from contracts.ports import Lease
from contracts.record import AuditRow, RunRecord
from controller import audit
from controller.rebuild import Recovered, rebuilt
from controller.stores import document
from controller.stores import git_layout as at
from controller.stores.git import GitStore
from controller.stores.git_found import Found
from controller.stores.mirror import Row, sound

SAW, REBUILT = "put {} back as this clone had seen it", "rebuilt {} from its audit"


async def restore(store: GitStore, task: str) -> Recovered:
    """`store` trusts what is there. Raises ConfigError when nothing is to be put back, Unavailable when nothing can be,
    Busy when somebody is at work."""
    lease = await store.lease(task, 60)
    try:
        now, seen = await store.found(task)
        if seen is not None and not _goes_on(now, seen):
            return await _written(store, lease, seen, now)
        if at.RECORD not in now.stands:
            raise ConfigError(f"task {task!r} has no run on the remote", hint="`controller run` opens one")
        if _whole(now):
            hint = "nothing to recover"
            raise ConfigError(f"the record of task {task!r} is whole", where=now.refs.address, hint=hint)
        return await _written(store, lease, now, now)
    finally:
        await store.release(lease)


def _goes_on(now: Found, seen: Found) -> bool:
    """Whether what is on the remote is what became of what this clone saw."""
    if at.RECORD not in now.stands:
        return False
    if now.refs.contains(seen.stands[at.RECORD], now.stands[at.RECORD]):
        return True
    before = _readable(seen)
    return before is None or (_readable(now) is not None and now.goes_on_from(before))


def _whole(found: Found) -> bool:
    record = _readable(found)
    if record is None:
        return False
    rows = _rows(found, record.number)
    return len(rows) == record.rows and not document.faults(rows, record)


def _readable(found: Found) -> RunRecord | None:
    try:
        return found.newest
    except Unavailable:
        return None


def _rows(found: Found, number: int) -> list[Row]:
    """The audit rows as far as the chain holds."""
    rows: list[Row] = []
    try:
        for row in found.rows(number):
            rows.append(row)
    except Unavailable:
        pass
    return sound(rows)


async def _written(store: GitStore, lease: Lease, base: Found, now: Found) -> Recovered:
    """`base`, as it is or with a record rebuilt, as what stands on the remote; the audit says so."""
    if not base.runs:
        raise Unavailable("no run is left to put back", where=base.refs.address)
    number, record, how = base.runs[0], _readable(base), SAW
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
