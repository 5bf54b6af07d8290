"""Killed with its record on a remote: it goes on in the same clone, and on another machine that has nothing of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suites.crash.asleep import stat
from tests.suites.crash.stage import Template, Victims, World, finish, git
from tests.suites.crash.trial import TALLY, Theatre, Trial, one_of_each

pytestmark = pytest.mark.crash
SEED = 20261207


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    folder = tmp_path_factory.mktemp("remote")
    made = Theatre(folder, Template(folder / "template", remote=True).prepare())
    yield made
    made.close()


def whole(trials: list[Trial]) -> list[Trial]:
    TALLY.count("remote", trials)
    return [trial for trial in trials if trial.faults or not trial.killed]


def elsewhere(world: World, victims: Victims) -> list[int]:
    return finish(world.elsewhere(), victims)


def pushes(theatre: Theatre) -> list[str]:
    """Every boundary of every write, and of the git that carries it."""
    return [point for point in theatre.points if point.startswith(("store ", "git push"))]


def test_every_write_is_whole_or_not_there_for_another_machine(theatre: Theatre) -> None:
    assert len(pushes(theatre)) >= 60
    wrong = whole(theatre.kill_at(pushes(theatre), elsewhere))
    assert not wrong, "\n".join(map(str, wrong))


def test_every_write_is_whole_or_not_there_for_the_same_clone(theatre: Theatre) -> None:
    wrong = whole(theatre.kill_at(pushes(theatre)))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("after", [finish, elsewhere], ids=["here", "elsewhere"])
def test_every_kind_of_boundary(theatre: Theatre, after: object) -> None:
    points = [point for point in one_of_each(theatre.points) if point not in pushes(theatre)]
    wrong = whole(theatre.kill_at(points, after))  # type: ignore[arg-type]
    assert not wrong, "\n".join(map(str, wrong))


def test_random_moments(theatre: Theatre) -> None:
    wrong = [trial for trial in whole(theatre.kill_after(40, SEED, elsewhere)) if trial.faults]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("point", ["store swap step: before push 2", "git push: after 8"])
def test_a_controller_that_slept_through_its_lease_moves_nothing(tmp_path: Path, point: str) -> None:
    code, moved, faults = woken(tmp_path, point)
    assert code == 7 and not moved and faults == []


def test_control_without_its_fence_it_does(tmp_path: Path) -> None:
    _, moved, _ = woken(tmp_path, "store swap step: before push 2", broken=["fence"])
    assert moved


def woken(folder: Path, point: str, **more: object) -> tuple[int, bool, list[str]]:
    """A controller stops at `point` on a machine of its own; another takes the task over when the lease is up and
    brings it to its end; the first wakes. (Its exit code, whether anything moved then, faults.)"""
    template = Template(folder / "template", remote=True).prepare()
    sleeper, taker = Victims(), Victims()
    try:
        rehearsal = template.world(folder / "rehearsal")
        assert taker.run(rehearsal.call("run")) == 0, rehearsal.said()
        world = template.world(folder / "world")
        log = str(world.folder / "log")
        pid = sleeper.start(
            world.call("run", log=log, at=point, arm="stop", lease=1.0, host="another", **more)
        )
        until = time.monotonic() + 120
        while stat(pid) != "T":
            assert stat(pid) and time.monotonic() < until, f"{point} was not reached\n{world.said()}"
            time.sleep(0.05)
        other = world.elsewhere("other")
        assert finish(other, taker)[-1] == 0, other.said()
        faults = other.faults(rehearsal.whole())
        before = refs(world.folder)
        os.kill(pid, signal.SIGCONT)
        code = sleeper.wait()
        return code, refs(world.folder) != before, [each for each in faults if str(pid) not in each]
    finally:
        sleeper.close()
        taker.close()


def refs(folder: Path) -> str:
    return git(folder / "remote.git", "for-each-ref", "refs/skill-state")


def test_a_push_that_is_under_way_when_its_controller_dies(tmp_path: Path) -> None:
    """It may arrive while another machine waits for the lease, or after that has taken it: then it moves nothing."""
    template = Template(tmp_path / "template", remote=True).prepare()
    theatre = Theatre(tmp_path, template)

    def slowed(seconds: float) -> None:
        hook = template.folder / "remote.git/hooks/pre-receive"
        hook.write_text(f"#!/bin/sh\ngrep -q record && sleep {seconds}\nexit 0\n")
        hook.chmod(0o755)

    def quick(world: World, victims: Victims) -> list[int]:
        there = world.elsewhere("other")
        (world.folder / "remote.git/hooks/pre-receive").unlink()
        codes = finish(there, victims)
        time.sleep(3)  # whatever is still under way has arrived
        world.repo, world.runtime, world.places = there.repo, there.runtime, there.places
        return codes

    try:
        for seconds in (0.5, 3.0):
            slowed(seconds)
            points = ["git push: before 5", "git push: before 8"]
            trials = theatre.kill_at(points, quick, delay=0.3, lease=1.0, host="another")
            wrong = whole(trials)
            assert not wrong, "\n".join(map(str, wrong))
    finally:
        theatre.close()
