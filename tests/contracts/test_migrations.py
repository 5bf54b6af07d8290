"""What a migration may do to a state, and what it may not; the way through versions; a field more."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.added_field import adding
from contracts.base import JsonObject, canonical
from contracts.bounds import check_bounded
from contracts.merge import difference, merge
from contracts.migrations import MAX_PLAIN, BadMigration, Migration, Op, expanded, migrated
from contracts.schema_refs import BadSchema
from contracts.state import StateSchema
from contracts.state_samples import samples
from contracts.versions import Chain, tried
from tests.controller.versions import FACT, ONE, TEXT, THREE, TO_THREE, TO_TWO, TWO, closed, keyed, schema

STATE: JsonObject = {
    "notes": {"a": "x", "b": "y", "c/d": "z"},
    "items": {"1": {"status": "todo", "note": "n"}, "2": {"status": "done"}},
    "list": ["p", "q"],
    "n": 1,
    "yes": True,
    "deep": {"x": {"k": {"v": 1}}, "y": {}},
}


def op(word: str, path: str, **more: Any) -> Op:
    if "origin" in more:
        more["from"] = more.pop("origin")
    return Op.model_validate({"op": word, "path": path, **more})


def test_what_the_standard_says_is_done() -> None:
    ops = [
        op("test", "/n", value=1),
        op("add", "/new", value={"k": [1]}),
        op("replace", "/n", value=2),
        op("remove", "/yes"),
        op("move", "/moved", origin="/notes/c~1d"),
        op("copy", "/items/3", origin="/items/1"),
        op("add", "/list/1", value="between"),
        op("add", "/list/-", value="last"),
        op("remove", "/list/0"),
    ]
    before = deepcopy(STATE)
    after = migrated(STATE, ops)
    assert before == STATE, "what is given stays as it is"
    assert after["new"] == {"k": [1]} and after["n"] == 2 and "yes" not in after
    assert after["moved"] == "z" and after["notes"] == {"a": "x", "b": "y"}
    assert after["items"]["3"] == {"status": "todo", "note": "n"}
    assert after["list"] == ["between", "q", "last"]


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (op("add", "/x/y", value=1), "nothing at /x that could hold it"),
        (op("add", "/n/y", value=1), "nothing at /n that could hold it"),
        (op("add", "/n", value=2), "something at /n already"),
        (op("copy", "/n", origin="/yes"), "something at /n already"),
        (op("replace", "/x", value=2), "nothing at /x"),
        (op("remove", "/x"), "nothing at /x"),
        (op("remove", "/list/2"), "nothing at /list/2"),
        (op("remove", "/list/-"), "nothing at /list/-"),
        (op("remove", "/list/00"), "nothing at /list/00"),
        (op("remove", "/list/-1"), "nothing at /list/-1"),
        (op("add", "/list/x", value=1), "no place in a list"),
        (op("add", "/list/9", value=1), "outside of list"),
        (op("move", "/y", origin="/x"), "nothing at /x"),
        (op("move", "/notes/a/b", origin="/notes"), "into itself"),
        (op("test", "/n", value=True), "another value"),
        (op("test", "/yes", value=1), "another value"),
        (op("replace", "/gone/*", value=1), "nothing is there"),
        (op("replace", "/n/*", value=1), "no map is there"),
    ],
)
def test_no_operation_does_what_its_words_do_not_say(one: Op, says: str) -> None:
    with pytest.raises(BadMigration, match=says):
        migrated(STATE, [one])


@pytest.mark.parametrize(
    "document",
    [
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a~2", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "add", "path": "/a", "value": None},
        {"op": "add", "path": "/a", "value": {"b": [None]}},
        {"op": "remove", "path": "/a", "value": 1},
        {"op": "move", "path": "/a"},
        {"op": "remove", "path": "/a", "from": "/b"},
        {"op": "move", "path": "/a/*", "from": "/b"},
        {"op": "move", "path": "/a/*/*", "from": "/b/*"},
        {"op": "increment", "path": "/a", "value": 1},
        {"op": "add", "path": 3, "value": 1},
        {"op": "remove", "path": "/a", "if_present": "yes"},
        {"op": "remove", "path": "/a", "when": 1},
    ],
)
def test_what_is_no_operation_is_refused_at_load(document: JsonObject) -> None:
    with pytest.raises(ValidationError):
        Op.model_validate_json(orjson.dumps(document))


def test_a_star_is_each_key_that_is_there() -> None:
    plain = list(expanded(op("move", "/new/*/text", origin="/notes/*"), STATE))
    assert [each["path"] for each in plain] == ["/new/a/text", "/new/b/text", "/new/c~1d/text"]
    assert [each["from"] for each in plain] == ["/notes/a", "/notes/b", "/notes/c~1d"]
    deep = list(expanded(op("replace", "/deep/*/*/v", value=2), STATE))
    assert [each["path"] for each in deep] == ["/deep/x/k/v"], "a map without entries stands for nothing"
    assert list(expanded(op("remove", "/items/*/note", if_present=True), STATE)) == [
        {"op": "remove", "path": "/items/1/note"}
    ]
    with pytest.raises(BadMigration, match="nothing at /items/2/note"):
        migrated(STATE, [op("remove", "/items/*/note")])
    for absent in ("/gone/*/x", "/gone", "/items/*/gone"):
        assert migrated(STATE, [op("remove", absent, if_present=True)]) == STATE


def test_a_key_that_is_a_star_is_a_key_like_any_other() -> None:
    held = {"map": {"*": 1, "a": 2}}
    assert migrated(held, [op("replace", "/map/*", value=3)]) == {"map": {"*": 3, "a": 3}}


def test_too_many_operations_and_too_large_a_state_are_refused() -> None:
    many = {"map": {str(key): {str(inner): 1 for inner in range(80)} for key in range(80)}}
    with pytest.raises(BadMigration, match=f"{MAX_PLAIN:,}"):
        migrated(many, [op("replace", "/map/*/*", value=2)])
    with pytest.raises(BadMigration, match="grows beyond"):
        doubled = [op("copy", f"/c{n + 1}", origin=f"/c{n}") for n in range(30)]
        migrated({"c0": {"text": "x" * 20_000}}, doubled)


PATHS = [
    "/notes",
    "/notes/*",
    "/notes/a",
    "/items/*/note",
    "/items/1",
    "/list/0",
    "/list/-",
    "/n",
    "/new",
    "/deep/*/k",
]


@st.composite
def operations(draw: st.DrawFn) -> list[Op]:
    made = []
    for _ in range(draw(st.integers(1, 6))):
        word = draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]))
        path = draw(st.sampled_from(PATHS))
        more: JsonObject = {"if_present": draw(st.booleans())}
        if word in ("move", "copy"):
            same = [each for each in PATHS if each.count("*") == path.count("*")]
            more["from"] = draw(st.sampled_from(same))
        elif word != "remove":
            more["value"] = draw(st.sampled_from([1, True, "t", [], {}, {"k": {}}]))
        made.append(Op.model_validate({"op": word, "path": path, **more}))
    return made


@given(operations())
def test_any_operations_end_in_a_state_or_in_a_refusal(ops: list[Op]) -> None:
    """And where they end in a state, the plain operations give the same one by the standard's own rules."""
    before = canonical(STATE)
    try:
        after = migrated(STATE, ops)
    except BadMigration:
        after = None
    assert canonical(STATE) == before
    if after is not None:
        now = deepcopy(STATE)
        for each in ops:
            now = jsonpatch.apply_patch(now, list(expanded(each, now)))
        assert canonical(now) == canonical(after)


