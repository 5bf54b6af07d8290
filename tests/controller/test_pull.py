"""git_pull: somebody else's commits on the run's branch become the run's, and nothing of either side is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.outcomes import Outcome
from tests.controller.forge_world import BRANCH, PULL, PUSH, ForgeWorld
from tests.controller.test_push import code, dies_at_the_deed
from tests.controller.test_step import WORK, go
from tests.controller.world import finish, git


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ForgeWorld]:
    """A run whose first commit is pushed to a remote that has no forge."""
    made = ForgeWorld(
        tmp_path / "repo",
        "",
        tools="git_push, git_pull",
        provider="git",
        repository=None,
        url=None,
        token_env=None,
    )
    go(made, [WORK[0], PUSH], limit=2)
    yield made


def parents(world: ForgeWorld) -> list[str]:
    return world.git("show", "-s", "--format=%P", BRANCH).split()


def test_what_came_on_top_is_taken_as_it_is(world: ForgeWorld) -> None:
    theirs = world.by_hand()
    end = go(world, [PULL, WORK[1], PUSH, finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head
    assert (
        world.git("rev-parse", f"{BRANCH}~1").strip() == theirs and world.branch_file("README") == "by hand\n"
    )
    assert "taken over: 1 commits, 1 files" in world.prompts[1]
    assert "\n Ana: README by hand\n" in world.prompts[1] and "README +1 -0" in world.prompts[1]


def test_both_went_on(world: ForgeWorld) -> None:
    theirs = world.by_hand()
    ours = go(world, [WORK[1]], limit=1).record.head
    end = go(world, [PULL, PUSH, finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head
    assert parents(world) == [ours, theirs]
    assert world.branch_file("README") == "by hand\n" and "new" in world.branch_file("src/b.txt")
    assert (world.worktree / "README").read_text() == "by hand\n"
    assert git(world.worktree, "status", "--porcelain") == ""
    message = world.git("show", "-s", "--format=%an%n%B", BRANCH)
    assert message.startswith("skill-state\nstep 4: git_pull") and "Skill-State-Key: " in message


def test_both_changed_one_file(world: ForgeWorld) -> None:
    theirs = world.by_hand("src/b.txt", "mine\n")
    go(world, [WORK[1]], limit=1)
    head = world.head
    end = go(world, [PULL], limit=1)
    assert code(end) == "pull.conflict" and "both sides changed src/b.txt" in end.record.correction.say
    assert (world.head, world.tip()) == (head, theirs) and git(world.worktree, "status", "--porcelain") == ""


def test_nothing_to_take_over(world: ForgeWorld) -> None:
    assert code(go(world, [PULL], limit=1)) == "policy.pull_nothing"
    go(world, [WORK[1]], limit=1)
    assert code(go(world, [PULL], limit=1)) == "policy.pull_nothing"


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("diverged", [True, False])
def test_a_controller_that_died_at_it(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch, done: bool, diverged: bool
) -> None:
    theirs = world.by_hand()
    if diverged:
        go(world, [WORK[1]], limit=1)
    dies_at_the_deed(world, [PULL], monkeypatch, done)
    end = go(world, [PUSH, *([] if diverged else [WORK[1], PUSH]), finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head
    assert theirs in world.git("rev-list", BRANCH).split()
    merges = world.git("rev-list", "--merges", BRANCH).split()
    assert len(merges) == diverged


@pytest.mark.parametrize("died", ["update-ref", "read-tree"])
def test_a_controller_that_died_within_it(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch, died: str
) -> None:
    from tool_adapters.git import Engine

    theirs = world.by_hand()
    go(world, [WORK[1]], limit=1)
    execute = Engine._execute

    def dying(self: Engine, place: Any, verb: str, words: list[str], *rest: Any) -> bytes:
        if (verb == died and "-u" in words) or verb == died == "update-ref":
            raise KeyboardInterrupt
        return execute(self, place, verb, words, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "_execute", dying)
        with pytest.raises(KeyboardInterrupt):
            go(world, [PULL])
    end = go(world, [PUSH, finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head
    assert theirs in world.git("rev-list", BRANCH).split()
    assert (world.worktree / "README").read_text() == "by hand\n"
    assert git(world.worktree, "status", "--porcelain") == ""
