"""Scenarios in the default suite: task one by a program, and ten steps of task two by each real binary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.ways import some
from tests.gateway import Gateway
from tests.scenarios import fetch, wire
from tests.scenarios.model import PolicyModel
from tests.scenarios.scenario import HERE, Scenario, by_command


def test_task_one_by_a_program(tmp_path: Path) -> None:
    scenario = Scenario("drop-six", tmp_path)
    before = scenario.git("rev-parse", "HEAD", "main"), scenario.git("status", "--porcelain")
    call = scenario.controller("run", "--json")
    assert (call.code, call.outcome) == (0, "completed"), call.err
    told = call.lines[-1]
    assert told["checks"]["no-six"] | {"why": ""} == {"role": "goal", "start": False, "now": True, "why": ""}
    assert told["checks"]["tests"]["now"] and told["step"] == told["committed"] >= 25

    where = ("src", "setup.cfg", "requirements-dev.txt")
    assert len(scenario.hits("main", r"\bsix\b", *where)) == 25
    assert scenario.hits(scenario.branch, r"\bsix\b", *where) == []
    # A fresh process and one row for each step; a commit for each step that changed a file; the checkout as it was.
    rows = [row for row in scenario.audit if row["kind"] == "step"]
    assert len(rows) == told["step"] == len(wire.of_folder(scenario.prompts))
    assert 20 < int(scenario.git("rev-list", "--count", f"main..{scenario.branch}")) < told["step"]
    assert before == (scenario.git("rev-parse", "HEAD", "main"), scenario.git("status", "--porcelain"))
    assert scenario.controller("log", "--verify").code == 0
    # A finished run is shown again without a launch.
    again = scenario.controller("run", "--json")
    assert (again.code, again.outcome) == (0, "completed")
    assert len(wire.of_folder(scenario.prompts)) == told["step"]


def test_without_the_text_of_files_the_agent_gets_nowhere(tmp_path: Path) -> None:
    scenario = Scenario("drop-six", tmp_path, agents={"command": by_command(HERE / "blind.py")})
    call = scenario.controller("run", "--json")
    assert (call.code, call.outcome) == (5, "blocked"), call.err
    assert scenario.git("rev-list", "--count", f"main..{scenario.branch}") == "0"
    assert scenario.git("diff", "--stat", "main", scenario.branch) == ""


def test_the_agent_knows_nothing_of_the_repository(tmp_path: Path) -> None:
    root = fetch.checkout(tmp_path / "checkout")
    known = "\n".join(path.read_text() for path in (HERE / "policy").glob("*.py"))
    paths = fetch.git(root, "ls-files", "src", "tests").split()
    lines = {
        line.strip()
        for path in paths
        if path.endswith(".py")
        for line in (root / path).read_text("utf-8").splitlines()
    }
    own = {line.strip() for line in known.splitlines()}
    assert "dateutil" not in known
    assert not [path for path in paths if path in known or Path(path).name in known.split()]
    # Lines that every Python file may have are no knowledge.
    assert not [
        line for line in lines & own if len(line) > 20 and not line.startswith(("from __future__", "import "))
    ]


# ---- ten steps by each agent ------------------------------------------------------------------------------------
def test_ten_steps_by_a_program(ten_by_program: Scenario) -> None:
    sent = wire.of_folder(ten_by_program.prompts)
    assert len(sent) == 10
    wire.bounded(sent, ten_by_program.bounds["command"])
    wire.constant(sent)
    assert wire.forgotten(sent, ten_by_program) == 8


@pytest.mark.parametrize("agent", some(("claude", "codex", "pi", "local"), ("claude", "pi")))
def test_ten_steps_by_a_real_binary(agent: str, tmp_path: Path, ten_by_program: Scenario) -> None:
    model = PolicyModel(bad=(5, 6, 7))
    with Gateway(model) as gateway:
        scenario = Scenario("drop-python2", tmp_path, gateway.url)
        model.task = scenario.root / "task.yaml"
        call = scenario.controller("run", "--agent", agent, "--json", "--steps", "13")
        assert (call.code, call.outcome) == (0, None), call.err
        sent = wire.of_gateway(gateway.asked)
        assert len(gateway.requests) == len(sent) == 13, "one request a step, and nothing beside"
    assert (scenario.tree, scenario.state) == (ten_by_program.tree, ten_by_program.state)
    wire.bounded(sent, scenario.bounds[agent])
    good = [each for number, each in enumerate(sent, start=1) if number not in (6, 7, 8)]
    wire.constant(good)
    assert wire.forgotten(good, scenario) == 8
    said = {
        wire.corrected(sent[4], later).replace(f"step {number}", "step N")
        for number, later in enumerate(sent[5:8], 5)
    }
    assert len(said) == 1 and "setup.cfg" in said.pop()
    verdicts = {row["step"]: row["validator_result"] for row in scenario.audit if row["step"]}
    assert [verdicts[step] for step in (4, 5, 6, 7, 8)] == ["allow", *["policy.path.scope"] * 3, "allow"]
