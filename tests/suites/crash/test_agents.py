"""Killed while the real `claude` and `codex` work: the model is a gateway on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway import Gateway
from tests.suites.crash.agents import Model, prepared
from tests.suites.crash.trial import TALLY, Theatre, one_of_each

pytestmark = pytest.mark.crash
SEED = 20261201


@pytest.fixture(scope="module", params=["claude", "codex", "claude ahead", "codex ahead"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    agent, _, ahead = str(request.param).partition(" ")
    folder, model = tmp_path_factory.mktemp(agent), Model()
    with Gateway(model) as gateway:
        template = prepared(folder / "template", agent, gateway.url, bool(ahead))
        model.task = template.folder / "repo/task.yaml"
        theatre = Theatre(folder, template)
        yield agent, theatre
        theatre.close()


def test_every_boundary_of_a_step(played: tuple[str, Theatre]) -> None:
    agent, theatre = played
    launches = [point for point in theatre.points if point.startswith(f"child {agent}: ")]
    step = theatre.points[theatre.points.index(launches[0]) :]
    points = list(dict.fromkeys((*one_of_each(step), *launches)))
    assert len(points) >= 25, "otherwise the hooks are not in place"
    trials = theatre.kill_at(points)
    TALLY.count(agent, trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("delay", [0.1, 0.4])
def test_within_a_launch(played: tuple[str, Theatre], delay: float) -> None:
    agent, theatre = played
    trials = theatre.kill_at([f"child {agent}: started {number}" for number in (2, 4)], delay=delay)
    TALLY.count(agent, trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))


def test_random_moments(played: tuple[str, Theatre]) -> None:
    agent, theatre = played
    trials = theatre.kill_after(20, SEED)
    TALLY.count(agent, trials)
    assert sum(trial.killed for trial in trials) == 20
    wrong = [trial for trial in trials if trial.faults]
    assert not wrong, "\n".join(map(str, wrong))
