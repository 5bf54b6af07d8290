"""A schedule of thirty jobs, each on a machine that keeps nothing: a fresh clone and an empty home, a step a job, two
jobs at once at every fifth tick, a person who pushes and one who answers from elsewhere. Only the remote persists."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.suites.scheduled.barrier import Barrier
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

    def job(self, name: str) -> tuple[Shell, subprocess.Popen[str]]:
        shell = self.fresh(name)
        # As a checkout in CI leaves it: another token each time.
        shell.git("config", "http.https://forge.example/.extraheader", f"AUTHORIZATION: basic {name}")
        return shell, shell.start("run", "--steps", "1", "--json")

    def pair(self, one: str, other: str) -> tuple[tuple[int, str], tuple[int, str], bool]:
        """Two jobs, the second all the while that the first has the lease; whether it took one at all."""
        barrier = Barrier(self.bare, "greet")
        with barrier.up():
            first = self.job(one)
            while not barrier.holds and first[1].poll() is None:
                time.sleep(0.05)
            met, before = barrier.holds, len(self.launches)
            if not met:
                barrier.lift()
            second = ended(self.job(other))
            assert len(self.launches) == before, "the second launches nothing"
        return ended(first), second, met


def ended(job: tuple[Shell, subprocess.Popen[str]]) -> tuple[int, str]:
    """(exit code, what was printed); its machine is gone."""
    shell, process = job
    out, err = process.communicate(timeout=300)
    shutil.rmtree(shell.repo.parent)
    return process.returncode, out + err


def test_thirty_jobs_that_keep_nothing(tmp_path: Path) -> None:
    schedule, runs, met, asked = Schedule(tmp_path), set[str](), list[bool](), False
    for tick in range(1, TICKS + 1):
        before, name = len(schedule.launches), f"t{tick:02}"
        if tick % 5:
            told = ended(schedule.job(name))
        else:
            told, other, at_once = schedule.pair(name, f"{name}b")
            met.append(at_once)
            assert other[0] == (7 if at_once else 0), other
        code = told[0]
        assert code in (0, 5, 6) and len(schedule.launches) - before <= 1, told
        if tick == 11:
            schedule.by_hand(f"src/f{ITEMS - 1}.txt", "hello, please\n")
        if code == 5:
            asked = True
            ana = schedule.fresh(f"ana{tick}")
            (entry,) = ana("approvals", "--json").one["queue"]
            assert ana("answer", entry["id"], "yes, the last one, too").code == 0
        runs.add(schedule.fresh(f"look{tick}")("status", "--json").one["run"])
    last = schedule.fresh("last")
    status = last("status", "--json").one
    assert status["state"] == "completed" and len(runs) == 1, "no job began from nothing"
    # Two at once were two at once, as long as there was work: nobody needs the lease of a finished run.
    assert asked and met == [True] * (len(met) - 1) + [met[-1]] and len(met) == TICKS // 5
    verified: Any = last("log", "--verify", "--json").one
    assert verified["holds"] and verified["run"] in runs
    subjects = schedule.subjects()
    assert len(subjects) == len(set(subjects)) == ITEMS and "by hand" in subjects
    assert schedule.git("grep", "-c", "please", f"{REFS}/work", "--", "src").count(":1\n") == ITEMS
    assert len(schedule.launches) == status["launches"]
