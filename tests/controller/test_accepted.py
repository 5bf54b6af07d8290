"""A guard that was red before anything was changed and that the task accepts so: it must not get worse in any way, and
is never called green."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from tests.controller.test_step import WORK, go
from tests.controller.world import FILES, TASK, World, edit, finish

TESTS = """\
import unittest
class T(unittest.TestCase):
    def test_a(self): self.assertIn("A", open("src/t.txt").read())
    def test_b(self): self.assertIn("B", open("src/t.txt").read())
    def test_c(self): self.assertIn("C", open("src/t.txt").read())
unittest.main()
"""
LINT = 'awk \'/BAD/ {print FILENAME ":" NR ":1: E100 " $0; n++} END {exit n > 0}\' src/t.txt\n'
MORE = "  - {name: more, role: guard, run: RUN, baseline: accept}\n"
RUNS = {
    "tests": "[python3, t.py]",
    "lint": "[sh, lint.sh]",
    "plain": "'grep -c A src/t.txt; exit 1'",
}


def made(folder: Path, run: str, text: str) -> World:
    task = TASK + MORE.replace("RUN", RUNS[run])
    return World(folder, task=task, files=FILES | {"t.py": TESTS, "lint.sh": LINT, "src/t.txt": text})


@pytest.mark.parametrize(
    ("run", "text", "better", "worse"),
    [
        ("tests", "B C\n", "B C D\n", "A C\n"),  # A is mended and B broken: as many fail as before
        ("tests", "B C\n", "A B C\n", "C\n"),
        ("lint", "BAD one\n", "fine\nBAD one\n", "BAD two\n"),  # a complaint that moved is no new one
        ("plain", "A\n", "A A\n", "B\n"),  # what can't be counted must say the same
    ],
)
def test_it_may_stay_as_red_as_it_was_but_no_redder(
    tmp_path: Path, run: str, text: str, better: str, worse: str
) -> None:
    world = made(tmp_path / "r", run, text)
    end = go(world, [*WORK, edit("src/t.txt", text.strip(), worse.strip()), finish()], limit=4)
    assert (
        end.outcome is None
        and "finish.red" in str(end.record.correction)
        and "more is red" in str(end.record.correction)
    )
    end = go(world, [edit("src/t.txt", worse.strip(), better.strip()), finish()])
    assert end.outcome is Outcome.completed
    state = end.record.checks["more"]
    assert state.passed and not state.baseline
    if better != "A B C\n":
        assert state.why.startswith("no worse than at the start")
        assert "more (guard): red, no worse, read at step" not in world.prompts[0], (
            "it was red in the step before"
        )
