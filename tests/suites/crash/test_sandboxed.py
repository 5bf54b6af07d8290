"""Killed while commands and checks run in bubblewrap, as they do unless the task says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.suites.crash.post import office
from tests.suites.crash.stage import Template, Victims, World, finish
from tests.suites.crash.trial import TALLY, Theatre, one_of_each

pytestmark = pytest.mark.crash
BOXED = (("sandbox: {mode: none}\n", ""), ("effects: [mail], ", "effects: [mail], network: true, "))
AGENT = "child python: "
BOXES = [f"child {name}" for name in ("remaining", "broken", "count", "ship", "sound", "no-old")]


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    folder = tmp_path_factory.mktemp("sandboxed")
    with office() as (ship, probe):
        made = Theatre(folder, Template(folder / "template", ship=ship, probe=probe, changes=BOXED).prepare())
        yield made
        made.close()


def test_every_command_and_check_and_one_of_each_other_boundary(theatre: Theatre) -> None:
    boxed = [point for point in theatre.points if point.startswith("child ") and not point.startswith(AGENT)]
    assert set(BOXES) <= {point.split(": ")[0] for point in boxed}
    trials = theatre.kill_at(dict.fromkeys((*boxed, *one_of_each(theatre.points))))
    TALLY.count("sandboxed", trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))


def test_in_the_middle_of_a_command(theatre: Theatre) -> None:
    trials = theatre.kill_at(["child ship: started 1"], delay=0.05)
    TALLY.count("sandboxed", trials)
    assert [(trial.killed, trial.faults) for trial in trials] == [(True, [])]


def test_control_a_blind_probe_sends_twice(theatre: Theatre) -> None:
    def blind(world: World, victims: Victims) -> list[int]:
        return finish(world, victims, broken=["probe"])

    (trial,) = theatre.kill_at(["child ship: ended 1"], blind)
    assert trial.killed and any("doubled" in fault for fault in trial.faults), trial
