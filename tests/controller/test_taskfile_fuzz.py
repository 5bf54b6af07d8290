"""Whatever stands in task.yaml: a task, or a ConfigError with a place. Nothing else, and never a changed meaning."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.task import Task
from controller.taskfile import TaskFileError, effective, read_task
from controller.yamltree import parse
from tests.controller.test_taskfile import FULL, GOOD

SIGNS = (
    "\t",
    "\n",
    "  ",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    '"',
    "\\",
    "#",
    "?",
    ">",
    "%",
    "\ufeff",
    "\x85",
    "\u2028",
)
WORDS = ("&a", "*a", "!x ", "<<: ", "---\n", "no", "on", "1_0", "010", "~", "null", "true", ".nan", "1e9")
PIECES = st.sampled_from([*SIGNS, *WORDS])


def outcome(raw: bytes) -> Task | TaskFileError:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.yaml"
        path.write_bytes(raw)
        try:
            return read_task(path).task
        except TaskFileError as error:
            return error


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([GOOD, FULL]), st.lists(st.tuples(st.floats(0, 1), PIECES, st.integers(0, 6)), max_size=3)
)
def test_a_damaged_task_is_a_task_or_an_error_with_a_place(
    text: str, cuts: list[tuple[float, str, int]]
) -> None:
    for where, piece, gone in cuts:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + gone :]
    found = outcome(text.encode())
    if isinstance(found, TaskFileError):
        assert found.problems
        assert all(re.match(r"task\.yaml:[0-9]+:[0-9]+: ", line) for line in found.problems), found.problems
    else:
        assert outcome(json.dumps(effective(found)).encode()) == Task.model_validate(effective(found))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_an_error_with_a_place(raw: bytes) -> None:
    found = outcome(raw)
    assert isinstance(found, TaskFileError)
    assert found.where.startswith("task.yaml")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**16), 10**16)
    | st.text(st.characters(codec="utf-8"), max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_json_is_read_as_json(value: object) -> None:
    """JSON is YAML: what is written in quotes is read as it stands, whatever it looks like."""
    text = json.dumps(value, ensure_ascii=True)
    tree = parse(text)
    if r"\u0000" in text:
        assert {problem.message for _, problem in tree.problems} == {
            "the text holds a NUL or half of a character"
        }
    else:
        assert not tree.problems
        assert tree.data == value
        assert type(tree.data) is type(value)
