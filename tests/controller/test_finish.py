"""A `finish` in two moves: the checks first, and only when all are green the question that is a person's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.outcomes import Outcome
from controller.loop import run
from controller.opening import Options
from tests.controller.test_intent_rules import INTENT, A, B, code, same_again, world
from tests.controller.test_queue import record, rows, say, waiting
from tests.controller.test_step import go
from tests.controller.world import World, finish

LOCKED = {"id": "well", "value": "It reads well.", "change_policy": "locked"}
# Green, red, or not to be read, as a file beside the worktree says; it leaves a file behind each time.
SWITCH = "  - {name: switch, role: guard, run: [../../../switch], pins: []}\n"


def asking(folder: Path, more: str = "", criterion: dict[str, str] = LOCKED) -> World:
    return world(folder, schema="coding", more=more, success_criteria=[criterion])


def switched(folder: Path, criterion: dict[str, str] = LOCKED) -> World:
    made = asking(folder, SWITCH, criterion)
    switch(made, "exit 0")
    return made


def switch(of: World, then: str) -> None:
    path = of.root / "switch"
    path.write_text(f"#!/bin/sh\necho junk > junk.txt\n{then}\n")
    path.chmod(0o755)


def test_nobody_is_asked_as_long_as_a_check_is_red(tmp_path: Path) -> None:
    one = asking(tmp_path / "r")
    end = go(one, [A, finish()], limit=2)
    assert (end.outcome, code(one), record(one).queue) == (None, "finish.red", ())
    end = go(one, [B, finish()])
    assert end.outcome is Outcome.blocked and {c.passed for c in end.record.checks.values()} == {True}
    entry = waiting(one)
    assert (entry.id, entry.kind) == ("f4", "finish")
    assert entry.why.startswith("every check is green, and no check proves [well] It reads well.")
    assert go(one, []).outcome is Outcome.blocked, "nothing changes while nobody decides"
    say(one, entry, why="it does")
    end = go(one, [])
    assert end.outcome is Outcome.completed and end.record.spent.launches == 4
    assert rows(one)[-1].extra["unproven"] == ["[well] It reads well."]
    same_again(one)


def test_a_yes_is_worth_nothing_when_a_check_is_red_by_then(tmp_path: Path) -> None:
    one = switched(tmp_path / "r")
    go(one, [A, B, finish()])
    entry = waiting(one)
    assert entry.kind == "finish" and one.git("-C", str(one.worktree), "status", "--porcelain") == ""
    say(one, entry)
    switch(one, "exit 1")
    end = go(one, [finish()], limit=1)
    assert (end.outcome, code(one), end.record.queue) == (None, "finish.red", ())
    switch(one, "exit 0")
    assert go(one, [finish()]).outcome is Outcome.blocked and waiting(one).kind == "finish", "asked again"


def test_a_no_is_told_and_the_next_finish_asks_again(tmp_path: Path) -> None:
    one = asking(tmp_path / "r", "approvals: {on_blocked: continue}\n")
    end = go(one, [A, B, finish()])
    assert end.outcome is Outcome.blocked, "who says that it is finished has no other work"
    say(one, waiting(one), yes=False, why="too terse")
    end = go(one, [finish()])
    assert "too terse" in one.prompts[0] and end.outcome is Outcome.blocked and waiting(one).id == "f4"
    same_again(one)


def test_a_yes_to_the_action_is_none_to_what_no_check_proves(tmp_path: Path) -> None:
    one = asking(tmp_path / "r", "approvals: {boundaries: [finish]}\n")
    go(one, [A, B, finish()])
    assert waiting(one).kind == "approval"
    say(one, waiting(one))
    assert go(one, []).outcome is Outcome.blocked and waiting(one).kind == "finish"
    say(one, waiting(one))
    end = go(one, [])
    assert end.outcome is Outcome.completed and end.record.spent.launches == 3
    same_again(one)


def test_a_yes_does_not_cover_a_criterion_that_lost_its_proof_since(tmp_path: Path) -> None:
    brief = {"id": "switch", "value": "It is brief.", "change_policy": "locked"}
    one = world(tmp_path / "r", schema="coding", more=SWITCH, success_criteria=[LOCKED, brief])
    switch(one, "exit 0")
    go(one, [A, B, finish()])
    entry = waiting(one)
    assert "[well]" in entry.why and "[switch]" not in entry.why
    say(one, entry)
    one.file.write_text(one.file.read_text().replace("name: switch", "name: other"))
    go(one, [])
    end = go(one, [finish()], retry=True)
    assert end.outcome is Outcome.blocked and "[well]" in waiting(one).why and "[switch]" in waiting(one).why


def test_neither_is_a_plan_that_is_applied(tmp_path: Path) -> None:
    one = asking(tmp_path / "r")
    go(one, [A, B], limit=2)

    async def planned() -> Any:
        rig = one.rig([finish()])
        rig.task = rig.task.__class__(**vars(rig.task) | {"planning": True})
        return await run(rig, Options(limit=1))

    anyio.run(planned)
    assert waiting(one).kind == "plan"
    say(one, waiting(one))
    assert go(one, []).outcome is Outcome.blocked and waiting(one).kind == "finish"
    same_again(one)


@pytest.mark.parametrize("mode", ["optimistic", "dual"])
def test_in_every_mode(tmp_path: Path, mode: str) -> None:
    one = asking(tmp_path / "r", f"commit_mode: {mode}\n")
    go(one, [A, B, finish(notes={"done": "all"})])
    assert record(one).state["notes"] == {"done": "all"} and waiting(one).kind == "finish"
    say(one, waiting(one))
    end = go(one, [])
    assert (end.outcome, end.record.confirmed) == (Outcome.completed, None)
    same_again(one)


def test_an_intent_that_is_accepted_while_a_finish_is_half_done_is_the_one_that_is_asked_about(
    tmp_path: Path,
) -> None:
    one = switched(tmp_path / "r", {"id": "well", "value": "It reads well."})
    go(one, [A, B], limit=2)
    switch(one, "touch ../../../began; sleep 600")

    async def interrupted() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(one.run, [finish()])
            while not (one.root / "began").exists():
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()

    anyio.run(interrupted)
    assert record(one).staged is not None
    switch(one, "exit 0")
    text = json.dumps(INTENT | {"success_criteria": [LOCKED]})
    (one.root / ".agent-contract/intent-contract.json").write_text(text)
    assert go(one, []).record.halt.cause == "intent_edited"
    end = go(one, [], accept=True)
    assert end.outcome is Outcome.blocked and [each.kind for each in end.record.queue] == ["finish"]
    say(one, waiting(one))
    assert go(one, []).outcome is Outcome.completed
    same_again(one)
