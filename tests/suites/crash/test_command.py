"""Killed at every boundary of a run, and at random moments; the agent is a program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.queue import DID_NOT, HAPPENED
from tests.suites.crash.stage import SHIP, Template, Victims, World, finish
from tests.suites.crash.trial import TALLY, Theatre, Trial

pytestmark = pytest.mark.crash
SEED = 20261130
SLOW = "sleep 2; " + SHIP
NO_PROBE = "probe: []"


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    folder = tmp_path_factory.mktemp("command")
    made = Theatre(folder, Template(folder / "template").prepare())
    yield made
    made.close()


def whole(trials: list[Trial]) -> list[Trial]:
    """Those that were not killed, or were not whole afterwards."""
    TALLY.count("command", trials)
    return [trial for trial in trials if trial.faults or not trial.killed]


def test_every_boundary_of_a_run(theatre: Theatre) -> None:
    names = {point.rpartition(" ")[0] for point in theatre.points}
    assert len(names) >= 25, "otherwise the hooks are not in place"
    wrong = whole(theatre.kill_at(theatre.points))
    assert not wrong, "\n".join(map(str, wrong))


def test_random_moments(theatre: Theatre) -> None:
    trials = theatre.kill_after(160, SEED)
    assert sum(trial.killed for trial in trials) == 160
    wrong = [trial for trial in whole(trials) if trial.faults]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("broken", "point", "told"),
    [
        ("probe", "child ship: ended 1", "doubled: the effect is there 2 times"),
        ("reserve", "child python: started 2", "charges: "),
    ],
)
def test_control_a_recovery_that_does_not_work_is_noticed(
    theatre: Theatre, broken: str, point: str, told: str
) -> None:
    def blind(world: World, victims: Victims) -> list[int]:
        return finish(world, victims, broken=[broken])

    (trial,) = theatre.kill_at([point], blind)
    assert trial.killed and any(told in fault for fault in trial.faults), trial


def test_a_command_that_outlives_its_controller_is_ended_before_it_is_probed(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, Template(tmp_path / "template", ship=SLOW).prepare())
    try:
        points = ["child ship: started 1", "child sound: started 1", "child python: started 1"]
        wrong = whole(theatre.kill_at(points))
        assert not wrong, "\n".join(map(str, wrong))

        def leaving(world: World, victims: Victims) -> list[int]:
            return finish(world, victims, broken=["evict"])

        (control,) = theatre.kill_at(points[:1], leaving)
        assert any("doubled" in fault for fault in control.faults), control
    finally:
        theatre.close()


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("child ship: before start 1", DID_NOT),
        ("child ship: ended 1", HAPPENED),
        ("store swap step: before begin 3", HAPPENED),
        ("store swap step: before commit 3", HAPPENED),
    ],
)
def test_without_a_probe_a_person_is_asked_and_it_is_done_once(tmp_path: Path, point: str, said: str) -> None:
    theatre = Theatre(tmp_path, Template(tmp_path / "template", probe=NO_PROBE).prepare())

    def asked(world: World, victims: Victims) -> list[int]:
        codes = finish(world, victims)
        assert codes[-1] == 5 and len(world.effects()) == (said == HAPPENED), world.said()
        codes += finish(world, victims)
        assert codes[-1] == 5, "calling again decides nothing"
        world.answer(said)
        return codes + finish(world, victims)

    try:
        wrong = whole(theatre.kill_at([point], asked))
        assert not wrong, "\n".join(map(str, wrong))
    finally:
        theatre.close()
