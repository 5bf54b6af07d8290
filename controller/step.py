"""One step of a run, and the only place where the order of things stands.

A step refreshes the authorities, renders a bounded prompt from explicit state, launches a fresh agent, gates
what it returns, acts, verifies evidence, and commits. It keeps nothing in memory: every line may be the last.
"""

from __future__ import annotations

import anyio

from contracts.errors import ConfigError
from contracts.queue import Entry
from contracts.readings import STEP
from contracts.record import RunRecord
from contracts.reply import Reply
from controller.act import act
from controller.claim import claim
from controller.commit import commit, reserve
from controller.drifting import drifted
from controller.gate import gate
from controller.launch import launch
from controller.refresh import refresh
from controller.render import render
from controller.rig import Rig
from controller.verify import verify


async def step(run: str, rig: Rig) -> RunRecord:
    """Advance `run` by at most one transition. Safe to kill and call again at any line."""
    async with claim(run, rig) as fence:  # the only pen: store, workspace, epoch, now
        record = await rig.store.load(run)
        if record is None:
            raise ConfigError(f"there is no run {run!r}", hint="`controller run` opens one")
        if record.closed(fence.now):  # finished, or halted and the cause still stands
            return record
        if record.staged is None:  # nothing half-done: ask for the next move
            seen = await refresh(record, rig.readers, need=STEP)
            record = drifted(record, seen, rig.task)  # what changed outside goes into the snapshot first
            reply: Reply | Entry | None = record.approved  # a person said yes to this one: no launch
            if reply is None:
                prompt = render(record, seen, rig.task)
                record = await commit(record, reserve(record, prompt, rig.task), fence)  # before the spend
                if record.outcome:  # a budget is used up
                    return record
                reply = await launch(prompt, rig.agent)
            fresh = await refresh(record, rig.readers, need=STEP)  # the world while it thought
            record = await commit(record, gate(record, seen, fresh, reply, rig.task), fence)
        if record.staged is not None:  # allowed now, or found half-done after a crash
            result = await act(record.staged, rig.actions)  # probes first
            with anyio.CancelScope(shield=result.late):  # told to end: what was done is stored all the same
                after = await refresh(record, rig.readers, need=record.staged.proof)
                record = await commit(record, verify(record.staged, result, after), fence)
        return record
