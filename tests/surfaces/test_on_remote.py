"""A task whose record is on its remote, from the command line: any clone will do, and nothing starts afresh."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.runners import REFS, Runners
from tests.surfaces.shell import FINISH, POLITE, READ, Shell, act
from tests.surfaces.test_grown import RISKY, WISH

pytestmark = pytest.mark.long

TWICE = (READ, POLITE[1], POLITE[1], FINISH)
ASK = act("ask", question="May I?")


@pytest.fixture
def runners(tmp_path: Path) -> Runners:
    return Runners(tmp_path, *POLITE)


def test_one_step_a_runner_until_it_is_done(runners: Runners) -> None:
    codes = []
    for number in range(4):
        shell = runners.fresh(f"r{number}")
        codes.append(shell("run", "--steps", "1").code)
    assert codes == [6, 6, 0, 0] or codes[-2:] == [0, 0], codes
    assert runners.launches == ["r0", "r1", "r2"], "the last one had nothing to do"
    assert runners.shown("src/greeting.txt") == "hello, please\n"
    assert runners.subjects() == ["step 2: edit_files src/greeting.txt"]


# ---- two at once -----------------------------------------------------------------------------------------------
def test_of_two_started_together_one_works_and_the_other_spends_nothing(runners: Runners) -> None:
    runners.replies = ({"sleep": 3} | READ, *POLITE[1:])
    shells = [runners.fresh("one"), runners.fresh("two")]
    started = [shell.start("run") for shell in shells]
    said = [each.communicate(timeout=120) for each in started]
    codes = sorted(each.returncode for each in started)
    assert codes == [0, 7], said
    loser = next(n for n, each in enumerate(started) if each.returncode == 7)
    assert "is being worked on by pid" in said[loser][1]
    assert set(runners.launches) == {("one", "two")[1 - loser]} and len(runners.launches) == 3
    assert not (shells[loser].repo / ".agent-runtime/work").exists(), "not even a worktree was made"


def test_a_second_controller_of_one_clone_is_kept_out_and_a_third_goes_on(runners: Runners) -> None:
    runners.replies = ({"sleep": 60} | READ, *POLITE[1:])
    shell = runners.fresh("one")
    working = shell.start("run")
    try:
        assert _until(lambda: runners.launches)
        assert shell("run").code == 7
        status = shell("status", "--json").one
        assert status["state"] == "running" and status["owner"]["pid"] == working.pid
    finally:
        working.kill()
        working.wait()
    runners.replies = POLITE
    runners.task(shell)
    assert shell("status", "--json").one["state"] == "interrupted"
    done = shell("run", "--json")
    assert done.code == 0 and done.lines[-1]["outcome"] == "completed"


def _until(true: Any, seconds: float = 60.0) -> bool:
    import time

    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if true():
            return True
        time.sleep(0.05)
    return False


def test_a_field_that_was_agreed_to_goes_along_with_the_record(tmp_path: Path) -> None:
    runners = Runners(tmp_path, READ, WISH, RISKY, RISKY, *POLITE[1:])
    assert runners.fresh("asks")("run").code == 5
    assert runners.fresh("says")("approve", "c2").code == 0
    for number in range(2):  # the one that agrees, and one that has never heard of it
        stepped = runners.fresh(f"r{number}")("run", "--steps", "1")
        assert stepped.code in (0, 6), stepped.err
    last = runners.fresh("last")
    ended = last("run")
    assert ended.code == 0, ended.err
    assert json.loads(last("state", "export").out)["state"]["risks"] == {"tz": "naive"}
    assert last("replay").code == 0 and last("log", "--verify").code == 0
    assert runners.fresh("new")("run", "--new", "--steps", "1").code in (0, 6), (
        "nor is it lost to the next run"
    )
    assert json.loads(runners.fresh("reads")("state", "export").out)["state_version"] == 2


# ---- what people do meanwhile ----------------------------------------------------------------------------------
def test_what_a_person_pushed_between_two_runs_is_taken_over_and_said(runners: Runners) -> None:
    runners.fresh("one")("run", "--steps", "2")
    runners.by_hand("note.txt", "mine\n")
    done = runners.fresh("two")("run")
    assert done.code == 0 and "somebody else's commits: taken over" in done.err
    assert runners.subjects()[:1] == ["by hand"] and runners.shown("note.txt") == "mine\n"


def test_a_branch_that_a_person_rewound_is_refused(runners: Runners) -> None:
    runners.fresh("one")("run", "--steps", "2")
    runners.git("update-ref", f"{REFS}/work", "main")
    before = runners.refs()
    said = runners.fresh("two")("run")
    assert said.code == 8 and "does not hold the run's work" in said.err and runners.refs() == before


def pushing(runners: Runners, shell: Shell, at: str) -> None:
    """The agent's (or a command's) process pushes onto the branch on the remote, as a person would meanwhile."""
    script = shell.home / "push.sh"
    seed, env = runners.seed, "-c user.name=you -c user.email=you@localhost"
    script.write_text(
        f"set -e\ntest ! -e {shell.home}/pushed\ntouch {shell.home}/pushed\ncd {seed.repo}\n"
        f"git fetch -q origin {REFS}/work\ngit checkout -q --detach FETCH_HEAD\necho mine > note.txt\n"
        f"git add -A\ngit {env} commit -qm 'by hand'\ngit push -q origin HEAD:{REFS}/work\ngit checkout -q main\n"
    )
    if at == "launch":
        agent = runners.folder / "agent.py"
        head = f"import subprocess\nsubprocess.run(['sh', {str(script)!r}], capture_output=True)\n"
        agent.write_text(head + agent.read_text())


def test_a_push_during_a_launch_is_taken_over_in_the_same_call(runners: Runners) -> None:
    runners.replies = TWICE
    shell = runners.fresh("one")
    assert shell("run", "--steps", "1").code in (0, 6)
    pushing(runners, shell, "launch")
    done = shell("run")
    assert done.code == 0 and "somebody pushed onto the branch" in done.err, done.err
    assert runners.shown("note.txt") == "mine\n" and runners.shown("src/greeting.txt") == "hello, please\n"
    assert "by hand" in runners.subjects()
    assert shell("log", "--verify").code == 0


def test_a_step_that_was_committed_here_but_overtaken_there_is_done_again(runners: Runners) -> None:
    """The push comes between the step's commit in the clone and its push to the remote."""
    runners.replies = TWICE
    shell = runners.fresh("one")
    pushing(runners, shell, "commit")
    # `pre-receive` of the remote sees our push coming, and is the person who is faster by a moment.
    hook = runners.bare / "hooks/pre-receive"
    script = (shell.home / "push.sh").read_text().replace("git push", "env -u GIT_DIR git push")
    (shell.home / "push.sh").write_text(f"unset $(env | grep -o '^GIT_[A-Z_]*' || true)\n{script}")
    hook.write_text(
        f'#!/bin/sh\nwhile read old new ref; do test "$ref" = {REFS}/work && test "$old" != {"0" * 40} && '
        f"sh {shell.home}/push.sh >/dev/null 2>&1; done; exit 0\n"
    )
    hook.chmod(0o755)
    done = shell("run")
    assert done.code == 0, done
    assert runners.shown("note.txt") == "mine\n" and runners.shown("src/greeting.txt") == "hello, please\n"
    assert runners.subjects() == ["step 3: edit_files src/greeting.txt", "by hand"], (
        "the step stands on what the person pushed"
    )
    assert "act.overtaken" in shell("log").out, "and was asked for again, on what is there now"
    kept = shell.git("for-each-ref", "--format=%(refname)", "refs/skill-state").split()
    assert any("/left" in ref for ref in kept), "what was done first is kept in the clone"


