"""Killed while an agent edits by itself, and while what it submitted is applied: taken up from what Git keeps."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.suites.crash.post import office
from tests.suites.crash.stage import RULES, Template
from tests.suites.crash.test_sandboxed import BOXED
from tests.suites.crash.trial import TALLY, Theatre, one_of_each

pytestmark = pytest.mark.crash
HANDS = {"mine": {"kind": "command", "explore": "delegate", "run": [sys.executable, "-I", "-S", str(RULES)]}}
GUARDED = ('#sound", pins: [], must', '#sound", when: edit, pins: [], must')
POINTS = ["store swap staged: committed 1", "edit: before write 1", "git update-ref: after 2"]


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    folder = tmp_path_factory.mktemp("delegated")
    with office() as (ship, probe):
        changes = (*BOXED, GUARDED)
        template = Template(folder / "template", agents=HANDS, ship=ship, probe=probe, changes=changes)
        made = Theatre(folder, template.prepare())
        yield made
        made.close()


def test_one_of_each_boundary(theatre: Theatre) -> None:
    assert set(POINTS) <= set(theatre.points), theatre.points
    assert theatre.whole.subjects == ["submit src/a.txt", "submit src/b.txt"]
    trials = theatre.kill_at(dict.fromkeys((*POINTS, *one_of_each(theatre.points))))
    TALLY.count("delegated", trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))
