"""RFC 7396: every example of appendix A, and that nothing given is ever changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.merge import depth, merge, nested, removed_paths, touched_paths

APPENDIX_A = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(("target", "patch", "result"), APPENDIX_A)
def test_rfc_7396_appendix_a(target: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy((target, patch))
    assert merge(target, patch) == result
    assert (target, patch) == before


def test_the_rfc_s_example_document() -> None:
    target = {
        "title": "Goodbye!",
        "author": {"givenName": "John", "familyName": "Doe"},
        "tags": ["example", "sample"],
        "content": "This will be unchanged",
    }
    patch = {
        "title": "Hello!",
        "phoneNumber": "+01-123-456-7890",
        "author": {"familyName": None},
        "tags": ["example"],
    }
    assert merge(target, patch) == {
        "title": "Hello!",
        "author": {"givenName": "John"},
        "tags": ["example"],
        "content": "This will be unchanged",
        "phoneNumber": "+01-123-456-7890",
    }


@given(JSON, JSON)
def test_merge_changes_neither_argument(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    merge(target, patch)
    assert (target, patch) == before


@given(JSON, JSON)
def test_a_patch_applied_twice_is_a_patch_applied_once(target: Any, patch: Any) -> None:
    once = merge(target, patch)
    assert merge(once, patch) == once


def test_unchanged_parts_are_shared_not_copied() -> None:
    kept = {"deep": [1, 2, 3]}
    assert merge({"kept": kept, "x": 1}, {"x": 2})["kept"] is kept  # type: ignore[index,call-overload]


def test_touched_and_removed_paths() -> None:
    patch = {"notes": {"tz": "done", "win": None}, "view": None, "empty": {}, "list": [{"a": None}]}
    assert touched_paths(patch) == (("notes", "tz"), ("notes", "win"), ("view",), ("empty",), ("list",))
    assert removed_paths(patch) == (("notes", "win"), ("view",))
    assert touched_paths({}) == ()


def test_a_nested_patch_says_one_thing() -> None:
    assert nested(("a", "b"), 1) == {"a": {"b": 1}} and nested(("a",), None) == {"a": None}
    assert merge({"a": {"b": 2, "c": 3}}, nested(("a", "b"), None)) == {"a": {"c": 3}}


def test_depth_counts_containers_and_survives_hostile_nesting() -> None:
    assert [depth(value) for value in (1, {}, [], {"a": [1]}, {"a": {"b": {}}, "c": 1})] == [0, 1, 1, 2, 3]
    hostile: Any = 0
    for _ in range(100_000):
        hostile = [hostile]
    assert depth(hostile) == 100_000
    while hostile:  # taken apart here, since the interpreter would do it recursively
        hostile = hostile[0]