def test_people_speak_from_another_machine(tmp_path: Path) -> None:
    runners = Runners(tmp_path, ASK, *POLITE)
    assert runners.fresh("one")("run").code == 5
    ana = runners.fresh("ana")
    assert "May I?" in ana("status").out and ana("approvals", "--json").one["queue"][0]["id"] == "q1"
    assert ana("tell", "be kind").code == 0
    assert ana("answer", "q1", "yes, do").code == 0
    assert ana("status", "--json").one["state"] == "answered"
    done = runners.fresh("two")("run")
    assert done.code == 0
    assert "be kind" in ana("prompt", "3").out and "yes, do" in ana("prompt", "3").out


def test_a_stop_from_another_machine_ends_the_run_after_its_step(runners: Runners) -> None:
    runners.replies = ({"sleep": 5} | READ, *POLITE[1:])
    shell = runners.fresh("one")
    working = shell.start("run")
    assert _until(lambda: runners.launches)
    ana = runners.fresh("ana")
    said = ana("stop", "--why", "lunch")
    assert said.code == 0 and str(working.pid) in said.out
    out, err = working.communicate(timeout=120)
    assert working.returncode == 130 and "lunch" in out + err
    assert ana("status", "--json").one["step"] == 1


# ---- asked from anywhere ---------------------------------------------------------------------------------------
def test_every_query_works_in_a_clone_that_has_done_nothing(runners: Runners) -> None:
    shell = runners.fresh("one")
    assert shell("run").code == 0
    there = runners.fresh("there")
    for words in (
        ["status"], ["log"], ["log", "--verify"], ["explain"], ["explain", "2"], ["prompt", "1"], ["diff"], ["replay"],
        ["state", "show"], ["state", "history"], ["state", "diff"], ["state", "export"], ["intent", "show"],
        ["recall", "polite"], ["approvals"], ["validate", "--criteria"], ["clean", "--dry-run"],
        ["land", "--dry-run"], ["tell"],
    ):  # fmt: skip
        here, elsewhere = shell(*words), there(*words)
        assert here.code == elsewhere.code == 0, (words, elsewhere)
        if words[0] not in ("clean",):
            assert here.out == elsewhere.out, words
    assert not (there.repo / ".agent-runtime/work").exists(), "a query makes no worktree"
    assert "hello, please" in there("explain", "2").out and "hello, please" in there("diff").out
    assert there("land").code == 0
    assert (there.repo / "src/greeting.txt").read_text() == "hello, please\n"
    assert there("clean", "--json").code == 0
    assert there("status", "--json").one["state"] == "completed"


