"""A few valid states of a schema, made from it: small, the same each time, no two alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contracts.base import JsonObject, canonical
from contracts.explain import Checker
from contracts.state import StateSchema

LEVELS = 6  # how differently a schema is filled; each is one state at most
_MAPS = (1, 2, 3, 0, 8, 1)  # entries of a map at each level
_TEXTS = (
    "a", "b-2", "word", "1", "0.1.0", "x" * 8, "2026-01-31", "2026-01-31T10:00:00Z", "src/a.py", "A-1",
    "#1", "https://example.org/a", "0" * 40, "0123456789ab", "", "a" * 64, "true", "step-1", "a_b", "A1",
)  # fmt: skip
_NONE = object()


def samples(schema: StateSchema) -> list[JsonObject]:
    """At most `LEVELS` states of a schema that has a first one. None at all where no text of ours fits the patterns of
    a required field: then only given samples can tell anything."""
    found: dict[bytes, JsonObject] = {}
    for level in range(LEVELS):
        made = _value(schema.plain, level, 0)
        if isinstance(made, dict) and (state := _mended(schema, made)) is not None:
            found.setdefault(canonical(state), state)
    return list(found.values())


def _mended(schema: StateSchema, made: JsonObject) -> JsonObject | None:
    """The state, with as few of its fields as need be as they are at the start: conditions between fields are not
    known here, only whether they hold."""
    first = schema.initial()
    state = {**first, **made}
    for name in (None, *made):
        if name is not None:
            state = {key: each for key, each in state.items() if key != name} | (
                {name: first[name]} if name in first else {}
            )
        if not (schema.errors(state) or schema.broken(None, state)):
            return state
    return None


def _value(node: Any, level: int, turn: int) -> Any:
    """A valid value, or _NONE. `turn` tells entries of one map from each other."""
    if not isinstance(node, dict):
        return _NONE
    for key in ("anyOf", "oneOf"):
        if key in node and "type" not in node:
            turned = (level + n for n in range(len(node[key])))
            return _fitting(node, (_value(node[key][at % len(node[key])], level, turn) for at in turned))
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return _fitting(
            node, (node["enum"][(level + turn + n) % len(node["enum"])] for n in range(len(node["enum"])))
        )
    kinds = node.get("type")
    kind = kinds if isinstance(kinds, str) else kinds[level % len(kinds)] if kinds else None
    match kind:
        case "object":
            return _object(node, level, turn)
        case "array":
            return _fitting(node, ([*_items(node, level, size)] for size in (_MAPS[level], 1, 2, 0)))
        case "string" if "x-format" in node:
            return _fitting(node, ("step:1",))
        case "string":
            spread = (_TEXTS[(3 * level + turn + n) % len(_TEXTS)] for n in range(len(_TEXTS)))
            return _fitting(node, (*spread, node.get("default")))
        case "integer" | "number":
            low, high = node.get("minimum", 0), node.get("maximum", 1000)
            return _fitting(node, (min(high, low + level + turn), low, high, 0, 1, node.get("default")))
        case "boolean":
            return _fitting(node, (bool((level + turn) % 2), True, False))
        case _:
            return _NONE


def _fitting(node: JsonObject, values: Any) -> Any:
    checker = Checker(node)
    return next(
        (value for value in values if value is not _NONE and value is not None and checker.ok(value)), _NONE
    )


def _items(node: JsonObject, level: int, size: int) -> Iterator[Any]:
    for turn in range(min(size, node.get("maxItems", size))):
        if (value := _value(node.get("items"), level, turn)) is not _NONE:
            yield value


def _object(node: JsonObject, level: int, turn: int) -> Any:
    """Every second level holds what is optional. An entry or optional field that can't be made is left out; the keys
    of one map are others than those of the next."""
    made: JsonObject = {}
    required = node.get("required", ())
    for number, (name, inner) in enumerate(node.get("properties", {}).items()):
        if name in required or (level + number) % 2 == 0:
            value = _value(inner, level, number)
            if value is not _NONE:
                made[name] = value
            elif name in required:
                return _NONE
    entries = node.get("additionalProperties")
    if isinstance(entries, dict):
        names = Checker(node["propertyNames"] if isinstance(node.get("propertyNames"), dict) else {})
        room = min(_MAPS[level], node.get("maxProperties", _MAPS[level]) - len(made))
        keys = [key for key in _TEXTS if key and key not in made and names.ok(key)]
        start = 3 * turn % max(1, len(keys))
        for number, key in enumerate([*keys[start:], *keys[:start]][: max(0, room)]):
            if (value := _value(entries, level, number)) is not _NONE:
                made[key] = value
    return made if Checker({**node, "required": list(required)}).ok(made) else _NONE
