"""A JSON Schema as a grammar for constrained decoding (GBNF, as llama.cpp reads it).

Engines that make a grammar of a schema themselves leave whitespace free and strings without an end, in which a small
model loses itself. This one has no whitespace, an end for every string and list, keys in the schema's order, and at
most one entry of a free map per reply (no key can come twice). What it accepts fits the schema; not all that fits is
accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from contracts.base import JsonObject
from tool_adapters.agents.gbnf_text import CannotBound, Text, any_text, of_pattern, quoted

LONGEST, MOST = 1000, 8
_UNREAD = frozenset(
    {"description", "title", "default", "examples", "format", "type", "$comment", "deprecated"}
)
_OF: Mapping[str, frozenset[str]] = {
    "string": frozenset({"pattern", "minLength", "maxLength"}),
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"}
    ),
}


def grammar(schema: JsonObject, *, longest: int = LONGEST) -> str:
    """The grammar of the values of `schema`. A string has at most `longest` characters, an array without `maxItems` at
    most 8 items. Raises CannotBound, with the place, for what can't be said in a grammar."""
    made = _Grammar(longest)
    root = made.value(schema, "")
    return "".join(f"{name} ::= {body}\n" for name, body in [("root", root), *made.rules()])


class _Grammar:
    """Rules by what they say, so that equal ones stand once."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self._names: dict[str, str] = {}

    def rules(self) -> Iterator[tuple[str, str]]:
        return ((name, body) for body, name in self._names.items())

    def rule(self, body: str) -> str:
        """The name of the rule with this body."""
        return self._names.setdefault(body, f"r{len(self._names)}")

    def value(self, node: Any, at: str) -> str:
        """An expression for the values of a schema node; it may stand in a sequence."""
        if not isinstance(node, dict):
            raise CannotBound(f"{at or '/'}: any value at all")
        if "const" in node:
            return _literal(node["const"])
        if "enum" in node:
            return _choice(_literal(value) for value in node["enum"])
        for word in ("anyOf", "oneOf"):
            if word in node:
                self._only(node, frozenset({word}), at)
                return self.rule(
                    _choice(self.value(one, f"{at}/{word}/{n}") for n, one in enumerate(node[word]))
                )
        kinds = node.get("type")
        if isinstance(kinds, list):
            return _choice(self._of_kind(kind, {**node, "type": kind}, at, loose=True) for kind in kinds)
        if not isinstance(kinds, str) or kinds not in _OF:
            raise CannotBound(f"{at or '/'}: no type")
        return self._of_kind(kinds, node, at)

    def _of_kind(self, kind: str, node: JsonObject, at: str, loose: bool = False) -> str:
        if not loose:
            self._only(node, _OF[kind], at)
        match kind:
            case "string":
                return self._text(self._text_of(node, at))
            case "integer" | "number":
                return self.rule(_number(node, at))
            case "boolean":
                return '("true" | "false")'
            case "null":
                return '"null"'
            case "array":
                return self._array(node, at)
            case _:
                return self._object(node, at)

    def _only(self, node: JsonObject, known: frozenset[str], at: str) -> None:
        strange = sorted(word for word in set(node) - known - _UNREAD if not word.startswith("x-"))
        if strange:
            raise CannotBound(f"{at or '/'}: {strange[0]}")

    def _text_of(self, node: JsonObject, at: str) -> Text:
        least, most = node.get("minLength", 0), min(node.get("maxLength", self.longest), self.longest)
        if least > most:
            raise CannotBound(f"{at}: minLength {least} is more than {most} characters")
        pattern = node.get("pattern")
        try:
            return any_text(least, most) if pattern is None else of_pattern(pattern, least, most)
        except CannotBound as error:
            raise CannotBound(f"{at or '/'}: {error}") from None

    def _text(self, text: Text) -> str:
        return self.rule(rf'"\"" {text.spelled(self.rule)} "\""')

    def _array(self, node: JsonObject, at: str) -> str:
        least, most = node.get("minItems", 0), node.get("maxItems", max(MOST, node.get("minItems", 0)))
        most = min(most, 1) if node.get("uniqueItems") else most
        if least > most:
            raise CannotBound(f"{at}: more than one unique item")
        if most == 0:
            return '"[]"'
        item = self.value(node.get("items"), f"{at}/items")
        full = rf'"[" {item} ("," {item}){{{max(least - 1, 0)},{most - 1}}} "]"'
        return self.rule(full if least else f'"[]" | {full}')

    def _object(self, node: JsonObject, at: str) -> str:
        properties = node.get("properties", {})
        required = set(node.get("required", ()))
        if missing := sorted(required - set(properties)):
            raise CannotBound(f"{at}: {missing[0]} is required and not described")
        if properties:
            if node.get("minProperties", 0) > len(required) or node.get("maxProperties", 99) < len(
                properties
            ):
                raise CannotBound(f"{at}: a count of properties")
            entries = [
                (rf'{_literal(name)} ":" {self.value(child, f"{at}/{name}")}', name in required)
                for name, child in properties.items()
            ]
            return self.rule(rf'"{{" {self._entries(entries)} "}}"')
        return self._map(node, at)

    def _map(self, node: JsonObject, at: str) -> str:
        rest = node.get("additionalProperties", False)
        least, most = node.get("minProperties", 0), node.get("maxProperties", 1)
        if rest is False or most == 0:
            if least:
                raise CannotBound(f"{at}: minProperties")
            return '"{}"'
        if least > 1:
            raise CannotBound(f"{at}: more than one entry is needed")
        key = self._text(
            self._text_of({"maxLength": 40, **node.get("propertyNames", {})}, f"{at}/propertyNames")
        )
        self._only(node.get("propertyNames", {}), _OF["string"], f"{at}/propertyNames")
        one = rf'"{{" {key} ":" {self.value(rest, f"{at}/*")} "}}"'
        return self.rule(one if least else f'"{{}}" | {one}')

    def _entries(self, entries: Sequence[tuple[str, bool]]) -> str:
        """The entries in order, those that are not required left out at will, with commas between those that stand."""
        first = more = '""'
        for entry, required in reversed(entries):
            begun = rf'"," {entry} {more}'
            alone = f"{entry} {more}"
            first, more = (
                self.rule(alone if required else f"{alone} | {first}"),
                self.rule(begun if required else f"{begun} | {more}"),
            )
        return first


def _choice(ways: Iterable[str]) -> str:
    return "(" + " | ".join(dict.fromkeys(ways)) + ")"


def _literal(value: Any) -> str:
    return quoted(orjson.dumps(value).decode())


def _number(node: JsonObject, at: str) -> str:
    """Whole numbers within the bounds, by their count of digits; without bounds of at most nine."""
    low, high = node.get("minimum", -999_999_999), node.get("maximum", 999_999_999)
    if high - low <= 100 and float(low).is_integer():
        return _choice(f'"{value}"' for value in range(int(low), int(high) + 1))
    ways = ['"0"'] if low <= 0 <= high else []
    for sign, bottom, top in (("", low, high), ('"-" ', -high, -low)):
        lengths = [n for n in range(1, 10) if bottom <= 10 ** (n - 1) and 10**n - 1 <= top]
        if lengths:
            ways.append(f"{sign}[1-9] [0-9]{{{lengths[0] - 1},{lengths[-1] - 1}}}")
    if not ways:
        raise CannotBound(f"{at}: numbers between {low} and {high}")
    return _choice(ways)
