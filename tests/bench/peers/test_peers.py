"""The bench itself: it counts right, and what is slow, grows, takes room or forgets falls short."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.bench.peers.__main__ import (
    ALONE,
    COMMIT,
    GRAPH,
    OURS,
    Rows,
    bounds,
    figures,
    measure,
)
from tests.bench.peers.ours import Commit, Step, StepAlone
from tests.bench.peers.work import after, merged, patch, shown, start
from tests.bench.report import report

FAKES = "tests.bench.peers.fakes"


def test_the_work_is_what_is_said_of_it() -> None:
    state = start()
    assert 20_000 < len(json.dumps(state)) < 22_000
    for number in range(1, 451):
        state = merged(state, patch(number))
        if number in (1, 199, 200, 201, 450):
            assert shown(state) == after(number)
    assert len(state["notes"]) == len(start()["notes"])
    assert after(450) != after(449)


@pytest.mark.parametrize("kind", [Commit, Step, StepAlone])
def test_ours_go_on_from_what_is_stored(tmp_path: Path, kind: type[Commit | Step]) -> None:
    first = kind(tmp_path)
    assert first.begin() == 1
    first.turns(3)
    again = kind(tmp_path)
    assert again.begin() == 4
    again.turns(1)
    assert shown(again.state()) == shown(first.state()) == after(4)


def test_what_takes_room_or_forgets_falls_short() -> None:
    subjects = {GRAPH: f"{FAKES}:Kept", "careless": f"{FAKES}:Careless"}
    measured = measure(sys.executable, subjects, steps=15, resumes=1, block=3)
    found = figures(measured, 15)
    assert found[f"bytes / {GRAPH}, careless"] > 100
    assert (found[f"steps lost, {GRAPH}"], found["steps lost, careless"]) == (0, 2)
    assert [len(each.blocks) for each in measured.values()] == [5, 5]
    assert [len(each.young) for each in measured.values()] == [2, 2], (
        "a young copy's first block does not count"
    )


def test_a_state_that_is_not_the_right_one_ends_the_bench() -> None:
    with pytest.raises(SystemExit, match=r"wrong: the stored state is not that of step 3"):
        measure(sys.executable, {"wrong": f"{FAKES}:Wrong"}, steps=3, resumes=0, block=3)


def rows(**more: object) -> Rows:
    values = {
        "blocks": [0.001] * 20,
        "old": [0.001] * 2,
        "young": [0.001] * 2,
        "cpu": 0.1,
        "bytes": (0, 1000),
        "resumed": [0.01],
    }
    return Rows(**(values | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "slow", "short"),
    [
        (COMMIT, {}, []),
        (COMMIT, {"blocks": [0.0011] * 20}, ["store commit beside LangGraph's"]),
        (OURS, {"blocks": [0.0031] * 20}, ["step beside LangGraph's"]),
        (ALONE, {"blocks": [0.0031] * 20}, ["step alone beside LangGraph's"]),
        (OURS, {"old": [0.0012] * 2}, ["growth of our step"]),
        (COMMIT, {"bytes": (0, 501)}, ["disk of a store commit"]),
        (OURS, {"lost": 1}, ["steps lost by our step"]),
    ],
)
def test_a_bound_that_is_not_met_is_named(
    name: str, slow: dict[str, object], short: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    measured = {GRAPH: rows(), OURS: rows(), ALONE: rows(), COMMIT: rows(bytes=(0, 500))}
    small = {"bytes": (0, 500)} if name == COMMIT else {}
    measured[name] = rows(**(small | slow))
    code = report("peers", 200, figures(measured, 200), bounds())
    told = json.loads(capsys.readouterr().out)["falls_short"]
    assert [each.partition(":")[0] for each in told] == short
    assert code == (3 if short else 0)