@given(operations())
def test_a_patch_says_what_a_migration_did(ops: list[Op]) -> None:
    try:
        after = migrated(STATE, ops)
    except BadMigration:
        return
    assert canonical(merge(STATE, difference(STATE, after))) == canonical(after)


# ---- versions -----------------------------------------------------------------------------------------------
def migration(document: JsonObject, **more: Any) -> Migration:
    return Migration.model_validate_json(orjson.dumps({**document, **more}))


def chain(*migrations: Migration, schemas: tuple[JsonObject, ...] = (ONE, TWO, THREE)) -> Chain:
    known = {each["x-version"]: StateSchema(each) for each in schemas}
    return Chain(known[max(known)], known, {each.to: (f"{each.to:04d}", each) for each in migrations})


GOOD = (migration(TO_TWO), migration(TO_THREE))


def test_the_way_goes_over_each_version_and_back() -> None:
    found = chain(*GOOD)
    assert found.problems() == []
    assert [(leg.source, leg.to) for leg in found.way(1, 3)] == [(1, 2), (2, 3)]
    assert [(leg.source, leg.to, leg.forward) for leg in found.way(3, 1)] == [(3, 2, False), (2, 1, False)]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (chain(GOOD[1]), "no migration leads from version 1 to 2: the chain has a hole"),
        (chain(*GOOD, schemas=(ONE, THREE)), "the schema of version 2 is not kept"),
        (chain(migration(TO_TWO, forward=[]), GOOD[1]), "no state of version 2"),
        (chain(migration(TO_TWO, samples=[{"notes": 3}]), GOOD[1]), "sample 1 is no state of version 1"),
        (chain(GOOD[0], migration(TO_THREE, back=[])), "back, the result is no state of version 2"),
    ],
)
def test_what_is_wrong_with_a_chain_is_said(made: Chain, says: str) -> None:
    assert any(says in line for line in made.problems()), made.problems()


def test_only_states_made_from_the_schema_show_what_an_empty_one_hides() -> None:
    lossy = migration(
        TO_TWO,
        samples=[],
        back=[{"op": "remove", "path": "/facts"}, {"op": "add", "path": "/notes", "value": {}}],
    )
    old, new = StateSchema(ONE), StateSchema(TWO)
    assert any("made state" in line and "is not what it was" in line for line in tried(lossy, old, new))
    assert tried(lossy.model_copy(update={"lossy": "all facts"}), old, new) == []


