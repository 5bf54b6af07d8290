"""loop: steps until an outcome, from the opening of a run to the end of a call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import anyio

from contracts.errors import Moved, Temporary
from contracts.outcomes import Outcome
from contracts.record import Halt, RunRecord
from contracts.verdicts import Decided
from controller.advance import asked_to_stop
from controller.again import unchanged
from controller.claim import claim, release, renewed
from controller.commit import commit
from controller.fallback import chosen, left_out, passed
from controller.halts import stands
from controller.hearing import heard
from controller.interrupt import interrupted, interruptible
from controller.opening import Options, opened, same_version
from controller.rig import Rig
from controller.step import step

LOOKS = 10.0  # seconds between two looks at what people said, in a wait
TICK = 1.0


@dataclass(frozen=True)
class End:
    """How a call ended: the record as stored, and the outcome of this call, which differs from the record's when the
    call was interrupted or ended before its deadline (`halt` says so)."""

    record: RunRecord
    outcome: Outcome | None
    halt: Halt | None = None


async def run(rig: Rig, options: Options, after_step: Callable[[RunRecord], None] | None = None) -> End:
    """Open or resume the newest run of the rig's task and step until an outcome; the store's file is closed at the end.
    Raises ControllerError for what stands outside a step (configuration, lease, store)."""
    try:
        return await _run(rig, options, after_step)
    finally:
        if close := getattr(rig.store, "close", None):
            close()


async def _run(rig: Rig, options: Options, after_step: Callable[[RunRecord], None] | None) -> End:
    if early := await _early(rig, options):
        return early
    for notice in rig.agent.preflight():
        rig.watch.note(notice)
    rig.task = replace(rig.task, agent=rig.agent.profile)  # with what the preflight learned, as the version
    rig.hold = True
    late: list[Halt | None] = [None]

    async def work() -> None:
        late[0] = await _steps(await opened(rig, options), rig, options, after_step)

    try:
        ended = await interruptible(rig, work)
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await release(rig)
            finally:
                await rig.agent.close()
    stored = await rig.store.load(rig.task.task.name)
    if stored is None:
        raise interrupted(ended or Outcome.terminated, "ended before the run was opened: nothing was changed")
    if late[0] is not None and not ended:
        return End(stored, late[0].outcome, late[0])
    return End(stored, ended or stored.outcome)


async def _early(rig: Rig, options: Options) -> End | None:
    """How a call ends that has nothing to do: no lease is taken, no worktree made, no agent looked for. Raises
    Temporary where the deadline is over and there is no run."""
    if options.new or options.retry or options.accept:
        return None
    record, task = await rig.store.load(rig.task.task.name), rig.task.task
    record = await heard(record, rig) if record is not None else None
    if record is not None and record.finished and task.repeat == "on-change":
        return End(record, record.outcome) if unchanged(record, await rig.workspace.base()) else None
    if record is not None and stands(record, task, rig.task.digests, time.time()):
        return End(record, record.outcome) if _worth(record, options) is None else None
    late = options.deadline.reached(record) if options.deadline else None
    if late is not None and record is None:
        raise Temporary(late.say, hint="call again")
    return End(record, late.outcome, late) if late is not None and record is not None else None


async def _steps(
    record: RunRecord, rig: Rig, options: Options, after_step: Callable[[RunRecord], None] | None
) -> Halt | None:
    """Steps until an outcome, the limit, or the deadline: the halt says that it was this."""
    taken, deadline = 0, options.deadline
    while options.limit is None or taken < options.limit:
        record = await heard(record, rig)
        if await _launches_nothing(record, rig):
            await rig.agent.close()  # and so nothing is to wait for a prompt
        if record.closed(time.time()):
            if (delay := _worth(record, options)) is None:
                return None
            record = await _slept(record, rig, delay)
            continue
        if deadline is not None and (late := deadline.reached(record)):
            return late
        same_version(record, rig.task)
        if options.swaps and record.staged is None:
            _same_agent(record, rig, options.unusable)
        grows, began, before = _grows(record), time.monotonic(), record
        record = await step(record.run, rig)
        taken += 1
        if deadline is not None:
            deadline.took(time.monotonic() - began)
        if after_step:
            after_step(record)
        seen = record.observation
        if grows and seen is not None and (seen.step, seen.tool) == (record.step, "request_change"):
            raise Moved("the state may hold a field more: assembled anew")
        if options.swaps:
            record = await _without(before, record, rig, options.unusable)
    await heard(record, rig)  # what the last step asks is put before people now, not by the next call
    return None


async def _launches_nothing(record: RunRecord, rig: Rig) -> bool:
    """Whether what comes next is a wait, the end, or a step that a person has said yes to."""
    said = await rig.store.load(record.run) if record.queue else record
    return record.closed(time.time()) or (said is not None and said.approved is not None)


def _same_agent(record: RunRecord, rig: Rig, unusable: Mapping[str, str]) -> None:
    """Raises Moved where another agent is to make the next step."""
    name = chosen(record, rig.task.task.agent, time.time(), unusable)
    if name != rig.task.agent.name:
        raise Moved(f"agent {name} goes on")


async def _without(before: RunRecord, record: RunRecord, rig: Rig, unusable: Mapping[str, str]) -> RunRecord:
    """The record, its agent left out where the last step says so and another can take over."""
    agent, agents, now = rig.task.agent.name, rig.task.task.agent, time.time()
    if left_out(before, record, agents, agent, now) is None:
        return record
    out = left_out(before, record, agents, agent, now, unusable)
    skipped = passed(agents, agent, out.heir if out else None, unusable)
    for name in skipped:
        rig.watch.note(f"agent {name} is skipped: {unusable[name]}"[:400])
    if out is None:
        return record
    what = f"agent {agent} is left out: {out.why}"[:400]
    rig.watch.note(what)
    async with claim(record.run, rig) as fence:
        left = record.model_copy(update={"left_out": record.left_out | {agent: out.until}})
        told = Decided(
            what=what, at=fence.now, extra={"left_out": left.left_out, "heir": out.heir, "skipped": skipped}
        )
        return await commit(left, told, fence)


def _worth(record: RunRecord, options: Options) -> float | None:
    """Seconds of the wait that `record` stands in, where the call sleeps through it."""
    halt = record.halt
    if halt is None or halt.outcome is not Outcome.waiting or halt.not_before is None:
        return None
    delay = halt.not_before - time.time()
    over = options.deadline is not None and delay >= options.deadline.left
    return None if over or delay > options.patience else max(0.0, delay)


async def _slept(record: RunRecord, rig: Rig, delay: float) -> RunRecord:
    """The record after a wait of `delay` seconds, or halted, where a person asked meanwhile that the run ends."""
    rig.watch.note(f"waiting {delay:.0f} s: {record.halt.say if record.halt else ''}")
    due, ends, looked = time.time() + delay, time.monotonic() + delay, time.monotonic()
    async with renewed(rig):
        # By both clocks: a machine that was asleep has waited too, and one whose clock was set back must not for ever.
        while (left := min(due - time.time(), ends - time.monotonic())) > 0:
            rig.watch.waiting(due)
            await anyio.sleep(min(left, TICK))
            if time.monotonic() < min(looked + LOOKS, ends):
                continue
            said, looked = await rig.store.load(record.run), time.monotonic()
            if said is not None and said.inbox:
                record = said
            if halt := asked_to_stop(record):
                break
        else:
            return record
    async with claim(record.run, rig) as fence:
        return await commit(record, Decided(what="stopped in a wait", halt=halt, at=fence.now), fence)


def _grows(record: RunRecord) -> bool:
    """Whether the next step makes an approved change of the state's schema."""
    if record.staged is not None:
        return bool(record.staged.files)
    action = record.approved.transition.get("action") if record.approved else None
    return isinstance(action, dict) and str(action["args"].get("at", "")).startswith("/schema/")
