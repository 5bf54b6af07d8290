"""What the next prompt says of a step: nothing that is no news, nothing twice, nothing that vanishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.controller.world import TASK, World, action, edit, finish


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "r")


def go(world: World, answers: Any = (), **options: Any) -> Any:
    async def story() -> Any:
        return await world.run(answers, **options)

    return anyio.run(story)


def test_reports_and_caches_cost_the_observation_nothing_or_one_line(tmp_path: Path) -> None:
    """A report is written for the controller each time: that it is not kept is no news. Caches are named by folder."""
    makes = """\
    test:
      run: "echo '<testsuite><testcase name=\\"a\\"/></testsuite>' > report.xml; mkdir -p src/__pycache__;
        for n in 1 2 3; do echo $n > src/__pycache__/m$n.pyc; done; echo x > stray"
      report: report.xml
checks:
"""
    world = World(tmp_path / "r", task=TASK.replace("checks:\n", makes, 1))
    go(world, [action("run", {"command": "test"}), edit("report.xml", "a", "b"), finish()], limit=3)
    observed = world.prompts[1].partition("=== OBSERVATION ===")[2]
    assert "1 passed (JUnit XML)" in observed and "report.xml" not in observed
    assert "4 changed files were put back" in observed and "stray: 'stray' is outside the scope" in observed
    assert "made by programs as they ran: src/__pycache__/ (3 files)" in observed and ".pyc" not in observed
    assert "policy, policy.path.report" in world.prompts[2] and "is a report" in world.prompts[2]


def test_a_red_finish_says_what_is_red_once(world: World) -> None:
    go(world, [finish(), finish()], limit=2)
    said = world.prompts[1].partition("=== CORRECTION ===")[2].partition("=== OBSERVATION")[0]
    rows = [row.strip() for row in said.split("\n") if row.strip()]
    assert "no-old is red" in said and len(rows) == len(set(rows))


def test_the_diff_of_a_step_shows_control_characters(world: World) -> None:
    go(world, [edit("src/a.txt", "one old", "one \x1b[1mnew\x0c"), finish()], limit=2)
    diff = world.prompts[1].partition("--- diff of this step")[2]
    assert " -one old" in diff and " +one ␛[1mnew␌" in diff
