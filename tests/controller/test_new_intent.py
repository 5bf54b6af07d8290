"""An intent that is edited while a run is at work: what blocks, who takes it, what is written down of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio

from contracts.intent import IntentContract
from contracts.intent_edits import alike, item_edits, lost
from contracts.outcomes import Outcome
from controller.recover import recover
from controller.replay import replay
from controller.stores.artifacts import FileArtifacts
from tests.controller.test_queue import CONTRACT, A, B, change, contracted, record, rows, say, waiting
from tests.controller.test_step import go
from tests.controller.world import World, finish

FILE = ".agent-contract/intent-contract.json"


def intent(**more: Any) -> IntentContract:
    return IntentContract.model_validate({"goal": "g", **more})


def write(world: World, **changed: Any) -> None:
    (world.root / FILE).write_text(json.dumps(json.loads(CONTRACT) | changed))


def prompt(world: World) -> str:
    return world.prompts[0].partition("=== INTENT ===")[2].partition("===")[0]


def test_edits_are_found_item_by_item() -> None:
    before = intent(constraints=[{"id": "a", "value": "one"}, "two", "three"], non_goals=["x"])
    after = intent(constraints=[{"id": "a", "value": "1"}, "three", "four"], must_remember=["m"])
    told = [(e.at, e.old and e.old.value, e.new and e.new.value) for e in item_edits(before, after)]
    assert told == [
        ("/intent/constraints/a", "one", "1"),
        ("/intent/constraints/2", "two", "four"),
        ("/intent/non_goals/1", "x", None),
        ("/intent/must_remember/-", None, "m"),
    ]
    superseded = intent(
        constraints=[{"id": "a", "value": "one"}, {"value": "1", "supersedes": "a"}, "two", "three"],
        non_goals=["x"],
    )
    (edit,) = item_edits(before, superseded)
    assert (edit.at, edit.row()["superseded"]["value"]) == ("/intent/constraints/a", "one")
    assert alike(before, before) and not alike(before, superseded)
    assert [e.at for e in lost(before, superseded, before)] == ["/intent/constraints/a"]
    assert lost(before, superseded, intent(constraints=["1"])) == ()
    assert item_edits(intent(), IntentContract.from_goal("h"))[0].lines() == ["/intent/goal", "- g", "+ h"]


def test_only_the_option_accepts_an_edited_intent_and_the_row_says_what_was_superseded(
    tmp_path: Path,
) -> None:
    world = contracted(tmp_path / "r")
    go(world, [A], limit=1)
    write(world, constraints=["Edit by machine."])
    end = go(world, [])
    assert (end.outcome, end.record.halt.cause) == (Outcome.blocked, "intent_edited")
    assert "- Edit by hand., + Edit by machine." in end.record.halt.say
    assert "`controller run --accept-new-intent`" in end.record.halt.say
    assert go(world, [], retry=True).outcome is Outcome.blocked, "--retry is not enough"
    write(world, constraints=["Edit by hand."])
    go(world, [A], limit=1)
    assert "Edit by hand." in prompt(world), "put back, it goes on"
    write(world, constraints=["Edit by machine."])
    end = go(world, [B, finish()], accept=True, by="ana")
    assert end.outcome is Outcome.completed and "Edit by machine." in prompt(world)
    (row,) = [row for row in rows(world) if "edits" in row.extra]
    assert row.kind == "decision" and row.human_events == (f"{row.extra['what']} by ana",)
    assert row.extra["edits"] == [
        {
            "at": "/intent/constraints/1",
            "now": {"value": "Edit by machine."},
            "superseded": {"value": "Edit by hand."},
        }
    ]
    assert go(world, []).outcome is Outcome.completed, "once"
    found = replay(rows(world), world.rig().task, FileArtifacts(world.root / ".agent-runtime/artifacts"))
    assert (found.wrong, found.skipped) == ((), ())


def test_an_approved_entry_does_not_get_past_an_edited_intent(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r", "approvals: {boundaries: [edit_files]}\n")
    go(world, [A])
    say(world, waiting(world))
    write(world, goal="Something else.")
    assert go(world, []).outcome is Outcome.blocked and world.branch_log() == []
    go(world, [], limit=1, accept=True)
    assert world.branch_log() == ["step 2: edit_files src/a.txt"]


def test_checks_and_intent_are_accepted_apart(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r")
    go(world, [A], limit=1)
    write(world, constraints=[])
    text = world.file.read_text()
    world.file.write_text(text.replace("must_notice: src/a.txt", "must_notice: src/a.txt, timeout: 9m"))
    for options in ({}, {"accept": True}, {"retry": True}):
        end = go(world, [], **options)
        assert end.record.halt.cause == "task_and_intent_edited"
        assert "`controller run --accept-new-intent --retry` takes them" in end.record.halt.say
    assert go(world, [B, finish()], retry=True, accept=True).outcome is Outcome.completed


def test_a_new_file_replaces_approved_changes_and_the_row_says_which(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r")
    for at, value in (("/intent/constraints/-", "Sign the work."), ("/intent/constraints/1", "By hand.")):
        go(world, [change(at, value)])
        say(world, waiting(world))
    go(world, [], limit=1)
    write(world, constraints=["By hand.", "Quickly."])
    end = go(world, [])
    assert "It drops what was approved in this run: /intent/constraints/-, + Sign the work." in (
        end.record.halt.say
    )
    go(world, [A], limit=1, accept=True)
    assert record(world).intent is None and "Sign" not in prompt(world) and "Quickly." in prompt(world)
    (row,) = [row for row in rows(world) if "edits" in row.extra]
    assert [each["now"]["value"] for each in row.extra["dropped"]] == ["Sign the work."]
    path = world.root / ".agent-runtime/state.db"
    before = record(world)
    for each in path.parent.glob("state.db*"):
        each.unlink()
    anyio.run(recover, path, "tidy", before.head)
    assert record(world).intent is None and record(world).digests["intent"] == before.digests["intent"]
    assert go(world, [B, finish()]).outcome is Outcome.completed, "what was accepted stays accepted"


def test_a_file_that_says_what_is_in_force_blocks_nothing(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r")
    go(world, [change("/intent/constraints/1", "By hand.")])
    say(world, waiting(world))
    go(world, [], limit=1)
    amended = record(world).intent
    assert amended is not None
    text = json.dumps(IntentContract.model_validate(amended).document())
    (world.root / FILE).write_text(text)
    end = go(world, [A, B, finish()])
    assert end.outcome is Outcome.completed and record(world).intent is None
    assert "- By hand." in prompt(world) and "Edit by hand." not in prompt(world)
