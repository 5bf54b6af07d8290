"""A state carried from one version of its schema to the next and back, in the middle of a run, on a real store."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from contracts.errors import Busy, ConfigError, Unavailable
from contracts.migrations import BadMigration
from contracts.outcomes import Outcome
from contracts.queue import StopRequest, Tell
from controller.loop import run
from controller.migrate import Plan, migrate
from controller.opening import Options
from controller.record_store import open_store
from controller.schema_chain import chain_of
from controller.stores.sqlite import SqliteStore
from tests.controller.test_replay import db, recovered, replayed
from tests.controller.test_step import go, stored
from tests.controller.versions import ONE, THREE, TO_THREE, TO_TWO, TWO, VERSIONED, contract, keyed, schema
from tests.controller.world import World, action, edit, finish

NOTES = {"tz": "uses text_type", "win": "not looked at"}
FACTS = {name: {"text": text, "source": "unknown"} for name, text in NOTES.items()}
FIRST = edit("src/a.txt", "old", "new", notes=NOTES, next_action="src/b.txt")
ALL = {"older": (ONE, TWO), "migrations": (TO_TWO, TO_THREE)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A run after its first step, at version 1."""
    world = World(tmp_path / "repo", task=VERSIONED)
    contract(world.root, ONE)
    go(world, [FIRST], limit=1)
    return world


def carried(world: World, to: int | None = None, dry_run: bool = False, most: int = 16384) -> Plan:
    loaded = world.loaded
    chain = chain_of(loaded)

    async def story() -> Plan:
        store = open_store(loaded, create=False)
        wanted = to or chain.current.version
        return await migrate(store, "tidy", chain, wanted, most=most, by="ana", dry_run=dry_run)

    return anyio.run(story)


def everything(world: World) -> tuple[Any, bytes]:
    """The record and the audit, to see that nothing moved."""
    mirror = next((world.root / ".agent-runtime/audit").glob("*.jsonl"))
    return stored(world), mirror.read_bytes()


def test_a_run_goes_on_with_the_next_version(world: World) -> None:
    contract(world.root, THREE, **ALL)
    with pytest.raises(ConfigError, match="state migrate --to 3"):
        go(world, [])
    before = everything(world)
    shown = carried(world, dry_run=True)
    assert everything(world) == before, "a dry run changes nothing"
    assert shown.state == {"facts": FACTS, "next": "src/b.txt"}
    carried(world)
    record = stored(world)
    assert (record.state, record.state_version) == (shown.state, 3)
    assert record.observation == before[0].observation and record.spent == before[0].spent
    risky = edit("src/b.txt", "old", "new", risks={"one": "r"}, facts={"tz": None})
    end = go(world, [risky, finish()])
    assert end.outcome is Outcome.completed
    assert end.record.state == {"facts": {"win": FACTS["win"]}, "next": "src/b.txt", "risks": {"one": "r"}}


def test_the_prompt_after_it_shows_the_new_state(world: World) -> None:
    contract(world.root, THREE, **ALL)
    carried(world)
    go(world, [finish()], limit=1)
    state = world.prompts[0].partition("=== STATE ===")[2].partition("\n=== ")[0]
    assert "facts" in state and "uses text_type" in state and "notes" not in state


def test_back_to_where_it_was(world: World) -> None:
    before = stored(world)
    contract(world.root, THREE, **ALL)
    carried(world)
    carried(world, to=1)
    record = stored(world)
    assert (record.state, record.state_version) == (before.state, 1)
    assert record.rows == before.rows + 2
    with pytest.raises(ConfigError, match="version 1, its schema of version 3"):
        go(world, [])
    contract(world.root, ONE)
    assert go(world, [edit("src/b.txt", "old", "new"), finish()]).outcome is Outcome.completed


def test_it_is_the_audit_alone_that_the_state_is_rebuilt_from(world: World) -> None:
    contract(world.root, THREE, **ALL)
    carried(world)
    go(world, [edit("src/b.txt", "old", "new", next="finish"), finish()])
    found = replayed(world)
    assert found.wrong == () and found.skipped == ()
    assert (found.steps, found.gated) == (3, 3), "each reply was judged under the schema of its time"


