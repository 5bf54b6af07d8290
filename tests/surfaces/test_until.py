"""How far one call goes: waits that end it or are slept through, deadlines, and calls that come too early."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from contracts.outcomes import Outcome
from controller.deadline import Deadline
from tests.controller.test_step import WORK, go
from tests.controller.world import World, finish
from tests.surfaces.shell import POLITE, READ, Shell
from tests.surfaces.test_progress import on_terminal

# What a CI says: `pending` as often as the file beside it has lines left, then success. Each reading leaves a line.
CI = """#!/bin/sh
here=$(dirname "$0")
echo read >> "$here/readings"
said=success
if [ "$(wc -l < "$here/readings")" -le "$(cat "$here/pending")" ]; then said=running; fi
echo "{\\"sha\\": \\"$SKILL_STATE_SHA\\", \\"pushed\\": true, \\"quiet\\": 9, \\"required\\": [\\"test\\"], \
\\"checks\\": [{\\"name\\": \\"test\\", \\"conclusion\\": \\"$said\\"}]}"
"""


def with_ci(shell: Shell, *, pending: int, poll: str) -> None:
    """The task also rests on a CI that decides at its reading `pending` + 1."""
    command = shell.home / "ci"
    command.write_text(CI)
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    (shell.home / "pending").write_text(f"{pending}\n")
    (shell.home / "readings").write_text("")
    shell.task(
        *POLITE,
        more="  - {name: ci, role: goal, authority: remote}",
        authorities=f"authorities: {{remote: {{use: ci, run: [{command}], "
        f"options: {{provider: command, poll: {poll}}}}}}}",
    )
    lines = (shell.repo / "task.yaml").read_text().splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("budgets:"))
    extra = next(line for line in lines if "name: ci" in line)
    lines.remove(extra)
    lines.insert(at, extra)
    (shell.repo / "task.yaml").write_text("\n".join(lines) + "\n")


def readings(shell: Shell) -> int:
    return len((shell.home / "readings").read_text().splitlines())


def test_a_wait_ends_the_job_and_a_call_that_comes_too_early_does_nothing(shell: Shell) -> None:
    with_ci(shell, pending=9999, poll="1h")
    shell.extra["CI"] = "true"
    ended = shell("run", "--json").lines[-1]
    assert (ended["outcome"], ended["exit"]) == ("waiting", 6) and ended["not_before"] > time.time() + 600
    seen, launches = readings(shell), ended["costs"]["launches"]

    # As on the next runner: the record is there, the worktree is not, and neither is the agent.
    shutil.rmtree(shell.repo / ".agent-runtime/work")
    (shell.home / "agent.py").unlink()
    for words in ([], ["--until", "waiting"], ["--deadline", "1h"]):
        early = shell("run", "--json", *words)
        assert early.code == 6 and early.lines[-1]["not_before"] == ended["not_before"]
        assert early.lines[-1]["costs"]["launches"] == launches
    assert readings(shell) == seen, "no authority was read"
    assert not (shell.repo / ".agent-runtime/work").exists(), "no worktree was made"


@pytest.mark.parametrize("words", [["--until", "blocked"], ["--until", "deadline", "--deadline", "1h"]])
def test_waits_are_slept_through_when_told_so(shell: Shell, words: list[str]) -> None:
    with_ci(shell, pending=9999, poll="200ms")
    shell.extra["CI"] = "true"
    assert shell("run", "--until", "waiting").code == 6
    (shell.home / "pending").write_text(f"{readings(shell) + 6}\n")  # more than a call makes before it waits
    before = readings(shell)
    ran = shell("run", "--json", *words)
    assert (ran.code, ran.lines[-1]["outcome"]) == (0, "completed"), ran.err
    assert readings(shell) > before + 6 and ran.lines[-1]["costs"]["launches"] == 3, "polled, not launched"
    assert "waiting " in ran.err


def test_a_wait_beyond_the_deadline_ends_the_call(shell: Shell) -> None:
    with_ci(shell, pending=9999, poll="2h")
    ended = shell("run", "--json", "--until", "deadline", "--deadline", "1h").lines[-1]
    assert ended["outcome"] == "waiting" and ended["cause"] == "finish"
    assert ended["not_before"] > time.time() + 3600


def test_a_wait_is_ended_by_a_stop(shell: Shell) -> None:
    with_ci(shell, pending=9999, poll="1h")
    process = shell.start("run", "--json", "--until", "blocked")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("waiting "):
            break
    assert shell("stop", "--why", "enough").code == 0
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "enough" in out.splitlines()[-1]
    assert shell("run", "--until", "waiting").code == 6, "the wish to stop was for that call"


def test_no_step_is_begun_that_would_not_end_in_time(tmp_path: Path) -> None:
    world = World(tmp_path / "repo")
    assert go(world, WORK, limit=1).record.step == 1
    deadline = Deadline.of("1h")
    deadline.took(7200.0)
    end = go(world, [], deadline=deadline)
    assert end.outcome is Outcome.waiting and end.halt is not None
    assert end.halt.not_before == deadline.at and "7200 s" in end.halt.say
    assert end.record.halt is None and end.record.step == 1, "the run itself does not wait"
    assert go(world, [*WORK[1:], finish()], deadline=Deadline.of("1h")).outcome is Outcome.completed


def test_a_step_is_expected_to_take_what_the_runs_steps_took(tmp_path: Path) -> None:
    world = World(tmp_path / "repo")
    record = go(world, WORK, limit=1).record
    slow = record.model_copy(update={"spent": record.spent.model_copy(update={"wall": 240.0, "launches": 2})})
    halt = Deadline.of("100s").reached(slow)
    assert halt is not None and "about 120 s" in halt.say
    assert Deadline.of("10m").reached(slow) is None
    assert Deadline.of("1s").reached(None) is None, "nothing is known of a first step"


def test_a_deadline_that_is_over(shell: Shell) -> None:
    shell.task(*POLITE)
    late = shell("run", "--json", "--deadline", "2020-01-01T00:00Z")
    assert (late.code, late.lines[-1]["outcome"]) == (6, "waiting") and "deadline" in late.err
    assert not (shell.repo / ".agent-runtime/work").exists(), "nothing was begun"
    assert shell("status").out.startswith("task greet: no run yet")
    shell.task(READ)
    assert shell("step").code == 0
    late = shell("run", "--json", "--deadline", "2020-01-01T00:00Z")
    assert late.code == 6 and late.lines[-1]["cause"] == "deadline" and late.lines[-1]["step"] == 1


def test_a_run_that_waits_for_a_person_or_is_done_opens_nothing(shell: Shell) -> None:
    shell.task("no JSON", budgets="budgets: {steps: 9, rejections: 1}")
    assert shell("run").code == 3
    shutil.rmtree(shell.repo / ".agent-runtime/work")
    assert shell("run").code == 3
    assert not (shell.repo / ".agent-runtime/work").exists()
    shell.task(READ, *POLITE, budgets="budgets: {steps: 9, rejections: 1}")
    assert shell("run", "--retry").code == 0, "a person's word opens it"
    shutil.rmtree(shell.repo / ".agent-runtime/work")
    assert shell("run").code == 0
    assert not (shell.repo / ".agent-runtime/work").exists()


def test_usage(shell: Shell) -> None:
    shell.task(*POLITE)
    assert "needs --deadline" in shell("run", "--until", "deadline").err
    said = shell("run", "--deadline", "soon")
    assert said.code == 2 and "a duration (50m" in said.err
    assert not (shell.repo / ".agent-runtime").exists()


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_how_a_deadline_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    now = at("2028-02-29T22:00:00Z")  # a leap day
    assert Deadline.of("90m", now).at == now + 5400
    assert Deadline.of("06:00Z", now).at == at("2028-03-01T06:00:00Z")
    assert Deadline.of("21:55Z", now).at == at("2028-02-29T21:55:00Z"), "just over, not tomorrow's"
    assert Deadline.of("00:30+02:00", now).at == at("2028-02-29T22:30:00Z")
    assert Deadline.of("2028-03-01T00:00+01:00", now).at == at("2028-02-29T23:00:00Z")
    for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            found = datetime.fromtimestamp(Deadline.of("06:00", now).at, UTC).astimezone()
            assert (found.hour, found.minute) == (6, 0) and abs(found.timestamp() - now) <= 12 * 3600
        finally:
            monkeypatch.undo()
            time.tzset()
    for wrong in ("tomorrow", "25:00", "12", "06:00+1", "2026-13-01T00:00Z", "-5m", ""):
        with pytest.raises(ConfigError, match="a duration"):
            Deadline.of(wrong, now)


def test_a_clock_that_is_set_back_moves_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = Deadline.of("1h")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 7200)
    assert 3500 < deadline.left <= 3600


# ---- limits ----------------------------------------------------------------------------------------------
def limited(shell: Shell, until: float) -> None:
    """The agent is at its limit until then, then it works."""
    shell.task(*POLITE, budgets="budgets: {steps: 20}")
    error = {"error": {"class": "limit_with_reset", "message": "the plan is used up", "not_before": until}}
    (shell.home / "limit.py").write_text(
        "import json, os, sys, time\n"
        f"if time.time() < {until}:\n    print({json.dumps(json.dumps(error))}); sys.exit(1)\n"
        f"os.execv(sys.executable, [sys.executable, {str(shell.home / 'agent.py')!r}])\n"
    )
    task = shell.repo / "task.yaml"
    task.write_text(task.read_text().replace(f"{shell.home}/agent.py", f"{shell.home}/limit.py"))


@pytest.mark.parametrize("ci", [True, False], ids=["CI", "no terminal"])
def test_a_limit_is_never_slept_through_where_nobody_watches(shell: Shell, ci: bool) -> None:
    until = time.time() + 60.0
    limited(shell, until)
    shell.extra |= {"CI": "true"} if ci else {}
    ran = shell("run", "--json")
    assert (ran.code, ran.lines[-1]["not_before"]) == (6, until)
    assert time.time() < until, "it did not wait"
    rows = [line.get("row", line) for line in shell("log", "--json").lines]
    assert [
        row["extra"]["not_before"] for row in rows if row["extra"].get("cause") == "limit_with_reset"
    ] == [until]
    told = shell("status")
    assert "waiting until" in told.out and "the plan is used up" in told.out
    assert shell("run", "--json").lines[-1]["costs"]["launches"] == 1, (
        "a call that comes too early asks nobody"
    )


def test_at_a_terminal_a_limit_is_waited_for_with_a_countdown(shell: Shell) -> None:
    limited(shell, time.time() + 8.0)
    code, seen = on_terminal(shell, "run")
    assert code == 0, seen
    assert "waiting until" in seen and "left (Ctrl-C ends it" in seen


def test_a_wait_longer_than_the_cap_ends_the_call_and_says_when(shell: Shell) -> None:
    limited(shell, time.time() + 7 * 3600)
    code, seen = on_terminal(shell, "run")
    assert code == 6 and "waiting until" not in seen
    assert shell("run", "--wait-limit", "1h").code == 6
    assert "not before" in shell("run").out


def test_how_long_is_waited_can_be_said(shell: Shell) -> None:
    limited(shell, time.time() + 5.0)
    assert shell("run", "--wait-limit", "2m").code == 0
    wrong = shell("run", "--wait-limit", "soon")
    assert wrong.code == 2 and "--wait-limit" in wrong.err and "10m" in wrong.err
    assert shell("run", "--wait-limit", "2m", "--until", "waiting").code == 2


def test_a_wait_at_a_terminal_is_ended_by_ctrl_c_and_begun_again(shell: Shell) -> None:
    limited(shell, time.time() + 3600)
    process = shell.start("run", "--wait-limit", "2h")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("waiting "):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert shell("run").code == 6, "the limit is still there, and nobody was asked"
    assert shell("status", "--json").lines[-1]["launches"] == 1
