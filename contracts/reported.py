"""Fields of the state that the controller keeps at what an authority says: `x-owner: controller` with `x-freshness:
authority NAME`. And those that point at the evidence of the last step. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from contracts.base import JsonObject
from contracts.deployed import DeploymentReading
from contracts.documents import DocumentsReading
from contracts.fields import ANY_KEY, at
from contracts.forge_reading import ForgeReading
from contracts.fresh_rules import rule_of
from contracts.marks import unread
from contracts.merge import Path, both, difference, merge, nested, value_at
from contracts.readings import CiReading, CommandReading, GitReading, Reading, Readings
from contracts.state import StateSchema
from contracts.telemetry import ValueReading


def reported(schema: StateSchema, state: JsonObject, seen: Readings) -> JsonObject:
    """The merge patch that brings these fields up to the readings. An authority that can't be read, and what does not
    fit the field's schema, leave the field as it is."""
    patch: JsonObject = {}
    for path, field in schema.fields.items():
        rule = rule_of(field.freshness) if field.owner == "controller" and field.freshness else None
        item = seen.items.get(rule.name) if rule is not None and rule.kind == "authority" else None
        if item is None or ANY_KEY in path or unread(item):
            continue
        held, now = value_at(state, path), cast(JsonObject, merge(state, patch))
        for value in _values(item, at(schema.plain, path), held):
            change = nested(path, difference(held, _fitting(schema, now, path, value)))
            if _fits(schema, now, change):
                patch = cast(JsonObject, both(patch, change)) if merge(state, change) != state else patch
                break
    return patch


def _fits(schema: StateSchema, state: JsonObject, change: JsonObject) -> bool:
    after = cast(JsonObject, merge(state, change))
    return not schema.errors(after) and not schema.broken(state, after)


def _fitting(schema: StateSchema, state: JsonObject, path: Path, value: Any) -> Any:
    """A value less what of it does not fit: a revision that is too long says nothing of the health."""
    if not isinstance(value, dict) or _fits(schema, state, nested(path, value)):
        return value
    kept: JsonObject = {}
    for key, each in value.items():
        if _fits(schema, state, nested(path, {**kept, key: each})):
            kept[key] = each
    return kept


def evidence_fields(schema: StateSchema) -> tuple[Path, ...]:
    """The controller's own texts that hold a source: where the pointer to the evidence of the last step goes."""
    return tuple(
        path
        for path in schema.pointers
        if ANY_KEY not in path
        and (field := schema.fields.get(path)) is not None
        and field.owner == "controller"
    )


def _values(item: Reading, nodes: list[JsonObject], held: Any) -> Iterator[Any]:
    """What a field of these schemas may hold of a reading, the fullest first."""
    facts = _facts(item, held if isinstance(held, dict) else {})
    for node in nodes:
        entry, named = node.get("additionalProperties"), node.get("properties", {})
        if isinstance(entry, dict) and isinstance(item, DocumentsReading):
            known = entry.get("properties", {})
            texts = {
                each.id: {"status": each.status, "title": each.title, "revision": each.revision}
                for each in item.items
            }
            yield {id: {k: v for k, v in one.items() if k in known and v} for id, one in texts.items()}
        elif named:
            yield {name: value for name, value in facts.items() if name in named and value not in ("", None)}
        elif "type" in node or "enum" in node:
            yield from (value for value in facts.values() if value not in ("", None))


def _facts(item: Reading, held: JsonObject) -> JsonObject:
    """What a reading says, the chief fact first. What was last known to be good stays known."""
    match item:
        case DeploymentReading():
            well = item.revision if item.health == "healthy" else ""
            stable = item.stable or well or held.get("stable", "")
            other = held.get("stable") not in (item.revision, None)
            before = held.get("stable" if other else "rollback", "")
            return {
                "revision": item.revision, "health": item.health, "stable": stable, "rollback": item.rollback or before,
                "migration": item.migration, "state": item.state,
            }  # fmt: skip
        case CiReading():
            return {"state": item.state, "sha": item.sha}
        case ValueReading():
            return {"value": item.value, "state": item.state}
        case GitReading():
            return {"head": item.head, "branch": item.branch}
        case CommandReading():
            return {"count": item.count}
        case ForgeReading(request=request):
            stands = {"number": request.number, "request": request.state} if request else {}
            return {"tip": item.tip, **stands}
        case DocumentsReading(items=(one,)):
            return {"status": one.status, "title": one.title, "revision": one.revision}
        case _:
            return {}