def test_a_reply_from_before_whose_schema_is_gone_is_not_judged_again(world: World) -> None:
    contract(world.root, THREE, **ALL)
    carried(world)
    contract(world.root, THREE)
    found = replayed(world)
    assert found.wrong == () and "version 1 is not kept" in found.skipped[0]


def test_a_damaged_store_is_rebuilt_at_the_version_it_had(world: World) -> None:
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    carried(world)
    before = stored(world)
    for leftover in db(world).parent.glob("state.db*"):
        leftover.unlink()
    found = recovered(world).record
    assert (found.state, found.state_version) == (before.state, 2)
    assert found.digests["schema"] == before.digests["schema"]
    assert go(world, [edit("src/b.txt", "old", "new"), finish()]).outcome is Outcome.completed


def test_many_steps_with_a_migration_in_the_middle_are_replayed(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=VERSIONED + "budgets: {steps: 400, tokens: 100000000}\n")
    contract(world.root, ONE)

    def moving(n: int, **patch: Any) -> Any:
        look = ("run", {"command": "mess"}) if n % 10 == 0 else ("list_files", {"depth": 2})
        return action(*look, **patch)

    go(world, [moving(n, notes={f"n{n % 7}": f"value {n}"}) for n in range(30)], limit=30)
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    carried(world)
    facts = [moving(n, facts={f"n{n % 7}": {"text": f"value {n}", "source": "s"}}) for n in range(30, 60)]
    go(world, facts, limit=30)
    found = replayed(world)
    assert found.wrong == () and found.skipped == ()
    assert (found.steps, found.gated) == (60, 60)


# ---- what is refused, and leaves everything as it was ------------------------------------------------------
def changed(migration: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**migration, **more}


@pytest.mark.parametrize(
    ("migration", "says"),
    [
        (changed(TO_TWO, forward=TO_TWO["forward"][:2]), "no state of version 2"),
        (changed(TO_TWO, forward=[{"op": "remove", "path": "/nothing"}]), "nothing at /nothing"),
        (changed(TO_TWO, back=TO_TWO["back"][:-1]), "back, the result is no state of version 1"),
        (
            changed(TO_TWO, back=[{"op": "remove", "path": "/facts"}, {"op": "add", "path": "/notes", "value": {}}]),
            "back, /notes/tz is not what it was",
        ),
        (changed(TO_THREE, **{"from": 2, "to": 3}), "no migration leads from version 1 to 2"),
    ],
    ids=["breaks the schema", "fails", "no way back", "loses", "a hole"],
)  # fmt: skip
def test_a_bad_migration_is_refused_and_the_state_is_intact(world: World, migration: Any, says: str) -> None:
    contract(world.root, TWO if migration["to"] == 2 else THREE, older=(ONE, TWO)[: migration["to"] - 1],
             migrations=(migration,))  # fmt: skip
    before = everything(world)
    with pytest.raises(BadMigration, match=says):
        carried(world)
    assert everything(world) == before
    contract(world.root, ONE)
    assert go(world, [edit("src/b.txt", "old", "new"), finish()]).outcome is Outcome.completed


def test_what_is_declared_lost_is_lost(world: World) -> None:
    back = [{"op": "remove", "path": "/facts"}, {"op": "add", "path": "/notes", "value": {}}]
    contract(
        world.root, TWO, older=(ONE,), migrations=(changed(TO_TWO, back=back, lossy="the facts"),)
    )  # fmt: skip
    carried(world)
    carried(world, to=1)
    assert stored(world).state == {"notes": {}, "next_action": "src/b.txt"}


def test_a_state_of_a_newer_version_is_left_alone(world: World) -> None:
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    carried(world)
    contract(world.root, ONE)
    before = everything(world)
    for call in (lambda: go(world, []), lambda: carried(world)):
        with pytest.raises(Unavailable, match="version 2"):
            call()
    assert everything(world) == before


