"""Killed while a field that was agreed to becomes a part of the state's schema (its files, the step's commit, the state
carried over), and while it is taken back or brought back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suites.crash.stage import GROWS, Template, Victims, World, agreed, finish
from tests.suites.crash.trial import TALLY, Theatre, Trial

pytestmark = pytest.mark.crash
LAST = "store swap migration: committed 1"
BACK, FORTH = (("state", "migrate", "--to", to) for to in ("1", "2"))


def half_way(world: World, victims: Victims) -> None:
    """The state has the field, and the run is not over."""
    agreed(world, victims)
    assert victims.run(world.call("run", "--steps", "2")) == 0, world.said()


def taken_back(world: World, victims: Victims) -> None:
    half_way(world, victims)
    assert victims.run(world.call(*BACK)) == 0, world.said()


@pytest.fixture
def theatre(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Theatre]:
    made = Theatre(tmp_path, Template(tmp_path / "template", changes=(GROWS,)).prepare(), request.param)
    assert made.whole.state["risks"] == "few"
    yield made
    made.close()


def whole(trials: list[Trial]) -> None:
    TALLY.count("grown", trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("theatre", [agreed], indirect=True)
def test_every_boundary_until_the_state_has_the_field(theatre: Theatre) -> None:
    points = theatre.points[: theatre.points.index(LAST) + 1]
    assert {f"schema: {place} write {n}" for place in ("before", "after") for n in (1, 2, 3)} <= set(points)
    whole(theatre.kill_at(points))

    def blind(world: World, victims: Victims) -> list[int]:
        return finish(world, victims, broken=["schema"])

    (control,) = theatre.kill_at(["schema: after write 2"], blind)
    assert any("lost" in fault for fault in control.faults), control


@pytest.mark.parametrize("theatre", [half_way], indirect=True)
def test_every_boundary_of_taking_it_back(theatre: Theatre) -> None:
    def again(world: World, victims: Victims) -> list[int]:
        """What a person does: the same once more, and here the other way, too."""
        codes = [victims.run(world.call(*words)) for words in (BACK, BACK, FORTH)]
        return codes + (finish(world, victims) if not any(codes) else [max(codes)])

    points = theatre.passed(*BACK)
    assert {"schema: after copy 2", "schema: after move 1", LAST} <= set(points)
    whole(theatre.kill_at(points, again, BACK))


@pytest.mark.parametrize("theatre", [half_way], indirect=True)
def test_every_boundary_of_bringing_it_back(theatre: Theatre) -> None:
    theatre.before = taken_back

    def again(world: World, victims: Victims) -> list[int]:
        codes = [victims.run(world.call(*FORTH))]
        return codes + (finish(world, victims) if not any(codes) else codes)

    points = theatre.passed(*FORTH)
    assert {"schema: after copy 1", "schema: after move 1", LAST} <= set(points)
    whole(theatre.kill_at(points, again, FORTH))
