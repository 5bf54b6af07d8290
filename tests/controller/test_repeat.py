"""`repeat: on-change`: a finished run is shown again without a launch, until a goal that was reached is red at the
base."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from contracts.outcomes import Outcome
from tests.controller.clones import ON_REMOTE, Remote
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, edit, finish

REPEAT = TASK + "repeat: on-change\n"
AGAIN = [edit("src/c.txt", "an old", "a new"), finish()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "repo", task=REPEAT)
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed
    return world


def on_main(world: World, name: str, text: str) -> None:
    (world.root / name).write_text(text)
    world.git("add", name)
    world.git("commit", "-q", "-m", f"{name} by somebody", "--", name)


def shown(world: World) -> Any:
    """The end of a call that may launch nothing; the run's branch and worktree are as they were."""
    before = world.git("rev-parse", "skill-state/tidy")
    end = go(world, [])
    assert world.git("rev-parse", "skill-state/tidy") == before
    if world.worktree.exists():
        assert world.git("-C", str(world.worktree), "symbolic-ref", "HEAD") == "refs/heads/skill-state/tidy\n"
        assert world.git("-C", str(world.worktree), "status", "--porcelain") == ""
    return end


def test_nothing_is_looked_at_while_the_base_stays(world: World) -> None:
    shutil.rmtree(world.worktree)
    assert shown(world).record.number == 1
    assert not world.worktree.exists()


def test_work_that_is_not_landed_is_not_done_again(world: World) -> None:
    on_main(world, "src/z.txt", "unrelated\n")
    end = shown(world)
    assert (end.outcome, end.record.number) == (Outcome.completed, 1)
    assert end.record.looked is not None and not end.record.looked.green
    shutil.rmtree(world.worktree)
    assert shown(world).record == end.record, "each place of the base is looked at once"


@pytest.mark.parametrize("how", ["merge", "squash with the run's name", "squash, and seen green"])
def test_red_again_after_the_work_was_landed_opens_the_next_run(world: World, how: str) -> None:
    run = go(world, []).record.run
    if how == "merge":
        world.git("merge", "-q", "--no-ff", "-m", "merged", "skill-state/tidy")
    else:
        world.git("merge", "-q", "--squash", "skill-state/tidy")
        named = ["-m", f"Skill-State-Run: {run}"] if "name" in how else []
        world.git("commit", "-q", "-m", "landed", *named, "--", "src")
    if "seen" in how:
        end = shown(world)
        assert end.record.number == 1 and end.record.looked is not None and end.record.looked.green
    on_main(world, "src/c.txt", "an old thing again\n")
    tip = world.git("rev-parse", "skill-state/tidy")
    end = go(world, AGAIN)
    assert (end.outcome, end.record.number) == (Outcome.completed, 2), end.record.halt
    assert end.record.base == world.git("rev-parse", "main").strip()
    assert world.branch_file("src/c.txt") == "a new thing again\n"
    assert world.git("rev-parse", "refs/skill-state/tidy/run-1") == tip, "what the first run made is kept"
    assert shown(world).record.number == 2


def test_squashed_without_a_name_and_never_seen_green_is_for_a_person(world: World) -> None:
    world.git("merge", "-q", "--squash", "skill-state/tidy")
    world.git("commit", "-q", "-m", "landed", "--", "src")
    on_main(world, "src/c.txt", "an old thing again\n")
    assert shown(world).record.number == 1
    assert go(world, AGAIN, new=True).record.number == 2


def test_nothing_to_do_until_there_is(tmp_path: Path) -> None:
    files = {"src/a.txt": "one\n", "check.sh": "true\n"}
    task = REPEAT.replace(", must_notice: src/a.txt", "")
    world = World(tmp_path / "repo", task=task, files=files)
    assert go(world, []).outcome is Outcome.nothing_to_do
    on_main(world, "src/b.txt", "two\n")
    end = shown(world)
    assert (end.outcome, end.record.number) == (Outcome.nothing_to_do, 1)
    on_main(world, "src/c.txt", "an old thing again\n")
    end = go(world, AGAIN)
    assert (end.outcome, end.record.number) == (Outcome.completed, 2)


def test_a_goal_that_can_not_be_read_at_the_base_opens_nothing(world: World) -> None:
    world.git("merge", "-q", "skill-state/tidy")
    on_main(world, "src/z.txt", "unrelated\n")
    text = world.file.read_text()
    world.file.write_text(text.replace("run: [git, grep, -q, old", "run: [no-such-program, -q, old"))
    assert go(world, []).record.number == 1


def test_never_is_never(tmp_path: Path) -> None:
    world = World(tmp_path / "repo", task=TASK)
    go(world, [*WORK, finish()])
    world.git("merge", "-q", "skill-state/tidy")
    on_main(world, "src/c.txt", "an old thing again\n")
    assert shown(world).record.number == 1


def test_on_runners_that_keep_nothing(tmp_path: Path) -> None:
    remote = Remote(tmp_path, task=ON_REMOTE + "repeat: on-change\n")
    first = remote.clone("first")
    end = go(first, [*WORK, finish()])
    assert (end.outcome, end.record.number) == (Outcome.completed, 1)
    assert go(remote.clone("second"), []).record.run == end.record.run
    person = remote.clone("person")
    person.git("fetch", "-q", "origin", "refs/skill-state/tidy/work")
    person.git("merge", "-q", "--no-ff", "-m", "merged", "FETCH_HEAD")
    person.git("push", "-q", "origin", "main")
    green = go(remote.clone("third"), [])
    assert green.record.number == 1 and green.record.looked is not None and green.record.looked.green
    on_main(person, "src/c.txt", "an old thing again\n")
    person.git("push", "-q", "origin", "main")
    again = go(remote.clone("fourth"), AGAIN[:1], limit=1)
    assert again.record.number == 2
    end = go(remote.clone("fifth"), AGAIN[1:])
    assert (end.outcome, end.record.run) == (Outcome.completed, again.record.run)
    assert remote.file("src/c.txt") == "a new thing again\n"
