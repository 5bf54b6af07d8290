"""A check that also asks how much of the code its tests reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.outcomes import Outcome
from contracts.readings import CheckReading
from tests.controller.test_step import go
from tests.controller.world import FILES, TASK, World, action, edit, finish
from tests.reconcilers.test_command_and_check import check
from tests.tool_adapters.repositories import repository

ROWS = "printf 'LF:10\\nLH:%s\\n' {} > cov.info"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"src/m.py": "x\n"})


def read(root: Path, hit: int, **more: Any) -> CheckReading:
    return check(root, ROWS.format(hit), coverage="cov.info", **more)


def test_a_report_and_its_limit(root: Path) -> None:
    seen = read(root, 8, min_coverage=80)
    assert (seen.passed, seen.coverage, seen.why) == (True, 80.0, "exit 0; 80.0 % of the lines covered")
    seen = read(root, 7, min_coverage=70.5)
    assert (seen.passed, seen.why) == (False, "only 70.0 % of the lines are covered, 70.5 % are asked for")


def test_as_much_as_at_the_start(root: Path) -> None:
    assert read(root, 3).passed, "at the start there is no floor"
    assert read(root, 3, floor={"c.coverage": 300}).passed
    assert not read(root, 2, floor={"c.coverage": 300}).passed
    assert read(root, 2, floor={"c.coverage": 300}, min_coverage=10).passed, "what the task says wins"


def test_what_was_not_measured_is_red(root: Path) -> None:
    assert (
        check(root, "true", coverage="cov.info").why
        == "the coverage report cov.info was not written by this run"
    )
    (root / "cov.info").write_text("LF:1\nLH:1\n")
    assert not check(root, "true", coverage="cov.info").passed, "one that lay there is not of this run"
    assert "none of the forms" in check(root, "echo x > cov.info", coverage="cov.info").why
    assert "it printed no coverage" in check(root, "echo fine", min_coverage=1).why
    assert check(root, "echo 'TOTAL 10 2 80%'", min_coverage=80).passed
    assert not check(root, "echo 'TOTAL 10 2 80%'; exit 1", min_coverage=80).passed
    both = check(root, f"{ROWS.format(9)}; echo 'TOTAL 10 9 10%'", coverage="*.info", min_coverage=50)
    assert both.passed and both.coverage == 90.0, "the report is what counts"


def test_beside_a_junit_report(root: Path) -> None:
    junit = "echo '<testsuite><testcase name=\"a\"/></testsuite>' > out.xml"
    seen = check(root, f"{junit}; {ROWS.format(5)}", coverage="cov.info", report="out.xml", min_coverage=40)
    assert seen.passed and "1 passed" in seen.why and "50.0 %" in seen.why


def test_in_a_run_it_may_not_fall(tmp_path: Path) -> None:
    """The report is measured at the start; no edit may touch it, and it is no part of the work."""
    script = "n=$(grep -c . src/a.txt); printf 'LF:10\\nLH:%s\\n' \"$n\" > cov.info\n"
    text = TASK + "  - {name: reach, role: guard, run: [sh, reach.sh], coverage: cov.info}\n"
    world = World(tmp_path / "r", task=text, files=FILES | {"reach.sh": script})
    shorter = edit("src/a.txt", "one old\ntwo", "one new")
    end = go(world, [shorter, edit("src/b.txt", "old", "new"), finish()], limit=3)
    assert end.record.checks["reach"].baseline_coverage == 20.0
    assert "only 10.0 % of the lines are covered, 20 % are asked for" in end.record.correction.excerpt
    forged = action(
        "edit_files", {"edits": [{"op": "write", "path": "src/../cov.info", "content": "LF:1\nLH:1\n"}]}
    )
    go(world, [forged], limit=1)
    assert (
        go(world, [edit("src/a.txt", "one new\n", "one new\nthree\n"), finish()]).outcome is Outcome.completed
    )
    assert "cov.info" not in world.git("ls-tree", "--name-only", "skill-state/tidy")