def test_a_person_who_works_in_the_branch_is_not_disturbed_by_a_query(runners: Runners) -> None:
    assert runners.fresh("one")("run").code == 0
    there = runners.fresh("there")
    there.git("checkout", "-q", "-b", "skill-state/greet")
    before = there.git("rev-parse", "HEAD")
    assert there("diff").code == 0
    assert there.git("rev-parse", "HEAD") == before and there.git("status", "--porcelain", "-uno") == ""


def test_what_an_answer_of_a_command_was_is_read_from_another_clone(tmp_path: Path) -> None:
    commands = "actions: {commands: {noise: {run: \"seq 1 9000 | sed 's/^/line /'\"}}}"
    replies = [act("run", command="noise"), POLITE[1], FINISH]
    runners = Runners(tmp_path, *replies, actions=commands)
    assert runners.fresh("one")("run", "--steps", "1").code in (0, 6)
    there = runners.fresh("two")
    prompt = _noise(there)
    assert prompt and "line 9000" in there("recall", "9000").out
    big = Runners(tmp_path / "big", *replies, actions=commands.replace("9000", "400000"))
    assert big.fresh("one")("run", "--steps", "1").code in (0, 6)
    assert "no longer kept are not searched: steps 1" in big.fresh("two")("recall", "399999").out
    said = big.fresh("three")("explain", "--source", f"artifact:{_noise(big.fresh('four'))}")
    assert said.code == 3 and "it was left on" in said.out


def _noise(shell: Shell) -> str:
    """The id of the output that the last step names."""
    row = json.loads(shell("log", "--json").out.splitlines()[-1])
    return str(next(iter(row["extra"]["outputs"])))


# ---- clones as CI makes them -----------------------------------------------------------------------------------
def test_shallow_clones_without_a_branch_carry_it_on(tmp_path: Path) -> None:
    runners = Runners(tmp_path, *POLITE)
    for number in range(2):
        runners.seed.git("commit", "-q", "--allow-empty", "-m", f"before {number}")
    runners.seed.git("push", "-q", "origin", "main")
    for number in range(3):
        shell = runners.fresh(f"r{number}", "--depth", "1")
        shell.git("checkout", "-q", "--detach")
        shell.git("branch", "-q", "-D", "main")
        code = shell("run", "--steps", "1").code
        # Meanwhile the base goes on, so the next clone does not hold the commit that the run began at.
        runners.seed.git("commit", "-q", "--allow-empty", "-m", f"meanwhile {number}")
        runners.seed.git("push", "-q", "origin", "main")
    assert code == 0 and runners.subjects() == ["step 2: edit_files src/greeting.txt"]
    assert len(runners.launches) == 3


def test_each_clone_has_its_own_git_configuration_and_none_may_change_under_a_run(runners: Runners) -> None:
    for number in range(2):
        shell = runners.fresh(f"r{number}")
        shell.git("config", "http.https://forge.example/.extraheader", f"AUTHORIZATION: basic {number}")
        assert shell("run", "--steps", "1").code in (0, 6)
    shell.git("config", "core.editor", "evil")
    said = shell("run")
    assert said.code == 5 and "Git configuration" in said.out
    assert runners.fresh("r2")("run").code == 5, "a person has to look first, whatever the clone"
    assert shell("run", "--retry").code == 0
    assert runners.shown("src/greeting.txt") == "hello, please\n"


# ---- what can't be ---------------------------------------------------------------------------------------------
def test_a_secret_in_the_state_is_not_pushed(tmp_path: Path) -> None:
    runners = Runners(tmp_path, *POLITE)
    shell = runners.fresh("one")
    schema = {
        "type": "object",
        "additionalProperties": False,
        "x-version": 1,
        "properties": {"token": {"type": "string", "maxLength": 40, "x-sensitivity": "secret"}},
    }
    contract = shell.repo / "contract"
    contract.mkdir()
    (contract / "state.schema.json").write_text(json.dumps(schema))
    runners.changes["contract"] = "contract: contract"
    runners.task(shell)
    said = shell("run")
    assert said.code == 2 and "/token" in said.err and "pushes the whole state" in said.err
    assert shell("validate").code == 3 and runners.refs() == {}


def test_a_remote_is_of_a_store_on_a_remote(tmp_path: Path) -> None:
    runners = Runners(tmp_path, *POLITE, store="store: {use: sqlite, remote: origin}")
    said = runners.fresh("one")("validate")
    assert said.code == 3 and "remote" in said.out + said.err


def test_the_refs_can_be_looked_at_with_git_alone(runners: Runners) -> None:
    assert runners.fresh("one")("run").code == 0
    log = runners.git("log", "--format=%s", f"{REFS}/record").splitlines()
    assert log[-1].startswith("step 0: opened") and "completed" in log[0]
    tree = subprocess.run(
        ["git", "--git-dir", str(runners.bare), "ls-tree", "-r", "--name-only", f"{REFS}/record"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "runs/0001/record.json" in tree and "runs/0001/audit/0000/01.json" in tree
