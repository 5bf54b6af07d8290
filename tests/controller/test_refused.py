"""A proposed change that a person said no to may not be proposed again, until they take the no back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.outcomes import Outcome
from contracts.queue import Withdraw
from controller.recover import recover
from controller.replay import replay
from controller.stores.artifacts import FileArtifacts
from tests.controller.test_queue import CONTRACT, A, change, contracted, record, rows, say, store, waiting
from tests.controller.test_step import go
from tests.controller.world import World

WISH = change("/intent/locked_requirements/keep", "Keep most file names.")
FIELD = '{"maxLength": 9, "type": "string"}'
CALM = "budgets: {rejections: 9}\n"


def refused(folder: Path, wish: dict[str, Any] = WISH, more: str = CALM, **said: Any) -> World:
    """A world in which `wish` was proposed and refused."""
    world = contracted(folder, more)
    go(world, [wish])
    say(world, waiting(world), yes=False, **{"why": "never"} | said)
    return world


def code(world: World) -> str:
    wrong = record(world).correction
    return wrong.code if wrong else ""


def same_again(world: World) -> None:
    found = replay(rows(world), world.rig().task, FileArtifacts(world.root / ".agent-runtime/artifacts"))
    assert (found.wrong, found.skipped) == ((), ())


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (WISH, WISH),
        (WISH, change("/intent/locked_requirements/1", "Keep most file names. ", why="another reason")),
        (WISH, change("/intent/locked_requirements/keep", "keep  MOST\tfile names.")),
        (change("/intent/constraints/-", "Be quick."), change("/intent/constraints/-", "Be quick.")),
        (change("/intent/constraints/1"), change("/intent/constraints/1", why="it is in the way")),
        (change("/intent/goal", "Less."), change("/intent/goal", "Less.")),
        (change("/state/source_authority", '"the CI"'), change("/state/source_authority", ' "the CI"')),
        (change("/schema/more", FIELD), change("/schema/more", FIELD.replace(" ", ""))),
    ],
)
def test_the_same_is_refused_at_once_whatever_it_is_called(tmp_path: Path, first: Any, again: Any) -> None:
    world = refused(tmp_path / "r", first)
    go(world, [again, A], limit=2)
    assert "said no to c1" in world.prompts[0] and "never" in world.prompts[0]
    assert (
        "intent.refused" in world.prompts[1]
        and "ana said no to this very change before (c1" in world.prompts[1]
    )
    assert record(world).queue == () and len(record(world).refused) == 1
    same_again(world)


@pytest.mark.parametrize(
    "value", [" ", "Keep most.\u200b", "Keep\U000e0020\U000e006f most.", "Keep \u202emost."]
)
def test_nobody_is_asked_about_what_they_can_not_see(tmp_path: Path, value: str) -> None:
    world = contracted(tmp_path / "r", CALM)
    go(world, [change("/intent/locked_requirements/keep", value)], limit=1)
    assert code(world) == "intent.change" and record(world).queue == ()


def test_another_change_may_be_proposed(tmp_path: Path) -> None:
    world = refused(tmp_path / "r")
    go(world, [change("/intent/locked_requirements/keep", "Keep all but one.")], limit=1)
    assert waiting(world).id == "c2"
    say(world, waiting(world), yes=False)
    go(world, [change("/intent/locked_requirements/2", "Keep most file names.")], limit=1)
    assert waiting(world).id == "c3" and [no.entry for no in record(world).refused] == ["c1", "c2"]
    same_again(world)


def test_it_may_be_proposed_again_when_the_no_is_taken_back(tmp_path: Path) -> None:
    world = refused(tmp_path / "r", more=CALM + "approvals: {who: [ana]}\n")
    go(world, [WISH], limit=1)
    assert code(world) == "intent.refused"
    anyio.run(store(world).post, "tidy", Withdraw(id="c1", by="eve", at=1.0))
    go(world, [WISH], limit=1)
    assert code(world) == "intent.refused", "not by somebody who may not decide"
    anyio.run(store(world).post, "tidy", Withdraw(id="c1", by="ana", at=1.0))
    assert go(world, [WISH]).outcome is Outcome.blocked and waiting(world).id == "c4"
    assert ("withdraw c1 by ana",) in [row.human_events for row in rows(world)]
    same_again(world)


def test_it_may_be_proposed_again_when_what_the_user_wants_is_another(tmp_path: Path) -> None:
    world = refused(tmp_path / "r")
    text = json.dumps(json.loads(CONTRACT) | {"non_goals": ["Speed."]})
    (world.root / ".agent-contract/intent-contract.json").write_text(text)
    assert go(world, [WISH], accept=True).outcome is Outcome.blocked and waiting(world).id == "c2"
    say(world, waiting(world), yes=False)
    go(world, [WISH], limit=1)
    assert code(world) == "intent.refused"
    go(world, [change("/intent/non_goals/1", "Haste.")])
    say(world, waiting(world))
    assert go(world, [WISH]).outcome is Outcome.blocked and record(world).refused == ()
    same_again(world)


def test_what_waits_already_is_not_asked_twice_for_another_reason(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r", "approvals: {on_blocked: continue}\n")
    other = json.loads(json.dumps(WISH))
    other["action"]["args"]["why"] = "it would be nicer"
    assert go(world, [WISH, other]).outcome is Outcome.blocked and waiting(world).id == "c1"


def test_a_store_that_is_rebuilt_knows_it_still(tmp_path: Path) -> None:
    world = refused(tmp_path / "r")
    go(world, [A], limit=1)
    path = world.root / ".agent-runtime/state.db"
    for each in path.parent.glob("state.db*"):
        each.unlink()
    anyio.run(recover, path, "tidy", world.git("rev-parse", "skill-state/tidy").strip())
    go(world, [WISH], limit=1)
    assert code(world) == "intent.refused"
    same_again(world)
