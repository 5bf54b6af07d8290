"""A run whose goal rests on a real Buildbot: red on the first push, green on the second."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from contracts.outcomes import Outcome
from tests.controller.test_step import WORK, go
from tests.controller.world import FILES, TASK, World, finish, git
from tests.suites.buildbot.master import Master

# Red while `old` is left anywhere. The task itself has no check of its own.
CHECK = "! grep -q old src/*\n"


def task(url: str) -> str:
    options = {"provider": "buildbot", "url": url, "required": ["check"], "poll": "200ms"}
    text = TASK.replace("authorities:\n", f"authorities:\n  remote: {{use: ci, options: {options}}}\n")
    return text.partition("checks:\n")[0] + "checks:\n  - {name: ci, role: goal, authority: remote}\n"


def until(world: World, answers: Any, wanted: Outcome | None, seconds: float = 60) -> Any:
    """Calls again while the run waits, as a schedule would."""
    ended = time.monotonic() + seconds
    end = go(world, answers, limit=len(answers) or None)
    while end.outcome is Outcome.waiting and time.monotonic() < ended:
        time.sleep(0.3)
        end = go(world, [], limit=1)
    assert end.outcome is wanted, end.record.halt
    return end


def test_a_real_master_fails_and_then_passes(tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    master = Master(tmp_path / "master", bare)
    world = World(tmp_path / "repo", task=task(master.url), files=FILES | {"check.sh": CHECK})
    world.git("remote", "add", "origin", str(bare))
    world.git("push", "-q", "origin", "main")
    with master:
        go(world, WORK[:1], limit=1)
        world.git("push", "-q", "origin", "skill-state/tidy")
        end = until(world, [finish()], None)
        assert "ci is red" in end.record.correction.say
        assert "check: failure, required" in end.record.correction.excerpt
        assert end.record.spent.launches == 2

        go(world, WORK[1:], limit=1)
        world.git("push", "-q", "origin", "skill-state/tidy")
        end = until(world, [finish()], Outcome.completed)
        assert end.record.checks["ci"].passed and end.record.spent.launches == 4
