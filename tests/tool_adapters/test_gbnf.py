"""A grammar made of a schema: every text that it accepts fits the schema, has no whitespace of its own, and ends."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contracts.actions import ActionSpec
from contracts.commands import Command, Param
from contracts.dialects import compile_dialect
from contracts.grammar import specs
from contracts.state import BUILTIN, StateSchema
from contracts.task import DEFAULT_ACTIONS
from tests.tool_adapters.agent_world import DIALECTS
from tests.tool_adapters.gbnf_reader import Grammar
from tool_adapters.agents.gbnf import grammar
from tool_adapters.agents.gbnf_text import CannotBound
from tool_adapters.agents.json_reply import only_object

COMMANDS = {
    "test": Command(run=["pytest", "{file}"], params={"file": Param(pattern=r"tests/[a-z_/]+\.py")}),
    "lint": Command(run=["ruff", "{what}"], params={"what": Param(enum=["src", "tests"])}),
    "all": Command(run="make"),
}


def holds(schema: Any, seed: int, longest: int = 50) -> list[Any]:
    """Twenty values that the grammar of `schema` accepts, each held against it."""
    accepted, chance = Grammar(grammar(schema, longest=longest)), random.Random(seed)
    values = []
    for _ in range(20):
        text = accepted.say(chance)
        value = json.loads(text)
        problems = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
        assert not problems, (text, problems)
        assert json.dumps(value, separators=(",", ":"), ensure_ascii=False) == text, (
            "whitespace, or another spelling"
        )
        values.append(value)
    return values


@pytest.mark.parametrize("state", BUILTIN)
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 1_000_000))
def test_the_real_schemas(state: str, seed: int) -> None:
    allowed: tuple[ActionSpec, ...] = specs(DEFAULT_ACTIONS, COMMANDS)
    dialect = compile_dialect("merge", StateSchema.builtin(state), allowed, reasoning=True)
    for value in holds(dialect.schema, seed):
        assert list(value) == ["reasoning", "state_patch", "action"]
        assert only_object(json.dumps(value))[1] is None, "no key twice"
    holds(DIALECTS["merge"].schema, seed)


TEXT = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={"minLength": st.integers(0, 5), "maxLength": st.integers(5, 60)},
)
LEAF = st.one_of(
    TEXT,
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"const": 'a"\\ü\n'},
            {"enum": ["x", 1, None, "\\"]},
            {"type": "integer", "minimum": 1, "maximum": 9_999_999},
            {"type": "integer", "minimum": -3, "maximum": 7},
            {"type": "integer", "minimum": -5000},
            {"type": "number", "maximum": 12},
            {"type": ["string", "null"], "maxLength": 9},
            {"type": "string", "pattern": r"^[A-Za-z0-9._-]{1,24}$"},
            {"type": "string", "pattern": r"^(?:tests/[a-z_/]+\.py|src)$", "maxLength": 30},
            {"type": "string", "pattern": r'^[^/"]+(/\w{2,4}){0,3}\d?$', "maxLength": 40},
            {"type": "string", "pattern": r"^[\t\n\r -\U0010ffff]*$", "maxLength": 12, "minLength": 1},
        ]
    ),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)
    fields = names.flatmap(
        lambda keys: (
            st.tuples(st.fixed_dictionaries(dict.fromkeys(keys, inner)), st.sets(st.sampled_from(keys)))
            if keys
            else st.just(({}, set()))
        )
    )
    return st.one_of(
        fields.map(
            lambda both: {
                "type": "object",
                "properties": both[0],
                "required": sorted(both[1]),
                "additionalProperties": False,
            }
        ),
        st.builds(lambda one: {"type": "object", "additionalProperties": one, "maxProperties": 3}, inner),
        st.builds(
            lambda one, low, more: {"type": "array", "items": one, "minItems": low, "maxItems": low + more},
            inner,
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda ways: {"anyOf": ways}),
    )


@settings(deadline=None, max_examples=60)
@given(schema=st.recursive(LEAF, nested, max_leaves=8), seed=st.integers(0, 1000))
def test_any_schema(schema: Any, seed: int) -> None:
    holds(schema, seed)


def test_all_optional_keys_can_stand_and_be_left_out() -> None:
    names = "abcd"
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in names},
        "required": ["b"],
        "additionalProperties": False,
    }
    made = {tuple(value) for seed in range(40) for value in holds(schema, seed)}
    assert len(made) == 8 and all("b" in keys for keys in made)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, "no type"),
        ({"type": "array"}, "/items: any value"),
        ({"type": "object", "additionalProperties": True}, "any value"),
        ({"type": "string", "pattern": "x"}, "not anchored"),
        ({"type": "string", "pattern": "^(?=a)b$"}, "assert in a pattern"),
        ({"type": "string", "pattern": r"^(a)\1$"}, "groupref in a pattern"),
        ({"type": "string", "minLength": 99}, "minLength 99"),
        ({"type": "object", "properties": {"a": {"type": "string", "not": {"const": "x"}}}}, "/a: not"),
        ({"type": "integer", "multipleOf": 3}, "multipleOf"),
        ({"type": "integer", "minimum": 11, "maximum": 998}, "numbers between 11 and 998"),
    ],
)
def test_what_can_not_be_said_is_named_with_its_place(schema: Any, said: str) -> None:
    with pytest.raises(CannotBound, match=re.escape(said)):
        grammar(schema, longest=50)


def test_the_reader_is_no_yes_man() -> None:
    """The control: a grammar that allows too much is seen."""
    loose = Grammar(grammar({"type": "string", "maxLength": 30}, longest=50))
    chance = random.Random(1)
    said = [json.loads(loose.say(chance)) for _ in range(50)]
    assert any(len(each) > 3 for each in said) and any(char in '\n\t"\\' for each in said for char in each)
