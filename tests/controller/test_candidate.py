"""What an agent's entry can't mean: `validate`, `agents list`, `doctor` and `run` say it alike, before anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from contracts.errors import ConfigError
from contracts.ports import Configured
from contracts.record import RunRecord
from contracts.reply import Prompt
from contracts.task_problems import BUILT_IN_AGENTS
from controller.assemble import assemble, charter
from controller.candidate import Candidate, heirs
from controller.commit import REPLY_TOKENS, reserve
from controller.installed import found
from controller.surfaces.agents import listed
from controller.surfaces.doctor import Health, _task
from controller.surfaces.validate import _told, inspect
from controller.taskfile import LoadedTask
from tests.controller.world import TASK, World
from tests.house.size_budgets import ROOT
from tests.tool_adapters.agent_world import settings

# What makes an entry of this kind whole but for its program and its credential.
WHOLE: dict[str, dict[str, Any]] = {
    "opencode": {"model": "a/b", "api_key_env": "K"},
    "qwen": {"model": "m"},
    "openai-compatible": {"model": "m", "base_url": "http://127.0.0.1:1/v1"},
    "command": {"run": ["no-such-program-here"]},
}
ASKED: dict[str, dict[str, Any]] = {
    "`explore: read-only`": {"explore": "read-only"},
    "`explore: delegate`": {"explore": "delegate"},
    "`prespawn: true`": {"prespawn": True},
}


def table() -> dict[str, dict[str, bool]]:
    """kind -> what may be asked of it -> whether it can, as docs/agents.md has it."""
    text = (ROOT / "docs/agents.md").read_text("utf-8")
    head, rows = re.findall(r"^(\| kind \|.*)\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)[0]
    names = [cell.strip() for cell in head.strip("|").split("|")][1:]
    told = {}
    for row in rows.splitlines():
        kind, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert set(cells) <= {"yes", "–"}
        told[kind.strip("`")] = {name: cell == "yes" for name, cell in zip(names, cells, strict=True)}
    return told


TABLE = table()
ROWS = [(kind, name) for kind in BUILT_IN_AGENTS for name in ASKED]


def test_the_documented_table_has_every_kind() -> None:
    assert sorted(TABLE) == sorted(BUILT_IN_AGENTS)
    assert all(list(row) == list(ASKED) for row in TABLE.values())


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_a_kind_takes_what_the_table_says(kind: str, name: str, tmp_path: Path) -> None:
    agent = found("agents", kind)(
        settings(
            tmp_path, kind, {"PATH": "/nowhere"}, worktree=tmp_path, **WHOLE.get(kind, {}), **ASKED[name]
        )
    )
    assert isinstance(agent, Configured)
    if TABLE[kind][name]:
        assert agent.configured() == []
        with pytest.raises(ConfigError, match=r"is not on the PATH|no program"):  # this machine lacks it
            agent.preflight()
        return
    for says in (agent.configured, agent.preflight):
        with pytest.raises(ConfigError, match=f"{name.split(':')[0].strip('`')}.* is not for kind {kind}"):
            says()


# ---- the same, wherever a task is looked at ------------------------------------------------------------------
@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world") / "r")


def given(made: World, entry: dict[str, Any], *, fallback: bool = False, sandbox: str = "none") -> LoadedTask:
    """A task whose agent, or whose fallback agent, has this entry."""
    entries = f"  odd: {orjson.dumps(entry).decode()}\n"
    task = TASK.replace("agents:\n", f"agents:\n{entries}").replace("{mode: none}", f"{{mode: {sandbox}}}")
    use = "{use: mine, fallback: [odd]}" if fallback else "{use: odd}"
    made.file.write_text(task.replace("{use: mine}", use))
    return made.loaded


IMPOSSIBLE = [
    *(({"kind": k, **WHOLE.get(k, {}), **ASKED[n]}, "is not for kind") for k, n in ROWS if not TABLE[k][n]),
    ({"kind": "claude", "explore": "delegate"}, "needs bubblewrap, and this is sandbox: {mode: none}"),
    ({"kind": "codex", "auth": "bedrock"}, "codex has no `auth: bedrock`"),
    ({"kind": "claude", "auth_file": "login.json"}, "`auth_file` does not go with `auth: api-key`"),
    ({"kind": "pi", "model": "m", "options": {"api": "telepathy"}}, "there is no api 'telepathy'"),
    (
        {"kind": "pi", "options": {"provider": "nobody"}},
        "no model of provider 'nobody' is named (write `model:`, one that `pi",
    ),
    ({"kind": "openai-compatible", "model": "m"}, "needs `base_url:`"),
    ({"kind": "claude", "options": {"efort": "low"}}, "unknown option 'efort'"),
]


@pytest.mark.parametrize(("entry", "said"), IMPOSSIBLE)
def test_validate_refuses_what_run_refuses(entry: dict[str, Any], said: str, made: World) -> None:
    loaded = given(made, entry)
    [problem] = inspect(loaded).problems
    assert said in problem and re.match(r"task\.yaml:\d+:\d+: agent odd: ", problem)
    with pytest.raises(ConfigError, match=re.escape(said)):
        assemble(loaded).agent.preflight()


@pytest.mark.parametrize("place", [{}, {"fallback": True}])
def test_every_surface_says_it_of_every_agent_of_the_chain(
    place: dict[str, bool], made: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = given(made, {"kind": "claude", "explore": "delegate"}, **place)
    said = "agent odd: `explore: delegate` needs bubblewrap, and this is sandbox: {mode: none}"
    assert any(said in problem for problem in inspect(loaded).problems)
    health = Health()
    _task(health, made.file, tmp_path)
    assert any(said in problem for problem in health.problems)
    with pytest.raises(ConfigError, match=re.escape(said)):
        list(heirs(loaded, "another", tmp_path))
    assert listed(made.file, as_json=True) == 3
    rows = {row["name"]: row for row in orjson.loads(capsys.readouterr().out)["agents"]}
    assert not rows["odd"]["usable"] and said in rows["odd"]["why"]


def test_a_placeholder_of_npm_is_no_agent(
    made: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stub = tmp_path / "claude"
    stub.write_text('echo "Error: claude native binary not installed." >&2\nexit 1\n')
    stub.chmod(0o755)
    loaded = given(made, {"kind": "claude", "options": {"cli": str(stub)}})
    cure = f"{stub} can't be started: .*install it again with scripts allowed .*npm install -g @anthropic-ai"
    with pytest.raises(ConfigError, match=cure):
        assemble(loaded).agent.preflight()
    health = Health()
    _task(health, made.file, tmp_path)
    assert any(re.search(cure, problem) for problem in health.problems)
    assert listed(made.file, as_json=True) == 3
    rows = {row["name"]: row for row in orjson.loads(capsys.readouterr().out)["agents"]}
    assert re.search(cure, rows["odd"]["why"])
    stub.write_text("#!/bin/sh\n" + stub.read_text())
    with pytest.raises(ConfigError) as refused:
        assemble(loaded, environ={}).agent.preflight()
    assert "can't be started" not in str(refused.value), "a script that names its interpreter"


def test_doctor_says_that_the_branch_of_the_run_is_taken(made: World, tmp_path: Path) -> None:
    loaded = given(made, {"kind": "claude"})
    made.git("worktree", "add", "-q", "-B", loaded.task.branch, str(tmp_path / "elsewhere"))
    try:
        health = Health()
        _task(health, made.file, tmp_path)
        said = f"branch {loaded.task.branch} is checked out in {tmp_path / 'elsewhere'}"
        assert any(said in problem for problem in health.problems), health.problems
    finally:
        made.git("worktree", "remove", "--force", str(tmp_path / "elsewhere"))
    health = Health()
    _task(health, made.file, tmp_path)
    assert not any("checked out" in problem for problem in health.problems)


def test_what_is_not_installed_is_no_fault_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    fresh = World(tmp_path / "r")
    for kind in BUILT_IN_AGENTS:
        assert inspect(given(fresh, {"kind": kind, **WHOLE.get(kind, {})})).problems == [], kind
    assert not (fresh.root / ".agent-runtime").exists(), "it only looks"


@pytest.mark.parametrize("explore", ["read-only", "delegate"])
def test_what_can_not_start_ahead_is_said(explore: str, made: World, tmp_path: Path) -> None:
    """Not refused: it is a wish that another setting makes idle."""
    loaded = given(made, {"kind": "claude", "explore": explore, "prespawn": True}, sandbox="required")
    report = inspect(loaded)
    said = f"agent odd: `prespawn` does nothing with `explore: {explore}`"
    assert report.problems == [] and any(line.startswith(said) for line in report.warnings)
    assert any(line.startswith(said) for line in Candidate.of(loaded, charter(loaded), tmp_path).configured())


def test_one_that_can_not_say_it_beforehand_is_no_problem(made: World) -> None:
    class Plain:
        """An adapter with the port's own methods alone."""

    plain: Any = Plain()
    assert Candidate(made.loaded, plain, False).configured() == []


@pytest.mark.parametrize(("explore", "requests"), [("none", 1), ("read-only", 8), ("delegate", 8)])
def test_only_what_makes_one_request_has_a_bound(
    explore: str, requests: int, made: World, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = given(made, {"kind": "claude", "explore": explore}, sandbox="required")
    report = inspect(loaded)
    assert [agent.requests for agent in report.agents] == [requests, 1]
    record = RunRecord(task="t", run="t#1", opened=0, base="a", branch="b", head="a", state={})
    held = reserve(record, Prompt(step=1, stable="x", volatile="y"), charter(loaded)).reserve
    assert held and held.usage.output == requests * REPLY_TOKENS
    assert _told(report, as_json=False) == 0
    line = next(said for said in capsys.readouterr().out.splitlines() if said.startswith("agent odd"))
    assert ("≤" in line.split("request ≤")[1]) == (requests == 1), line
    assert ("how many it makes is not bounded" in line) == (requests > 1)
    by_itself = [said for said in report.warnings if "makes as many requests as it likes" in said]
    assert len(by_itself) == (requests > 1)
