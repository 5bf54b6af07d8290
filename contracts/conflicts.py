"""Two sources of one fact that do not say the same. Pure; `x-change-policy: ask` marks the collections of facts.

An entry there has a `value` and a `source`. Another value is a conflict, unless the patch itself says that it comes
from the source that the old value has: that one may correct itself. So is another source for the same value. What was
unknown conflicts with nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from contracts.base import JsonObject, canonical
from contracts.fields import places
from contracts.merge import Path, merge
from contracts.schema_refs import pointer
from contracts.state import StateSchema
from contracts.veil import veiled


@dataclass(frozen=True)
class Conflict:
    """The fact at `path`, as it stands and as the patch would leave it."""

    path: Path
    old: JsonObject
    new: JsonObject

    @property
    def at(self) -> str:
        return pointer(self.path)

    def lines(self) -> list[str]:
        """Both values, each with its source."""
        return [self.at, f"- {_said(self.old)}", f"+ {_said(self.new)}"]


def conflicts(asking: Iterable[Path], state: JsonObject, patch: JsonObject) -> tuple[Conflict, ...]:
    """What `patch` would overwrite in the collections `asking` (paths of the schema)."""
    found = []
    for path in asking:
        for place, changes in places(patch, path):
            held = next((each for _, each in places(state, place)), None)
            if not isinstance(held, dict) or not isinstance(changes, dict):
                continue
            for key, change in changes.items():
                old, new = held.get(key), merge(held.get(key), change)
                if isinstance(old, dict) and isinstance(new, dict) and _differ(old, new, change):
                    found.append(Conflict((*place, key), old, new))
    return tuple(found)


def clashes(schema: StateSchema, state: JsonObject, patch: JsonObject) -> tuple[Conflict, ...]:
    """What `patch` would overwrite from another source, with stand-ins for what is never shown."""
    found, secrets = conflicts(schema.asking(), state, patch), schema.secrets
    if not found or not secrets:
        return found
    before, after = veiled(state, secrets), veiled(cast(JsonObject, merge(state, patch)), secrets)
    return tuple(Conflict(each.path, _at(before, each.path), _at(after, each.path)) for each in found)


def told(clash: Iterable[Conflict]) -> str:
    """The conflicts as a person reads them."""
    return "\n".join(line for each in clash for line in each.lines())


def _at(state: JsonObject, path: Path) -> JsonObject:
    return cast(JsonObject, next(value for _, value in places(state, path)))


def _differ(old: JsonObject, new: JsonObject, change: Any) -> bool:
    if old.get("value") is None:
        return False
    if canonical(old["value"]) == canonical(new.get("value")):
        # The same value from elsewhere: whoever may name the source anew could then correct the value unasked.
        return new.get("source") != old.get("source")
    return not (isinstance(change, dict) and "source" in change and change["source"] == old.get("source"))


def _said(entry: JsonObject) -> str:
    value = entry.get("value")
    told = f"unknown: {entry.get('unknown', '')}" if value is None else canonical(value).decode()
    return f"{told} (source: {entry.get('source') or 'none'})"
