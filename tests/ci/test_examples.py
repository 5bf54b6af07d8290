"""The examples of scheduled jobs: linted, and their scripts run on a real repository whose remote is all that lasts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.ci.actions import Job, clean_env, evaluated, load, with_controller
from tests.ci.lint import ROOT, actionlint, mismatches
from tests.controller.world import git
from tests.surfaces.shell import POLITE, READ, Shell, act

EXAMPLES = ROOT / "examples/ci"
WORKFLOW, GITLAB = load(EXAMPLES / "github.yml"), load(EXAMPLES / "gitlab.yml")
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["maintain"]["steps"]
OURS = "OWNER/skill-state-controller@COMMIT"


# ---- their form -----------------------------------------------------------------------------------------------
def test_the_workflow_is_linted() -> None:
    text = (EXAMPLES / "github.yml").read_text()
    assert actionlint(text) == [] and mismatches("github-workflows", WORKFLOW) == []
    broken = text.replace("steps.app.outputs", "steps.nobody.outputs")
    assert any("nobody" in each for each in actionlint(broken)), "the linter can say no"


def test_the_pipeline_is_linted() -> None:
    assert mismatches("gitlab-ci", GITLAB) == []
    broken = {"maintain": {**GITLAB["maintain"], "script": {"no": "list"}}}
    assert mismatches("gitlab-ci", broken), "the schema can say no"


def test_the_workflow_takes_no_more_than_it_needs() -> None:
    assert WORKFLOW["permissions"] == {}, "what a job may do, it says itself"
    assert WORKFLOW["jobs"]["maintain"]["permissions"] == {"contents": "read"}
    assert WORKFLOW["concurrency"]["cancel-in-progress"] is False, (
        "a step that was paid for is not thrown away"
    )
    for used in (step["uses"] for step in STEPS if "uses" in step):
        assert used == OURS or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", used), used
    for script in (step["run"] for step in STEPS if "run" in step):
        assert "${{" not in script
    (ours,) = (step for step in STEPS if step.get("uses") == OURS)
    assert set(ours["with"]) <= set(load(ROOT / "action.yml")["inputs"])
    checkout = next(step for step in STEPS if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}


# ---- what they do ---------------------------------------------------------------------------------------------
@pytest.fixture
def runner(shell: Shell) -> Shell:
    """A shell whose checkout is a fresh clone; `controller` is on the PATH."""
    remote = shell.home.parent / "remote.git"
    git(shell.home.parent, "init", "-q", "--bare", "-b", "main", str(remote))
    shell.git("remote", "add", "origin", str(remote))
    shell.task(READ, act("ask", question="how polite?"), *POLITE, store="store: {use: git}")
    shell.git("add", "task.yaml")
    shell.git("commit", "-qm", "the task")
    shell.git("push", "-q", "-u", "origin", "main")
    shell.extra["PATH"] = os.pathsep.join([with_controller(shell.home / "bin"), "/usr/bin", "/bin"])
    return shell


def fresh(shell: Shell, *words: str) -> None:
    """The next runner knows nothing but the remote."""
    shutil.rmtree(shell.repo)
    git(shell.home.parent, "clone", "-q", *words, str(shell.home.parent / "remote.git"), str(shell.repo))


def answered(shell: Shell) -> None:
    """A person answers, from a clone of their own."""
    (waiting,) = shell("approvals", "--json").one["queue"]
    assert shell("answer", waiting["id"], "very").code == 0


def github(shell: Shell, name: str) -> tuple[int, dict[str, str], Job]:
    """The workflow's job, as far as it is ours."""
    temp = shell.home / name
    temp.mkdir()
    one = Job(shell.repo, temp, clean_env(shell.home, path=shell.extra["PATH"]))
    known: dict[str, Any] = {"inputs": {}, "steps": {"app": {"outputs": {"token": ""}}}, "secrets": {}}
    (ours,) = (step for step in STEPS if step.get("uses") == OURS)
    given = {name: evaluated(str(value), known) for name, value in ours["with"].items()}
    code, told = one.action(ROOT, given | {"install": "false"})
    known["steps"]["maintain"] = {"outputs": told}
    scripts = [step for step in STEPS if step.get("name") == "tell somebody"]
    assert one.steps(scripts, known) == 0
    return code, told, one


