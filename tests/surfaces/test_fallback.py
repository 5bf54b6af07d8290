"""Another agent of the task goes on where one can't: on what switching can help, and on nothing else."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from contracts.agents import AgentChoice
from contracts.record import RunRecord
from controller.fallback import chosen, passed
from tests.surfaces.shell import POLITE, READ, Shell

# Answers with what the file beside it holds, and leaves a line for each launch.
FIRST = """
import pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "launches", "a") as file:
    file.write("launch\\n")
sys.stdin.read()
print((here / "first.json").read_text())
"""


def two(shell: Shell, first: Any, *second: Any) -> None:
    (shell.home / "first.py").write_text(FIRST)
    (shell.home / "first.json").write_text(first if isinstance(first, str) else json.dumps(first))
    shell.task(*second, agent="agent: {use: first, fallback: [script]}", budgets="budgets: {steps: 20}")
    task = shell.repo / "task.yaml"
    first_agent = f"agents:\n  first: {{kind: command, run: [python3, {shell.home / 'first.py'}]}}\n"
    task.write_text(task.read_text().replace("agents:\n", first_agent))


def failing(name: str, **more: Any) -> dict[str, Any]:
    return {"error": {"class": name, "message": f"it is {name}", **more}}


def launches(shell: Shell) -> int:
    path = Path(shell.home / "launches")
    return len(path.read_text().splitlines()) if path.exists() else 0


def makers(shell: Shell) -> list[str]:
    """Who made each committed step."""
    rows = [line.get("row", line) for line in shell("log", "--json").lines]
    return [row["agent"] for row in rows if row["kind"] == "step" and row["tool_result"] == "ok"]


def test_a_limit_that_does_not_pass(shell: Shell) -> None:
    two(shell, failing("limit_permanent"), READ, *POLITE)
    ran = shell("run", "--json")
    assert ran.code == 0, ran.err
    assert "agent first is left out: it is limit_permanent" in ran.err and "agent script goes on" in ran.err
    assert launches(shell) == 1 and makers(shell) == ["script"] * 3
    assert ran.lines[-1]["agent"] == "script" and ran.lines[-1]["costs"]["launches"] == 4


def test_a_limit_with_a_reset_and_the_way_back(shell: Shell) -> None:
    due = time.time() + 3600
    two(shell, failing("limit_with_reset", not_before=due), READ, READ, *POLITE)
    assert shell("run", "--steps", "2").code == 0
    assert launches(shell) == 1 and makers(shell) == ["script"]
    assert "agent  first is left out until " in shell("status").out
    assert shell("status", "--json").lines[-1]["left_out"] == {"first": due}
    assert shell("step").code == 0
    assert launches(shell) == 1, "left out in the next call too"
    soon = time.time() + 5
    two(shell, failing("limit_with_reset", not_before=soon), READ, *POLITE)
    assert shell("run", "--new", "--steps", "2").code == 0
    (shell.home / "first.json").write_text(json.dumps(POLITE[1]))
    time.sleep(max(0.0, soon - time.time()) + 0.1)
    assert shell("step").code == 0
    assert makers(shell)[-1] == "first", "after the reset it is asked again"


def test_one_that_can_not_be_used_is_said_at_the_start_and_skipped(shell: Shell) -> None:
    due = time.time() + 3600
    two(shell, failing("limit_with_reset", not_before=due), READ, *POLITE)
    task = shell.repo / "task.yaml"
    task.write_text(task.read_text().replace("fallback: [script]", "fallback: [codex, script]"))
    shell.extra["PATH"] = "/usr/bin:/bin"
    ran = shell("run", "--json")
    assert ran.code == 0, ran.err
    said = ran.err.index("agent codex can't take over: agent codex: `codex` is not on the PATH (install it: ")
    assert said < ran.err.index("agent codex is skipped") < ran.err.index("agent script goes on")
    assert launches(shell) == 1 and makers(shell) == ["script"] * 3


def test_where_no_other_can_be_used_the_limit_is_waited_for(shell: Shell) -> None:
    two(shell, failing("limit_with_reset", not_before=time.time() + 3600))
    task = shell.repo / "task.yaml"
    task.write_text(task.read_text().replace("fallback: [script]", "fallback: [codex]"))
    shell.extra["PATH"] = "/usr/bin:/bin"
    ran = shell("run")
    assert ran.code == 6 and "agent codex is skipped" in ran.err, ran.err
    assert shell("run").code == 6 and launches(shell) == 1


@pytest.mark.parametrize(
    ("out", "unusable", "name"),
    [
        ({}, (), "a"),
        ({"a": 9.0}, (), "b"),
        ({"a": 9.0}, ("b",), "c"),
        ({"a": 9.0, "c": None}, ("b",), "a"),
        ({"a": 9.0, "c": None}, ("a", "b"), "c"),
        ({}, ("a", "b", "c"), "a"),
    ],
)
def test_who_is_asked(out: dict[str, float | None], unusable: tuple[str, ...], name: str) -> None:
    record = RunRecord(task="t", run="t#1", opened=0, base="a", branch="b", head="a", state={}, left_out=out)
    chain = AgentChoice(use="a", fallback=("b", "c"))
    assert chosen(record, chain, 1.0, unusable) == name
    assert passed(chain, "a", "c", unusable) == [one for one in ("b",) if one in unusable]


def test_the_same_rejection_twice(shell: Shell) -> None:
    two(shell, "this is no JSON", READ, READ, *POLITE)
    ran = shell("run", "--json")
    assert ran.code == 0 and "the same rejection 2 times in a row, reply.missing_reply" in ran.err
    assert launches(shell) == 2


def test_three_failed_launches_in_a_row(shell: Shell) -> None:
    two(shell, failing("crashed"), READ, READ, READ, *POLITE)
    assert shell("run").code == 0
    assert launches(shell) == 3


@pytest.mark.parametrize(("name", "code"), [("auth", 2), ("budget", 4)])
def test_what_switching_does_not_help(shell: Shell, name: str, code: int) -> None:
    two(shell, failing(name), READ, *POLITE)
    assert shell("run").code == code
    assert launches(shell) == 1


def test_an_agent_that_is_named_is_asked_alone(shell: Shell) -> None:
    two(shell, failing("limit_permanent"), READ, *POLITE)
    assert shell("run", "--agent", "first").code == 5
    assert shell("run").code == 5, "it stands until a person says go on"
    assert shell("run", "--retry").code == 0 and launches(shell) == 2


def test_where_nobody_is_left_the_run_halts(shell: Shell) -> None:
    two(shell, failing("limit_permanent"), failing("limit_permanent"))
    assert shell("run").code == 5
    assert launches(shell) == 1
    (shell.home / "first.json").write_text(json.dumps(READ))
    assert shell("run", "--retry", "--steps", "1").code == 0
    assert launches(shell) == 2, "--retry asks all of them again"
