"""Every canonical transition survives the way to a vendor's form and back; each form is one its vendor takes."""

from __future__ import annotations

import copy

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.base import JsonObject
from contracts.dialects import DialectError, DialectName, compile_dialect, transition_schema
from contracts.explain import Checker
from contracts.lint_strict import lint_claude, lint_strict
from contracts.state import BUILTIN, StateSchema
from tests.contracts.schemas import STATE_SCHEMAS, patches
from tests.contracts.tools import ACTIONS, BATCHES, CALLS, CODING, KINDS, SLOW, TEXT, closed, dialect, field

MERGE_EXAMPLE: JsonObject = {
    "state_patch": {
        "current_change": {"note": "parse.py: old branch removed; next dump.py"},
        "notes": {"parse": "done", "dump": "uses compat.text"},
        "view": {"parse": None, "dump": {"path": "src/dump.py", "from": 1, "to": 120}},
    },
    "action": {
        "tool": "batch",
        "args": {
            "actions": [
                {
                    "tool": "edit_files",
                    "args": {
                        "edits": [
                            {"op": "replace", "path": "a.py", "old": "import x\n", "new": "", "count": 1},
                            {"op": "write", "path": "b.py", "content": "..."},
                        ]
                    },
                },
                {"tool": "run", "args": {"command": "test_file", "params": {"path": "tests/test_a.py"}}},
            ]
        },
    },
}
STRICT_PATCH = [
    {
        "op": "set",
        "path": "/current_change/note",
        "keys": [],
        "value": "parse.py: old branch removed; next dump.py",
    },
    {"op": "set", "path": "/notes/*", "keys": ["dump"], "value": "uses compat.text"},
    {"op": "set", "path": "/notes/*", "keys": ["parse"], "value": "done"},
    {
        "op": "set",
        "path": "/view/*",
        "keys": ["dump"],
        "value": {"path": "src/dump.py", "from": 1, "to": 120},
    },
    {"op": "remove", "path": "/view/*", "keys": ["parse"]},
]


@SLOW
@given(st.data(), STATE_SCHEMAS, CALLS | BATCHES, st.booleans())
def test_encode_then_decode_is_the_identity(
    data: st.DataObject, schema: JsonObject, action: JsonObject, reasoning: bool
) -> None:
    state = StateSchema(schema)
    transition = {"state_patch": data.draw(patches(schema)), "action": action}
    before = copy.deepcopy(transition)
    assert Checker(transition_schema(state, ACTIONS)).errors(transition) == []
    for kind in KINDS:
        made = dialect(kind, state, reasoning=reasoning)
        encoded = made.encode(transition)
        assert Checker(made.schema).errors(encoded) == []
        assert made.decode(encoded) == transition
        assert made.decode(orjson.loads(orjson.dumps(encoded))) == transition
    assert transition == before


@SLOW
@given(STATE_SCHEMAS)
def test_no_generated_schema_is_refused_by_its_vendor(schema: JsonObject) -> None:
    state = StateSchema(schema)
    assert [fault for fault in lint_strict(dialect("strict", state).schema) if "first key" not in fault] == []
    assert lint_claude(dialect("merge", state).schema) == []


@pytest.mark.parametrize("name", BUILTIN)
@pytest.mark.parametrize("reasoning", [False, True])
def test_the_built_in_schemas_pass_both_vendors(name: str, reasoning: bool) -> None:
    state = StateSchema.builtin(name)
    assert lint_strict(dialect("strict", state, reasoning=reasoning).schema) == []
    assert lint_claude(dialect("merge", state, reasoning=reasoning).schema) == []


def test_the_canonical_form_is_the_merge_dialect() -> None:
    made = dialect("merge")
    assert made.schema == transition_schema(CODING, ACTIONS)
    assert made.encode(MERGE_EXAMPLE) == MERGE_EXAMPLE == made.decode(MERGE_EXAMPLE)
    text = orjson.dumps(made.schema).decode()
    assert all(word not in text for word in ("oneOf", "$schema", "$ref", '"x-', '"default"'))


def test_the_strict_form_is_a_sorted_list_of_typed_operations() -> None:
    made = dialect("strict")
    encoded = made.encode(MERGE_EXAMPLE)
    assert encoded["state_patch"] == STRICT_PATCH
    parts = encoded["action"]["args"]["actions"]
    assert parts[1]["args"]["params"] == [{"name": "path", "value": "tests/test_a.py"}]
    assert parts[0]["args"]["edits"] == MERGE_EXAMPLE["action"]["args"]["actions"][0]["args"]["edits"]
    assert made.decode(encoded) == MERGE_EXAMPLE
    assert made.decode({**encoded, "state_patch": encoded["state_patch"][::-1]}) == MERGE_EXAMPLE


def test_each_path_stands_in_one_branch_and_the_branches_are_sorted() -> None:
    items = dialect("strict").schema["properties"]["state_patch"]["items"]["anyOf"]
    sets = [one["properties"] for one in items if one["properties"]["op"]["enum"] == ["set"]]
    paths = [path for one in sets for path in one["path"]["enum"]]
    assert len(paths) == len(set(paths))
    assert all(one["path"]["enum"] == sorted(one["path"]["enum"]) for one in sets)
    firsts = [one["path"]["enum"][0] for one in sets]
    assert firsts == sorted(firsts)
    assert ["/open_questions/*", "/runtime_evidence/*"] in [one["path"]["enum"] for one in sets]
    removal = items[-1]["properties"]
    assert removal["op"]["enum"] == ["remove"] and "value" not in removal
    assert "/notes" not in removal["path"]["enum"] and "/notes/*" in removal["path"]["enum"]


