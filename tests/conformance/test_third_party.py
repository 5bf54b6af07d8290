"""The adapter of docs/agents.md, installed as a third party's is: found by its entry point, tested by the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controller.conformance.subject import PROGRAM
from tests.agents.binaries import ROOT

EXAMPLE = re.compile(r"```python\n(import json\n.*?)```", re.S)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the package of the documentation's adapter and its entry point; its program stands in `bin`."""
    [code] = EXAMPLE.findall((ROOT / "docs/agents.md").read_text("utf-8"))
    site, binaries = tmp_path / "site", tmp_path / "bin"
    info = site / "chatty-1.0.dist-info"
    for folder in (site / "chatty", info, binaries):
        folder.mkdir(parents=True)
    (site / "chatty/__init__.py").write_text("")
    (site / "chatty/agent.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chatty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skill_state.agents]\nchatty = chatty.agent:Chatty\n")
    program = binaries / "chatty"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} "$@"\n')
    program.chmod(0o755)
    return tmp_path


def controller(installed: Path, *words: str) -> tuple[int, str, str]:
    """The command, in a folder without a task."""
    env = {
        "PATH": f"{installed / 'bin'}:{os.defpath}",
        "HOME": str(installed),
        "PYTHONPATH": f"{installed / 'site'}:{ROOT}",
    }
    argv = [sys.executable, "-m", "controller", "agents", *words]
    done = subprocess.run(argv, cwd=installed, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_it_is_found_and_every_case_is_good(installed: Path) -> None:
    code, out, err = controller(installed, "test", "chatty")
    assert (code, err) == (0, ""), out
    *rows, last = out.splitlines()
    assert {row.split()[0] for row in rows} == {"good"} and len(rows) == 30
    assert last == "chatty (kind chatty) of unknown version, nothing is known of it yet: 30 good"


def test_what_an_author_recorded_is_what_is_known_when_it_lies_beside_the_adapter(installed: Path) -> None:
    known = installed / "site/chatty/chatty.known.json"
    some = ["--case", "round_trip", "--case", "environment"]
    assert controller(installed, "test", "chatty", "--record", str(known), *some)[0] == 0
    facts = json.loads(known.read_text())
    names = facts[""]["api-key"]["environment"]["names"]
    assert "SKILL_STATE_SCHEMA" in names and facts[""]["api-key"]["round_trip"]["requests"] == 1
    assert controller(installed, "test", "chatty", *some)[0] == 0
    names.remove("SKILL_STATE_SCHEMA")
    names.append("OLD_ONE")
    known.write_text(json.dumps(facts))
    code, out, _ = controller(installed, "test", "chatty", *some)
    assert code == 3 and "names: new SKILL_STATE_SCHEMA; gone OLD_ONE" in out
    told = json.loads(controller(installed, "test", "chatty", "--json", *some)[1])
    assert (told["good"], told["rows"][1]["verdict"], told["rows"][1]["why"]) == (False, "changed", ["names"])


def test_the_list_names_every_kind_also_beside_one_that_can_not_be_loaded(installed: Path) -> None:
    points = installed / "site/chatty-1.0.dist-info/entry_points.txt"
    points.write_text(points.read_text() + "lost = chatty.nowhere:Lost\n")
    code, out, _ = controller(installed, "list", "--json")
    agents: dict[str, Any] = {each["name"]: each for each in json.loads(out)["agents"]}
    assert code == 0 and agents["chatty"]["usable"]
    assert not agents["lost"]["usable"] and "can't be loaded" in agents["lost"]["why"]
    assert agents["chatty"]["binary"] == str(installed / "bin/chatty")
    assert (
        agents["claude"]["known"]
        and not agents["claude"]["usable"]
        and "not on the PATH" in agents["claude"]["why"]
    )


TASK = """\
version: 1
name: some
goal: nothing
workspace: {base: main}
checks: [{name: c, role: goal, run: ["true"]}]
agent: {use: mine, fallback: FALLBACK}
agents:
  mine: {kind: chatty}
  other: {kind: command, run: [no-such-program]}
"""


@pytest.mark.parametrize(("fallback", "code"), [("[]", 0), ("[other]", 3)])
def test_the_list_of_a_task_fails_where_one_that_it_uses_can_not_be_used(
    fallback: str, code: int, installed: Path
) -> None:
    (installed / "task.yaml").write_text(TASK.replace("FALLBACK", fallback))
    got, out, _ = controller(installed, "list")
    assert got == code
    mine, other, why = out.splitlines()
    assert (
        mine.startswith("mine               usable      kind chatty") and f"at {installed}/bin/chatty" in mine
    )
    assert (
        other.startswith("other              not usable  kind command")
        and "no program 'no-such-program'" in why
    )


def test_an_own_program_that_no_variable_points_elsewhere_is_tried_as_far_as_it_goes(installed: Path) -> None:
    (installed / "task.yaml").write_text(TASK.replace("no-such-program", "'true'").replace("FALLBACK", "[]"))
    code, out, _ = controller(installed, "test", "other")
    tried = {line.split()[1] for line in out.splitlines() if line.startswith("good")}
    assert (code, tried) == (0, {"environment", "leftovers", "interrupt"})
    assert "untried  round_trip" in out and "it can't be pointed at the loopback" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["test", "nobody"], "there is no agent 'nobody'"),
        (["test", "chatty", "--case", "nothing"], "there is no case 'nothing'"),
        (["test", "claude"], "`claude` is not on the PATH"),
        (["test"], "Missing argument 'NAME'"),
    ],
)
def test_what_can_not_be_tried_is_a_usage_error(installed: Path, words: list[str], said: str) -> None:
    code, out, err = controller(installed, *words)
    assert (code, out) == (2, "") and said in err, err
