"""Ranges are followed: what survives of a view stays in it, what stood outside stays outside."""

from __future__ import annotations

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ranges import Hunk, follow, followed, hunks, numbered


def changes(old: list[str], new: list[str]) -> list[Hunk]:
    """What `diff -U0` says of two texts."""
    text = "\n".join(difflib.unified_diff(old, new, "a/f", "b/f", n=0, lineterm=""))
    return hunks(text.encode()).get("f", [])


LINES = [f"line {n}" for n in range(30)]
edits = st.lists(
    st.tuples(st.integers(0, 29), st.integers(0, 6), st.integers(0, 6)), max_size=4
)  # at, removed, added


@settings(max_examples=400, deadline=None)
@given(edits=edits, first=st.integers(1, 30), length=st.integers(0, 29))
def test_surviving_lines_keep_their_side(edits: list[tuple[int, int, int]], first: int, length: int) -> None:
    last = min(30, first + length)
    new = list(LINES)
    for turn, (at, removed, added) in enumerate(edits):
        new[at : at + removed] = [f"new {turn} {n}" for n in range(added)]
    begin, end = followed(first, last, changes(LINES, new))
    inside = set(new[begin - 1 : end])
    kept = [text for text in LINES[first - 1 : last] if text in new]
    assert set(kept) <= inside
    if kept:  # a view with nothing left shows what stands there now
        outside = set(LINES) - set(LINES[first - 1 : last])
        assert not outside & inside


def test_an_insertion_above_moves_and_inside_stretches() -> None:
    assert followed(10, 20, [(3, 0, 4, 5)]) == (15, 25)
    assert followed(10, 20, [(12, 0, 13, 5)]) == (10, 25)
    assert followed(10, 20, [(20, 0, 21, 5)]) == (10, 20), "what comes after the last line is not part of it"
    assert followed(10, 20, [(9, 0, 10, 5)]) == (15, 25), "what comes before the first line is not part of it"


def test_hunks_are_not_fooled_by_content() -> None:
    diff = (
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n--- a/evil\n+++ b/evil\n+@@ -9,9 +9,9 @@\n"
        b"@@ -5,2 +6,0 @@\n-a\n-b\n"
    )
    assert hunks(diff) == {"x": [(1, 1, 1, 2), (5, 2, 6, 0)]}


def test_a_file_with_spaces_and_one_that_is_new() -> None:
    diff = (
        b"--- a/two words\t\n+++ b/two words\t\n@@ -1 +1 @@\n-a\n+b\n"
        b"--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    )
    assert hunks(diff) == {"two words": [(1, 1, 1, 1)]}


def test_only_moved_views_are_patched() -> None:
    views = {"a": {"path": "x", "from": 10, "to": 20}, "b": {"path": "y", "from": 1, "to": 2}}
    assert follow(views, {"x": [(1, 0, 2, 3)]}) == {"a": {"from": 13, "to": 23}}


def test_numbered_lines_stop_at_the_room_and_say_where() -> None:
    rows, shown = numbered(["é" * 10] * 9, 2, 8, 60)
    assert rows == ["2|" + "é" * 10, "3|" + "é" * 10] and shown == 3
    assert numbered(["x" * 2000], 1, 1, 5000)[0][0].endswith("… (2,000 characters)")
