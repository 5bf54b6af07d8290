"""The composite action at the root, its steps run as GitHub runs them, on a real repository with a scripted agent."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from contracts.events import Ended
from controller.surfaces.github import outputs
from tests.ci.actions import Job, clean_env, load, with_controller
from tests.ci.lint import ROOT, mismatches
from tests.controller.world import git
from tests.surfaces.shell import FINISH, POLITE, READ, Shell, act, edit
from tests.tool_adapters.git_http import GitHttp, bare

ACTION = load(ROOT / "action.yml")


def job(shell: Shell, name: str, env: dict[str, str] | None = None) -> Job:
    """A job in the user's checkout. The controller under test is on its PATH."""
    temp = shell.home / name
    temp.mkdir()
    path = with_controller(shell.home / "bin")
    return Job(shell.repo, temp, clean_env(shell.home, path=path) | (env or {}))


def test_a_task_over_several_jobs(shell: Shell) -> None:
    shell.task(FINISH, *POLITE)
    first = job(shell, "first")
    code, told = first.action(ROOT, {"install": "false", "steps": "2", "deadline": "1h"})
    assert (code, told["outcome"], told["exit-code"], told["steps"]) == (0, "paused", "0", "2")
    assert "finish.red" in first.ran[-1].summary

    second = job(shell, "second")
    code, told = second.action(ROOT, {"install": "false"})
    head = shell.git("rev-parse", "skill-state/greet").strip()
    assert (code, told["outcome"], told["revision"], told["branch"]) == (
        0,
        "completed",
        head,
        "skill-state/greet",
    )
    assert (told["steps"], told["pr-url"], told["not-before"]) == ("4", "", "")
    assert told["report-path"] == str(second.temp / "skill-state-junit.xml")
    suites = ElementTree.parse(told["report-path"]).getroot()
    assert [suite.get("failures") for suite in suites] == ["0", "0", "0"]
    (notice,) = second.ran[-1].commands
    assert (notice.name, notice.properties["title"]) == ("notice", "greet: completed")
    assert "<td>edit_files</td>" in second.ran[-1].summary

    code, told = job(shell, "third").action(ROOT, {"install": "false", "junit": str(shell.home / "mine.xml")})
    assert (code, told["outcome"], told["steps"]) == (0, "completed", "4"), "shown again, without a launch"
    assert (shell.home / "mine.xml").is_file()


def test_a_job_ends_well_by_what_is_no_fault_unless_told_otherwise(shell: Shell) -> None:
    shell.task(act("ask", question="how polite?"), *POLITE)
    code, told = job(shell, "first").action(ROOT, {"install": "false"})
    assert (code, told["outcome"], told["exit-code"]) == (0, "blocked", "5")
    code, told = job(shell, "second").action(ROOT, {"install": "false", "exit-zero-on": ""})
    assert (code, told["outcome"], told["exit-code"]) == (5, "blocked", "5")


def test_a_failed_job_tells_its_outcome(shell: Shell) -> None:
    shell.task(*["no JSON"] * 5, READ, *POLITE, budgets="budgets: {steps: 20}")
    one = job(shell, "first")
    code, told = one.action(ROOT, {"install": "false"})
    assert (code, told["outcome"], told["exit-code"]) == (3, "stuck", "3")
    kinds = [each.name for each in one.ran[-1].commands]
    assert kinds.count("error") == 2 and kinds.count("warning") == 5, (
        "the outcome and the red goal; five replies"
    )
    code, told = job(shell, "second").action(ROOT, {"install": "false", "retry": "true"})
    assert (code, told["outcome"]) == (0, "completed")
    (shell.repo / "task.yaml").write_text("version: 2\n")
    code, told = job(shell, "third").action(ROOT, {"install": "false"})
    assert (code, told["outcome"]) == (2, "config_error")


@pytest.mark.parametrize("name", sorted(set(ACTION["inputs"]) - {"install"}))
@pytest.mark.parametrize("text", ["$(touch pwned) '`touch pwned`'\"; touch pwned; \n::error::x", "--help"])
def test_an_input_is_a_word_and_nothing_else(shell: Shell, name: str, text: str) -> None:
    one = job(shell, "job")
    code, _ = one.action(ROOT, {"install": "false", name: text})
    assert code == 2, "a task that is not there, or usage: never help, never a run"
    assert not list(shell.home.parent.rglob("pwned"))
    assert not [each for each in one.ran[-1].commands if each.data == "x"]


