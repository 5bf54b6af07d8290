"""Killed at every boundary of a run at which the other commit modes could differ: the store's, and around a deed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites.crash.stage import Template
from tests.suites.crash.trial import TALLY, Theatre

DIFFER = ("store swap", "edit", "git update-ref", "git read-tree", "child ship", "child broken", "artifact")
pytestmark = pytest.mark.crash


@pytest.mark.parametrize("mode", ["optimistic", "dual"])
def test_every_boundary_that_matters_in_another_mode(tmp_path: Path, mode: str) -> None:
    changes = (("version: 1\n", f"version: 1\ncommit_mode: {mode}\n"),)
    theatre = Theatre(tmp_path, Template(tmp_path / "template", changes=changes).prepare())
    try:
        assert any(point.startswith("store swap reply: committed") for point in theatre.points)
        trials = theatre.kill_at([point for point in theatre.points if point.startswith(DIFFER)])
        TALLY.count(mode, trials)
        wrong = [trial for trial in trials if trial.faults or not trial.killed]
        assert not wrong, "\n".join(map(str, wrong))
    finally:
        theatre.close()
