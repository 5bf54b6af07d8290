"""SIGSTOP past the lease: the owner is ended on the same host, and harmless when it wakes up on another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.suites.crash.asleep import Pair, pair
from tests.suites.crash.stage import SHIP
from tests.suites.crash.trial import TALLY, Trial

pytestmark = pytest.mark.crash

ANYWHERE = [
    "store lease: committed 1",
    "child sound: started 2",
    "store swap reserve: before begin 2",
    "store swap staged: begun 2",  # with the lock of the file in its hands
    "store swap step: before commit 2",
    "artifact: before 9",
    "edit: before write 1",
    "git update-ref: before 2",
    "git update-ref: after 2",
    "child python: started 2",
    "child ship: before start 1",
    "child ship: started 1",
    "child ship: ended 1",
    "store release: begun 1",
]
WRITES = [
    "store renew: before begin 2",
    "store swap reserve: before begin 2",
    "store swap staged: before begin 2",
    "store swap step: before begin 1",
    "store swap step: before begin 2",
    "store swap step: before begin 3",
    "artifact: before 9",
    "artifact: before 15",
    "git status: before 5",
    "git status: before 8",
    "git update-ref: before 1",
    "git update-ref: before 2",
    "git update-ref: before 3",
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair(tmp_path_factory.mktemp("asleep"), "sleep 1; " + SHIP) as both:
        yield both


@pytest.mark.parametrize("point", ANYWHERE)
def test_on_the_same_host_the_sleeper_and_all_it_started_are_ended(two: Pair, point: str) -> None:
    # A run that is over is not taken up again: what sleeps while it gives its lease up is one with steps to go.
    words = ("--steps", "1") if point.startswith("store release") else ()
    codes, code, faults = two.taken(f"same-{ANYWHERE.index(point)}", point, *words)
    TALLY.count("command", [Trial(f"stop at {point}", code, codes, faults)])
    assert (codes[-1], code, faults) == (0, -9, [])


@pytest.mark.parametrize("point", WRITES)
def test_one_that_wakes_on_another_host_moves_no_ref_and_no_row(two: Pair, point: str) -> None:
    codes, code, faults = two.woken(f"other-{WRITES.index(point)}", point)
    TALLY.count("command", [Trial(f"woken at {point}", code, codes, faults)])
    assert (codes[-1], faults) == (0, [])
    assert code == 7, "it says that it lost the lease"