def test_what_an_agent_and_its_commands_print_is_no_command_of_ours(shell: Shell) -> None:
    said = "::set-output name=outcome::owned\n\u00a0::add-mask::hello\n##[error]owned\n::stop-commands::x"
    shell.task(
        said,
        act("edit_files", edits=[{"op": "replace", "path": "src/greeting.txt", "old": said, "new": "x"}]),
        {"state_patch": {"notes": {"a": said}}, "action": {"tool": said, "args": {}}},
        act("run", command=said),
        edit(f"hello, please\n{said}\n"),
        act("finish", summary=f"done\n{said}"),
        budgets="budgets: {steps: 9}",
    )
    one = job(shell, "job")
    code, told = one.action(ROOT, {"install": "false"})
    assert (code, told["outcome"]) == (0, "completed"), one.ran[-1].log
    assert {each.name for each in one.ran[-1].commands} == {"warning", "notice"}
    assert all(each.properties["title"].startswith("greet: ") for each in one.ran[-1].commands)
    assert "owned" in one.ran[-1].log, "it is shown"


def test_the_record_stays_on_the_remote_with_the_jobs_token(shell: Shell, tmp_path: Path) -> None:
    token = "ghs_" + "t" * 36
    with GitHttp(tmp_path / "served", token) as served:
        remote = bare(tmp_path / "served/acme/widget")
        shell.git("push", "-q", str(remote), "main")
        shell.task(*POLITE, store=f"store: {{use: git, remote: {served.url}/acme/widget}}")
        shell.git("config", f"http.{served.url}/.extraheader", "AUTHORIZATION: basic c3RhbGU6b25l")
        env = {"GITHUB_SERVER_URL": served.url}
        one = job(shell, "first", env)
        code, told = one.action(ROOT, {"install": "false", "steps": "1", "token": ""})
        assert (code, told["outcome"]) == (8, "unavailable"), one.ran[-1].log
        for name, steps in (("second", "1"), ("third", "")):
            one = job(shell, name, env)
            one.token = token
            code, told = one.action(ROOT, {"install": "false", "steps": steps})
            assert code == 0, one.ran[-1].log
            (masked,) = (each.data for each in one.ran[-1].commands if each.name == "add-mask")
            assert token not in one.ran[-1].log and one.ran[-1].log.count(masked) == 1
            shutil.rmtree(shell.repo / ".agent-runtime")
        assert told["outcome"] == "completed" and told["steps"] == "3"
        assert told["revision"] == git(remote, "rev-parse", "refs/skill-state/greet/work").strip()


def test_the_runner_of_these_tests_sees_commands_and_a_failed_step(tmp_path: Path) -> None:
    one = Job(tmp_path, tmp_path, clean_env(tmp_path))
    said = "echo '  ::warning title=a%2Cb::c%0Ad'; echo 'x ##[error]y'; echo n=v >> $GITHUB_OUTPUT; false; echo z"
    step = one.run("id", said)
    assert [(each.name, each.properties, each.data) for each in step.commands] == [
        ("warning", {"title": "a,b"}, "c\nd"),
        ("error", {}, "y"),
    ]
    assert (step.code, step.outputs) == (1, {"n": "v"}) and "z" not in step.log.splitlines()


def test_its_form() -> None:
    assert not mismatches("github-actions", ACTION)
    assert mismatches("github-actions", {**ACTION, "runs": {"using": "compost"}}), "the schema can say no"
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash" and "${{" not in step["run"], "inputs come by the environment"
    named = {name: said["value"] for name, said in ACTION["outputs"].items()}
    known = outputs(Ended(outcome=None, exit=0), None)
    assert named == {name: f"${{{{ steps.run.outputs.{name} }}}}" for name in known}
    used = {value for step in ACTION["runs"]["steps"] for value in step["env"].values()}
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} <= used, "no input is forgotten"
    names = [*ACTION["inputs"], *ACTION["outputs"]]
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
