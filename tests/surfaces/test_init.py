"""`init`, `validate`, `doctor`, `schema`: what can be known before a run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from contracts.task import Task
from controller.surfaces import outlook
from controller.surfaces.detect import payers, project
from controller.surfaces.prove import prove_checks
from controller.taskfile import read_task
from tests.surfaces.shell import POLITE, Shell, new_shell

TEST = "import unittest\nimport pkg\nclass T(unittest.TestCase):\n    def test_x(self): self.assertEqual(pkg.x, 1)\n"


@pytest.fixture
def python(tmp_path: Path) -> Shell:
    """A small Python project on a branch of its own name."""
    shell = new_shell(tmp_path)
    for name, text in {
        "pkg/__init__.py": "x = 1\n",
        "tests/__init__.py": "",
        "tests/test_a.py": TEST,
    }.items():
        (shell.repo / name).parent.mkdir(exist_ok=True)
        (shell.repo / name).write_text(text)
    shell.git("checkout", "-qb", "trunk")
    shell.git("add", "-A")
    shell.git("commit", "-qm", "project")
    return shell


def test_init_writes_a_task_that_is_proven_and_runs(python: Shell) -> None:
    made = python("init", "--agent", "command", "--goal", "x is 2", "--done", "grep -q 2 pkg/__init__.py")
    assert made.code == 0, made.err + made.out
    assert "check tests: proven to see the worktree" in made.out
    assert made.out.splitlines()[-1] == "next: controller run" and "sandbox: " in made.out
    task = read_task(python.repo / "task.yaml").task
    assert (task.workspace.base, task.sandbox.mode, task.goal) == ("trunk", "required", "x is 2")
    assert [(check.name, check.role, check.must_notice) for check in task.checks] == [
        ("done", "goal", None),
        ("tests", "guard", "pkg/__init__.py"),
    ]
    before = (python.repo / "task.yaml").read_bytes()
    again = python("init")
    assert again.code == 2 and (python.repo / "task.yaml").read_bytes() == before


def test_init_in_a_subfolder_works_on_that_folder(python: Shell) -> None:
    python.git("checkout", "-qb", "mono")
    (python.repo / "part").mkdir()
    python.git("mv", "pkg", "tests", "part")
    python.git("commit", "-qm", "moved")
    made = python("-C", "part", "init", "--agent", "command", "--done", "grep -q 2 pkg/__init__.py")
    assert made.code == 0 and "proven to see the worktree" in made.out, made.out + made.err
    assert read_task(python.repo / "part/task.yaml").task.workspace.repo == ".."


def test_init_says_that_a_check_does_not_see_the_worktree(python: Shell) -> None:
    made = python("init", "--agent", "command", "--test", "true")
    assert made.code == 3 and "does not see the worktree" in made.out, made.out


def test_init_refuses_where_nothing_can_be_run(shell: Shell, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    said = shell("init", cwd=outside)
    assert said.code == 2 and "git init" in said.err
    assert shell("init", "--template", "novel").code == 2
    assert not (shell.repo / "task.yaml").exists()


@pytest.mark.parametrize("template", ["coding", "batch", "warehouse", "ctf", "repository"])
def test_every_template_is_a_good_task(shell: Shell, template: str) -> None:
    made = shell("init", "--template", template, "--contract", "--agent", "command", "--no-prove")
    assert made.code == 0, made.out
    report = shell("validate", "--json").one
    listed = template in ("batch", "warehouse", "repository")
    if (
        listed
    ):  # the list of what is left can't be guessed: the task says so, and nothing runs before it is written
        assert "list `remaining`" in made.out and "authorities.remaining" not in made.out
        (problem,) = report["problems"]
        assert "still the text of the template" in problem and problem.startswith("task.yaml:")
        refused = shell("run")
        assert refused.code == 2 and "lists what is left" in refused.err
        text = (shell.repo / "task.yaml").read_text()
        text = re.sub(r"run: .*one line for each item that is left[^,\n]*", "run: git ls-files", text)
        (shell.repo / "task.yaml").write_text(text)
        report = shell("validate", "--json").one
    assert report["problems"] == [] and report["task"] == "repo"
    assert not any("limits.state" in warning for warning in report["warnings"])
    skill = (shell.repo / ".agent-contract/skill-spec.md").read_text()
    assert "finish" in skill
    fields = json.loads((shell.repo / ".agent-contract/state.schema.json").read_text())["properties"]
    named = {
        "coding": "decision_ledger", "batch": "items", "warehouse": "inventory", "ctf": "hypotheses",
        "repository": "prs",
    }  # fmt: skip
    assert named[template] in fields


def test_what_is_seen_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(
        '{"scripts": {"test": "node t.js"}, "main": "index.js", "dependencies": {"a": "1"}}'
    )
    (tmp_path / "package-lock.json").write_text("{}")
    (tmp_path / "index.js").write_text("")
    seen = project(tmp_path)
    assert (seen.language, seen.test, seen.vital) == ("javascript", ["npm", "test"], "index.js")
    assert seen.setup == (["npm", "ci"],) and seen.when == ("package.json", "package-lock.json")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n[tool.pytest.ini_options]\n")
    seen = project(tmp_path)
    assert seen.test == [".venv/bin/python", "-m", "pytest", "-q"]
    assert seen.setup[1] == [".venv/bin/pip", "install", "-q", "-e", ".", "pytest"]
    (tmp_path / "go.mod").write_text("module a\n")
    assert project(tmp_path).test == ["go", "test", "./..."]


def test_who_could_pay(tmp_path: Path) -> None:
    for name in ("claude", "codex", "pi"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert [(payer.agent, payer.credential) for payer in payers(env)] == [
        ("claude", ""),
        ("codex", ""),
        ("pi", ""),
    ]
    assert {payer.agent for payer in payers(env | {"ANTHROPIC_API_KEY": "y"}) if not payer.missing} == {
        "claude",
        "pi",
    }
    found = list(payers(env | {"CLAUDE_CODE_OAUTH_TOKEN": "x", "ANTHROPIC_API_KEY": "y"}))
    assert (found[0].settings, found[0].missing) == ({"auth": "subscription"}, "")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/auth.json").write_text("{}")
    found = list(payers(env))
    assert (found[0].agent, found[0].settings["auth_file"]) == ("codex", "~/.codex/auth.json")
    assert list(payers({"PATH": "/nowhere"})) == []


def test_validate_lists_what_lets_go_and_what_must_hold(shell: Shell) -> None:
    shell("init", "--template", "ctf", "--contract", "--agent", "command", "--no-prove")
    report = shell("validate", "--json").one
    assert report["lets_go"]["/tried"] == "the oldest when it holds more than 16 entries"
    assert report["invariants"].keys() == {
        "known_or_unknown",
        "tested_before_known",
        "moved_when_tested",
        "not_known_untested",
    }
    told = shell("validate").out
    assert "/tried lets go of the oldest" in told and "invariant moved_when_tested: a hypothesis" in told
    path = shell.repo / ".agent-contract/state.schema.json"
    schema = json.loads(path.read_text())
    schema["x-invariants"].append({"name": "begins", "say": "say what", "holds": {"required": ["nothing"]}})
    path.write_text(json.dumps(schema))
    bad = shell("validate")
    assert bad.code == 3 and "/x-invariants: the state at the beginning breaks begins: say what" in bad.out


def test_validate_tells_bounds_and_faults(shell: Shell) -> None:
    shell.task(*POLITE)
    told = shell("validate", "--json")
    report = told.one
    assert told.code == 0 and report["good"] and report["prompt_tokens"] == (report["prompt_bytes"] + 1) // 2
    assert sum(report["sections"].values()) == report["prompt_bytes"]
    (agent,) = report["agents"]
    assert agent["request_bytes"] == 2 * report["prompt_bytes"] + agent["schema_bytes"] + 6 * 1024
    assert any("no price" in line for line in report["warnings"])
    assert f"{report['prompt_bytes']:,}" in shell("validate").out

    shell.task(*POLITE, workspace="workspace: {base: nowhere}", budgets="budgets: {stops: 1}")
    bad = shell("validate")
    assert bad.code == 3 and "unknown key `budgets.stops`" in bad.out
    shell.task(*POLITE, workspace="workspace: {base: nowhere}")
    assert "no branch, tag or commit 'nowhere'" in shell("validate").out
    assert shell("validate", "nothing.yaml").code == 2

    contract = shell.repo / ".agent-contract"
    contract.mkdir()
    (contract / "state.schema.json").write_text(
        '{"type": "object", "additionalProperties": false, "properties": {"log": {"type": "string", "default": ""}}}'
    )
    shell.task(*POLITE, contract="contract: .agent-contract")
    unbounded = shell("validate", "--json")
    assert unbounded.code == 3 and any("/properties/log" in line for line in unbounded.one["problems"])


def test_validate_holds_the_schema_against_each_vendor(shell: Shell) -> None:
    priced = "{price: {input: 2, cached: 0, output: 8}}"
    agents = f"agents: {{script: {{kind: command, run: [python3, x]}}, claude: {{}}, codex: {priced}}}"
    shell.task(*POLITE, agents=agents)
    text = (shell.repo / "task.yaml").read_text()
    (shell.repo / "task.yaml").write_text(
        "\n".join(line for line in text.splitlines() if not line.startswith("  script:"))
    )
    report = shell("validate", "--json").one
    assert report["problems"] == []
    assert {agent["agent"]: agent["dialect"] for agent in report["agents"]} == {
        "script": "merge",
        "claude": "merge",
        "codex": "strict",
    }
    codex = report["agents"][2]
    expected = (
        report["steps"]
        * (((codex["request_bytes"] - codex["schema_bytes"] - 6144) // 2 + 1) // 2 * 2 + 4000 * 8)
        / 1e6
    )
    assert codex["usd"] == pytest.approx(expected, abs=0.01)


def test_the_effective_task_is_a_task(shell: Shell, tmp_path: Path) -> None:
    shell.task(*POLITE)
    shown = shell("validate", "--effective")
    assert shown.code == 0
    again = tmp_path / "again.yaml"
    again.write_text(shown.out)
    assert read_task(again).task.budgets.steps == 9
    assert Task.model_validate(shell("validate", "--effective", "--json").one).name == "greet"


def test_prove_checks_refuses_a_blind_check(shell: Shell) -> None:
    shell.task(*POLITE)
    good = shell("validate", "--prove-checks")
    assert good.code == 0 and "check there: notices a broken file" in good.out
    text = (shell.repo / "task.yaml").read_text()
    (shell.repo / "task.yaml").write_text(
        text.replace("run: head -n 1 src/greeting.txt | grep -qa ^hello", "run: 'true'")
    )
    blind = shell("validate", "--prove-checks")
    assert blind.code == 3 and "does not see the worktree" in blind.out


def test_prove_checks_looks_at_the_base_that_was_mended_since_a_red_init(shell: Shell) -> None:
    def greets(text: str) -> None:
        (shell.repo / "src/greeting.txt").write_text(text)
        shell.git("commit", "-qam", text.strip())

    greets("farewell\n")
    shell.task(*POLITE)
    file = shell.repo / "task.yaml"
    setup = "scope: [src/**], setup: {run: [[cp, src/greeting.txt, made.txt]], when: [src/greeting.txt]}"
    file.write_text(file.read_text().replace('scope: ["src/**"]', setup))
    (shell.repo / ".git/info/exclude").write_text("made.txt\n")
    loaded, made = read_task(file), shell.repo / ".agent-runtime/work/greet/made.txt"
    with pytest.raises(ConfigError, match="red before anything was changed"):
        prove_checks(loaded)
    assert made.read_text() == "farewell\n"
    greets("hello\n")
    assert prove_checks(loaded).noticed == {"polite": False, "there": True}
    assert made.read_text() == "hello\n", "set up for what it is at now"
    greets("hello there\n")
    assert prove_checks(loaded).noticed["there"]


def test_doctor_names_credentials_and_never_shows_them(shell: Shell) -> None:
    fake = shell.home / "bin"
    fake.mkdir()
    # What it prints to the log would show what of the caller's environment reached it.
    (fake / "claude").write_text(f"#!/bin/sh\nenv > {shell.home}/seen\necho '9.8.7 (Claude Code)'\n")
    (fake / "claude").chmod(0o755)
    shell.extra |= {"PATH": f"{fake}:{shell.env['PATH']}", "ANTHROPIC_API_KEY": "sk-ant-api-secret"}
    told = shell("doctor", "--json")
    health = told.one
    assert told.code == 0 and health["good"] and health["worktrees"]
    assert health["agents"]["claude"]["version"] == "9.8.7"
    assert any("9.8.7" in notice for notice in health["notices"]), "another version than the measured one"
    assert health["credentials"]["claude"] == ["ANTHROPIC_API_KEY"]
    assert "secret" not in told.out + told.err + (shell.home / "seen").read_text()

    shell.task(*POLITE, agent="agent: {use: claude}")
    assert shell("doctor", "--json").one["task"]["pays"] == "api-key"
    for explore in ("read-only", "delegate"):
        hands = f"agents:\n  claude: {{explore: {explore}}}"
        shell.task(*POLITE, agent="agent: {use: claude}", agents=hands, sandbox="sandbox: {mode: required}")
        assert shell("doctor", "--json").one["problems"] == [], "there will be a worktree when it is run"
    del shell.extra["ANTHROPIC_API_KEY"]
    missing = shell("doctor")
    assert missing.code == 3 and "ANTHROPIC_API_KEY" in missing.out
    assert not (shell.repo / ".agent-runtime").exists()


def test_doctor_says_when_node_is_too_old_for_pi(shell: Shell, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, said in (("pi", "1.6.0"), ("node", "v20.19.2")):
        (programs / name).write_text(f"#!/bin/sh\necho {said}\n")
        (programs / name).chmod(0o755)
    shell.extra["PATH"] = f"{programs}:{os.environ['PATH']}"
    report = shell("doctor", "--json").one
    assert report["agents"]["pi"]["version"] == "1.6.0"
    trouble = "pi needs Node 22.19 or newer, and `node` is 20.19.2: install Node.js 22.19 or newer"
    assert any(notice.startswith(trouble) for notice in report["notices"])
    (programs / "node").write_text("#!/bin/sh\necho v22.19.0\n")
    assert not any("pi needs" in notice for notice in shell("doctor", "--json").one["notices"])


@pytest.mark.parametrize("kind", ["task", "intent", "state", "transition", "event"])
def test_schemas_are_schemas(shell: Shell, kind: str) -> None:
    from jsonschema import Draft202012Validator

    told = shell("schema", kind)
    assert told.code == 0
    Draft202012Validator.check_schema(json.loads(told.out))


def test_an_unknown_schema(shell: Shell) -> None:
    assert shell("schema", "novel").code == 2


def test_a_transition_as_an_agent_is_asked_for_it(shell: Shell) -> None:
    shell.task(*POLITE)
    asked = {
        agent: json.loads(shell("schema", "transition", "--agent", agent).out)["properties"]
        for agent in ("claude", "codex", "pi")
    }
    assert asked["claude"] == {name: asked["pi"][name] for name in ("state_patch", "action")}
    assert list(asked["pi"]) == ["reasoning", "state_patch", "action"]
    assert asked["codex"]["state_patch"]["type"] == "array"
    assert shell("schema", "state", "--agent", "pi").code == 2
    assert shell("schema", "transition", "--agent", "nobody").code == 2


def test_init_pins_the_tests_and_validate_says_when_none_is_pinned(tmp_path: Path) -> None:
    files = ["src/a.py", "tests/unit/test_a.py", "pkg/tests/test_b.py", "test_c.py", "web/x.spec.ts"]
    assert outlook.test_globs(files) == ["pkg/tests/**", "tests/**", "test_c.py", "web/x.spec.ts"]


def test_validate_warns_when_the_agent_could_rewrite_the_tests(python: Shell) -> None:
    python("init", "--agent", "command", "--no-prove", "--goal", "g", "--done", "false")
    text = (python.repo / "task.yaml").read_text()
    assert "pins:" in text
    assert "pins no test file" not in python("validate").out
    loose = "\n".join(line for line in text.splitlines() if "pins:" not in line) + "\n"
    (python.repo / "task.yaml").write_text(loose)
    assert "pins no test file" in python("validate").out


def test_delegation_is_named_where_the_tests_are_strong_and_its_gaps_are_said(python: Shell) -> None:
    python("init", "--agent", "command", "--no-prove", "--goal", "g", "--done", "false")
    task = python.repo / "task.yaml"
    text = task.read_text()
    assert "# it may edit by itself" in text and "edits by itself" not in python("validate").out
    task.write_text(text.replace("kind: command", "explore: delegate, kind: command"))
    told = python("validate").out
    assert "agent mine edits by itself" in told and "give a guard `when: edit`" in told
    assert "50 steps of 8 requests (how many it makes is not bounded)" in told
    task.write_text(task.read_text().replace("    role: guard\n", "    role: guard\n    when: edit\n"))
    assert "when: edit" not in python("validate").out


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("goal: ", "goal: Say here what shall be reached, ", "template"),
        ('scope: ["**"]', 'scope: ["nowhere/**"]', "no file of the repository is in scope"),
        ("must_notice: ", "must_notice: no/such/", "not a tracked file"),
    ],
)
def test_validate_holds_the_task_against_the_repository(python: Shell, old: str, new: str, told: str) -> None:
    python("init", "--agent", "command", "--no-prove", "--goal", "g", "--done", "false")
    path = python.repo / "task.yaml"
    assert python("validate").code == 0
    path.write_text(path.read_text().replace(old, new))
    found = python("validate")
    assert found.code == 3 and told in found.out
