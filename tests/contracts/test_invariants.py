"""Invariants: each kind holds and breaks where it should, names itself, and takes any JSON without raising."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.base import JsonObject
from contracts.merge import merge
from contracts.schema_refs import BadSchema
from contracts.state import StateSchema
from tests.contracts.test_state import TEXT, keyed, state

ITEM = state({"status": {"enum": ["todo", "doing", "done"]}, "id": TEXT, "of": TEXT})
FIELDS: JsonObject = {
    "items": keyed(ITEM, default={}),
    "tried": keyed(state({"result": {"enum": ["yes", "no"]}}), default={}),
    "names": {"type": "array", "maxItems": 4, "items": TEXT, "default": []},
    "count": {"type": "integer", "minimum": 0, "maximum": 99},
    "done": {"type": "boolean", "default": False},
}


def schema(**kind: Any) -> StateSchema:
    more = {"name": "rule", "say": "do it so", **kind}
    return StateSchema(state(FIELDS, **{"x-invariants": [more]}))


def broken(law: StateSchema, after: JsonObject, before: JsonObject | None = None) -> list[str]:
    return [str(one) for one in law.broken(before, merge(law.initial(), after))]  # type: ignore[arg-type]


def test_a_condition_holds_of_the_whole_state() -> None:
    wants = {"properties": {"count": {"minimum": 1}}, "required": ["count"]}
    law = schema(holds={"if": {"properties": {"done": {"const": True}}}, "then": wants})
    assert broken(law, {}) == [] == broken(law, {"done": True, "count": 1})
    assert broken(law, {"done": True}) == ["do it so"] == broken(law, {"done": True, "count": 0})


def test_values_are_unique_over_paths_keys_and_lists() -> None:
    law = schema(unique=["/items/*/id", "/tried/#", "/names"])
    assert (
        broken(law, {"items": {"a": {"id": "x"}, "b": {"id": "y"}}, "tried": {"z": {}}, "names": ["a", "b"]})
        == []
    )
    assert broken(law, {"items": {"a": {"id": "x"}, "b": {"id": "x"}}}) == [
        "do it so (/items/a/id and /items/b/id are the same)"
    ]
    assert broken(law, {"items": {"a": {"id": "t"}}, "tried": {"t": {}}})
    assert broken(law, {"names": ["n", "n"]}) == ["do it so (/names/0 and /names/1 are the same)"]


def test_references_resolve_to_keys_or_values() -> None:
    law = schema(refers="/items/*/of", to="/items/#")
    assert broken(law, {"items": {"a": {}, "b": {"of": "a"}}}) == []
    assert broken(law, {"items": {"b": {"of": "a"}}}) == [
        "do it so (/items/b/of names 'a', which is not in /items/#)"
    ]
    law = schema(refers="/names", to="/items/*/id")
    assert broken(law, {"items": {"a": {"id": "x"}}, "names": ["x"]}) == []
    assert broken(law, {"items": {"a": {"id": "x"}}, "names": ["x", "a"]})


def test_what_is_referred_to_may_have_to_be_of_a_kind() -> None:
    yes = {"properties": {"result": {"const": "yes"}}, "required": ["result"]}
    law = schema(refers="/items/*/of", to="/tried/#", **{"with": yes})
    assert broken(law, {"items": {"a": {"of": "t"}}, "tried": {"t": {"result": "yes"}}}) == []
    for tried in ({"result": "no"}, {}):
        said = broken(law, {"items": {"a": {"of": "t"}}, "tried": {"t": tried}})
        assert said == ["do it so (/items/a/of names 't', which is not such a one)"]


def test_a_number_or_a_place_in_an_enum_only_grows() -> None:
    law = schema(monotone="/items/*/status")
    before = {"items": {"a": {"status": "doing"}, "b": {"status": "done"}}}
    assert broken(law, {"items": {"a": {"status": "done"}, "c": {"status": "todo"}}}, before) == []
    assert broken(law, {"items": {"a": {"status": "todo"}}}, before) == [
        "do it so (/items/a/status was doing and would be todo)"
    ]
    law = schema(monotone="/count")
    assert (
        broken(law, {"count": 3}, {"count": 3}) == [] == broken(law, {"count": 0}, {}) == broken(law, {}, {})
    )
    assert broken(law, {"count": 2}, {"count": 3}) and broken(law, {}, {"count": 3}) == [
        "do it so (/count is gone)"
    ]


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"a": 1}, "list of at most 32"),
        ([{"name": "a", "say": "b"}] * 33, "list of at most 32"),
        (["a"], "/x-invariants/0: must be an object"),
        ([{"name": "No Name", "say": "b", "unique": "/names"}], "/x-invariants/0: name is 'No Name'"),
        ([{"name": "secret", "say": "b", "unique": "/names"}], "name is 'secret'"),
        ([{"name": "a", "say": " ", "unique": "/names"}], "tells the agent what to do"),
        ([{"name": "a", "say": "b"}], "exactly one of holds, unique, refers, monotone is needed, not none"),
        ([{"name": "a", "say": "b", "unique": "/names", "holds": {}}], "not holds, unique"),
        ([{"name": "a", "say": "b", "unique": "/names", "to": "/names"}], "unknown key to"),
        ([{"name": "a", "say": "b", "unique": []}], "1 to 8 paths"),
        ([{"name": "a", "say": "b", "unique": "names"}], "no path such as"),
        ([{"name": "a", "say": "b", "unique": "/name"}], "/name names nothing in this schema"),
        ([{"name": "a", "say": "b", "unique": "/names/#"}], "/names/# names nothing"),
        ([{"name": "a", "say": "b", "unique": "/items/#/id"}], "names nothing"),
        ([{"name": "a", "say": "b", "refers": "/names"}], "to: None is no path"),
        ([{"name": "a", "say": "b", "refers": "/names", "to": "/items/*/id", "with": {"type": "object"}}], "end `to`"),
        ([{"name": "a", "say": "b", "monotone": "/names"}], "neither a number nor an enum"),
        ([{"name": "a", "say": "b", "monotone": "/items/#"}], "neither a number nor an enum"),
        ([{"name": "a", "say": "b", "holds": {}}], "must be a JSON Schema"),
        ([{"name": "a", "say": "b", "holds": {"type": "banana"}}], "holds/type"),
        ([{"name": "a", "say": "b", "holds": {"$ref": "https://example.org/x"}}], "is not local"),
        ([{"name": "a", "say": "b", "holds": {"$ref": "#"}}], "recursive"),
        ([{"name": "a", "say": "b", "holds": {"enum": ["x" * 5000]}}], "larger than 4,096"),
        ([{"name": "a", "say": "b", "unique": "/names"}] * 2, "/x-invariants/1: there is an invariant 'a' already"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_used_is_refused_with_its_place(declared: Any, problem: str) -> None:
    with pytest.raises(BadSchema, match=problem):
        StateSchema(state(FIELDS, **{"x-invariants": declared}))


def test_the_state_at_the_beginning_has_to_satisfy_them() -> None:
    law = schema(holds={"required": ["count"]})
    with pytest.raises(BadSchema, match="the state at the beginning breaks rule: do it so"):
        law.initial()


def test_they_stand_at_the_root_only() -> None:
    with pytest.raises(BadSchema, match="/a: unknown keyword x-invariants"):
        StateSchema(state({"a": {**TEXT, "x-invariants": []}}))


def test_an_edit_of_them_is_for_a_person_to_confirm() -> None:
    one, other = schema(unique="/names"), schema(unique="/tried/#")
    assert one.governance() != other.governance() == schema(unique="/tried/#").governance()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["items", "of", "id", "*", "a"]), inner)
    ),
    max_leaves=12,
)
ALL = [
    {"name": "one", "say": "s", "unique": ["/items/*/id", "/tried/#", "/names"]},
    {"name": "two", "say": "s", "refers": "/items/*/of", "to": "/tried/#", "with": {"required": ["result"]}},
    {"name": "three", "say": "s", "monotone": "/items/*/status"},
    {"name": "four", "say": "s", "monotone": "/count"},
    {"name": "five", "say": "s", "holds": {"properties": {"names": {"contains": {"const": "x"}}}}},
]
LAW = StateSchema(state(FIELDS, **{"x-invariants": ALL}))
STATES = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON))


@given(STATES, STATES)
@settings(max_examples=300, deadline=None)
def test_they_never_raise_and_always_say_the_same(before: JsonObject, after: JsonObject) -> None:
    assert LAW.broken(before, after) == LAW.broken(before, after)


# ---- the schemas that are shipped -------------------------------------------------------------------------
CTF = StateSchema.builtin("ctf")
SHOWN = {"value": "port 80", "source": "step:2", "step": 3}


def ctf(**patch: Any) -> list[str]:
    after = merge(CTF.initial(), patch)
    assert CTF.errors(after) == []
    return [one.name for one in CTF.broken(CTF.initial(), after)]  # type: ignore[arg-type]


def test_a_hypothesis_becomes_a_fact_only_with_evidence() -> None:
    assert ctf(facts={"web": SHOWN}) == []
    assert ctf(facts={"web": {**SHOWN, "from": "h"}}) == ["tested_before_known"]
    assert ctf(facts={"h": SHOWN}, hypotheses={"h": "a web server"}) == ["not_known_untested"]
    for result in ("refuted", "unclear"):
        tried = {"h": {"result": result, "evidence": "curl"}}
        assert ctf(facts={"web": {**SHOWN, "from": "h"}}, tried=tried) == ["tested_before_known"]
    tried = {"h": {"result": "confirmed", "evidence": "curl answers"}}
    assert ctf(facts={"web": {**SHOWN, "from": "h"}}, tried=tried) == []
    assert ctf(hypotheses={"h": "still open"}, tried=tried) == ["moved_when_tested"]
    for name, wrong in [
        ("tried", {"result": "confirmed"}),
        ("tried", {"result": "confirmed", "evidence": ""}),
    ]:
        assert CTF.errors(merge(CTF.initial(), {name: {"h": wrong}}))
    assert CTF.errors(merge(CTF.initial(), {"facts": {"f": {"value": "no source"}}}))


def test_a_tested_hypothesis_of_a_coding_task_has_result_and_evidence() -> None:
    law = StateSchema.builtin("coding")
    good = {"result": "refuted", "evidence": "test_tz still fails"}
    assert law.errors(merge(law.initial(), {"tested_hypotheses": {"tz": good}})) == []
    for name in good:
        assert law.errors(merge(law.initial(), {"tested_hypotheses": {"tz": {**good, name: None}}}))
    assert law.errors(merge(law.initial(), {"tested_hypotheses": {"tz": {**good, "evidence": ""}}}))
