"""No valid value is larger than the bound, and no field without a bound passes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.base import JsonObject
from contracts.bounds import advice, check_bounded, worst_case_bytes
from contracts.explain import Checker
from contracts.regex_bound import text_bound
from contracts.schema_refs import BadSchema
from tests.contracts.schemas import STATE_SCHEMAS, values

SLOW = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
TEXT = {"type": "string", "maxLength": 4}
KEYED: JsonObject = {"type": "object", "maxProperties": 2, "propertyNames": {"maxLength": 3}}


def holder(field: Any) -> JsonObject:
    return {"type": "object", "properties": {"f": field}, "additionalProperties": False}


def without(node: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in node.items() if name != key}


@SLOW
@given(st.data(), STATE_SCHEMAS)
def test_no_valid_value_exceeds_the_bound(data: st.DataObject, schema: JsonObject) -> None:
    bound = worst_case_bytes(schema)
    value = data.draw(values(schema, hostile=True))
    assert Checker(schema).ok(value)
    assert len(orjson.dumps(value)) <= bound


@pytest.mark.parametrize(
    ("schema", "largest"),
    [
        (holder(TEXT), {"f": "\x01\x02\x03\x04"}),
        (holder({**TEXT, "pattern": r"^[\t\n\r -\uffff]*$"}), {"f": "\uffff" * 4}),
        (holder({"type": "string", "pattern": "^[a-z]{1,4}$"}), {"f": "zzzz"}),
        (holder({"enum": ["a", "long one"]}), {"f": "long one"}),
        (holder({"type": "array", "maxItems": 3, "items": TEXT}), {"f": ["\x01" * 4] * 3}),
        (holder({"type": "boolean"}), {"f": False}),
        (holder({"type": "number"}), {"f": -2.2250738585072014e-308}),
    ],
)
def test_the_bound_is_reached(schema: JsonObject, largest: Any) -> None:
    assert Checker(schema).ok(largest)
    assert len(orjson.dumps(largest)) == worst_case_bytes(schema)


@pytest.mark.parametrize(
    ("field", "spellings"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 7}, [7, 7.0, 0, -0.0]),
        ({"type": "integer", "minimum": -(2**53), "maximum": 0}, [-(2**53), -float(2**53)]),
        ({"enum": [7, "x"]}, [7, 7.0]),
        ({"const": {"n": [0]}}, [{"n": [0.0]}, {"n": [-0.0]}]),
        ({"type": "integer", "minimum": 0, "maximum": 10**17 - 1}, [1.2345678901234568e16]),
        ({"enum": [12345678901234568]}, [1.2345678901234568e16]),
    ],
)
def test_a_number_counts_at_its_longest_spelling(field: JsonObject, spellings: list[Any]) -> None:
    for value in spellings:
        assert Checker(holder(field)).ok({"f": value})
        assert len(orjson.dumps({"f": value})) <= worst_case_bytes(holder(field))
    assert worst_case_bytes(holder(field)) <= 6 + 17 + 24


def test_a_map_counts_its_keys_at_their_worst() -> None:
    schema = holder({**KEYED, "additionalProperties": TEXT})
    largest = {"f": {"\x01\x01\x01": "\x01" * 4, "\x02\x02\x02": "\x01" * 4}}
    assert Checker(schema).ok(largest)
    assert len(orjson.dumps(largest)) <= worst_case_bytes(schema) <= len(orjson.dumps(largest)) + 2


@pytest.mark.parametrize(
    ("field", "pointer", "missing"),
    [
        (True, "/properties/f", "a free value"),
        ({}, "/properties/f", "a free value"),
        ({"description": "any"}, "/properties/f", "no type"),
        ({"type": "string"}, "/properties/f", "no maxLength"),
        ({"type": "string", "pattern": "^a+$"}, "/properties/f", "no maxLength"),
        ({"type": "string", "pattern": "a{1,3}"}, "/properties/f", "no maxLength"),
        ({"type": ["string", "null"]}, "/properties/f", "no maxLength"),
        ({"type": "array", "items": TEXT}, "/properties/f", "no maxItems"),
        ({"type": "array", "maxItems": 2}, "/properties/f/items", "a free value"),
        (
            {"type": "array", "maxItems": 2, "items": {"type": "string"}},
            "/properties/f/items",
            "no maxLength",
        ),
        ({"type": "object"}, "/properties/f", "open to any key"),
        ({"type": "object", "additionalProperties": True}, "/properties/f", "open to any key"),
        (
            {"type": "object", "allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
            "/properties/f",
            "open to any key",
        ),
        (
            {**without(KEYED, "maxProperties"), "additionalProperties": TEXT},
            "/properties/f",
            "no maxProperties",
        ),
        (
            {**without(KEYED, "propertyNames"), "additionalProperties": TEXT},
            "/properties/f/propertyNames",
            "no propertyNames.maxLength",
        ),
        (
            {**KEYED, "additionalProperties": {"type": "string"}},
            "/properties/f/additionalProperties",
            "no maxLength",
        ),
        ({"anyOf": [TEXT, {"type": "string"}]}, "/properties/f/anyOf/1", "no maxLength"),
        ({"$ref": "#"}, "/properties/f", "$ref # is recursive"),
        ({"$ref": "#/nowhere"}, "/properties/f", "names nothing"),
        ({"$ref": "https://example.org/s"}, "/properties/f", "is not local"),
    ],
)
def test_what_has_no_bound_is_refused(field: Any, pointer: str, missing: str) -> None:
    found = check_bounded(holder(field))
    assert [one.pointer for one in found] == [pointer]
    assert missing in found[0].missing
    assert found[0].fix
    with pytest.raises(BadSchema, match=pointer):
        worst_case_bytes(holder(field))


def test_every_fault_is_reported_at_once() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array"}},
        "additionalProperties": False,
    }
    assert len(check_bounded(schema)) == 2


def test_depth_is_limited() -> None:
    def nest(levels: int) -> JsonObject:
        return TEXT if levels == 0 else holder(nest(levels - 1))

    assert check_bounded(nest(12)) == []
    assert "levels" in check_bounded(nest(13))[0].missing


@pytest.mark.parametrize(
    "field",
    [
        TEXT,
        {"const": {"any": ["thing"]}},
        {"type": "string", "pattern": "^[a-z]{2}-[0-9]{1,3}$"},
        {"allOf": [{"type": "string"}, {"maxLength": 3, "type": "string"}]},
        {"$ref": "#/$defs/short"},
        {"type": "integer"},
        {**KEYED, "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": TEXT},
        False,
    ],
)
def test_what_is_bounded_passes(field: Any) -> None:
    assert check_bounded({**holder(field), "$defs": {"short": TEXT}}) == []


@pytest.mark.parametrize(
    ("pattern", "chars", "width"),
    [
        ("^[a-z0-9-]{1,40}$", 40, 1),
        ("^#[0-9]{1,6}$", 7, 1),
        (r"^v\.x?$", 3, 1),
        (r"^[\t\n\r -\uffff]*$", None, 3),
        (r"^[^\x00-\x1f]{0,3}$", 3, 4),
        (r"^[^\x00-\x08\x0b\x0c\x0e-\x1f]*$", None, 4),
        (r"^[\x00-\x09]{2}$", 2, 6),
        (r"^[\x01]$", 1, 6),
        (r'^["a]{3}$', 3, 2),
        ("^[à-ü]{2}$", 2, 2),
        ("^[a-]{2}$", 2, 1),
        (r"^\w{1,3}$", None, 6),
        (r"^[\w]{1,3}$", None, 6),
        ("^a|b$", None, 6),
        ("^(ab){2}$", None, 6),
        ("[a-z]{2}", None, 6),
        (r"^a\$", None, 6),
        ("^.{3}$", None, 6),
        (r"^[\ud800-\udbff]{1}$", None, 6),
        ("^[a&&b]{1}$", None, 6),
    ],
)
def test_bounds_read_off_a_pattern(pattern: str, chars: int | None, width: int) -> None:
    bound = text_bound(pattern)
    assert (bound.chars, bound.char_bytes) == (chars, width)


@given(st.data())
def test_a_pattern_s_bound_holds_for_what_matches_it(data: st.DataObject) -> None:
    pattern = data.draw(
        st.sampled_from(["^[a-z0-9-]{1,5}$", r"^[^\x00-\x1f]{0,3}$", r"^[\x00-\x09]{0,2}$", "^[à-ü]?#$"])
    )
    text = data.draw(st.from_regex(pattern, fullmatch=True)).removesuffix("\n")
    bound = text_bound(pattern)
    assert bound.chars is not None
    assert len(orjson.dumps(text)) <= 2 + bound.chars * bound.char_bytes


def test_lists_get_advice_and_keyed_objects_do_not() -> None:
    assert "/properties/f" in advice(holder({"type": "array", "maxItems": 9, "items": TEXT}))[0]
    assert advice(holder({"type": "array", "maxItems": 2, "items": {**KEYED, "additionalProperties": TEXT}}))
    assert advice(holder({"type": "array", "maxItems": 8, "items": TEXT})) == []
    assert advice(holder({**KEYED, "additionalProperties": TEXT})) == []
