"""restore: the record of a task put back on its remote, as its lease names it or as this clone saw it there last, or
rebuilt from its audit chain where no other is whole; and its branch, where that lost the run's work. What others pushed
onto the branch is left alone, and what is put back in the place of something else keeps that under a ref of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping

from contracts.errors import ConfigError, Unavailable
from contracts.ports import Lease
from contracts.record import AuditRow, RunRecord
from controller import audit
from controller.rebuild import Recovered, rebuilt
from controller.stores import git_branch, git_lost
from controller.stores import git_layout as at
from controller.stores.git import GitStore
from controller.stores.git_found import Found

SAW, REBUILT = "put {} back as it had stood there", "rebuilt {} from its audit"
TAKEN = "took {} as it stands there: no lease named it, or one that was put back"
BRANCH = "took {} as it stands there"


async def restore(store: GitStore, task: str) -> Recovered:
    """`store` trusts what is there. Raises ConfigError when nothing is to be put back, Unavailable when nothing can be,
    Busy when somebody is at work."""
    lease = await store.lease(task, 60)
    try:
        now, left = await store.found(task)
        chosen = git_lost.best(left, now.named)
        if chosen is None:
            raise _nothing(now, left)
        commit = chosen.stands[at.RECORD]
        if commit != now.stands.get(at.RECORD):
            how = SAW
        elif chosen.whole and now.named == commit:
            how = BRANCH
        else:
            how = TAKEN
        return await _written(store, lease, now, chosen, git_lost.beyond(left, chosen), how)
    finally:
        await store.release(lease)


def _nothing(now: Found, left: list[Found]) -> ConfigError | Unavailable:
    """Why nothing can be put back."""
    try:
        git_lost.refuse_lost(now, None)
    except Unavailable as error:
        if at.RECORD not in now.stands:
            return error
    if not left:
        return ConfigError(f"task {now.task!r} has no run on the remote", hint="`controller run` opens one")
    return Unavailable(
        f"no record of task {now.task!r} is left, neither on the remote nor in what this clone saw",
        where=now.refs.address,
        hint=git_lost.afresh(now),
    )


async def _written(
    store: GitStore, lease: Lease, now: Found, base: Found, aside: Mapping[str, str], how: str
) -> Recovered:
    """`base`, as it is or with a record rebuilt, as what stands on the remote, with its branch; the audit says so."""
    lost: tuple[str, ...] = ()
    record, number = base.readable if base.whole else None, None
    if record is None:
        number, how = at.newest(base.files) or 0, REBUILT
        record, lost = _rebuilt(base, number, now)
    branch = git_branch.mended(now, record)
    if how == BRANCH and not branch:
        hint = "nothing to recover"
        raise ConfigError(f"the record of task {lease.task!r} is whole", where=now.refs.address, hint=hint)
    moves = {**aside, **branch}
    await store.restore(lease, base.stands[at.RECORD], moves, number, len(base.sound))
    if at.WORK in branch:
        how += f"; its branch is set again, to {branch[at.WORK][:12]}"
    if kept := [at.prefix(lease.task) + name for name in moves if name != at.WORK]:
        how += f"; what had stood there is kept as {', '.join(kept)}"
    row = AuditRow(
        kind="decision",
        at=time.time(),
        step_id=f"{record.run}/{record.step}",
        step=record.step,
        extra={"what": f"on the remote: {how.format(record.run)}", "lost": list(lost)}
        | audit.refused(record),
    )
    return Recovered(await store.swap(record, row, lease), (), lost, how)


def _rebuilt(base: Found, number: int, now: Found) -> tuple[RunRecord, tuple[str, ...]]:
    """From the audit alone; at the branch's tip where that is the run's work, with what people pushed onto it."""
    tip, run = now.stands.get(at.WORK), f"{base.task}#{number}"
    record, lost = rebuilt(run, base.sound, None)
    if tip is not None and base.refs.contains(record.head, tip):
        return rebuilt(run, base.sound, tip)
    return record, lost
