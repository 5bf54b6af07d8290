"""Who may go on with a task that another controller holds, and what becomes of that one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, action, finish
from tests.suites.crash.asleep import pair, stat
from tool_adapters.descendants import process_started
from tool_adapters.eviction import evict

linux = pytest.mark.skipif(sys.platform != "linux", reason="orphans are known by /proc")


@linux
def test_a_sleeper_is_ended_after_its_lease_and_never_before(tmp_path: Path) -> None:
    with pair(tmp_path, "sleep 1; echo $SKILL_STATE_KEY >> $HOME/effects #ship") as two:
        assert two.kept_out("early", "store swap staged: before begin 2") == (7, "T", [0], [])
        assert two.taken("locked", "store swap step: before commit 2") == ([0], -9, [])
        assert two.taken("effect", "child ship: started 1") == ([0], -9, [])
        assert two.woken("ref", "git update-ref: before 2") == ([0], 7, [])


TREE = """
import os, subprocess, time
quiet = {"stdout": subprocess.DEVNULL}
sleep = ["sleep", "600"]
a = subprocess.Popen(sleep, **quiet)
b = subprocess.Popen(sleep, start_new_session=True, **quiet)
c = subprocess.Popen(["setsid", "sh", "-c", "setsid sleep 600 & sleep 600"], **quiet)
while os.getsid(c.pid) == os.getsid(0): time.sleep(0.01)  # else it is still of our group
print(os.getpid(), a.pid, b.pid, c.pid, flush=True)
time.sleep(600)
"""


@linux
def test_exactly_one_process_and_what_it_started_is_ended() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        pids = [int(each) for each in owner.stdout.readline().split()]
        began = process_started(owner.pid)
        bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
        try:
            assert evict(owner.pid, f"{int(began) - 1}") == (), "the pid means another process now"
            assert all(stat(pid) not in ("", "Z") for pid in pids)
            os.kill(owner.pid, signal.SIGSTOP)
            ended = evict(owner.pid, began)
            assert owner.wait(10) == -9
            assert all(stat(pid) in ("", "Z") for pid in pids), "own sessions included"
            assert len(ended) >= 2 and bystander.poll() is None
        finally:
            owner.kill()
            bystander.kill()
            bystander.wait()


@linux
def test_orphans_of_a_dead_controller_are_known_by_their_environment() -> None:
    env = {**os.environ, "SKILL_STATE_CHILD_x": "999999:123"}
    others = {**os.environ, "SKILL_STATE_CHILD_x": "999999:1234"}
    orphan = subprocess.Popen(["sleep", "600"], env=env, start_new_session=True)
    other = subprocess.Popen(["sleep", "600"], env=others, start_new_session=True)
    try:
        time.sleep(0.05)
        assert evict(999999, "123") == (f"{orphan.pid}: sleep",)
        assert orphan.wait(10) == -15 and other.poll() is None
    finally:
        for each in (orphan, other):
            each.kill()
            each.wait()


def test_we_never_end_ourselves_or_our_parent() -> None:
    for pid in (0, 1, os.getpid(), os.getppid()):
        assert evict(pid, process_started(pid) if pid else "") == ()


def test_a_commit_of_a_commands_own_is_taken_back(tmp_path: Path) -> None:
    sneak = (
        '    sneak: {run: "echo x >> src/a.txt; git -c user.name=x -c user.email=x@x commit -qam sneak"}\n'
    )
    world = World(tmp_path / "r", task=TASK.replace("checks:\n", sneak + "checks:\n", 1))
    end = go(world, [action("run", {"command": "sneak"}), *WORK, finish()])
    assert end.outcome is Outcome.completed and "evidence.head_moved" in world.prompts[1]
    assert world.branch_log() == ["step 3: edit_files src/b.txt", "step 2: edit_files src/a.txt"]
    kept = world.git("for-each-ref", "--format=%(refname)", "refs/skill-state").split()
    assert len(kept) == 1, "what it had committed is kept"