def test_the_workflow_over_several_nights(runner: Shell) -> None:
    fresh(runner)
    code, told, one = github(runner, "first")
    assert (code, told["outcome"], told["exit-code"]) == (0, "blocked", "5"), one.ran[-1].log
    assert "a person must answer" in one.ran[-1].log
    fresh(runner)
    code, told, one = github(runner, "second")
    assert (code, told["outcome"], told["steps"]) == (0, "blocked", "2"), (
        "it goes on where the last one ended"
    )
    answered(runner)
    fresh(runner)
    code, told, one = github(runner, "third")
    assert (code, told["outcome"]) == (0, "completed"), one.ran[-1].log
    assert "a person must answer" not in one.ran[-1].log
    assert told["revision"] == runner.git("ls-remote", "origin", "refs/skill-state/greet/work").split()[0]


def gitlab(shell: Shell, **more: str) -> subprocess.CompletedProcess[str]:
    """The pipeline's script, in one shell, as GitLab runs it: on no branch."""
    fresh(shell)
    commit = shell.git("rev-parse", "HEAD").strip()
    shell.git("checkout", "-q", "--detach")
    shell.git("branch", "-q", "-D", "main")
    said = {"CI": "true", "CI_SERVER_URL": "https://gitlab.example.com", "CI_COMMIT_SHA": commit}
    named = {"CI_COMMIT_REF_NAME": "main", "MAINTAIN_TOKEN": "t" * 20, "TASK": "task.yaml", **more}
    script = "set -eo pipefail\n" + "\n".join(GITLAB["maintain"]["script"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script], cwd=shell.repo,
        env=clean_env(shell.home, path=shell.extra["PATH"]) | said | named,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_the_pipeline_over_several_nights(runner: Shell) -> None:
    allowed = GITLAB["maintain"]["allow_failure"]["exit_codes"]
    report = GITLAB["maintain"]["artifacts"]["reports"]["junit"]
    first = gitlab(runner)
    assert first.returncode == 5 and first.returncode in allowed, first.stderr
    suites = ElementTree.parse(runner.repo / report).getroot()
    assert [suite.get("name") for suite in suites] == ["run", "checks", "gate"]
    answered(runner)
    second = gitlab(runner)
    assert second.returncode == 0, second.stderr
    assert runner.git("show", "skill-state/greet:src/greeting.txt") == "hello, please\n"


def nightly(shell: Shell) -> subprocess.CompletedProcess[str]:
    env = clean_env(shell.home, path=shell.extra["PATH"]) | {"DEADLINE": "1h"}
    return subprocess.run(
        [EXAMPLES / "nightly.sh", shell.repo], cwd=shell.home, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_cron_over_several_nights(runner: Shell) -> None:
    person = runner.home.parent / "person"
    git(runner.home.parent, "clone", "-q", str(runner.home.parent / "remote.git"), str(person))
    (person / "README").write_text("hello\n")
    git(person, "add", "README")
    git(person, "commit", "-qm", "by somebody")
    git(person, "push", "-q")
    first = nightly(runner)
    assert first.returncode == 5 and "task.yaml ended with 5" in first.stderr, first.stderr
    assert (runner.repo / "README").exists(), "the base is as the remote has it"
    answered(runner)
    (runner.repo / "README").write_text("half an idea\n")
    git(person, "commit", "-q", "--allow-empty", "-m", "another")
    git(person, "push", "-q")
    second = nightly(runner)
    assert second.returncode == 0, second.stderr
    assert (runner.repo / "README").read_text() == "half an idea\n", "what is yours is not touched"
    assert nightly(runner).returncode == 0
