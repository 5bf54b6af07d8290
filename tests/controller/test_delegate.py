"""`explore: delegate`: an agent that edits by itself, in a copy. Repository, sandbox and processes are real."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import ConfigError
from contracts.outcomes import Outcome
from contracts.queue import Decision
from controller.assemble import assemble
from controller.replay import replay
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.controller.delegates import DELEGATED, Delegated, rows, said, turn
from tests.scenarios.scenario import call_controller

A = "sed -i s/old/new/ src/a.txt"
B = "sed -i s/old/new/ src/b.txt"
COMMITS = "git -c user.name=x -c user.email=x@y.z commit -qam mine"
LOOSE = f"{DELEGATED}budgets: {{rejections: 40}}\n"
TOKEN = "ghp_" + "Zk3v9Qw7Lr2Xs8Nf4Tb6Hd1Jm5Pc0YgAuEiOq"

# What an agent does, and what it is refused for.
BAD = {
    "out of scope": (f"{B}; echo hi > top.txt", "policy.path.scope"),
    "breaks tests": ("printf '\\0' >> src/a.txt; printf 'x\\n' >> src/b.txt", "policy.submit.binary"),
    "commits by itself": (f"{B}; {COMMITS}", "policy.submit.commits"),
    "a branch": ("git branch mine", "policy.submit.commits"),
    "a commit that is gone from the files": (f"{B}; {COMMITS}; git checkout -q HEAD~1 -- .", "policy.submit.commits"),
    "a repository in it": (f"{B}; git init -q src/x", "policy.submit.commits"),
    "edits a check": (f"{B}; echo exit 0 > check.sh", "policy.path.pinned"),
    "edits what is ignored": (f"{B}; echo 'src/c*' > .gitignore", "policy.path.protected"),
    "a background process": (f"{B}; setsid sleep 300 >/dev/null 2>&1 &", "policy.submit.processes"),
    "a secret": (f"echo 'token = \"{TOKEN}\"' >> src/b.txt", "policy.secret"),
    "a file of secrets": ("echo x > src/.env", "policy.path.secret"),
    "a link": ("rm src/b.txt; ln -s a.txt src/b.txt", "policy.submit.link"),
    "a folder becomes a link": ("rm -rf src; ln -s /etc src", "policy.submit.link"),
    "a mode": ("chmod +x src/b.txt", "policy.submit.mode"),
    "too much": ("for i in $(seq 1 401); do echo $i > src/n$i.txt; done", "policy.submit.too_large"),
    "nothing": ("true", "policy.submit.empty"),
}  # fmt: skip


def test_what_an_agent_edits_by_itself_becomes_the_steps_commit_and_every_kind_of_bad_one_is_refused(
    tmp_path: Path,
) -> None:
    bad = [turn(sh) for sh, _ in BAD.values()]
    turns = [turn(A, notes={"a": "done"}), *bad, turn(B, tool="finish"), turn(B), turn(tool="finish")]
    world = Delegated(tmp_path / "r", turns, task=LOOSE)
    end = world.run()
    assert end.outcome is Outcome.completed, end.record.halt
    codes = ["allow", *(code for _, code in BAD.values()), "reply.unsubmitted", "allow", "allow"]
    assert dict(zip([*BAD], said(world)[1:], strict=False)) == dict(zip([*BAD], codes[1:], strict=False))
    assert said(world) == codes
    assert [line.split(" ", 2)[2] for line in world.branch_log()] == ["submit src/b.txt", "submit src/a.txt"]
    assert world.git("diff", "--stat", "--name-only", "main..skill-state/tidy").split() == [
        "src/a.txt",
        "src/b.txt",
    ]
    assert end.record.state["notes"] == {"a": "done"}
    assert (world.root / "src/a.txt").read_text() == "one old\ntwo\n", "the user's checkout is untouched"
    assert world.git("log", "--format=%s", "skill-state/tidy", "-1", "--", "src/x", "top.txt") == ""
    assert world.git("for-each-ref", "refs/heads", "--format=%(refname)").split() == [
        "refs/heads/main", "refs/heads/skill-state/tidy"
    ]  # fmt: skip


def test_commits_of_its_own_are_kept_aside_and_the_audit_gates_the_same_again(tmp_path: Path) -> None:
    world = Delegated(tmp_path / "r", [turn(f"{B}; {COMMITS}"), turn(A), turn(B), turn(tool="finish")])
    assert world.run().outcome is Outcome.completed
    kept = "refs/skill-state/tidy/submitted/1"
    assert "mine" in world.git("log", "--format=%s", f"{kept}^2", "-1")
    assert (
        world.git("show", f"{kept}^2:src/b.txt") == "an new thing\n" == world.git("show", f"{kept}:src/b.txt")
    )
    assert kept in rows(world)[1].extra["say"]
    rig = assemble(read_task(world.file))
    again = replay(rows(world), rig.task, rig.artifacts)
    assert (again.wrong, again.skipped, again.gated) == ((), (), 4)


def test_a_guard_that_goes_red_throws_it_away_and_is_the_correction(tmp_path: Path) -> None:
    task = DELEGATED.replace("must_notice: src/a.txt}", "must_notice: src/a.txt}\n  - {name: two, role: guard, "
                             "run: [grep, -q, two, src/a.txt], pins: [], when: edit}")  # fmt: skip
    world = Delegated(
        tmp_path / "r", [turn("echo new > src/a.txt"), turn(A), turn(B), turn(tool="finish")], task=task
    )
    end = world.run()
    assert end.outcome is Outcome.completed, [
        (row.step, row.kind, row.tool_result, row.extra) for row in rows(world)
    ]
    assert [row.tool_result for row in rows(world) if row.kind == "step"] == ["submit.red", "ok", "ok", "ok"]
    assert world.git("show", "skill-state/tidy:src/a.txt") == "one new\ntwo\n"
    (undone,) = [ref for ref in world.refs() if "/undone/1" in ref]
    assert world.git("show", f"{undone}:src/a.txt") == "new\n"


@pytest.mark.parametrize("happened", [True, False])
def test_a_controller_that_died_while_it_was_applied_applies_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: bool
) -> None:
    from controller import step as module
    from controller.act import act

    async def dying(staged: Any, actions: Any) -> Any:
        if happened:
            await act(staged, actions)
        raise KeyboardInterrupt

    world = Delegated(tmp_path / "r", [turn(f"{A}; {B}"), turn(tool="finish")])
    with monkeypatch.context() as patch:
        patch.setattr(module, "act", dying)
        with pytest.raises(KeyboardInterrupt):
            world.run()
    world.git("gc", "-q", "--prune=now")
    assert world.run().outcome is Outcome.completed
    assert world.branch_log() == ["step 1: submit src/a.txt and 1 more"]
    assert said(world) == ["allow", "allow"]


def test_a_candidate_that_is_gone_when_a_controller_comes_back_is_done_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from controller import step as module

    async def dying(staged: Any, actions: Any) -> Any:
        raise KeyboardInterrupt

    world = Delegated(tmp_path / "r", [turn(A), turn(f"{A}; {B}"), turn(tool="finish")])
    with monkeypatch.context() as patch:
        patch.setattr(module, "act", dying)
        with pytest.raises(KeyboardInterrupt):
            world.run()
    world.git("update-ref", "-d", world.refs()[0])
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    assert world.run().outcome is Outcome.completed
    assert world.branch_log() == ["step 2: submit src/a.txt and 1 more"]


def test_deletions_beyond_a_boundary_wait_for_a_person_and_are_then_done_without_a_launch(
    tmp_path: Path,
) -> None:
    task = f"{DELEGATED}approvals: {{boundaries: [{{deletes: 0}}]}}\n"
    world = Delegated(tmp_path / "r", [turn(f"{A}; rm src/b.txt"), *[turn(tool="finish")] * 2], task=task)
    end = world.run()
    assert end.outcome is Outcome.blocked and "deleting 1 files" in end.record.halt.say
    (entry,) = end.record.queue
    assert "src/b.txt" in entry.target
    shown = entry.diff.removeprefix("what it changes: git ").split()
    assert "+one new" in world.git(*shown) and "deleted file" in world.git(*shown)

    yes = Decision(entry=entry.id, hash=entry.hash, yes=True, by="ana", at=time.time())
    anyio.run(SqliteStore(world.root / ".agent-runtime/state.db").post, "tidy", yes)
    assert world.run().outcome is Outcome.completed
    assert world.branch_log()[0].startswith("step 2: submit") and not world.git(
        "ls-tree", "skill-state/tidy", "src/b.txt"
    )


def test_a_plan_shows_what_was_submitted_and_is_applied_without_a_launch(tmp_path: Path) -> None:
    world = Delegated(tmp_path / "r", [turn(f"{A}; {B}")])
    planned = call_controller(world.root, tmp_path, "plan", "--json")
    assert planned.code == 0, planned.err
    told = planned.lines[-1]
    assert "+one new" in told["diff"] and "+an new thing" in told["diff"]
    assert world.branch_log() == []
    applied = call_controller(world.root, tmp_path, "apply", told["plan"], "--json")
    assert applied.code == 0, applied.err
    assert world.branch_log() == ["step 2: submit src/a.txt and 1 more"]


def test_without_a_sandbox_that_can_hold_it_nothing_is_started(tmp_path: Path) -> None:
    world = Delegated(tmp_path / "r", [turn(A)], task=f"{DELEGATED}sandbox: {{mode: none}}\n")
    with pytest.raises(ConfigError, match="needs bubblewrap"):
        world.run()
