"""The quick form of the crash suite (`scripts/test crash`): real SIGKILL at the boundaries that matter most."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites.crash.stage import GROWS, Template, Victims, World, agreed, finish
from tests.suites.crash.trial import Theatre

POINTS = [
    "store make: before 1",
    "store swap opened: before commit 1",
    "store swap reserve: committed 2",
    "child python: started 3",
    "store swap staged: committed 2",
    "edit: before write 1",
    "git update-index: after 2",
    "git update-ref: before 2",
    "git update-ref: after 2",
    "store swap step: committed 2",
    "child ship: started 1",
    "child ship: ended 1",
    "child count: started 1",
    "store swap step: before begin 4",
    "child no-old: ended 2",
]

IN_MODES = [f"store swap reply: {place} 2" for place in ("begun", "committed")] + [
    "edit: before write 1",
    "git update-ref: after 2",
    "store swap step: before commit 2",
    "store swap step: committed 2",
]


WHILE_IT_GROWS = [
    "schema: before write 1",
    "schema: after write 2",
    "schema: after write 3",
    "store swap step: committed 1",
    "store swap migration: before commit 1",
]


def test_killed_at_a_boundary_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, Template(tmp_path / "template").prepare())
    try:
        assert set(POINTS) <= set(theatre.points)
        trials = theatre.kill_at(POINTS)
        wrong = [trial for trial in trials if trial.faults or not trial.killed]
        assert not wrong, "\n".join(map(str, wrong))

        def blind(world: World, victims: Victims) -> list[int]:
            return finish(world, victims, broken=["probe"])

        (control,) = theatre.kill_at(["child ship: ended 1"], blind)
        assert any("doubled" in fault for fault in control.faults), control
    finally:
        theatre.close()


@pytest.mark.parametrize("mode", ["optimistic", "dual"])
def test_killed_in_another_commit_mode(tmp_path: Path, mode: str) -> None:
    changes = (("version: 1\n", f"version: 1\ncommit_mode: {mode}\n"),)
    theatre = Theatre(tmp_path, Template(tmp_path / "template", changes=changes).prepare())
    try:
        assert set(IN_MODES) <= set(theatre.points)
        wrong = [trial for trial in theatre.kill_at(IN_MODES) if trial.faults or not trial.killed]
        assert not wrong, "\n".join(map(str, wrong))
    finally:
        theatre.close()


def test_killed_while_a_field_that_was_agreed_to_is_made(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, Template(tmp_path / "template", changes=(GROWS,)).prepare(), agreed)
    try:
        assert set(WHILE_IT_GROWS) <= set(theatre.points) and theatre.whole.state["risks"] == "few"
        wrong = [trial for trial in theatre.kill_at(WHILE_IT_GROWS) if trial.faults or not trial.killed]
        assert not wrong, "\n".join(map(str, wrong))
    finally:
        theatre.close()


ON_REMOTE = [
    "store lease: pushed 1",
    "store swap reserve: before push 2",
    "child python: started 3",
    "store swap staged: pushed 2",
    "git update-ref: after 2",
    "store swap step: before push 2",
    "store swap step: pushed 2",
    "child ship: started 1",
    "child ship: ended 1",
    "store swap step: before push 4",
]


@pytest.mark.crash
def test_killed_with_its_record_on_a_remote_it_goes_on_here_and_elsewhere(tmp_path: Path) -> None:
    def elsewhere(world: World, victims: Victims) -> list[int]:
        world.elsewhere()
        return finish(world, victims)

    theatre = Theatre(tmp_path, Template(tmp_path / "template", remote=True).prepare())
    try:
        assert set(ON_REMOTE) <= set(theatre.points), theatre.points
        trials = theatre.kill_at(ON_REMOTE, elsewhere) + theatre.kill_at(ON_REMOTE[4:8])
        wrong = [trial for trial in trials if trial.faults or not trial.killed]
        assert not wrong, "\n".join(map(str, wrong))
    finally:
        theatre.close()
