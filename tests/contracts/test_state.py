"""The state schema: what it refuses at load, what it says about a value, who may change what."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from contracts.base import JsonObject
from contracts.bounds import advice, check_bounded, worst_case_bytes
from contracts.explain import Checker
from contracts.merge import merge
from contracts.schema_refs import BadSchema
from contracts.state import BUILTIN, StateSchema

TEXT: JsonObject = {"type": "string", "maxLength": 9}


def keyed(entry: Any, **more: Any) -> JsonObject:
    return {
        "type": "object",
        "maxProperties": 3,
        "propertyNames": {"maxLength": 5},
        "additionalProperties": entry,
        **more,
    }


def state(properties: JsonObject, *required: str, **more: Any) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


GOVERNED = StateSchema(
    state(
        {
            "goal": {**TEXT, "x-owner": "user"},
            "version": {"type": "integer", "x-owner": "controller"},
            "rules": {**TEXT, "x-change-policy": "locked"},
            "ledger": keyed(state({"why": TEXT, "note": TEXT}, "why"), **{"x-change-policy": "append-only"}),
            "items": keyed(state({"status": TEXT, "by": {**TEXT, "x-owner": "user"}}, "status")),
            "box": state({"inner": {"$ref": "#/$defs/mine"}, "free": TEXT}),
            "notes": keyed(TEXT, **{"x-retention": "run", "x-ttl-steps": 5, "x-evict": "oldest"}),
            "frozen": state({"part": TEXT}, **{"x-change-policy": "locked"}),
            "outer": state({"log": keyed(TEXT, **{"x-change-policy": "append-only"})}),
            "either": {"anyOf": [TEXT, state({"lock": {**TEXT, "x-owner": "user"}, "ok": TEXT}, "ok")]},
        },
        "ledger",
        **{"$defs": {"mine": {**TEXT, "x-owner": "user"}}},
    )
)


@pytest.mark.parametrize("name", BUILTIN)
def test_the_built_in_schemas_are_bounded_small_and_start_valid(name: str) -> None:
    schema = StateSchema.builtin(name)
    assert check_bounded(schema.source) == []
    assert advice(schema.source) == []
    # At run time `limits.state` (16 KiB) holds; texts of nothing but emoji would not reach their length then.
    assert worst_case_bytes(schema.source) <= 24 * 1024
    assert schema.errors(schema.initial()) == []


def test_the_coding_schema_takes_a_full_state_in_several_scripts() -> None:
    schema = StateSchema.builtin("coding")
    view = {f"v{i}": {"path": "src/" + "ü" * 100, "from": 1, "to": 400} for i in range(6)}
    full = merge(
        schema.initial(),
        {
            "source_authority": "Git",
            "decision_ledger": {f"d{i}": "例" * 110 for i in range(10)},
            "notes": {f"n{i}": 'a "quoted" note → done\n' for i in range(10)},
            "current_change": {"note": "x", "files": ["a.py"] * 8},
            "view": view,
        },
    )
    assert schema.errors(full) == []
    assert len(orjson.dumps(full)) <= worst_case_bytes(schema.source)
    assert schema.errors(merge(full, {"notes": {"n10": "one too many"}}))
    assert schema.errors(merge(full, {"notes": {"n1": "\x1b[31m"}}))
    assert schema.errors(merge(full, {"notes": {"not an id": "x"}}))


def test_sixty_items_of_a_batch_fit_and_one_is_marked_in_a_few_bytes() -> None:
    schema = StateSchema.builtin("batch")
    items = {f"item-{i}": {"status": "todo"} for i in range(60)}
    full = merge(schema.initial(), {"items": items})
    patch = {"items": {"item-7": {"status": "done"}}}
    assert schema.errors(merge(full, patch)) == []
    assert len(orjson.dumps(patch)) < 45
    assert schema.errors(merge(full, {"items": {"item-7": {"status": "finished"}}}))


def test_an_unknown_built_in_names_those_there_are() -> None:
    with pytest.raises(BadSchema, match="warehouse"):
        StateSchema.builtin("../etc/passwd")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "array"}, "type: object"),
        ({"type": "object", "additionalProperties": False}, "with `properties`"),
        ({"type": "object", "properties": {}}, "closed"),
        (state({"a": {"type": "banana"}}), "banana"),
        (state({"a": {**TEXT, "pattern": "("}}), "pattern"),
        (state({"a": {"$ref": "#/$defs/no"}}), "no"),
        (state({"a": {**TEXT, "x-owners": "user"}}), "unknown keyword x-owners"),
        (state({"a": {**TEXT, "x-owner": "me"}}), "user, agent, controller"),
        (state({"a": {**TEXT, "x-change-policy": "never"}}), "append-only"),
        (state({"a": {**TEXT, "x-change-policy": "append-only"}}), "keyed collections"),
        (state({"a": {**TEXT, "x-ttl-steps": 0}}), "above 0"),
        (state({"a": {**TEXT, "x-ttl-steps": True}}), "above 0"),
        (state({"a": {**TEXT, "x-evict": 3}}), "must be a word"),
        (state({"a": {"type": ["object", "null"]}}), "anyOf"),
        (state({"a": keyed(TEXT, patternProperties={"^a": TEXT})}), "propertyNames"),
        (state({"a": {"$ref": "#/$defs/a", "maxLength": 3}}, **{"$defs": {"a": TEXT}}), "also stated there"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: JsonObject, problem: str) -> None:
    with pytest.raises(BadSchema, match=problem):
        StateSchema(schema)


@pytest.mark.parametrize(
    ("patch", "path", "says"),
    [
        ({"next_action": "x" * 300}, "/next_action", "300 characters long and at most 200"),
        ({"next_action": 7}, "/next_action", 'not of type "string" (given 7)'),
        ({"next_action": True}, "/next_action", "(given true)"),
        ({"next_action": None}, "/", "lacks the required key next_action"),
        ({"nxt": "x"}, "/", "unknown keys: nxt"),
        (
            {"view": {f"v{i}": {"path": "p", "from": 1, "to": 2} for i in range(7)}},
            "/view",
            "7 entries and at most 6",
        ),
        ({"view": {"v": {"path": "p", "from": 0, "to": 2}}}, "/view/v/from", "minimum of 1"),
        ({"view": {"a/b": {}}}, "/view", "key that is not allowed"),
        ({"current_change": {"files": ["f"] * 9}}, "/current_change/files", "9 items and at most 8"),
        ({"notes": {"a": "\ud800"}}, "/", "not valid JSON text"),
    ],
)
def test_a_fault_names_its_place_and_what_to_do(patch: JsonObject, path: str, says: str) -> None:
    schema = StateSchema.builtin("coding")
    faults = schema.errors(merge(schema.initial(), patch))
    assert any(fault.path == path and says in fault.message for fault in faults), [str(one) for one in faults]
    assert all(len(str(fault)) < 400 for fault in faults)


def test_at_most_five_faults_are_named() -> None:
    schema = StateSchema.builtin("warehouse")
    assert len(schema.errors({"inventory": {f"s{i}": i for i in range(20)}})) == 5


def test_a_union_is_explained_by_the_branch_that_was_meant() -> None:
    tools = Checker(
        {
            "anyOf": [
                state({"tool": {"const": "run"}, "n": {"type": "integer"}}, "tool", "n"),
                state({"tool": {"const": "ask"}, "q": TEXT}, "tool", "q"),
            ]
        }
    )
    assert [str(one) for one in tools.errors({"tool": "run", "n": "x"})] == [
        '/n: is not of type "integer" (given "x")'
    ]
    assert [str(one) for one in tools.errors({"tool": "rm"})] == ['/tool: is none of: run, ask (given "rm")']
    assert tools.errors({"tool": "ask", "q": "ok"}) == []
    assert tools.errors(5)


def test_the_fields_carry_their_governance() -> None:
    assert GOVERNED.fields[("goal",)].owner == "user"
    notes = GOVERNED.fields[("notes",)]
    assert (notes.retention, notes.ttl_steps, notes.evict, notes.locked) == ("run", 5, "oldest", False)
    assert ("box", "free") not in GOVERNED.fields
    assert GOVERNED.locked_paths() == (
        ("goal",),
        ("version",),
        ("rules",),
        ("items", "*", "by"),
        ("box", "inner"),
        ("frozen",),
        ("either", "lock"),
    )
    assert GOVERNED.append_only_paths() == (("ledger",), ("outer", "log"))
    assert GOVERNED.required_paths() == (
        ("ledger",),
        ("ledger", "*", "why"),
        ("items", "*", "status"),
        ("either", "ok"),
    )


@pytest.mark.parametrize(
    ("path", "locked", "refusal"),
    [
        (("goal",), True, "locked"),
        (("version",), True, "locked"),
        (("rules",), True, "locked"),
        (("ledger",), False, "required"),
        (("ledger", "d1"), False, "append-only"),
        (("ledger", "d1", "why"), False, "required"),
        (("ledger", "d1", "note"), False, None),
        (("items", "x"), True, "locked"),
        (("items", "x", "by"), True, "locked"),
        (("items", "x", "status"), False, "required"),
        (("items",), True, "locked"),
        (("box",), True, "locked"),
        (("box", "inner"), True, "locked"),
        (("box", "free"), False, None),
        (("notes",), False, None),
        (("notes", "goal"), False, None),
        (("either", "lock"), True, "locked"),
        (("either", "ok"), False, "required"),
        (("frozen", "part"), True, "locked"),
        (("outer",), False, "append-only"),
        (("outer", "log"), False, "append-only"),
        (("nowhere", "deep"), False, None),
        ((), True, "required"),
    ],
)
def test_who_may_write_and_delete(path: tuple[str, ...], locked: bool, refusal: str | None) -> None:
    assert GOVERNED.locks(path) is locked
    assert GOVERNED.refuses_removal(path) == refusal


def test_the_state_is_shown_in_schema_order() -> None:
    shown = GOVERNED.ordered({"notes": {}, "zz": 1, "goal": "g", "aa": 2, "ledger": {}})
    assert list(shown) == ["goal", "ledger", "notes", "aa", "zz"]


def test_the_initial_state_is_the_smallest_valid_one() -> None:
    schema = StateSchema(
        state(
            {
                "text": TEXT,
                "list": {"type": "array", "maxItems": 2, "items": TEXT},
                "map": keyed(TEXT),
                "count": {"type": "integer", "default": 3},
                "kind": {"const": "k"},
                "later": TEXT,
                "hinted": {**TEXT, "default": "h"},
                "box": state({"in": TEXT}, "in"),
            },
            *("text", "list", "map", "count", "kind", "box"),
        )
    )
    assert schema.initial() == {
        "text": "",
        "list": [],
        "map": {},
        "count": 3,
        "kind": "k",
        "hinted": "h",
        "box": {"in": ""},
    }


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ({"type": "integer"}, "/f"),
        ({**TEXT, "minLength": 1}, "/f"),
        ({"enum": ["a", "b"]}, "/f"),
        (state({"in": {"type": "boolean"}}, "in"), "/f/in"),
        (keyed(TEXT, minProperties=1), "/f"),
        ({**TEXT, "default": "far too long a text"}, "/f"),
    ],
)
def test_a_field_without_an_empty_value_must_have_a_default(field: JsonObject, place: str) -> None:
    with pytest.raises(BadSchema, match=f"{place}: .*default"):
        StateSchema(state({"f": field}, "f")).initial()
