"""again: whether the task of a finished run is to be done again (`repeat: on-change`): a goal that was reached is red
at the base as it is now."""

from __future__ import annotations

from contracts.outcomes import Outcome
from contracts.readings import Need
from contracts.record import Looked, RunRecord
from contracts.verdicts import Decided
from controller.commit import commit
from controller.refresh import refresh
from controller.rig import Fence, Rig


def unchanged(record: RunRecord, base: str) -> bool:
    """Whether `base`, where the task's base is now, was looked at already; the run's own was when it was opened."""
    return base == (record.looked.base if record.looked else record.base)


async def again(record: RunRecord, rig: Rig, fence: Fence, by: str) -> bool:
    """Reads the goals at the base as it is now, once for each place that it moves to. True: one of them is red, and the
    base has been without it: the run's work is in it, or every goal was seen green there since, or from the start."""
    base = fence.opened.base
    if unchanged(record, base):
        return False
    red = await _red(record, rig, fence, base)
    seen_green = record.looked is not None and record.looked.green
    had = seen_green or record.outcome is Outcome.nothing_to_do or await fence.workspace.landed(record)
    if red and had:
        rig.watch.note(f"red again at {base[:12]}: {', '.join(red)}")
        return True
    what = f"the base is at {base[:12]}: " + (f"red: {', '.join(red)}" if red else "every goal is green")
    rig.watch.note(what + (f"; the work of run {record.run} is not in it yet" if red else ""))
    looked = Looked(base=base, green=not red)
    told = Decided(what=what, by=by, halt=record.halt, at=fence.now, extra={"looked": looked.model_dump()})
    await commit(record.model_copy(update={"looked": looked}), told, fence)
    return False


async def _red(record: RunRecord, rig: Rig, fence: Fence, base: str) -> list[str]:
    """The goals that are red at `base`; the worktree stands there meanwhile. One that could not be run to its end, or
    is not decided yet, is not."""
    goals = {check.name: check for check in rig.task.task.checks if check.role == "goal"}
    asked = record.model_copy(
        update={"base": base, "head": base, "checks": {}, "printed": {}, "queue": (), "state": {}}
    )
    rig.watch.note(f"reading the goals at {base[:12]}")
    await fence.workspace.visit(base)
    try:
        readings = await refresh(asked, rig.readers, need=Need(names=tuple(goals)))
    finally:
        await fence.workspace.undo(fence.opened.head)
    read = {
        name: each for name, each in readings.checks.items() if not each.passed and each.not_before is None
    }
    return [name for name, each in read.items() if each.exit is not None or goals[name].authority]
