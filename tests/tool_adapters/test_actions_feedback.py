"""What `run` says beside the last run of the same command: real processes, real runners."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from contracts.actions import ActionResult
from contracts.readings import Printed
from tests.tool_adapters.worktree import Worktree, bytes_of, run
from tool_adapters.actions.batch import Batch
from tool_adapters.actions.run import Run

PY = sys.executable
PYTEST = [PY, "-m", "pytest", "-q", "-p", "no:cacheprovider", "t"]
COMMANDS: dict[str, Any] = {
    "tests": {"run": PYTEST},
    "report": {"run": [*PYTEST, "--junitxml=out/junit.xml", "--tb=no", "-qq"], "report": "out/*.xml"},
    "lint": {"run": ["cat", "lint.txt"]},
    "loud": {"run": [PY, "-c", "for i in range(300): print('row', i)"]},
    "wide": {"run": [PY, "-c", "for i in range(5000): print('row', i, 'w' * 90)"]},
}
TESTS = "".join(f"def test_{n}():\n    assert {n} not in BAD\n" for n in range(8))


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(tmp_path, {"a.py": "", "t/test_a.py": "BAD = {2, 3}\n" + TESTS})


def shown(result: ActionResult) -> str:
    return "\n".join(f"--- {block.title}\n{block.text}" for block in result.blocks)


class Again:
    """Runs commands one after the other, each with what the earlier ones printed, as the controller does."""

    def __init__(self, tree: Worktree) -> None:
        self.tree, self.step = tree, 0
        self.printed: dict[str, Printed] = {}

    def __call__(self, name: str) -> str:
        self.step += 1
        action = Run(self.tree.context(commands=COMMANDS))
        result = run(action, {"command": name}, step=self.step, printed=self.printed)
        (ran,) = result.ran
        assert ran.printed is not None and bytes_of(result) <= 16 * 1024
        self.printed[ran.id] = ran.printed
        return shown(result)


def test_what_changed_since_the_last_run(tree: Worktree) -> None:
    again = Again(tree)
    first = again("tests")
    assert "counts: 6 passed, 2 failed (pytest)\n" in first and "was" not in first
    tree.write("t/test_a.py", "BAD = {3, 5}\n" + TESTS)
    second = again("tests")
    assert "(was 6 passed, 2 failed: 1 no longer fail, 1 new)" in second
    assert "failed, and did not before:\n  t/test_a.py::test_5\nfailed before too: 1\n" in second
    tree.write("t/test_a.py", "BAD = {}\n" + TESTS)
    assert "counts: 8 passed (pytest) (was 6 passed, 2 failed: 2 no longer fail, 0 new)" in again("tests")


def test_the_same_again_is_short_and_not_blind(tree: Worktree) -> None:
    again = Again(tree)
    first, second, third = again("tests"), again("tests"), again("tests")
    assert "output unchanged since step 1 (times aside)" in second
    assert "since step 1" in third and "since" not in first
    for text in (second, third):
        assert "counts: 6 passed, 2 failed (pytest)" in text and "test_a.py::test_2" in text
        assert "first failure:\n" in text and "2 not in" in text
        assert "FAILED t/test_a.py" not in text and "artifact:" in text


def test_unknown_output_that_stays_the_same_keeps_its_last_lines(tree: Worktree) -> None:
    again = Again(tree)
    assert "row 260\n" in again("loud")
    second = again("loud")
    assert "unchanged since step 1" in second and "last 10 of 300 lines" in second
    assert "row 299" in second and "row 289\n" not in second


def test_linters_are_grouped_by_file(tree: Worktree) -> None:
    again = Again(tree)
    rows = [f"a.py:{n}:1: F401 `m{n}` imported but unused" for n in range(1, 30)]
    tree.write("lint.txt", "\n".join(rows))
    first = again("lint")
    assert "counts: 29 errors in 1 file\na.py: 29\n  1:1 F401 `m1` imported but unused\n" in first
    assert "last 10 of 29 lines" in first
    tree.write("lint.txt", "\n".join([*rows[:5], "b.py:3:1: E731 a lambda"]))
    second = again("lint")
    assert "counts: 6 errors in 2 files (was 29 errors in 1 file: 24 gone, 1 new)" in second
    assert "b.py: 1\n  new 3:1 E731 a lambda\na.py: 5" in second


def test_a_report_is_read_beside_the_output(tree: Worktree) -> None:
    again = Again(tree)
    first = again("report")
    assert "counts: 6 passed, 2 failed (JUnit XML)" in first and "t.test_a › test_2" in first
    tree.write("t/test_a.py", "BAD = {3}\n" + TESTS)
    assert "(was 6 passed, 2 failed: 1 no longer fail, 0 new)" in again("report")


def test_an_old_report_is_none_of_this_run(tree: Worktree) -> None:
    tree.write("out/old.xml", "<testsuite><testcase name='a'/></testsuite>")
    outside = tree.root.parent / "outside.xml"
    outside.write_text("<testsuite><testcase name='a'/></testsuite>")
    (tree.root / "out/link.xml").symlink_to(outside)
    tree.write("t/test_a.py", "import os\nos._exit(3)\n")
    text = Again(tree)("report")
    assert "the report out/*.xml was not written by this run" in text and "counts" not in text


def test_a_cut_says_where_to_read_on(tree: Worktree) -> None:
    result = run(Run(tree.context(commands=COMMANDS)), {"command": "wide"})
    block = result.blocks[-1]
    assert block.title.startswith("stdout, last 40 of 5,000 lines, 498,") and block.first == 4961
    assert block.artifact is not None
    line = tree.artifacts.get(block.artifact).split(b"\n")[block.first - 1].decode()
    assert block.text.split("\n")[0] == line


def test_a_run_in_a_batch_knows_its_last_run(tree: Worktree) -> None:
    batch = Batch(tree.context(commands=COMMANDS))
    args = {"actions": [{"tool": "run", "args": {"command": "tests"}}]}
    first = run(batch, args, step=4)
    (ran,) = first.ran
    assert ran.printed is not None
    second = run(batch, args, step=7, printed={ran.id: ran.printed})
    assert "output unchanged since step 4" in shown(second)
