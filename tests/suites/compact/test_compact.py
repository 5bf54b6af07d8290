"""`scripts/test compact`: what the layout `compact` shows is enough, and all that a step does works with it.

The engine's own tests run once more with it: edits, rejections and corrections, views, notes, approvals, changes of the
intent, the three commit modes, what changed outside. Then whole tasks by agents that get the prompt alone, two of
them on real repositories.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controller.test_example import tidy as tidy
from tests.scenarios.repositories import REPOSITORIES, Upkeep
from tests.scenarios.scenario import Scenario
from tests.surfaces.shell import ROOT, Shell

ENGINE = (
    "step",
    "queue",
    "changes",
    "views",
    "tell",
    "modes",
    "recall",
    "what_changed",
    "drift",
    "finish",
    "replay",
)


@pytest.mark.parametrize("name", ENGINE)
def test_the_engine_s_tests_hold_in_this_layout(name: str) -> None:
    file = Path("tests/controller") / f"test_{name}.py"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        cwd=ROOT,
        env={**os.environ, "SKILL_STATE_TEST_LAYOUT": "compact"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-8000:]


def test_a_task_is_carried_through_by_an_agent_that_gets_these_prompts_alone(tidy: Shell) -> None:
    task = tidy.repo / "task.yaml"
    task.write_text(f"{task.read_text()}\nlayout: compact\n")
    ran = tidy("run", "--json")
    assert ran.code == 0 and ran.lines[-1]["outcome"] == "completed", ran.err
    for step in (1, 3):
        assert tidy("prompt", str(step)).out.startswith("[skill]\n")


def test_a_dependency_is_removed_from_a_real_repository(tmp_path: Path) -> None:
    scenario = Scenario("drop-six", tmp_path)
    task = scenario.root / "task.yaml"
    task.write_text(f"{task.read_text().rstrip()}\nlayout: compact\n")
    call = scenario.controller("run", "--json")
    assert (call.code, call.outcome) == (0, "completed"), call.err
    where = ("src", "setup.cfg", "requirements-dev.txt")
    assert scenario.hits("main", r"\bsix\b", *where) and not scenario.hits(
        scenario.branch, r"\bsix\b", *where
    )
    prompts = [path.read_text() for path in scenario.prompts.glob("*.prompt")]
    assert len(prompts) == call.lines[-1]["step"] and all(each.startswith("[skill]\n") for each in prompts)


def test_views_are_enough_for_a_task_of_many_items(tmp_path: Path) -> None:
    upkeep = Upkeep(REPOSITORIES["path-browserify"], tmp_path)
    task = upkeep.root / "task.yaml"
    task.write_text(json.dumps(json.loads(task.read_text()) | {"layout": "compact"}))
    call = upkeep.controller("run", "--json")
    assert (call.code, call.outcome) == (0, "completed"), call.err[-3000:]
    assert len(upkeep.items()) < call.lines[-1]["step"] < 1.3 * len(upkeep.items())
