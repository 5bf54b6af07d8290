"""deeds: whether a deed on the remote or the forge may be done as things stand there, and what it rests on. Pure."""

from __future__ import annotations

from contracts import deed_rules
from contracts.base import JsonObject
from contracts.charter import Charter
from contracts.deeds import DEEDS
from contracts.forge_reading import NAME, ForgeReading
from contracts.queue import Entry
from contracts.readings import CiReading, Readings
from contracts.record import RunRecord
from contracts.verdicts import Defer, Reject
from controller.basis import AGAIN, AUTHORITY, STALE


def basis(tool: str, fresh: Readings) -> dict[str, str]:
    """What the deed acts on; nothing for any other action."""
    now = fresh.items.get(NAME)
    return deed_rules.basis_of(tool, now) if tool in DEEDS and isinstance(now, ForgeReading) else {}


def refused(
    record: RunRecord, tool: str, args: JsonObject, seen: Readings, fresh: Readings, task: Charter
) -> Reject | Defer | None:
    """Why the deed may not be done now; None when it may, and for any other action."""
    forge, now, before = task.task.forge, fresh.items.get(NAME), seen.items.get(NAME)
    if tool not in DEEDS or forge is None:
        return None
    if not isinstance(now, ForgeReading):
        why = getattr(now, "why", "it was not read")
        return _later(fresh, f"{NAME} can't be read now ({why}), and {tool} rests on it")
    if isinstance(before, ForgeReading) and deed_rules.basis_of(tool, before) != deed_rules.basis_of(
        tool, now
    ):
        say = f"{NAME} changed while you were thinking: look at the authorities and decide again"
        return Reject(layer="policy", code=STALE, say=say)
    red = [
        f"{item.name} says {item.state} of this commit ({item.why})"
        for item in fresh.items.values()
        if isinstance(item, CiReading) and item.state != "passed"
    ]
    case = deed_rules.Case(args, now, forge, fresh.at, record.run, red[0] if red else "")
    wrong = deed_rules.refused(tool, case)
    return Reject(layer="policy", code=f"policy.{wrong[0]}", say=wrong[1]) if wrong else None


def moved(entry: Entry, fresh: Readings) -> str | Defer:
    """What of the forge is not any more as the entry's basis says, or as its yes was said there, in a sentence; empty
    when all of it is."""
    held = {name: then for name, then in entry.basis.items() if name.startswith(f"{NAME} ")}
    seen = fresh.items.get(NAME)
    if (held or entry.via) and not isinstance(seen, ForgeReading):
        return _later(
            fresh, f"{NAME} can't be read now, and {entry.id} was approved for it as it was, or there"
        )
    if isinstance(seen, ForgeReading) and seen.word is not None and not seen.word.holds:
        return f"what {entry.decider or 'somebody'} wrote was edited or taken away since"
    now = basis(str(entry.transition["action"]["tool"]), fresh)
    other = [name for name, then in held.items() if now.get(name) != then]
    return f"{other[0]} is not {held[other[0]]} any more, and the approval was for that" if other else ""


def _later(fresh: Readings, say: str) -> Defer:
    return Defer(not_before=fresh.at + AGAIN, cause=AUTHORITY, say=say)
