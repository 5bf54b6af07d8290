"""A schedule of thirty jobs, each on a machine that keeps nothing: a fresh clone and an empty home, a step a job, two
jobs at once at every fifth tick, a person who pushes and one who answers from elsewhere. Only the remote persists."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.runners import REFS, Runners
from tests.surfaces.shell import Shell

pytestmark = pytest.mark.scenario

TICKS, ITEMS = 30, 24
AGENT = Path(__file__).with_name("scheduled.py")
TASK = """\
version: 1
name: greet
goal: Every greeting is polite.
agent: {use: rules}
agents: {rules: {kind: command, run: [%s, -I, %s, %s]}}
workspace: {base: main, scope: ["src/**"]}
sandbox: {mode: none}
store: {use: git}
authorities:
  left: {use: command, run: [git, grep, -n, ^hello$, --, src], ok_exit: [0, 1], worklist: true}
checks:
  - {name: polite, role: goal, run: [git, grep, -q, ^hello$, --, src], pass_exit: [1]}
budgets: {steps: 60}
"""


class Schedule(Runners):
    """Jobs that are started, each on a machine of its own, and gone when they have ended."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for number in range(ITEMS):
            (self.seed.repo / f"src/f{number:02}.txt").write_text("hello\n")
        (self.seed.repo / "src/greeting.txt").unlink()
        self.seed.git("add", "-A")
        self.seed.git("commit", "-qm", "greetings")
        self.seed.git("push", "-q", "origin", "main")

    def task(self, shell: Shell) -> None:
        (shell.repo / "task.yaml").write_text(TASK % (sys.executable, AGENT, self.launched))

    def think(self, seconds: int) -> None:
        """How long an answer takes: so that two that are started together are at work together."""
        Path(f"{self.launched}.seconds").write_text(str(seconds))

    def job(self, name: str) -> tuple[Shell, subprocess.Popen[str]]:
        shell = self.fresh(name)
        # As a checkout in CI leaves it: another token each time.
        shell.git("config", "http.https://forge.example/.extraheader", f"AUTHORIZATION: basic {name}")
        return shell, shell.start("run", "--steps", "1", "--json")


def ended(jobs: list[tuple[Shell, subprocess.Popen[str]]]) -> list[tuple[int, str]]:
    """(exit code, what was printed) of each; their machines are gone."""
    told = []
    for shell, job in jobs:
        out, err = job.communicate(timeout=300)
        told.append((job.returncode, out + err))
        shutil.rmtree(shell.repo.parent)
    return told


def test_thirty_jobs_that_keep_nothing(tmp_path: Path) -> None:
    schedule, runs, busy, asked = Schedule(tmp_path), set[str](), 0, False
    for tick in range(1, TICKS + 1):
        names = [f"t{tick:02}", f"t{tick:02}b"][: 2 if tick % 5 == 0 else 1]
        before = len(schedule.launches)
        schedule.think(3 if len(names) > 1 else 0)
        told = ended([schedule.job(name) for name in names])
        codes = sorted(code for code, _ in told)
        busy += codes.count(7)
        assert set(codes) <= {0, 5, 6, 7} and codes[0] != 7, told
        assert len(schedule.launches) - before <= len(names) - codes.count(7), "who was busy launched nothing"
        if tick == 11:
            schedule.by_hand(f"src/f{ITEMS - 1}.txt", "hello, please\n")
        if 5 in codes:
            asked = True
            ana = schedule.fresh(f"ana{tick}")
            (entry,) = ana("approvals", "--json").one["queue"]
            assert ana("answer", entry["id"], "yes, the last one, too").code == 0
        runs.add(schedule.fresh(f"look{tick}")("status", "--json").one["run"])
    last = schedule.fresh("last")
    status = last("status", "--json").one
    assert status["state"] == "completed" and len(runs) == 1, "no job began from nothing"
    assert asked and busy >= TICKS // 5 - 1, "two at once were two at once"
    verified: Any = last("log", "--verify", "--json").one
    assert verified["holds"] and verified["run"] in runs
    subjects = schedule.subjects()
    assert len(subjects) == len(set(subjects)) == ITEMS and "by hand" in subjects
    assert schedule.git("grep", "-c", "please", f"{REFS}/work", "--", "src").count(":1\n") == ITEMS
    assert len(schedule.launches) == status["launches"]
