"""drift: what changed outside since it was read last. The snapshot is set first, then what changed is said. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts.base import Frozen
from contracts.documents import DocumentsReading
from contracts.marks import marks, unread
from contracts.readings import Reading, Readings
from contracts.text import line

MOST = 24  # changes that are kept until a step is committed, the newest
SHOWN = 12
LINE = 200  # bytes of one change where it is shown
ABSENT = "not there"
DRIFT = "drift"  # the cause of a halt: a person is asked whether what they locked still holds


class Mark(Frozen):
    """What something outside was known by when it was read last (contracts.marks), since when (UTC seconds) without a
    break, and before which step it came to be so. Of an authority itself, `said` is empty: it was read."""

    said: str
    since: float
    step: int


class Learned(Frozen):
    """When an entry of the state was set, and on what: the step, UTC seconds, the commit, and the marks of what it
    rests on outside, by authority or source."""

    step: int
    at: float
    head: str = ""
    on: dict[str, str] = {}


class Drift(Frozen):
    """One thing that is another one than when it was read last, as it was from step `since` on. `what` says it, `was`
    and `now` are its marks."""

    name: str
    what: str
    was: str
    now: str
    since: int


Snapshot = Mapping[str, Mark]


def noticed(snapshot: Snapshot, seen: Readings, step: int) -> tuple[dict[str, Mark], tuple[Drift, ...]]:
    """The snapshot as the readings leave it, and what differs. What can't be read stays as it was known; what was never
    read before did not change."""
    after, found = dict(snapshot), list[Drift]()
    for name, item in seen.items.items():
        said = marks(item)
        if unread(item) or not (said or isinstance(item, DocumentsReading)):
            continue
        held = {each: mark for each, mark in snapshot.items() if _of(name, each)}
        whole = not isinstance(item, DocumentsReading) or len(item.items) == item.total
        gone = [each for each, mark in held.items() if mark.said and each not in said]
        before = max((mark.step for mark in held.values()), default=step)
        for each in gone if whole else ():
            found.append(_drift(item, each, held[each].said, ABSENT, before))
            del after[each]
        for each, mark in said.items():
            old = held.get(each)
            if old is not None and old.said == mark:
                continue
            if old is not None or (held and whole):
                found.append(_drift(item, each, old.said if old else ABSENT, mark, before))
            after[each] = Mark(said=mark, since=seen.at, step=step)
        if isinstance(item, DocumentsReading):  # that it was read, whatever was found
            after[name] = Mark(said="", since=seen.at, step=step)
    return after, tuple(found)


def merged(old: Iterable[Drift], new: Iterable[Drift]) -> tuple[Drift, ...]:
    """Changes that no committed step has seen yet, each said once as it is now."""
    kept = {each.name: each for each in old}
    for each in new:
        first = kept.pop(each.name, None)
        kept[each.name] = each.model_copy(update={"was": first.was, "since": first.since}) if first else each
    return tuple(kept.values())[-MOST:]


def standing(snapshot: Snapshot, said: str) -> dict[str, float]:
    """Since when each authority that says so now does, without a break."""
    return {name: mark.since for name, mark in snapshot.items() if mark.said == said}


def told(drift: Iterable[Drift]) -> list[str]:
    """The changes as they are shown, a line each; words from outside are in them."""
    every = [line(each.what, LINE) for each in drift]
    more = [f"… and {len(every) - SHOWN} more"] if len(every) > SHOWN else []
    return [*every[-SHOWN:], *more]


def _of(authority: str, name: str) -> bool:
    return name == authority or name.startswith(f"{authority}/")


def _drift(item: Reading, name: str, was: str, now: str, since: int) -> Drift:
    title = ""
    if isinstance(item, DocumentsReading):
        title = next((each.title for each in item.items if f"{item.name}/{each.id}" == name), "")
    return Drift(name=name, what=_what(name, was, now, title), was=was, now=now, since=since)


def _what(name: str, was: str, now: str, title: str) -> str:
    called = f" ({title})" if title else ""
    if now == ABSENT:
        return f"{name} is not there any more; it was {_short(was)}"
    if was == ABSENT:
        return f"{name} is new: {_short(now)}{called}"
    old, new = _parts(was), _parts(now)
    told = [f"was {old[kind]}, is {new[kind]}" for kind in ("status", "at") if old[kind] != new[kind]]
    told += ["its text was edited"] if old["sha256"] != new["sha256"] else []
    return f"{name} {'; '.join(told)}{called}"


def _parts(mark: str) -> dict[str, str]:
    """A mark taken apart: its first words, the commit, the hash of the text."""
    found = {"status": "", "at": "", "sha256": ""}
    for part in mark.split(", "):
        kind, _, value = part.partition(" ")
        if kind in ("at", "sha256") and value:
            found[kind] = value
        else:
            found["status"] += (", " if found["status"] else "") + part
    return found


def _short(mark: str) -> str:
    return mark.partition(", sha256 ")[0]
