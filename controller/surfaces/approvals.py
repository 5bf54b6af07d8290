"""`approvals`, `approve`, `reject`: what waits for a person, and their yes or no."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.controls import exact
from contracts.errors import ConfigError, Lost
from contracts.merge import Path as FieldPath
from contracts.queue import Decision, Entry, Withdraw
from contracts.record import RunRecord
from contracts.text import line
from contracts.veil import veiled
from controller.assemble import charter
from controller.surfaces.locate import load, newest, open_existing, wait_for
from controller.surfaces.who import who
from controller.surfaces.words import clock, command, plain

MAX_WHY = 1000  # characters
Fields = Iterable[FieldPath]


def approvals(task: Path | None, as_json: bool) -> int:
    """List what waits, oldest first, and what may not be proposed again."""
    record, secrets = _record(task)
    if as_json:
        queue = [told(entry, secrets) for entry in record.queue]
        refused = [no.model_dump(mode="json") for no in record.refused]
        print(orjson.dumps({"run": record.run, "queue": queue, "refused": refused}).decode())
    else:
        lines = [_line(entry) for entry in record.queue] or ["nothing waits for a person"]
        lines += [
            f"{no.entry:<5} refused by {no.by or 'a person'}: {line(no.why, 400)}" for no in record.refused
        ]
        print(plain(exact("\n".join(lines))))
    return 0


def show(task: Path | None, id: str, as_json: bool) -> int:
    """Everything of one entry: what, why, the exact action or change, its hash, basis, expiry, who may decide."""
    record, secrets = _record(task)
    entry = found(record, id)
    if as_json:
        print(orjson.dumps(told(entry, secrets)).decode())
    else:
        print(plain(exact("\n".join(_lines(entry, secrets)))))
    return 0


def decide(task: Path | None, id: str, *, yes: bool, why: str, hash: str | None, as_json: bool) -> int:
    """Say yes or no to an entry, as it is now; `hash` is the one that was looked at, when another shall not pass.
    Raises ConfigError when this person can't decide on it."""
    loaded, (record, _) = load(task), _record(task)
    entry, by, now = found(record, id), who(), time.time()
    if entry.kind in ("ask", "unknown"):
        raise ConfigError(f"{id} is a question", hint=f"`controller answer {id} TEXT`")
    if len(why) > MAX_WHY:
        raise ConfigError(f"a reason has at most {MAX_WHY:,} characters")
    if record.finished:
        raise ConfigError(f"run {record.run} is {record.outcome}: nothing can be decided in it any more")
    if hash is not None and (len(hash) < 8 or not entry.hash.startswith(hash)):
        raise ConfigError(f"{id} has the hash {entry.hash[:12]}, not {hash}", hint="look at it again")
    if refused := entry.refuses(by, entry.hash, now, yes):
        raise ConfigError(refused)
    store = open_existing(loaded)
    word = Decision(entry=id, hash=entry.hash, yes=yes, why=why.strip(), by=by, at=now)
    posted = wait_for(lambda: store.post(loaded.task.name, word))
    heard(
        wait_for(lambda: newest(store, loaded.task.name)),
        posted,
        id,
        "approved" if yes else "rejected",
        word.why,
    )
    said, next = ("approved" if yes else "rejected"), command("run", task)
    if as_json:
        print(orjson.dumps({"entry": id, "said": said, "by": by, "hash": entry.hash, "next": next}).decode())
    else:
        print(f"{said} {id}; `{next}` goes on")
    return 0


def withdraw(task: Path | None, id: str, as_json: bool) -> int:
    """Take a no to a proposed change back: the agent may propose it again. Raises ConfigError when there is none, or
    this person may not."""
    loaded, (record, _), by = load(task), _record(task), who()
    no = next((each for each in record.refused if each.entry == id), None)
    if no is None:
        known = ", ".join(each.entry for each in record.refused)
        hint = f"refused were {known}" if known else "a no to anything else holds for that one entry"
        raise ConfigError(f"no proposed change {id!r} was refused in run {record.run}", hint=hint)
    if no.who and by not in no.who:
        raise ConfigError(f"{by} may not decide on {id}: {', '.join(no.who)} may")
    store = open_existing(loaded)
    wait_for(lambda: store.post(loaded.task.name, Withdraw(id=id, by=by, at=time.time())))
    onward = command("run", task)
    if as_json:
        print(orjson.dumps({"entry": id, "said": "withdrawn", "by": by, "next": onward}).decode())
    else:
        print(f"the no to {id} is taken back: it may be proposed again; `{onward}` goes on")
    return 0


def heard(record: RunRecord, posted: int, id: str, status: str, answer: str) -> None:
    """Raises Lost when somebody else's word on the entry came first, or took this one back, while we spoke."""
    entry = next((each for each in record.queue if each.id == id), None)
    waits = any(post.id == posted for post in record.inbox)  # else the run has taken it in already
    if not waits or (entry is None and status == "rejected"):
        return
    if entry is None or entry.status != status or (entry.answer or "") != answer:
        said = "rejected" if entry is None else f"{entry.status} by {entry.decider}: {entry.answer}"
        raise Lost(f"somebody else decided on {id} at the same time: it is {said}")


def found(record: RunRecord, id: str) -> Entry:
    """The entry `id` of the queue. Raises ConfigError."""
    entries = {entry.id: entry for entry in record.queue}
    if id not in entries:
        hint = f"there are {', '.join(entries)}" if entries else "nothing waits for a person"
        raise ConfigError(f"run {record.run} has no entry {id!r}", hint=hint)
    return entries[id]


def told(entry: Entry, secrets: Fields) -> JsonObject:
    """An entry as JSON, its action beside its hash; of secret fields the stand-ins."""
    return entry.model_dump(mode="json", exclude={"transition"}) | {
        "action": entry.transition.get("action"),
        "state_patch": veiled(entry.transition["state_patch"], secrets),
    }


def _record(task: Path | None) -> tuple[RunRecord, Fields]:
    """The newest run, and which fields of its state are never shown."""
    loaded = load(task)
    record = wait_for(lambda: newest(open_existing(loaded), loaded.task.name))
    return record, charter(loaded).schema.secrets


def _line(entry: Entry) -> str:
    return f"{entry.id:<5} {entry.kind:<9} {entry.status:<9} {line(entry.why, 400)}"


def _lines(entry: Entry, secrets: Fields) -> list[str]:
    action = orjson.dumps(entry.transition.get("action"), option=orjson.OPT_INDENT_2).decode()
    patch = orjson.dumps(told(entry, secrets)["state_patch"], option=orjson.OPT_INDENT_2).decode()
    decided = f" by {entry.decider}: {entry.answer}" if entry.decider else ""
    return [
        f"{entry.id}: {entry.kind}, {entry.status}{decided}",
        "why      " + entry.why.replace("\n", "\n         "),
        f"asked    at step {entry.step}, {clock(entry.opened)}",
        f"expires  {clock(entry.expires)}" if entry.expires else "expires  never",
        f"who      {', '.join(entry.who) or 'whoever can run it'}",
        f"hash     {entry.hash}",
        *(f"basis    {name}: {value}" for name, value in entry.basis.items()),
        *(["change", *(f"  {line}" for line in entry.diff.splitlines())] if entry.diff else []),
        "action",
        *(f"  {line}" for line in action.splitlines()),
        "state_patch",
        *(f"  {line}" for line in patch.splitlines()),
    ]
