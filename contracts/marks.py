"""What readings of the outside are known by: a mark for each thing read, equal as long as it says the same. Pure."""

from __future__ import annotations

import re
from typing import Any

from contracts.base import canonical, digest
from contracts.deployed import DeploymentReading
from contracts.documents import SHORT, DocumentsReading
from contracts.forge_reading import ForgeReading
from contracts.pointers import pointer_of
from contracts.readings import CiReading, CommandReading, GitReading, Reading, Readings, UnknownReading
from contracts.telemetry import ValueReading

HOLDS, BROKEN = "as wanted", "not as wanted"
HEALTH = "/health"  # behind the name of a deployment


def marks(item: Reading) -> dict[str, str]:
    """The marks of one reading, by `NAME` or `NAME/…`; none of one that is no outside, or could not be read."""
    match item:
        case DocumentsReading(ours=False):
            return {f"{item.name}/{each.id}": each.mark for each in item.items}
        case DeploymentReading(read=True):
            database = f", database {item.migration}" if item.migration else ""
            return {item.name: f"{item.revision}{database}", item.name + HEALTH: item.health}
        case ValueReading(value=float()):
            return {item.name: HOLDS if item.state in ("passed", "pending") else BROKEN}
        case ForgeReading(request=request):
            stands = f"{request.state}, at {request.head[:SHORT]}" if request else "none"
            tip = item.tip[:SHORT] if item.tip else "not there"
            return {f"{item.name}/branch": tip, f"{item.name}/request": stands}
        case _:
            return {}


def unread(item: Reading | None) -> bool:
    """Whether an authority could not be read: that is no other mark."""
    if isinstance(item, DeploymentReading | ValueReading):
        return not item.read
    return item is None or isinstance(item, UnknownReading)


def whole_mark(item: Reading | None) -> str:
    """What a whole authority is known by; empty where that can't be told."""
    match item:
        case GitReading():
            return item.head
        case CiReading(read=True):
            return f"{item.state} of {item.sha}"
        case CommandReading():
            return item.digest
        case _:
            return "" if item is None or unread(item) else digest(marks(item))


def named(source: str, name: str, url: str = "") -> bool:
    """Whether a source is that thing of the outside: its name, `issue:12`, a path with or without its commit, or its
    address."""
    authority, _, id = name.partition("/")
    pointer = pointer_of(source)
    said = {source, pointer.name if pointer else source, source.removeprefix("issue:")}
    return bool(said & {name, authority, *({id, url} - {""})}) or (bool(id) and source.endswith(f"#{id}"))


def urls(seen: Readings) -> dict[str, str]:
    """The address of each text that was read, by the name of its mark."""
    return {
        f"{item.name}/{each.id}": each.url
        for item in seen.items.values()
        if isinstance(item, DocumentsReading)
        for each in item.items
    }


def bound(seen: Readings, said: Any) -> dict[str, str]:
    """The marks of what a reply rests on: of what is deployed, of every text that was read whole, and of what a query
    found those that it names. `said` is the reply as JSON."""
    found: dict[str, str] = {}
    for item in seen.items.values():
        held = marks(item)
        if isinstance(item, DocumentsReading):
            if not item.whole and held:
                text = canonical(said).decode("utf-8", "replace")
                named = (f"{item.name}/{each.id}" for each in item.items if _names(text, each.id))
                held = {name: held[name] for name in named}
            found |= held
        elif isinstance(item, DeploymentReading):
            found |= {name: mark for name, mark in held.items() if not name.endswith(HEALTH)}
    return found


def moved(held: dict[str, str], fresh: Readings) -> tuple[list[str], list[str]]:
    """Which of these marks are others in `fresh`, and which can't be told, their authority being unreadable."""
    changed, unknown = [], []
    now = {name: mark for item in fresh.items.values() for name, mark in marks(item).items()}
    for name, mark in held.items():
        item = fresh.items.get(name.partition("/")[0])
        if item is not None and unread(item):
            unknown.append(name)
        elif now.get(name) != mark:
            changed.append(name)
    return changed, unknown


def _names(text: str, id: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(id)}(?!\w)", text) is not None
