"""Bounds are proved: which fields of a schema are unbounded, and how large any valid value can be.

Sizes are UTF-8 bytes of compact JSON as orjson writes it: a character is 6 bytes (`\\u0001`) unless a
`pattern` excludes control characters; a number is at most 24 bytes, because orjson writes the shortest form
of a double and refuses integers beyond 64 bits. So numbers need no `minimum`, `maximum`; they only tighten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from contracts.base import JsonObject
from contracts.regex_bound import text_bound
from contracts.schema_refs import BadSchema, inline_refs, pointer

MAX_DEPTH = 12
MAX_NUMBER = 24
MAX_LIST = 8
_EXPONENT = 16  # digits from which a double is written with an exponent
_SCALARS = {"boolean": 5, "null": 4, "number": MAX_NUMBER}
_KEYED = "use an object keyed by a short id, or a list of at most 8 scalars"
_Step = tuple[str | int, ...]


@dataclass(frozen=True)
class Unbounded:
    """A field without a bound: its JSON pointer in the schema, what is missing, and what to write instead."""

    pointer: str
    missing: str
    fix: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.missing}; {self.fix}"


def check_bounded(schema: JsonObject) -> list[Unbounded]:
    """Every field of `schema` whose size nothing limits; empty when each valid value is bounded."""
    return list(_measure(schema).found)


def worst_case_bytes(schema: JsonObject) -> int:
    """Most bytes that a valid value takes as compact JSON. Raises BadSchema when a field is unbounded."""
    bound = _measure(schema)
    if bound.found:
        raise BadSchema([str(one) for one in bound.found])
    return bound.size


def advice(schema: JsonObject) -> list[str]:
    """What is bounded but unwise: arrays that should be objects keyed by a short id."""
    return list(_measure(schema).advice)


@dataclass(frozen=True)
class _Bound:
    """`size` holds only where `found` is empty."""

    size: int = 0
    found: tuple[Unbounded, ...] = ()
    advice: tuple[str, ...] = ()


def _lacks(at: _Step, missing: str, fix: str) -> _Bound:
    return _Bound(0, (Unbounded(pointer(at), missing, fix),))


def _gather(size: int, parts: Iterable[_Bound]) -> _Bound:
    parts = list(parts)
    return _Bound(
        size,
        tuple(one for part in parts for one in part.found),
        tuple(line for part in parts for line in part.advice),
    )


def _widest(parts: list[_Bound]) -> _Bound:
    return _gather(max((part.size for part in parts), default=0), parts)


def _measure(schema: JsonObject) -> _Bound:
    try:
        return _size(inline_refs(schema), (), 0)
    except BadSchema as error:
        found = []
        for problem in error.problems:
            place, _, text = problem.partition(": ")
            found.append(Unbounded(place, text, "write the definition out where it is used"))
        return _Bound(0, tuple(found))


def _size(node: Any, at: _Step, level: int) -> _Bound:
    if node is False:
        return _Bound()
    if not isinstance(node, dict) or not node:
        return _lacks(at, "a free value", "give it a type and that type's bound")
    if level > MAX_DEPTH:
        return _lacks(at, f"more than {MAX_DEPTH} levels", "flatten it into objects keyed by a short id")
    # All parts of a node hold at once, so the smallest bounded one bounds it; the rest only narrows.
    parts = []
    unions = [key for key in ("anyOf", "oneOf") if isinstance(node.get(key), list)]
    if any(key in node for key in ("type", "enum", "const")) or not (unions or node.get("allOf")):
        parts.append(_own(node, at, level))
    for key in unions:
        parts.append(_widest([_size(one, (*at, key, i), level) for i, one in enumerate(node[key])]))
    parts += [_size(one, (*at, "allOf", i), level) for i, one in enumerate(node.get("allOf", ()))]
    bounded = [part for part in parts if not part.found]
    return min(bounded, key=lambda part: part.size) if bounded else parts[0]


def _own(node: JsonObject, at: _Step, level: int) -> _Bound:
    if "const" in node or "enum" in node:
        values = [node["const"]] if "const" in node else node["enum"]
        return _Bound(max((len(orjson.dumps(one)) + _respelled(one) for one in values), default=0))
    kinds = node.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds:
        return _lacks(at, "no type", "give it a type and that type's bound")
    return _widest([_typed(kind, node, at, level) for kind in kinds])


def _respelled(value: Any) -> int:
    """Bytes by which the same value may be longer than it is written here: 7 as 7.0, 0 as -0.0, large as e+17."""
    if isinstance(value, (dict, list)):
        return sum(map(_respelled, value.values() if isinstance(value, dict) else value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return 3 if len(orjson.dumps(value)) < _EXPONENT else MAX_NUMBER


def _typed(kind: str, node: JsonObject, at: _Step, level: int) -> _Bound:
    match kind:
        case "string":
            return _string(node, at, "maxLength")
        case "integer":
            return _Bound(_integer(node))
        case "array":
            return _array(node, at, level)
        case "object":
            return _object(node, at, level)
        case _:
            return _Bound(_SCALARS[kind])


def _string(node: JsonObject, at: _Step, missing: str) -> _Bound:
    pattern = node.get("pattern")
    read = text_bound(pattern) if isinstance(pattern, str) else text_bound("")
    limits = [limit for limit in (node.get("maxLength"), read.chars) if limit is not None]
    if "enum" in node or "const" in node:
        return _own(node, at, 0)
    if not limits:
        return _lacks(at, f"no {missing}", f"set {missing}, an enum, or an anchored pattern with {{m,n}}")
    return _Bound(2 + int(min(limits)) * read.char_bytes)


def _integer(node: JsonObject) -> int:
    low, high = node.get("minimum"), node.get("maximum")
    if not isinstance(low, int) or not isinstance(high, int):
        return MAX_NUMBER
    written = max(len(str(low)), len(str(high)))
    return written + 3 if written < _EXPONENT else MAX_NUMBER


def _array(node: JsonObject, at: _Step, level: int) -> _Bound:
    heads = [
        _size(one, (*at, "prefixItems", i), level + 1) for i, one in enumerate(node.get("prefixItems", ()))
    ]
    most, items = node.get("maxItems"), node.get("items", True)
    if items is False:
        most = len(heads)
    elif most is None:
        return _lacks(at, "no maxItems", _KEYED)
    rest = _size(items, (*at, "items"), level + 1)
    advised: tuple[str, ...] = ()
    if most > MAX_LIST or (isinstance(items, dict) and items.get("type") in ("object", "array")):
        advised = (f"{pointer(at)}: every change rewrites this whole array; {_KEYED}",)
    total = sum(part.size for part in heads) + max(0, int(most) - len(heads)) * rest.size
    gathered = _gather(2 + total + max(0, int(most) - 1), [*heads, rest])
    return _Bound(gathered.size, gathered.found, (*gathered.advice, *advised))


def _object(node: JsonObject, at: _Step, level: int) -> _Bound:
    named = node.get("properties", {})
    parts = {name: _size(one, (*at, "properties", name), level + 1) for name, one in named.items()}
    size = sum(len(orjson.dumps(name)) + 2 + part.size for name, part in parts.items())
    gathered = list(parts.values())
    free = [((*at, "patternProperties", key), one) for key, one in node.get("patternProperties", {}).items()]
    rest = node.get("additionalProperties")
    if rest is None or rest is True:
        return _lacks(at, "open to any key", "set additionalProperties to false or to the entries' schema")
    if rest is not False:
        free.append(((*at, "additionalProperties"), rest))
    if free:
        most = node.get("maxProperties")
        entry = _widest([_size(one, place, level + 1) for place, one in free])
        name = node.get("propertyNames")
        key = _string(
            name if isinstance(name, dict) else {}, (*at, "propertyNames"), "propertyNames.maxLength"
        )
        gathered += [entry, key]
        if most is None:
            gathered.append(_lacks(at, "no maxProperties", "set how many entries it may hold"))
        else:
            size += int(most) * (key.size + 2 + entry.size)
    return _gather(2 + size - bool(size), gathered)  # no comma before the first
