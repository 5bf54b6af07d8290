"""What readings of the outside are known by: a mark for each thing read, equal as long as it says the same. Pure."""

from __future__ import annotations

import re
from typing import Any

from contracts.base import canonical
from contracts.documents import DocumentsReading
from contracts.readings import Reading, Readings, UnknownReading


def marks(item: Reading) -> dict[str, str]:
    """The marks of one reading, by `NAME` or `NAME/ID`; none of one that is no outside."""
    match item:
        case DocumentsReading(ours=False):
            return {f"{item.name}/{each.id}": each.mark for each in item.items}
        case _:
            return {}


def bound(seen: Readings, said: Any) -> dict[str, str]:
    """The marks of what a reply rests on: of every text that was read whole, and of what a query found those that it
    names. `said` is the reply as JSON."""
    found: dict[str, str] = {}
    for item in seen.items.values():
        held = marks(item)
        if isinstance(item, DocumentsReading) and not item.whole and held:
            text = canonical(said).decode("utf-8", "replace")
            named = {each.id for each in item.items if _names(text, each.id)}
            held = {f"{item.name}/{id}": held[f"{item.name}/{id}"] for id in named}
        found |= held
    return found


def moved(held: dict[str, str], fresh: Readings) -> tuple[list[str], list[str]]:
    """Which of these marks are others in `fresh`, and which can't be told, their authority being unreadable."""
    changed, unknown = [], []
    now = {name: mark for item in fresh.items.values() for name, mark in marks(item).items()}
    for name, mark in held.items():
        if isinstance(fresh.items.get(name.partition("/")[0]), UnknownReading):
            unknown.append(name)
        elif now.get(name) != mark:
            changed.append(name)
    return changed, unknown


def _names(text: str, id: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(id)}(?!\w)", text) is not None
