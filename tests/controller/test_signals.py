"""INT, TERM and HUP in every phase of a step: the exit code, the time, nothing left alive, and the run goes on."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.suites.crash.interrupted import interrupted
from tests.suites.crash.stage import Template, Victims, Whole, git

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left alive is known by /proc")
BOUND = 30.0  # seconds from the first signal to the exit, whatever runs
INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    world = Template(folder / "template").prepare().world(folder / "world")
    victims = Victims()
    assert victims.run(world.call("run")) == 0, world.said()
    victims.close()
    return world.whole()


@pytest.mark.parametrize(
    ("phase", "number", "code"),
    [
        ("agent", INT, 130),
        ("waiting", TERM, 143),
        ("check", HUP, 143),
        ("command", TERM, 143),
        ("effect", INT, 130),
        ("deaf effect", TERM, 143),
    ],
)
def test_a_signal_ends_the_call_and_the_run_goes_on(
    tmp_path: Path, whole: Whole, phase: str, number: int, code: int
) -> None:
    with interrupted(tmp_path, phase, number, grace=3.0) as ended:
        assert (ended.code, ended.alive) == (code, [])
        assert ended.took <= BOUND
        assert bool(ended.world.effects()) == (phase in ("effect", "command", "check")), (
            "an effect gets its time to end"
        )
        record = ended.world.record()
        assert record is not None
        if phase in ("effect", "deaf effect"):
            assert (record.staged is None) == (phase == "effect"), (
                "what ended in its time is stored, not asked"
            )
        assert ended.completes(whole) == (0, [])


def test_before_the_run_is_opened_nothing_is_left_changed(tmp_path: Path, whole: Whole) -> None:
    with interrupted(tmp_path, "opening", INT) as ended:
        assert (ended.code, ended.alive) == (130, [])
        assert git(ended.world.worktree, "status", "--porcelain") == "", "the spoiled file is mended"
        assert ended.completes(whole) == (0, [])


def test_a_second_signal_ends_at_once(tmp_path: Path, whole: Whole) -> None:
    with interrupted(tmp_path, "deaf effect", INT, TERM, grace=600.0) as ended:
        assert (ended.code, ended.alive) == (143, [])
        assert ended.completes(whole) == (0, [])


def test_whatever_hangs_the_process_ends_in_time(tmp_path: Path, whole: Whole) -> None:
    with interrupted(tmp_path, "deaf effect", INT, grace=600.0, longest=1.0) as ended:
        assert (ended.code, ended.alive) == (130, [])
        assert ended.completes(whole) == (0, [])
