"""What a call that died half-way leaves: found again, done exactly once, or asked about."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import ConfigError, Unavailable
from contracts.outcomes import Outcome
from contracts.queue import Answer
from controller.act import act
from controller.stores.sqlite import SqliteStore
from tests.controller.test_step import WORK, go
from tests.controller.world import FILES, TASK, World, action, finish, git

EFFECT = """\
    ship: {run: "echo sent-$SKILL_STATE_KEY >> $HOME/out.txt", effects: [mail], probe: [sh, -c, PROBE]}
"""
WITH_EFFECT = TASK.replace("checks:\n", EFFECT + "checks:\n", 1)
SHIP = action("run", {"command": "ship"})


def killed_while_staged(world: World, monkeypatch: pytest.MonkeyPatch, happened: bool) -> None:
    """A run whose controller died after `ship` was staged: before the deed, or right after it."""
    from controller import step as module

    async def dying(staged: Any, actions: Any) -> Any:
        if happened:
            await act(staged, actions)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "act", dying)
        with pytest.raises(KeyboardInterrupt):
            go(world, [SHIP])


@pytest.mark.parametrize("happened", [True, False])
def test_an_effect_with_a_probe_is_done_exactly_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    task = WITH_EFFECT.replace(
        "PROBE", '\'test -e "$HOME/out.txt" && grep -q "$SKILL_STATE_KEY" "$HOME/out.txt"\''
    )
    world = World(tmp_path / "r", task=task)
    killed_while_staged(world, monkeypatch, happened)
    assert (tmp_path / "out.txt").exists() == happened
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 1


@pytest.mark.parametrize("said", ["happened", "did-not-happen"])
def test_an_effect_that_nobody_can_tell_asks_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    world = World(tmp_path / "r", task=WITH_EFFECT.replace(", probe: [sh, -c, PROBE]", ""))
    killed_while_staged(world, monkeypatch, happened=said == "happened")
    end = go(world, [])
    assert end.outcome is Outcome.blocked and world.prompts == [] and "did-not-happen" in end.record.halt.say
    entry = end.record.queue[0].id
    store = SqliteStore(world.root / ".agent-runtime/state.db")
    anyio.run(store.post, "tidy", Answer(entry=entry, text="perhaps", by="ana", at=1.0))
    assert go(world, []).outcome is Outcome.blocked, "only the two words decide"
    anyio.run(store.post, "tidy", Answer(entry=entry, text=said, by="ana", at=2.0))
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 1


def test_new_gives_an_unfinished_run_up_and_keeps_its_branch(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    first = go(world, [WORK[0]], limit=1).record
    end = go(world, [*WORK, finish()], new=True)
    assert end.outcome is Outcome.completed and end.record.number == 2
    kept = world.git("for-each-ref", "--format=%(objectname)", "refs/skill-state").split()
    assert first.head in kept
    old = anyio.run(SqliteStore(world.root / ".agent-runtime/state.db").load, first.run)
    assert old is not None and old.halt is not None and old.halt.cause == "given up"


def test_commits_of_others_on_the_branch_are_taken_over_and_said(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [WORK[0]], limit=1)
    (world.worktree / "src/c.txt").write_text("by hand\n")
    git(world.worktree, "add", "-A")
    git(world.worktree, "commit", "-qm", "by hand")
    end = go(world, [WORK[1], finish()])
    assert end.outcome is Outcome.completed and world.branch_log()[1] == "by hand"

    async def said() -> list[str]:
        store = SqliteStore(world.root / ".agent-runtime/state.db")
        return [str(row.extra.get("what")) async for _, _, _, row in store.log(end.record.run)]

    assert any("somebody else's commits" in line for line in anyio.run(said))


def test_a_branch_that_lost_the_work_is_for_a_person(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    tip = go(world, [WORK[0]], limit=1).record.head
    git(world.worktree, "reset", "-q", "--hard", "main")
    with pytest.raises(ConfigError, match="does not hold the run's work"):
        go(world, [])
    git(world.worktree, "reset", "-q", "--hard", tip)
    assert go(world, [WORK[1], finish()]).outcome is Outcome.completed


def test_a_commit_of_others_during_a_launch_blocks_and_then_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path / "r")

    def meanwhile(_: Any) -> dict[str, Any]:
        git(world.worktree, "commit", "-q", "--allow-empty", "-m", "by hand")
        return WORK[0]

    end = go(world, [meanwhile])
    assert end.outcome is Outcome.blocked and "moved" in end.record.halt.say
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed


def test_a_deleted_branch_is_put_back(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    tip = go(world, [WORK[0]], limit=1).record.head
    world.git("update-ref", "-d", "refs/heads/skill-state/tidy")
    end = go(world, [WORK[1], finish()])
    assert end.outcome is Outcome.completed and tip in world.git("rev-list", "skill-state/tidy")


def test_a_lost_store_is_not_taken_for_a_new_run(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [WORK[0]], limit=1)
    for path in (world.root / ".agent-runtime").glob("state.db*"):
        path.unlink()
    for new in (False, True):
        with pytest.raises(Unavailable, match="not the newest"):
            go(world, [], new=new)
    (world.root / ".agent-runtime/audit").rename(tmp_path / "audit")
    with pytest.raises(Unavailable, match="no record"):
        go(world, [])
    end = go(world, [*WORK, finish()], new=True)
    assert end.outcome is Outcome.completed and len(world.branch_log()) == 2


def test_a_changed_audit_stops_an_unfinished_run(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [WORK[0]], limit=1)
    store = SqliteStore(world.root / ".agent-runtime/state.db")
    sqlite3.connect(store.path, isolation_level=None).execute(
        "UPDATE audit SET row = replace(CAST(row AS TEXT), 'done', 'lies') WHERE seq = 2"
    )
    with pytest.raises(Unavailable, match="row 2 was changed"):
        go(world, [])


def test_somebody_elses_files_in_the_worktree_are_kept_when_a_step_puts_it_back(tmp_path: Path) -> None:
    world = World(tmp_path / "r")

    def meanwhile(_: Any) -> dict[str, Any]:
        (world.worktree / "mynote.txt").write_text("by hand\n")
        return action("list_files")

    go(world, [meanwhile, WORK[0]], limit=2)
    assert not (world.worktree / "mynote.txt").exists() and world.branch_log() == [
        "step 2: edit_files src/a.txt"
    ]
    kept = world.git("for-each-ref", "--format=%(refname)", "refs/skill-state").split()
    assert any(world.git("show", f"{ref}:mynote.txt") == "by hand\n" for ref in kept)


def test_an_edited_check_waits_for_a_person_and_other_edits_are_said(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [WORK[0]], limit=1)
    world.file.write_text(TASK + "budgets: {steps: 9}\n")
    go(world, [action("list_files")], limit=1)
    world.file.write_text(TASK.replace("[git, grep, -q, old, --, src], pass_exit: [1]", "['true']"))
    end = go(world, [finish()])
    assert end.outcome is Outcome.blocked and "checks" in end.record.halt.say and world.prompts == []
    world.file.write_text(TASK)
    assert go(world, [WORK[1], finish()]).outcome is Outcome.completed


def test_a_guard_that_is_mended_on_the_base_needs_no_more_than_a_run(tmp_path: Path) -> None:
    world = World(tmp_path / "r", files={**FILES, "check.sh": "exit 1\n"})
    with pytest.raises(ConfigError, match="red"):
        go(world, [])
    (world.root / "check.sh").write_text(FILES["check.sh"])
    world.git("commit", "-qam", "mended")
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed
