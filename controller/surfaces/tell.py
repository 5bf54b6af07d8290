"""`tell`: a person's note for the agent, shown in its next prompts until it is taken in or withdrawn."""

from __future__ import annotations

import time
from pathlib import Path

import orjson
from pydantic import ValidationError

from contracts.errors import ConfigError
from contracts.queue import MAX_NOTE, MAX_NOTES, Tell, Withdraw
from contracts.record import RunRecord
from controller.surfaces.locate import load, newest, open_existing, wait_for
from controller.surfaces.who import who
from controller.surfaces.words import clock, plain


def tell(task: Path | None, text: str | None, withdraw: str | None, as_json: bool) -> int:
    """Post a note (`text`), take one back (`withdraw`: its id), or with neither list those that are shown.
    Works while a run is at work; never changes the intent. Raises ConfigError."""
    if text is not None and withdraw is not None:
        raise ConfigError("a note is told or withdrawn, not both at once")
    loaded = load(task)
    store, name = open_existing(loaded), loaded.task.name
    record = wait_for(lambda: newest(store, name))
    if withdraw is not None:
        _known(record, withdraw)
        wait_for(lambda: store.post(name, Withdraw(id=withdraw, by=who(), at=time.time())))
        print(f"withdrew {withdraw}")
        return 0
    if text is None:
        return _listed(record, as_json)
    try:
        note = Tell(text=text.strip(), by=who(), at=time.time())
    except ValidationError:
        raise ConfigError(f"a note has 1 to {MAX_NOTE:,} characters") from None
    number = wait_for(lambda: store.post(name, note))
    oldest = f"; {record.notes[0].id} gives way to it" if len(record.notes) >= MAX_NOTES else ""
    when = "of the next run (`controller run --new`)" if record.finished else "until the agent takes it in"
    print(f"user-note-{number}: shown in every prompt {when}{oldest}")
    return 0


def _known(record: RunRecord, note: str) -> None:
    known = [each.id for each in record.notes]
    if note not in known:
        hint = f"shown: {', '.join(known)}" if known else "no note is shown"
        raise ConfigError(f"run {record.run} has no note {note!r}", hint=hint)


def _listed(record: RunRecord, as_json: bool) -> int:
    if as_json:
        notes = [note.model_dump(mode="json") for note in record.notes]
        print(orjson.dumps({"run": record.run, "notes": notes}).decode())
        return 0
    for note in record.notes:
        print(plain(f"{note.id}  {clock(note.at)}  {note.by}: {' '.join(note.text.split())}"))
    if not record.notes:
        print(f"{record.run}: no note is shown; those that the agent took in are gone")
    return 0
