"""What was kept is enough: replay of a run, and a store rebuilt from its audit."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import ConfigError, Unavailable
from contracts.outcomes import Outcome
from contracts.queue import Answer
from controller.assemble import assemble
from controller.rebuild import Recovered
from controller.recover import recover
from controller.replay import Replayed, replay
from controller.stores.sqlite import SqliteStore
from tests.controller.test_step import WORK, go, stored
from tests.controller.world import TASK, World, action, edit, finish


def db(world: World) -> Path:
    return world.root / ".agent-runtime/state.db"


def replayed(world: World, to: int | None = None) -> Replayed:
    run = stored(world).run

    async def story() -> Replayed:
        rig = assemble(world.loaded)
        rows = [row async for _, _, _, row in rig.store.log(run)]
        return replay(rows, rig.task, rig.artifacts, to)

    return anyio.run(story)


def a_long_run(world: World, steps: int) -> Any:
    notes = [
        action("list_files", {"depth": 1 + n % 5}, notes={f"n{n % 7}": f"value {n}"}) for n in range(steps)
    ]
    bad = [action("nope"), edit("check.sh", "a", "b"), edit("src/a.txt", "not there", "b")]
    return go(world, [*notes[: steps // 2], *bad, *notes[steps // 2 :], *WORK, finish()])


@pytest.mark.long
def test_two_hundred_steps_are_replayed_byte_for_byte(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=TASK + "budgets: {steps: 400, tokens: 100000000}\n")
    look, change = (
        ("list_files", {"depth": 2}),
        ("run", {"command": "mess"}),
    )  # without a change it were stuck
    moving = [
        action(*(change if n % 10 == 0 else look), notes={f"n{n % 7}": f"value {n}"}, next_action=f"{n}")
        for n in range(200)
    ]
    end = go(world, [*moving, action("nope"), *WORK, finish()])
    assert end.outcome is Outcome.completed
    found = replayed(world)
    assert found.wrong == () and found.skipped == ()
    assert (found.steps, found.gated) == (203, 204)


def test_replay_up_to_a_step(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    a_long_run(world, 6)
    found = replayed(world, to=4)
    assert (found.steps, found.gated) == (3, 4), "the fourth reply was rejected, then and now"


def test_replay_finds_a_gate_that_judges_otherwise(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    a_long_run(world, 6)
    world.file.write_text(TASK.replace('scope: ["src/**"]', 'scope: ["lib/**"]'))
    found = replayed(world)
    assert any("policy.path.scope now, it said allow" in line for line in found.wrong)
    assert any("task" in line for line in found.wrong)


def test_an_answered_question_is_replayed(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [action("ask", {"question": "Which?"})])
    store = SqliteStore(db(world))
    anyio.run(store.post, "tidy", Answer(entry=stored(world).queue[0].id, text="this", by="ana", at=1.0))
    go(world, [*WORK, finish()])
    found = replayed(world)
    assert found.wrong == () and found.skipped == () and found.steps == 4


def recovered(world: World) -> Recovered:
    head = world.git("rev-parse", "skill-state/tidy").strip()
    return anyio.run(recover, db(world), "tidy", head)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\0" * path.stat().st_size),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.unlink(),
    ],
    ids=["empty", "zeroed", "truncated", "gone"],
)
def test_a_damaged_store_is_rebuilt_and_the_run_goes_on(tmp_path: Path, damage: Any) -> None:
    world = World(tmp_path / "r")
    before = go(world, [action("list_files", {}, notes={"a": "b"}), WORK[0]], limit=2).record
    for leftover in db(world).parent.glob("state.db-*"):
        leftover.unlink()
    damage(db(world))
    found = recovered(world)
    assert found.record.state == before.state and found.record.step == before.step
    assert found.record.spent.launches == 2 and found.record.head == before.head
    assert found.record.checks == before.checks
    assert all(path.exists() for path in found.kept) and any("observation" in line for line in found.lost)
    assert anyio.run(SqliteStore(db(world)).verify, before.run) == []
    assert go(world, [WORK[1], finish()]).outcome is Outcome.completed


def test_a_whole_store_is_not_recovered(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [WORK[0]], limit=1)
    with pytest.raises(ConfigError, match="is whole"):
        recovered(world)


def test_nothing_to_rebuild_from_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no audit row"):
        anyio.run(recover, tmp_path / "state.db", "tidy", None)


def test_a_changed_mirror_counts_only_as_far_as_its_chain_holds(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [action("list_files", {}, notes={"a": "b"}), WORK[0], WORK[1]], limit=3)
    mirror = next((db(world).parent / "audit").glob("*.jsonl"))
    lines = mirror.read_bytes().splitlines(keepends=True)
    mirror.write_bytes(b"".join(lines[:2]) + lines[2].replace(b"done", b"lies") + lines[3])
    db(world).write_bytes(b"")
    for leftover in db(world).parent.glob("state.db-*"):
        leftover.unlink()
    found = recovered(world)
    assert found.record.step == 1 and found.record.state["notes"] == {"a": "b"}


def test_a_mirror_that_fell_behind_is_caught_up(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [WORK[0]], limit=1)
    mirror = next((db(world).parent / "audit").glob("*.jsonl"))
    lines = mirror.read_bytes().splitlines(keepends=True)
    mirror.write_bytes(lines[0] + lines[1][:40])
    go(world, [WORK[1], finish()])
    assert len(mirror.read_bytes().splitlines()) == 4


def test_a_changed_row_is_no_dead_end(tmp_path: Path) -> None:
    world = World(tmp_path / "r")
    go(world, [action("list_files", {}, notes={"a": "b"}), WORK[0]], limit=2)
    store = SqliteStore(db(world))
    sqlite3.connect(store.path, isolation_level=None).execute(
        "UPDATE audit SET row = replace(CAST(row AS TEXT), 'done', 'lies') WHERE seq = 3"
    )
    store.close()
    with pytest.raises(Unavailable, match="row 3"):
        go(world, [])
    found = recovered(world)
    assert found.record.state["notes"] == {"a": "done"}, "from the mirror, whose chain holds"
    assert go(world, [WORK[1], finish()]).outcome is Outcome.completed
