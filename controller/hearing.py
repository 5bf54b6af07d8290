"""hearing: what waits for a person is put before them on the forge, and their word there comes into the run's inbox."""

from __future__ import annotations

import time

from contracts.errors import Busy, ControllerError
from contracts.forge_words import Heard, people
from contracts.record import RunRecord
from controller.rig import LEASE_SECONDS, Rig


async def heard(record: RunRecord, rig: Rig) -> RunRecord:
    """The record with what people said on the forge of what waits for them. A forge that can't be reached holds nothing
    up: they can still decide here."""
    forge = rig.task.task.forge
    if rig.voices is None or forge is None or record.finished:
        return record
    entries = [entry for entry in record.queue if entry.kind != "plan" and people(entry, forge.provider)]
    if not entries:
        return record
    try:
        told = await rig.voices.hear(entries, time.time())
    except ControllerError as error:
        rig.watch.note(f"what people say on the forge can't be read now: {error}")
        return record
    if told is None:
        rig.watch.note(
            "what waits for a person is on no thread of the forge: no pull request is open, no issue named"
        )
        return record
    for word in told.words:
        await rig.store.post(record.task, word)
    await _put(told, record, rig)
    return await rig.store.load(record.run) or record if told.words else record


async def _put(told: Heard, record: RunRecord, rig: Rig) -> None:
    """What is not there yet is put there, by one controller at a time."""
    if not told.missing or rig.board is None:
        return
    lease = None
    if rig.lease is None:
        try:
            lease = await rig.store.lease(record.task, LEASE_SECONDS)
        except Busy:
            return
    try:
        for entry in told.missing:
            why = await rig.board.put(entry, told.place, record.run)
            rig.watch.note(
                f"{entry.id} {f'can not be put on {told.place}: {why}' if why else f'is put on {told.place}'}"
            )
    finally:
        if lease is not None:
            await rig.store.release(lease)