def test_a_half_done_step_is_finished_first(world: World) -> None:
    async def half() -> None:
        rig = world.rig([edit("src/b.txt", "old", "new", next_action="finish")])
        act = rig.actions["edit_files"].run

        async def dies(*args: Any, **more: Any) -> Any:
            await act(*args, **more)
            raise RuntimeError("the machine went away")

        rig.actions["edit_files"].run = dies
        await run(rig, Options(patience=0.0))

    with pytest.raises(RuntimeError):
        anyio.run(half)
    assert stored(world).staged is not None
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    with pytest.raises(ConfigError, match=r"half done.*controller run"):
        carried(world)
    with pytest.raises(ConfigError, match="state migrate --to 2"):
        go(world, [])  # no launch: the step is finished, then it ends
    assert stored(world).staged is None and stored(world).state["next_action"] == "finish"
    carried(world)
    assert go(world, [finish()]).outcome is Outcome.completed


def test_nothing_is_migrated_beside_a_controller_at_work(world: World) -> None:
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    store = SqliteStore(db(world))
    lease = anyio.run(store.lease, "tidy", 60)
    other = orjson.dumps(asdict(lease.owner) | {"host": "elsewhere", "boot": "another"})
    sqlite3.connect(db(world), isolation_level=None).execute("UPDATE leases SET owner = ?", (other,))
    before = everything(world)
    with pytest.raises(Busy):
        carried(world)
    assert everything(world) == before


def test_a_finished_run_keeps_its_state(world: World) -> None:
    go(world, [edit("src/b.txt", "old", "new"), finish()])
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    with pytest.raises(ConfigError, match="finished"):
        carried(world)
    assert go(world, []).outcome is Outcome.completed, "it is shown again"


def test_what_people_said_is_neither_lost_nor_doubled(world: World) -> None:
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    store = SqliteStore(db(world))
    anyio.run(store.post, "tidy", Tell(text="mind the tests", by="ana", at=1.0))
    anyio.run(store.post, "tidy", StopRequest(by="ana", at=2.0))
    carried(world)
    assert [note.text for note in stored(world).notes] == ["mind the tests"]
    assert go(world, []).outcome is Outcome.interrupted, "the wish to stop still holds"
    assert [note.text for note in stored(world).notes] == ["mind the tests"]


def test_a_state_that_would_be_too_large_is_refused(world: World) -> None:
    contract(world.root, TWO, older=(ONE,), migrations=(TO_TWO,))
    with pytest.raises(BadMigration, match=r"limits\.state"):
        carried(world, most=80)
    assert stored(world).state_version == 1


def test_it_is_there_already(world: World) -> None:
    before = everything(world)
    assert carried(world).legs == ()
    assert everything(world) == before


# ---- an edited schema whose version stayed -----------------------------------------------------------------
def test_an_edit_that_the_state_fits_is_taken_over_and_said(world: World) -> None:
    wider = schema(1, {**ONE["properties"], "more": keyed({"type": "boolean"})}, "more")
    contract(world.root, wider)
    end = go(world, [edit("src/b.txt", "old", "new", more={"a": True}), finish()])
    assert end.outcome is Outcome.completed and end.record.state["more"] == {"a": True}


def test_an_edit_that_the_state_breaks_is_refused(world: World) -> None:
    contract(world.root, TWO | {"x-version": 1})
    before = everything(world)
    with pytest.raises(ConfigError, match=r"does not fit the schema any more.*next x-version"):
        go(world, [])
    assert everything(world) == before


def test_who_may_write_a_field_is_changed_by_a_person_only(tmp_path: Path) -> None:
    world = World(tmp_path / "repo", task=VERSIONED)
    owned = {
        **ONE["properties"],
        "rule": {"type": "string", "maxLength": 9, "x-owner": "user", "default": "a"},
    }
    contract(world.root, schema(1, owned))
    go(world, [FIRST], limit=1)
    freed = {**owned, "rule": {"type": "string", "maxLength": 9, "default": "a"}}
    contract(world.root, schema(1, freed))
    end = go(world, [])
    assert end.outcome is Outcome.blocked and "rules" in end.record.halt.say
    assert (
        go(world, [edit("src/b.txt", "old", "new", rule="b"), finish()], retry=True).outcome
        is Outcome.completed
    )
