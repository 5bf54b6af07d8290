"""The offline lint of vendors' limits: a positive control for each rule, and what is documented passes."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.base import JsonObject
from contracts.lint_strict import lint_claude, lint_strict

TEXT: JsonObject = {"type": "string"}


def strict(properties: JsonObject, **more: Any) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def nested(levels: int) -> JsonObject:
    return TEXT if levels == 0 else strict({"n": nested(levels - 1)})


LINT_CONTROLS = [
    ({"anyOf": [strict({})]}, "root must be"),
    ({"type": "array", "items": TEXT}, "root must be"),
    (strict({"a": {"type": "object", "properties": {}, "required": []}}), "additionalProperties: false"),
    (strict({"a": TEXT}, additionalProperties=TEXT), "additionalProperties: false"),
    (strict({"a": TEXT, "b": TEXT}, required=["a"]), "must be required; these differ: b"),
    (strict({"a": TEXT}, required=["a", "ghost"]), "these differ: ghost"),
    (nested(11), "more than 10 levels"),
    (strict({"a": {"anyOf": [nested(11), {"type": "null"}]}}), "more than 10 levels"),
    (strict({f"p{i}": TEXT for i in range(5001)}), "5001 properties"),
    (strict({"a": {"type": "string", "enum": [f"v{i}" for i in range(1001)]}}), "1001 enum values"),
    (strict({"a": {"type": "string", "enum": [f"{i:060}" for i in range(251)]}}), "exceeds 15000"),
    (strict({f"{i:0120}": TEXT for i in range(1001)}), "120120 characters"),
    (strict({"a": {"oneOf": [TEXT]}}), "the keyword oneOf"),
    (strict({"a": {**TEXT, "maxLength": 3}}), "the keyword maxLength"),
    (strict({"a": {**TEXT, "default": ""}}), "the keyword default"),
    (strict({"a": {"type": "string", "const": "x"}}), "the keyword const"),
    (strict({}, patternProperties={}), "the keyword patternProperties"),
    (strict({}, propertyNames={}), "the keyword propertyNames"),
    (strict({"a": {"allOf": [TEXT]}}), "the keyword allOf"),
    (strict({"a": True}), "boolean or empty"),
    (strict({"a": {}}), "boolean or empty"),
    (strict({"a": {"description": "?"}}), "no type"),
    (strict({"a": {"type": "array"}}), "must have items"),
    (strict({"a": {**TEXT, "pattern": "^(?!x)"}}), "may not take"),
    (strict({"a": {**TEXT, "pattern": "\\ud800"}}), "may not take"),
    (strict({"a": {**TEXT, "format": "regex"}}), "the format"),
    (
        strict({"a": {"anyOf": [strict({"k": TEXT, "x": TEXT}), strict({"k": TEXT, "y": TEXT})]}}),
        "first key 'k'",
    ),
    (strict({"a": {"type": "array", "items": {"type": "object"}}}), "/properties/a/items"),
    (strict({"a": TEXT}, **{"$defs": {"d": {"type": "object"}}}), "/$defs/d"),
]


@pytest.mark.parametrize(("schema", "fault"), LINT_CONTROLS)
def test_the_strict_lint_sees_each_fault(schema: JsonObject, fault: str) -> None:
    assert any(fault in found for found in lint_strict(schema)), lint_strict(schema)


def test_the_strict_lint_passes_what_the_vendor_documents() -> None:
    tagged = [
        strict({"k": {"type": "string", "enum": [name]}, "x": {"type": ["string", "null"]}}) for name in "ab"
    ]
    schema = strict(
        {
            "u": {"anyOf": [*tagged, {"type": "null"}]},
            "v": {"anyOf": [strict({"x": TEXT}), strict({"y": TEXT}), strict({})]},
            "n": {"type": "integer", "minimum": 0, "maximum": 9, "description": "d"},
            "s": {"type": "string", "pattern": "^@[a-zA-Z0-9_]+$", "format": "email"},
            "l": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
            "r": {"$ref": "#/$defs/d"},
        },
        **{"$defs": {"d": strict({})}},
    )
    assert lint_strict(schema) == []
    assert lint_strict(nested(10)) == []


def test_the_claude_lint_sees_each_fault() -> None:
    assert lint_claude(strict({"a": TEXT}, **{"$schema": "http://json-schema.org/draft-07/schema#"})) == []
    assert (
        "leave it out"
        in lint_claude({**strict({}), "$schema": "https://json-schema.org/draft/2020-12/schema"})[0]
    )
    assert "root must be" in lint_claude({"type": "string"})[0]
    big = strict({"a": {**TEXT, "description": "x" * 120 * 1024}})
    assert "fit into one argument" in lint_claude(big)[0]
