"""The proof that checks see the worktree, outside of a run: read each, break its file, read it again."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.errors import ConfigError
from contracts.readings import EVERYTHING, CommandReading
from contracts.record import RunRecord
from controller import opening
from controller.assemble import assemble
from controller.claim import claim
from controller.interrupt import unless_interrupted
from controller.refresh import refresh
from controller.rig import Fence, Rig
from controller.surfaces.locate import wait_for
from controller.surfaces.progress import Lines, for_stderr
from controller.surfaces.watched import watched
from controller.taskfile import LoadedTask


@dataclass(frozen=True)
class Proved:
    """noticed: check -> whether it noticed that its `must_notice` file was broken (False: it names none). left: what
    the worklists count."""

    noticed: dict[str, bool]
    left: dict[str, int]


def prove_checks(loaded: LoadedTask) -> Proved:
    """Every check, and the worklists, read now. Raises ConfigError for a red guard or one that notices nothing,
    Unavailable for a check that can't be read."""
    shown = for_stderr()
    try:
        rig = watched(assemble(loaded, watch=shown))
        return wait_for(lambda: unless_interrupted(rig, lambda: _proved(rig, shown)))
    finally:
        shown.close()


async def _proved(rig: Rig, shown: Lines) -> Proved:
    name = rig.task.task.name
    async with claim(name, rig) as fence:
        at = fence.opened
        if at.dirty:
            raise ConfigError(
                "the run's worktree holds a half-done step: its checks can't be proven now",
                hint="`controller run` finishes the step",
            )
        for notice in at.notices:
            shown.note(notice)
        record = await _as_a_run_begins(rig, fence, opening.unopened(name, fence))
        readings = await refresh(record, rig.readers, need=EVERYTHING)
        await fence.workspace.undo(record.head, seen=readings.tip)
        states = opening.baseline(rig, readings)
        noticed = await opening.prove(record, rig, fence, states)
        left = {
            name: each.count
            for name, each in readings.items.items()
            if isinstance(each, CommandReading) and each.worklist and each.count is not None
        }
        return Proved({name: noticed.get(name, False) for name in states}, left)


async def _as_a_run_begins(rig: Rig, fence: Fence, record: RunRecord) -> RunRecord:
    """Where no run was opened yet, and the base has moved on since the worktree was made: at the base, as it is now."""
    at, name = fence.opened, rig.task.task.name
    if (
        at.head == at.base
        or await rig.store.load(name)
        or not await fence.workspace.contains(at.head, at.base)
    ):
        return record
    await fence.workspace.start_over(f"{name}/run-0")
    return record.model_copy(update={"head": at.base})
