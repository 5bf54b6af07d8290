"""A value of the state in few words: it reads back as what it was, on one line, and is never longer than JSON."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.text import size
from contracts.words import unworded, worded

TEXTS = (
    st.sampled_from(["true", "null", "3", "1e5", "a=b", "a b", "", "NaN", "item_3", "[state]", "é"])
    | st.text()
)
PLAIN = (
    TEXTS | st.integers(-(2**53), 2**53) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    PLAIN, lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXTS, each, max_size=4), max_leaves=8
)


@given(VALUES.filter(lambda value: "\x7f" not in str(value)))
def test_it_reads_back_as_what_it_was(value: Any) -> None:
    try:
        plain = orjson.dumps(value)
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        return
    told = worded(value)
    assert "\n" not in told and size(told) <= len(plain)
    if "?" not in told:  # what is not safe to show is shown by a stand-in, as in the other layouts
        assert unworded(told) == value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"shelf_3": "item_29", "n": 2, "ok": True}, "shelf_3=item_29 n=2 ok=true"),
        ({}, "{}"),
        ("", '""'),
        ({"n": "2"}, '{"n":"2"}'),
        ({"n": "null"}, '{"n":"null"}'),
        ({"a": "two words"}, '{"a":"two words"}'),
        ({"a": {"b": "c"}}, '{"a":{"b":"c"}}'),
        ("a=b", '"a=b"'),
    ],
)
def test_what_could_be_taken_for_something_else_stays_json(value: Any, told: str) -> None:
    assert worded(value) == told and unworded(told) == value
