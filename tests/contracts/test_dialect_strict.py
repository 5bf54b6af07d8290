"""The strict dialect beside its round trip: what it refuses, how unions are told apart, and that no reply breaks it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.actions import ActionSpec
from contracts.base import JsonObject, canonical
from contracts.codec import codec
from contracts.dialects import DialectError, compile_dialect, transition_schema
from contracts.explain import Checker
from contracts.lint_strict import lint_strict
from contracts.schema_refs import BadSchema
from contracts.state import StateSchema
from tests.contracts.tools import ACTIONS, CODING, KINDS, SLOW, TEXT, closed, dialect, field

WHOLE = {"op": "set", "path": "/view/*", "keys": ["a"], "value": {"path": "p", "from": 1, "to": 2}}


@pytest.mark.parametrize(
    ("ops", "says"),
    [
        ([WHOLE, WHOLE], "already writes this place"),
        ({}, "must be a list"),
        (["x"], "set or remove"),
        ([{"op": "add", "path": "/notes/*", "keys": ["a"], "value": "x"}], "set or remove"),
        ([{"op": "set", "path": "/notes/*", "keys": ["a"]}], "exactly keys, op, path, value"),
        ([{"op": "remove", "path": "/notes/*", "keys": ["a"], "value": "x"}], "exactly keys, op, path"),
        ([{"op": "set", "path": "/nowhere", "keys": [], "value": "x"}], "none of the paths"),
        ([{"op": "set", "path": ["/notes"], "keys": [], "value": "x"}], "none of the paths"),
        ([{"op": "set", "path": "/", "keys": [], "value": {}}], "none of the paths"),
        ([{"op": "set", "path": "/notes/*", "keys": [], "value": "x"}], "takes 1 keys"),
        ([{"op": "set", "path": "/next_action", "keys": ["a"], "value": "x"}], "takes 0 keys"),
        ([{"op": "set", "path": "/notes/*", "keys": [1], "value": "x"}], "list of strings"),
        ([{"op": "set", "path": "/notes/*", "keys": ["a"], "value": None}], "cannot be set to null"),
        ([{"op": "remove", "path": "/next_action", "keys": []}], "cannot be removed"),
        ([{"op": "set", "path": "/notes/*", "keys": ["a"], "value": "x"}] * 2, "already writes this place"),
        (
            [
                {"op": "remove", "path": "/view/*", "keys": ["a"]},
                {"op": "set", "path": "/view/*/from", "keys": ["a"], "value": 3},
            ],
            "already writes what holds this place",
        ),
        (
            [
                {"op": "set", "path": "/view/*/from", "keys": ["a"], "value": 3},
                {"op": "remove", "path": "/view/*", "keys": ["a"]},
            ],
            "already writes this place",
        ),
    ],
)
def test_operations_that_say_nothing_clear_are_refused(ops: Any, says: str) -> None:
    with pytest.raises(DialectError, match=says) as caught:
        dialect("strict").decode({"state_patch": ops, "action": {"tool": "finish", "args": {"summary": ""}}})
    assert caught.value.messages[0].startswith("/state_patch")


def test_a_name_that_stands_twice_is_refused() -> None:
    pairs = [{"name": "path", "value": "a"}, {"name": "path", "value": "b"}]
    reply = {"state_patch": [], "action": {"tool": "run", "args": {"command": "lint", "params": pairs}}}
    with pytest.raises(DialectError, match="stands twice"):
        dialect("strict").decode(reply)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"type": "object", "properties": {}}, "additionalProperties to false"),
        (closed({"any": {}}), "free value"),
        (closed({"any": {"type": "object", "additionalProperties": True}}), "additionalProperties to false"),
        (closed({"pair": {"type": "array", "prefixItems": [TEXT]}}), "prefixItems"),
        (closed({"maybe": {"type": ["string", "null"]}}), "optional and nullable"),
        (closed({"odd": {"enum": [[1]]}}), "only scalars"),
        (
            closed({"mix": {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}}),
            "named and free keys",
        ),
    ],
)
def test_arguments_that_strict_mode_cannot_express_are_refused_by_name(args: JsonObject, says: str) -> None:
    with pytest.raises(BadSchema, match=says):
        compile_dialect("strict", CODING, [ActionSpec("odd", args, "")])


def test_a_union_without_tags_decodes_to_the_branch_whose_canonical_form_holds() -> None:
    short = closed({"a": {"type": "string", "maxLength": 2}, "b": {"type": "integer"}}, "a")
    other = closed({"a": TEXT, "b": {"type": "integer"}}, "a")
    made = codec({"anyOf": [short, other]}, ())
    for value in ({"a": "xy"}, {"a": "longer"}, {"a": "x", "b": 1}):
        assert made.decode(made.encode(value)) == value
    pairs = {"type": "array", "items": closed({"name": TEXT, "value": TEXT}, "name", "value")}
    keyed = {"type": "object", "propertyNames": {"maxLength": 1}, "additionalProperties": TEXT}
    made = codec({"anyOf": [closed({"x": keyed}, "x"), closed({"x": pairs}, "x")]}, ())
    for value in ({"x": {"k": "v"}}, {"x": [{"name": "long", "value": "v"}]}):
        assert made.decode(made.encode(value)) == value


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(
        ["set", "remove", "/notes/*", "/view/*", "/view/*/from", "run", "edit_files", "batch", "k", ""]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["op", "path", "keys", "value", "tool", "args", "edits", "params", "actions", "name"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)
JUNK_OPS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["set", "remove"]),
            "path": st.sampled_from(
                ["/notes/*", "/notes", "/view/*", "/view/*/from", "/current_change/note"]
            ),
            "keys": st.lists(st.sampled_from("ab"), max_size=1),
        },
        optional={"value": JUNK},
    ),
    max_size=3,
)


@SLOW
@given(
    JUNK_OPS | JUNK, JUNK | st.fixed_dictionaries({"tool": st.sampled_from(["run", "batch"]), "args": JUNK})
)
def test_no_reply_whatever_breaks_the_decoder(ops: Any, action: Any) -> None:
    made = dialect("strict")
    try:
        decoded = made.decode({"state_patch": ops, "action": action})
    except DialectError as error:
        assert 1 <= len(error.messages) <= 5
    else:
        assert isinstance(decoded["state_patch"], dict)


def carry(state: StateSchema, patch: JsonObject) -> list[JsonObject]:
    """The operations of a patch, after the proof that they come back as that patch."""
    made = dialect("strict", state)
    transition = {"state_patch": patch, "action": {"tool": "list_files", "args": {}}}
    encoded = made.encode(transition)
    assert Checker(made.schema).errors(encoded) == []
    assert canonical(made.decode(encoded)) == canonical(transition)
    assert Checker(transition_schema(state, ACTIONS)).errors(transition) == []
    ops: list[JsonObject] = encoded["state_patch"]
    return ops


def test_a_field_called_star_is_not_any_key() -> None:
    mixed = {"type": "object", "properties": {"*": {"type": "integer"}}, "additionalProperties": TEXT}
    ops = carry(field(mixed), {"f": {"*": 1, "a": "x"}})
    assert [op["path"] for op in ops] == ["/f/*", "/f/~2"]


def test_unions_written_as_one_of_and_nullable_types_are_taken() -> None:
    entry = closed(
        {"a": {"type": ["string", "null"], "maxLength": 3}, "b": {"oneOf": [TEXT, {"type": "integer"}]}}
    )
    keyed = {"type": "object", "additionalProperties": entry}
    state = field(keyed)
    assert carry(state, {"f": {"k": {"a": "x"}}})[0]["path"] == "/f/*/a"
    assert carry(state, {"f": {"k": {"a": None, "b": 3}}})[0] == {
        "op": "remove",
        "path": "/f/*/a",
        "keys": ["k"],
    }
    assert "oneOf" not in orjson.dumps(transition_schema(state, ACTIONS)).decode()
    flat = {
        "type": "object",
        "additionalProperties": closed({"a": {"type": ["string", "null"]}, "b": TEXT}, "b"),
    }
    whole = carry(field(flat), {"f": {"k": {"a": "x", "b": "y"}, "l": {"b": "z"}}})
    assert [op["value"] for op in whole] == [{"a": "x", "b": "y"}, {"a": None, "b": "z"}]
    assert [op["op"] for op in carry(field(flat), {"f": {"k": {"a": None, "b": "y"}}})] == ["remove", "set"]


def test_the_tag_of_a_union_comes_first_wherever_it_was_written() -> None:
    branches = [closed({"x": TEXT, "op": {"const": op}}, "x", "op") for op in ("a", "b")]
    args = closed({"one": {"anyOf": branches}}, "one")
    made = compile_dialect("strict", CODING, [ActionSpec("odd", args, "")])
    assert lint_strict(made.schema) == []
    args = closed({"one": {"oneOf": branches}}, "one")
    for kind in KINDS:
        made = compile_dialect(kind, CODING, [ActionSpec("odd", args, "")])
        assert "oneOf" not in orjson.dumps(made.schema).decode()


def test_true_and_one_are_different_values_of_a_union() -> None:
    state = field({"anyOf": [{"const": 1}, {"const": True}, closed({"x": {"type": "boolean"}})]})
    made = dialect("strict", state)
    for value in (1, True, {}, {"x": False}):
        transition = {"state_patch": {"f": value}, "action": {"tool": "list_files", "args": {}}}
        encoded = made.encode(transition)
        assert Checker(made.schema).errors(encoded) == []
        assert orjson.dumps(made.decode(encoded)) == orjson.dumps(transition)