def test_a_way_that_can_not_always_be_gone_back_is_said() -> None:
    wider = schema(2, {"notes": keyed(TEXT, most=12), "next_action": TEXT})
    same = migration({"from": 1, "to": 2, "why": "more", "forward": [], "back": []})
    narrow = schema(1, {"notes": keyed(TEXT, most=2), "next_action": TEXT})
    assert "no way back" in chain(same, schemas=(narrow, wider)).one_way()[0]
    assert chain(same, schemas=(wider | {"x-version": 1}, wider)).one_way() == []


@pytest.mark.parametrize(
    "wrong", [{"to": 3}, {"from": 0, "to": 1}, {"why": ""}, {"why": " "}, {"more": 1}, {"from": "1"}]
)
def test_what_is_no_migration_is_refused_at_load(wrong: JsonObject) -> None:
    with pytest.raises(ValidationError):
        migration(TO_TWO, **wrong)


def test_a_migration_is_written_as_it_is_read() -> None:
    assert migration(TO_TWO).document() == TO_TWO


# ---- a field more -------------------------------------------------------------------------------------------
ITEMS = schema(4, {"items": keyed(closed({"status": TEXT}, "status"))})


def test_a_field_more_is_a_version_more_and_can_be_taken_back() -> None:
    old = StateSchema(ITEMS)
    new, step = adding(old, ("items", "*", "owner"), TEXT, why="who does it")
    assert (new.version, step.source, step.to) == (5, 4, 5)
    assert check_bounded(new.source) == []
    state = {"items": {"a": {"status": "todo"}, "b": {"status": "done"}}}
    assert new.errors(state) == [], "it is optional"
    named = merge(state, {"items": {"a": {"owner": "ana"}}})
    assert old.errors(named) and not new.errors(named)
    assert migrated(named, step.back) == state and migrated(state, step.back) == state
    top, _ = adding(old, ("risks",), keyed(TEXT), why="what may go wrong")
    assert "risks" in top.plain["properties"] and "risks" not in top.plain["required"]
    assert "risks" not in old.plain["properties"], "the old schema is untouched"


@pytest.mark.parametrize(
    ("path", "node", "says"),
    [
        (("items",), TEXT, "is there already"),
        (("items", "*", "status"), TEXT, "is there already"),
        (("x",), {"type": "string"}, "no maxLength"),
        (("x",), {"type": "object"}, "open to any key"),
        (("x",), {}, "free value"),
        (("x",), {**TEXT, "x-owner": "user"}, "belongs to the agent"),
        (("x",), closed({"y": {**TEXT, "x-change-policy": "locked"}}), "belongs to the agent"),
        (("x",), {**TEXT, "x-nonsense": 1}, "unknown keyword"),
        (("x",), {"$ref": "#/$defs/a"}, "write its schema out"),
        (("x", "y"), TEXT, "no object with named fields"),
        (("items", "y"), TEXT, "no object with named fields"),
        (("a/b",), TEXT, "a field's name"),
        ((), TEXT, "a field's name"),
        (("x",), {"type": "string", "maxLength": 5000}, "at most 4,000 are allowed"),
        (("x",), {"type": "banana", "maxLength": 1}, "banana"),
    ],
)
def test_a_field_that_may_not_be_added_is_refused(path: tuple[str, ...], node: JsonObject, says: str) -> None:
    with pytest.raises(BadSchema, match=says):
        adding(StateSchema(ITEMS), path, node, why="because", most=4_000)


# ---- states made from a schema --------------------------------------------------------------------------------
def test_made_states_are_valid_different_and_fill_what_can_be_filled() -> None:
    kind = {"enum": ["a", "b"], "default": "a"}
    made = samples(StateSchema(schema(1, {"facts": keyed(FACT), "kind": kind})))
    assert len(made) >= 4 and {state["kind"] for state in made} == {"a", "b"}
    assert {len(state["facts"]) for state in made} >= {0, 1, 3}


def test_where_no_text_of_ours_fits_what_is_there_at_the_start_is_taken() -> None:
    strange = {"type": "string", "pattern": "^zz[0-9]{17}$"}
    there = {"s": {"t": "zz" + "1" * 17}}
    made = samples(StateSchema(schema(1, {"s": closed({"t": strange}, "t") | {"default": there["s"]}})))
    assert made in ([], [there])


def test_a_schema_with_a_secret_may_grow() -> None:
    text = {"type": "string", "maxLength": 60}
    old = StateSchema(
        {
            "type": "object",
            "properties": {"note": text, "token": {**text, "x-sensitivity": "secret"}},
            "additionalProperties": False,
        }
    )
    after, migration = adding(old, ("mood",), text, why="said by the user")
    assert "mood" in after.plain["properties"] and tried(migration, old, after) == []
