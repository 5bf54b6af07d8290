"""A launch whose controller was killed before it had the reply: charged, and a row of the audit says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.history import spent
from tests.controller.test_queue import A, B, made, record, rows, say, waiting
from tests.controller.test_step import go
from tests.controller.world import World, finish, git

LOST = "launch lost: charged as reserved"
BOUNDARY = "{boundaries: [{paths: [src/b.txt]}], on_blocked: continue}"


def dies(_: Any) -> Any:
    raise KeyboardInterrupt


def killed(world: World, *before: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(world, [*before, dies])


def test_it_has_a_row_with_its_charge_and_costs_no_write(tmp_path: Path) -> None:
    world, clean = World(tmp_path / "one"), World(tmp_path / "clean")
    killed(world)
    reserve = record(world).reserve
    assert reserve is not None
    end, plain = go(world, [A, B, finish()]), go(clean, [A, B, finish()])
    (row,) = (each for each in rows(world) if each.validator_result == LOST)
    assert (row.kind, row.step, row.charged, row.estimated) == ("reply", 1, reserve.usage, True)
    assert row.digests["prompt"] and "reply" not in row.digests and row.durations == {}
    assert [each.step for each in rows(world)] == [0, 1, 2, 3, 4]
    told, charged = spent(rows(world)), end.record.spent
    assert (told.launches, told.input, told.output) == (charged.launches, charged.input, charged.output)
    assert charged.launches == 4 and charged.estimated
    assert end.record.version == plain.record.version + 1, (
        "the reserve of the launch itself, no write of its row"
    )


def test_each_of_several_has_its_own(tmp_path: Path) -> None:
    world = World(tmp_path)
    killed(world)
    killed(world)
    killed(world, A)
    go(world, [B, finish()])
    lost = [each.step for each in rows(world) if each.validator_result == LOST]
    assert lost == [1, 2, 4]
    assert spent(rows(world)).launches == record(world).spent.launches == 6


def test_one_that_was_lost_before_an_approved_entry_is_taken_up_is_charged_too(tmp_path: Path) -> None:
    world = made(tmp_path, BOUNDARY)
    killed(world, B)
    reserve, before = record(world).reserve, record(world).spent
    assert reserve is not None and (reserve.usage.input or 0) > 0
    say(world, waiting(world))
    go(world, [], limit=1)
    after = record(world)
    assert after.reserve is None and after.spent.input == before.input + (reserve.usage.input or 0)
    assert after.spent.estimated and after.spent.launches == before.launches == 2
    told = spent(rows(world))
    assert (told.launches, told.input) == (after.spent.launches, after.spent.input)
    (row,) = (each for each in rows(world) if each.validator_result == LOST)
    assert row.step == reserve.step and row.charged == reserve.usage


def test_where_an_approved_entry_is_refused_the_row_of_that_says_it(tmp_path: Path) -> None:
    world = made(tmp_path, BOUNDARY)
    killed(world, B)
    reserve, entry = record(world).reserve, waiting(world)
    assert reserve is not None
    say(world, entry)
    (world.worktree / "src/b.txt").write_text("somebody was here\n")
    git(world.worktree, "commit", "-qam", "by hand")
    go(world, [finish()], limit=1)
    (row,) = (each for each in rows(world) if "lost" in each.extra)
    assert row.extra["lost"] == reserve.step and row.charged == reserve.usage
    assert spent(rows(world)).input == record(world).spent.input
