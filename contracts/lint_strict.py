"""What a vendor would refuse in a schema, found offline: a refusal there costs a launch and ends the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from contracts.base import JsonObject
from contracts.codec import FORMATS, SAFE_PATTERN
from contracts.schema_refs import pointer

MAX_LEVELS = 10
MAX_PROPERTIES = 5000
MAX_ENUM_VALUES = 1000
MAX_TEXT = 120_000  # characters of all property names, definition names and enum values
LARGE_ENUM, MAX_LARGE_ENUM_TEXT = 250, 15_000
MAX_ARGUMENT = 120 * 1024  # the kernel takes 131,072 bytes for one argument, its final NUL included
_STRICT = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs"),
    *("description", "title", "pattern", "format", "multipleOf", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
}
_DRAFT_07 = ("http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#")
_Step = tuple[str | int, ...]


def lint_strict(schema: JsonObject) -> list[str]:
    """Faults of a schema for OpenAI's strict mode, each with its JSON pointer; empty when none is known."""
    faults = []
    if schema.get("type") != "object":
        faults.append("/: the root must be `type: object`, not a union or another type")
    nodes = list(_nodes(schema, (), 0))
    faults += [f"{pointer(at)}: {text}" for at, node, level in nodes for text in _node_faults(node, level)]
    properties = [
        name for _, node, _ in nodes if isinstance(node, dict) for name in node.get("properties", {})
    ]
    enums = [node["enum"] for _, node, _ in nodes if isinstance(node, dict) and "enum" in node]
    if len(properties) > MAX_PROPERTIES:
        faults.append(f"/: {len(properties)} properties; at most {MAX_PROPERTIES} are taken")
    if (values := sum(map(len, enums))) > MAX_ENUM_VALUES:
        faults.append(f"/: {values} enum values; at most {MAX_ENUM_VALUES} are taken")
    text = sum(map(len, properties)) + sum(map(len, schema.get("$defs", {}))) + sum(map(_text, enums))
    if text > MAX_TEXT:
        faults.append(f"/: {text} characters of names and enum values; at most {MAX_TEXT} are taken")
    if any(len(enum) > LARGE_ENUM and _text(enum) > MAX_LARGE_ENUM_TEXT for enum in enums):
        faults.append(f"/: an enum of more than {LARGE_ENUM} values exceeds {MAX_LARGE_ENUM_TEXT} characters")
    return faults


def lint_claude(schema: JsonObject) -> list[str]:
    """Faults of a schema for Claude Code, which takes it as one argument and makes it a tool."""
    faults = []
    if schema.get("type") != "object":
        faults.append("/: the root must be `type: object`; every reply to another root is rejected")
    if "$schema" in schema and schema["$schema"] not in _DRAFT_07:
        faults.append(f"/: $schema {schema['$schema']!r} is refused at the start; leave it out")
    if (size := len(orjson.dumps(schema))) >= MAX_ARGUMENT:
        faults.append(f"/: {size} bytes; at most {MAX_ARGUMENT - 1} fit into one argument")
    return faults


def _nodes(node: Any, at: _Step, level: int) -> Iterator[tuple[_Step, Any, int]]:
    yield at, node, level
    if not isinstance(node, dict):
        return
    inner = level + 1 if isinstance(node.get("properties"), dict) or "items" in node else level
    for name, child in node.get("properties", {}).items():
        yield from _nodes(child, (*at, "properties", name), inner)
    for name, child in node.get("$defs", {}).items():
        yield from _nodes(child, (*at, "$defs", name), level)
    if "items" in node:
        yield from _nodes(node["items"], (*at, "items"), inner)
    for index, child in enumerate(node.get("anyOf", ())):
        yield from _nodes(child, (*at, "anyOf", index), level)


def _node_faults(node: Any, level: int) -> Iterator[str]:
    if not isinstance(node, dict) or not node:
        yield "a boolean or empty schema"
        return
    for key in node.keys() - _STRICT:
        yield f"the keyword {key} is not taken"
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds and "anyOf" not in node and "$ref" not in node:
        yield "no type"
    if level >= MAX_LEVELS and {"object", "array"} & set(kinds):
        yield f"more than {MAX_LEVELS} levels of nesting"
    if "object" in kinds or "properties" in node:
        if node.get("additionalProperties") is not False:
            yield "an object must have additionalProperties: false"
        named = list(node.get("properties", {}))
        if sorted(named) != sorted(node.get("required", ())):
            yield f"every property must be required; these differ: {_differ(named, node.get('required', ()))}"
    if "array" in kinds and "items" not in node:
        yield "an array must have items"
    if "pattern" in node and not SAFE_PATTERN.fullmatch(node["pattern"]):
        yield f"the pattern {node['pattern']!r} uses what the vendor's engine may not take"
    if "format" in node and node["format"] not in FORMATS:
        yield f"the format {node['format']!r} is not taken"
    yield from _union_faults(node.get("anyOf", ()))


def _differ(named: list[str], required: Any) -> str:
    return ", ".join(sorted(set(named) ^ set(required)))


def _union_faults(branches: Any) -> Iterator[str]:
    """Objects in a union are told apart by their first key: another name, or other values of an enum."""
    seen: list[tuple[str, set[str] | None]] = []
    for branch in branches:
        named = branch.get("properties") if isinstance(branch, dict) else None
        if not named:
            continue
        name, first = next(iter(named.items()))
        values = set(map(str, first["enum"])) if isinstance(first, dict) and "enum" in first else None
        for other, theirs in seen:
            if other == name and (values is None or theirs is None or values & theirs):
                yield f"two branches of anyOf share the first key {name!r}; begin each with its own enum"
                return
        seen.append((name, values))


def _text(enum: list[Any]) -> int:
    return sum(len(value) for value in enum if isinstance(value, str))