def test_locked_fields_are_absent_and_their_holders_cannot_be_removed() -> None:
    mine = {**TEXT, "maxLength": 9, "x-owner": "user"}
    keyed = {
        "type": "object",
        "maxProperties": 3,
        "propertyNames": {"maxLength": 5},
        "additionalProperties": TEXT,
    }
    state = StateSchema(
        closed(
            {
                "goal": mine,
                "box": closed({"mine": mine, "free": TEXT}),
                "log": {**keyed, "x-change-policy": "append-only"},
                "mixed": {**keyed, "properties": {"mine": mine}},
            }
        )
    )
    merge_form = Checker(dialect("merge", state).schema)

    def allowed(patch: JsonObject) -> bool:
        return merge_form.ok({"state_patch": patch, "action": {"tool": "finish", "args": {"summary": ""}}})

    assert allowed({"box": {"free": "x"}, "log": {"a": "x"}, "mixed": {"k": None}})
    for patch in (
        {"goal": "x"},
        {"goal": None},
        {"box": None},
        {"box": {"mine": "x"}},
        {"log": None},
        {"log": {"a": None}},
        {"mixed": {"mine": "x"}},
        {"mixed": None},
    ):
        assert not allowed(patch), patch
    strict = dialect("strict", state)
    text = orjson.dumps(strict.schema["properties"]["state_patch"]).decode()
    assert "goal" not in text and "mine" not in text
    for op, says in (
        ({"op": "set", "path": "/goal", "keys": [], "value": "x"}, "none of the paths"),
        ({"op": "remove", "path": "/box", "keys": []}, "cannot be removed"),
        ({"op": "remove", "path": "/log/*", "keys": ["a"]}, "cannot be removed"),
        ({"op": "set", "path": "/mixed/*", "keys": ["mine"], "value": "x"}, "a field of its own"),
    ):
        with pytest.raises(DialectError, match=says):
            strict.decode({"state_patch": [op], "action": {}})
    with pytest.raises(DialectError, match="may not be written"):
        strict.encode({"state_patch": {"goal": "x"}, "action": {}})


def test_what_is_not_of_the_dialect_stays_for_the_gate_to_name() -> None:
    for kind, patch in (("merge", {}), ("strict", [])):
        made = compile_dialect(kind, CODING, ACTIONS)  # type: ignore[arg-type]
        reply = {
            "state_patch": patch,
            "action": {"tool": "rm", "args": {"x": None}},
            "extra": 1,
            "reasoning": "r",
        }
        assert made.decode(reply) == {**reply, "state_patch": {}}
        assert made.decode({"action": 5}) == {"action": 5}
        for other in (None, [], "text", 3):
            with pytest.raises(DialectError, match="one JSON object"):
                made.decode(other)


def test_a_faulty_argument_is_still_brought_to_canonical_form() -> None:
    params = [{"name": "path", "value": "x" * 300}]  # longer than the canonical schema allows
    reply = {"state_patch": [], "action": {"tool": "run", "args": {"command": "nope", "params": params}}}
    decoded = dialect("strict").decode(reply)
    assert decoded["action"]["args"] == {"command": "nope", "params": {"path": "x" * 300}}
    assert Checker(transition_schema(CODING, ACTIONS)).errors(decoded)


@pytest.mark.parametrize("kind", KINDS)
def test_reasoning_comes_first_and_is_dropped(kind: DialectName) -> None:
    made = dialect(kind, reasoning=True)
    assert next(iter(made.schema["properties"])) == "reasoning"
    assert made.schema["required"][0] == "reasoning"
    encoded = made.encode(MERGE_EXAMPLE)
    assert next(iter(encoded)) == "reasoning"
    assert made.decode({**encoded, "reasoning": "because " * 100}) == MERGE_EXAMPLE
    assert "reasoning" not in dialect(kind).schema["properties"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_action_may_be_a_text_with_a_grammar(kind: DialectName) -> None:
    warehouse = StateSchema.builtin("warehouse")
    made = compile_dialect(kind, warehouse, (), action_pattern="^(Ship|Move) [a-z0-9_]+ [a-z0-9_]+$")
    transition = {"state_patch": {"inventory": {"shelf_42": None}}, "action": "Ship item_12 shelf_42"}
    assert made.decode(made.encode(transition)) == transition
    assert Checker(made.schema).errors(made.encode(transition)) == []
    assert Checker(made.schema).errors({**made.encode(transition), "action": "Burn it"})
    assert (lint_claude if kind == "merge" else lint_strict)(made.schema) == []


def test_without_any_action_there_is_no_dialect() -> None:
    with pytest.raises(ValueError, match="no actions"):
        compile_dialect("merge", CODING, ())


def test_a_state_that_the_agent_may_not_write_takes_the_empty_patch_only() -> None:
    state = field({**TEXT, "maxLength": 3, "x-owner": "user"})
    for kind in KINDS:
        made = dialect(kind, state)
        transition = {"state_patch": {}, "action": {"tool": "list_files", "args": {}}}
        assert made.decode(made.encode(transition)) == transition
        assert Checker(made.schema).errors(made.encode(transition)) == []
    assert lint_strict(dialect("strict", state).schema) == []


def test_length_limits_reach_the_model_in_words_where_the_vendor_has_no_keyword() -> None:
    text = orjson.dumps(dialect("strict").schema).decode()
    assert "maxLength" not in text and "at most 200 characters" in text
