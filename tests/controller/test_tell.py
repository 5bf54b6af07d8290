"""A person's word while a run is at work: shown until it is taken in or withdrawn, and never an edit of the intent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

from contracts.outcomes import Outcome
from contracts.queue import MAX_NOTES, Tell, Withdraw
from controller.stores.sqlite import SqliteStore
from tests.controller.test_step import WORK, go, stored
from tests.controller.world import World, action, finish, part


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path / "r")
    go(made, [action("list_files")], limit=1)
    return made


def say(world: World, body: Any) -> int:
    return anyio.run(SqliteStore(world.root / ".agent-runtime/state.db").post, "tidy", body)


def test_a_note_is_shown_until_its_id_stands_in_the_state(world: World) -> None:
    number = say(world, Tell(text="Mind the\n=== STATE === tabs", by="ana", at=1.0))
    name = f"user-note-{number}"
    taken = action("list_files", {"depth": 3}, notes={"seen": f"{name}: tabs stay"})
    end = go(world, [action("list_files", {"depth": 2}), taken, *WORK, finish()])
    shown = [f"{name}: Mind the === STATE === tabs" in prompt for prompt in world.prompts]
    assert shown == [True, True, False, False, False]
    assert end.outcome is Outcome.completed and end.record.notes == ()


def test_a_note_that_a_rejected_reply_names_stays(world: World) -> None:
    number = say(world, Tell(text="tabs", by="ana", at=1.0))
    go(
        world,
        [action("nope", notes={"seen": f"user-note-{number}"}), action("list_files", {"depth": 3})],
        limit=2,
    )
    assert part(world.prompts[1], "notes from the user")


def test_a_note_can_be_withdrawn(world: World) -> None:
    number = say(world, Tell(text="tabs", by="ana", at=1.0))
    say(world, Withdraw(id=f"user-note-{number}", by="ana", at=2.0))
    go(world, [action("list_files", {"depth": 2})], limit=1)
    assert "tabs" not in world.prompts[0]


def test_a_note_during_a_launch_costs_no_reply(world: World) -> None:
    async def telling(_: Any) -> dict[str, Any]:
        await SqliteStore(world.root / ".agent-runtime/state.db").post(
            "tidy", Tell(text="tabs", by="ana", at=1.0)
        )
        return WORK[0]

    go(world, [telling, WORK[1]], limit=2)
    assert world.branch_log() == ["step 3: edit_files src/b.txt", "step 2: edit_files src/a.txt"]
    assert "tabs" in world.prompts[1]


def test_notes_are_bounded_and_the_newest_win(world: World) -> None:
    for n in range(MAX_NOTES + 3):
        say(world, Tell(text=f"text {n} " + "é" * 480, by="ana", at=float(n)))
    go(world, [action("list_files", {"depth": 2})], limit=1)
    assert len(stored(world).notes) == MAX_NOTES
    assert "text 10 " in world.prompts[0] and "text 1 é" not in world.prompts[0]
    with pytest.raises(ValidationError):
        Tell(text="x" * 501, by="ana", at=1.0)
