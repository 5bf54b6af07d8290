"""loop: steps until an outcome, from the opening of a run to the end of a call."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio
from anyio.abc import TaskGroup

from contracts.errors import Interrupted, Moved
from contracts.outcomes import Outcome
from contracts.record import RunRecord
from controller.claim import release, renewed
from controller.opening import Options, opened, same_version
from controller.rig import Rig
from controller.step import step

LONGEST_END = 28.0  # seconds from the first signal until the process ends, whatever is still running


@dataclass(frozen=True)
class End:
    """How a call ended: the record as stored, and the outcome of this call (which differs from the record's
    when the call was interrupted)."""

    record: RunRecord
    outcome: Outcome | None


async def run(rig: Rig, options: Options, after_step: Callable[[RunRecord], None] | None = None) -> End:
    """Open or resume the newest run of the rig's task and step until an outcome; the store's file is closed at the end.
    Raises ControllerError for what stands outside a step (configuration, lease, store)."""
    try:
        return await _run(rig, options, after_step)
    finally:
        if close := getattr(rig.store, "close", None):
            close()


async def _run(rig: Rig, options: Options, after_step: Callable[[RunRecord], None] | None) -> End:
    for notice in rig.agent.preflight():
        rig.watch.note(notice)
    rig.task = replace(rig.task, agent=rig.agent.profile)  # with what the preflight learned, as the version
    rig.hold = True
    ended: list[Outcome] = []
    record: RunRecord | None = None
    try:
        async with anyio.create_task_group() as group:
            work = anyio.CancelScope()
            group.start_soon(_interrupted, group, work, ended, rig)
            with work:
                record = await opened(rig, options)
                record = await _steps(record, rig, options, after_step)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        first: BaseException = several
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from first.__cause__
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await release(rig)
            finally:
                await rig.agent.close()
    stored = await rig.store.load(rig.task.task.name)
    if stored is None:
        number = signal.SIGINT if Outcome.interrupted in ended else signal.SIGTERM
        raise Interrupted("ended before the run was opened: nothing was changed", number)
    return End(stored, ended[0] if ended else stored.outcome)


async def _steps(
    record: RunRecord, rig: Rig, options: Options, after_step: Callable[[RunRecord], None] | None
) -> RunRecord:
    taken = 0
    while not record.closed(time.time()) and (options.limit is None or taken < options.limit):
        same_version(record, rig.task)
        grows = _grows(record)
        record = await step(record.run, rig)
        taken += 1
        if after_step:
            after_step(record)
        seen = record.observation
        if grows and seen is not None and (seen.step, seen.tool) == (record.step, "request_change"):
            raise Moved("the state may hold a field more: assembled anew")
        due = record.halt.not_before if record.halt else None
        if record.outcome is Outcome.waiting and due is not None:
            delay = due - time.time()
            if delay > (0 if os.environ.get("CI") == "true" else options.patience):
                break
            if delay > 0:
                rig.watch.note(f"waiting {delay:.0f} s: {record.halt.say if record.halt else ''}")
                async with renewed(rig):
                    await anyio.sleep(delay)
    return record


def _grows(record: RunRecord) -> bool:
    """Whether the next step makes an approved change of the state's schema."""
    if record.staged is not None:
        return bool(record.staged.files)
    action = record.approved.transition.get("action") if record.approved else None
    return isinstance(action, dict) and str(action["args"].get("at", "")).startswith("/schema/")


async def _interrupted(group: TaskGroup, work: anyio.CancelScope, ended: list[Outcome], rig: Rig) -> None:
    """The first INT or TERM ends the step at once (children included); the second ends the process, and so does
    time, whatever still hangs then: the next call finds it half-done and looks."""
    try:
        receiver = anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)
        with receiver as signals:
            async for number in signals:
                if ended:
                    await _end_now(rig, number, 0)
                ended.append(Outcome.interrupted if number == signal.SIGINT else Outcome.terminated)
                work.cancel()
                group.start_soon(_end_now, rig, number, LONGEST_END)
    except RuntimeError:  # not the main thread: the host program handles its own signals
        await anyio.sleep_forever()


async def _end_now(rig: Rig, number: int, delay: float) -> None:
    await anyio.sleep(delay)
    rig.end_now()
    os._exit(128 + number)
