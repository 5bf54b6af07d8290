"""What a call that died half-way leaves: found again, done exactly once, or asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.outcomes import Outcome
from contracts.record import Answer
from controller.act import act
from controller.stores.sqlite import SqliteStore
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, action, finish

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
