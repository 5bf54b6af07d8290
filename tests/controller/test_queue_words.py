"""Whose word counts, for which action, and that a wish to stop is heard beside a yes."""

from __future__ import annotations

import time
from pathlib import Path

import anyio

from contracts.outcomes import Outcome
from contracts.queue import Answer, StopRequest
from contracts.readings import GitReading, Readings
from contracts.verdicts import Allow, Reject
from controller.gate import gate
from tests.controller.test_queue import A, B, made, record, say, store, waiting
from tests.controller.test_step import go
from tests.controller.world import action, finish

BARE = {"repository": "r", "branch": "b", "base": "a" * 40, "tree": "t"}


def test_a_question_is_answered_by_who_may_decide_only(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{who: [ana]}")
    go(world, [action("ask", {"question": "Which?"})])
    anyio.run(store(world).post, "tidy", Answer(entry="q1", text="mine", by="eve", at=1.0))
    assert go(world, []).outcome is Outcome.blocked
    anyio.run(store(world).post, "tidy", Answer(entry="q1", text="ours", by="ana", at=2.0))
    go(world, [finish()], limit=2)
    assert "ours" in world.prompts[0] and "mine" not in world.prompts[0]


def test_a_yes_does_not_outlive_another_action_in_its_place(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files]}")
    go(world, [A])
    say(world, waiting(world))
    held = record(world)
    other = held.queue[0].transition | {"action": B["action"]}
    entry = held.approved.model_copy(update={"transition": other})  # type: ignore[union-attr]
    rig = world.rig()
    now = {"head": held.head, "config": held.digests["git_config"], "changed": {held.head: ()}}
    git = Readings(at=time.time(), items={"git": GitReading(**BARE | now)})
    found = gate(held, git, git, entry, rig.task).verdict
    assert isinstance(found, Reject) and found.code == "policy.approval_changed"
    assert isinstance(gate(held, git, git, held.approved, rig.task).verdict, Allow), "control"  # type: ignore[arg-type]


def test_a_wish_to_stop_is_not_lost_where_a_yes_is_taken_up(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files]}")
    go(world, [A])
    say(world, waiting(world))
    anyio.run(store(world).post, "tidy", StopRequest(by="ana", at=1.0))
    end = go(world, [])
    assert end.outcome is Outcome.interrupted and world.branch_log() == ["step 2: edit_files src/a.txt"]
