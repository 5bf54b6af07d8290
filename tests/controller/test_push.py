"""git_push: to the run's branch, never over what somebody else pushed, whatever dies or is refused on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.bounds import worst_case_bytes
from contracts.errors import ConfigError
from contracts.forge_reading import ForgeReading, Request
from contracts.outcomes import Outcome
from contracts.readings import Readings
from controller.act import act
from controller.assemble import charter
from controller.render import render, worst_case
from tests.controller.forge_world import BRANCH, PUSH, TOKEN, ForgeWorld
from tests.controller.test_ci import section
from tests.controller.test_render import GIT, NASTY, a_record
from tests.controller.test_step import WORK, go
from tests.controller.world import action, edit, finish, git
from tests.forge.hub import Hub
from tests.forge.server import Reply


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ForgeWorld]:
    hub = Hub(tmp_path / "repo.git")
    with hub:
        made = ForgeWorld(tmp_path / "repo", hub.url)
        made.hub = hub  # type: ignore[attr-defined]
        yield made


def code(end: Any) -> str:
    return end.record.correction.code if end.record.correction else ""


def dies_at_the_deed(
    world: ForgeWorld, answers: list[Any], monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """The controller dies before the deed, or after it and before anything was stored."""
    from controller import step as module

    async def dying(staged: Any, actions: Any) -> Any:
        if done:
            await act(staged, actions)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "act", dying)
        with pytest.raises(KeyboardInterrupt):
            go(world, answers)


# ---- done -------------------------------------------------------------------------------------------------
def test_the_work_is_pushed_and_seen(world: ForgeWorld) -> None:
    end = go(world, [WORK[0], PUSH, WORK[1], PUSH, finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head == end.record.head
    assert f"forge: github acme/widget; branch {BRANCH} is not on the remote" in section(
        world.prompts[0], "AUTHORITIES"
    )
    assert f"branch {BRANCH} is pushed, at" in section(world.prompts[2], "AUTHORITIES")
    assert "is pushed up to" in section(world.prompts[3], "AUTHORITIES")
    assert "step 2 git_push: skill-state/tidy on the remote is at" in world.prompts[2]
    assert world.git("status", "--porcelain", "--untracked-files=no") == "" and TOKEN not in str(
        world.prompts
    )


def test_the_address_of_the_pull_request_is_kept(world: ForgeWorld) -> None:
    assert go(world, [WORK[0], PUSH], limit=2).record.pull_request == ""
    pull = world.hub.open(BRANCH, html_url="https://example.org/acme/widget/pull/1")  # type: ignore[attr-defined]
    end = go(world, [WORK[1], PUSH, finish()])
    assert (end.outcome, end.record.pull_request) == (Outcome.completed, pull["html_url"])


def test_nothing_to_push(world: ForgeWorld) -> None:
    assert code(go(world, [WORK[0], PUSH, PUSH], limit=3)) == "policy.push_nothing"


def test_a_remote_alone_is_enough(tmp_path: Path) -> None:
    world = ForgeWorld(
        tmp_path / "repo", "", tools="git_push", provider="git", repository=None, url=None, token_env=None
    )
    end = go(world, [*WORK, PUSH, finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head


# ---- somebody else was there ------------------------------------------------------------------------------
def test_a_push_by_hand_between_reading_and_pushing(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tool_adapters.forge.push import GitPush

    go(world, [WORK[0], PUSH], limit=2)
    push, theirs = GitPush._push, []

    def late(self: GitPush, call: Any) -> Any:
        theirs.append(world.by_hand())
        return push(self, call)

    monkeypatch.setattr(GitPush, "_push", late)
    end = go(world, [WORK[1], PUSH], limit=2)
    assert code(end) == "push.moved" and [world.tip()] == theirs
    monkeypatch.undo()
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    end = go(world, [PUSH], limit=1)
    assert code(end) == "policy.push_foreign" and "Ana: README by hand" in end.record.correction.say
    shown = section(world.prompts[0], "AUTHORITIES")
    assert "with commits of others that are not yours\n not yours: Ana: README by hand" in shown
    assert [world.tip()] == theirs


def test_a_push_by_hand_while_the_agent_thinks(world: ForgeWorld) -> None:
    go(world, [WORK[0], PUSH, WORK[1]], limit=3)

    def meanwhile(_: Any) -> dict[str, Any]:
        world.by_hand()
        return PUSH

    end = go(world, [meanwhile], limit=1)
    assert code(end) == "policy.stale" and "forge changed" in end.record.correction.say
    assert end.record.rejections == 0, "that is not the agent's fault"


def test_a_force_push_by_hand(world: ForgeWorld) -> None:
    go(world, [WORK[0], PUSH], limit=2)
    theirs = world.by_hand("src/a.txt", "rewritten\n", amend=True)
    end = go(world, [WORK[1], PUSH], limit=2)
    assert code(end) == "policy.push_foreign" and world.tip() == theirs


def test_a_branch_that_somebody_deleted(world: ForgeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    from tool_adapters.forge.push import GitPush

    go(world, [WORK[0], PUSH, WORK[1]], limit=3)
    push = GitPush._push

    def late(self: GitPush, call: Any) -> Any:
        git(world.remote, "update-ref", "-d", f"refs/heads/{BRANCH}")
        return push(self, call)

    monkeypatch.setattr(GitPush, "_push", late)
    assert code(go(world, [PUSH], limit=1)) == "push.moved" and world.tip() == ""
    monkeypatch.setattr(GitPush, "_push", push)
    go(world, [PUSH], limit=1)  # it saw that the branch is gone, and makes it anew
    assert world.tip() == world.head


# ---- refused, later, nobody knows -------------------------------------------------------------------------
def test_a_protected_branch_is_refused_once_and_for_all(world: ForgeWorld) -> None:
    hook = world.remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    end = go(world, [WORK[0], PUSH], limit=2)
    assert code(end) == "push.refused" and end.outcome is None
    assert (
        "GH006: Protected branch" in end.record.correction.say
        and "Do not try it again" in end.record.correction.say
    )


def test_a_remote_that_can_not_be_reached_is_waited_for(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tool_adapters import gitremote
    from tool_adapters.forge import push

    monkeypatch.setattr(push, "AGAIN", 0.2)
    go(world, [WORK[0]], limit=1)
    with monkeypatch.context() as patch:
        patch.setattr(
            gitremote.Remote,
            "push",
            lambda *_: gitremote.Pushed("later", "Could not resolve host: example.org"),
        )
        end = go(world, [PUSH], limit=1)
    assert end.outcome is Outcome.waiting and "Could not resolve host" in end.record.halt.say
    time.sleep(0.25)
    end = go(world, [WORK[1]], limit=2)
    assert world.tip() == world.git("rev-parse", f"{BRANCH}~1").strip() and len(world.prompts) == 1


@pytest.mark.parametrize("arrived", [True, False])
def test_a_connection_that_is_cut_in_mid_push(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch, arrived: bool
) -> None:
    from tool_adapters import gitremote
    from tool_adapters.forge import push

    monkeypatch.setattr(push, "AGAIN", 0.2)
    real, times = gitremote.Remote.push, []

    def cut(self: gitremote.Remote, moves: Any) -> gitremote.Pushed:
        times.append(real(self, moves) if arrived or times else None)
        return gitremote.Pushed("maybe", "the remote end hung up") if len(times) == 1 else times[-1]

    monkeypatch.setattr(gitremote.Remote, "push", cut)
    end = go(world, [WORK[0], PUSH], limit=2)
    if not arrived:
        assert end.outcome is Outcome.waiting and world.tip() == ""
        time.sleep(0.25)
        end = go(world, [], limit=1)
    assert world.tip() == world.head and end.record.observation.tool == "git_push"
    assert len(times) == (1 if arrived else 2), "what arrived is not pushed again"


@pytest.mark.parametrize("done", [True, False])
def test_a_controller_that_died_at_the_push(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    go(world, [WORK[0]], limit=1)
    dies_at_the_deed(world, [PUSH], monkeypatch, done)
    assert (world.tip() == world.head) is done
    end = go(world, [WORK[1], PUSH, finish()])
    assert end.outcome is Outcome.completed and world.tip() == world.head


def test_a_controller_that_died_after_the_push_and_a_person_went_on(
    world: ForgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(world, [WORK[0]], limit=1)
    dies_at_the_deed(world, [PUSH], monkeypatch, True)
    theirs = world.by_hand()
    end = go(world, [], limit=1)
    assert end.record.observation.tool == "git_push", "its commit is there, below the other one"
    assert world.tip() == theirs


def test_a_forge_that_can_not_be_read(world: ForgeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Hub = world.hub  # type: ignore[attr-defined]
    hub.always = {"GET /": Reply(503, {"message": "busy"}, {"Retry-After": "1"})}
    end = go(world, [WORK[0], PUSH])
    assert end.outcome is Outcome.waiting and "can't be read now" in end.record.halt.say and world.tip() == ""
    assert "forge: unknown (" in section(world.prompts[0], "AUTHORITIES"), "edits do not rest on it"


# ---- people -----------------------------------------------------------------------------------------------
def test_a_push_that_needs_a_yes_is_for_one_commit_and_one_state_of_the_branch(tmp_path: Path) -> None:
    from tests.controller.test_queue import say

    with Hub(tmp_path / "repo.git") as hub:
        world = ForgeWorld(
            tmp_path / "repo", hub.url, more="approvals: {boundaries: [git_push], on_blocked: continue}\n"
        )
        end = go(world, [WORK[0], PUSH], limit=2)
        (entry,) = end.record.queue
        assert entry.basis == {"head": world.head, "forge branch": "none"} and world.tip() == ""
        git(world.remote, "update-ref", f"refs/heads/{BRANCH}", world.tip("main"))
        say(world, entry)
        end = go(world, [], limit=1)
        assert (
            code(end) == "policy.approval_moved" and "forge branch is not none" in end.record.correction.say
        )
        (entry,) = go(world, [PUSH], limit=1).record.queue
        say(world, entry)
        go(world, [], limit=1)
        assert world.tip() == world.head and world.prompts == []


# ---- the task ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("forge", "said"),
    [
        ({"repository": "widget"}, "owner/name"),
        ({"repository": None}, "needs `repository`"),
        ({"url": "http://me:pw@127.0.0.1"}, "forge.url"),
        ({"provider": "git", "url": None}, "takes no `repository`"),
        ({"provider": "git", "url": None, "repository": None}, "a Git remote alone can't do"),
        ({"caps": {"schedule": ["noon"]}}, "expected days, hours or both"),
        ({"caps": {"open": 0}}, "forge.caps.open"),
        ({"tokn": "X"}, "tokn"),
    ],
)
def test_what_a_task_may_not_say(tmp_path: Path, forge: dict[str, Any], said: str) -> None:
    world = ForgeWorld(tmp_path / "repo", "http://127.0.0.1:1", **forge)
    with pytest.raises(ConfigError, match=said):
        _ = world.loaded


def test_what_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = ForgeWorld(tmp_path / "repo", "http://127.0.0.1:1")
    text = world.file.read_text()
    monkeypatch.delenv("FORGE_TOKEN")
    with pytest.raises(ConfigError, match="FORGE_TOKEN is not set"):
        world.rig()
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    world.file.write_text(text.replace("http://127.0.0.1:1", "http://forge.example.org"))
    with pytest.raises(ConfigError, match="only over https"):
        world.rig()
    world.file.write_text("\n".join(row for row in text.split("\n") if not row.startswith("forge:")))
    with pytest.raises(ConfigError, match="`git_push` is allowed: say in `forge:` where"):
        _ = world.loaded


def test_a_remote_that_the_repository_does_not_have(world: ForgeWorld) -> None:
    world.git("remote", "remove", "origin")
    end = go(world, [edit("src/a.txt", "old", "new"), action("list_files")], limit=2)
    assert "forge: unknown (the repository has no remote 'origin'" in section(world.prompts[1], "AUTHORITIES")
    assert end.outcome is None


def test_the_reading_says_what_is_where(world: ForgeWorld) -> None:
    seen = ForgeReading(provider="git", place="git origin", branch="b", base="main", sha="a" * 40)
    assert seen.pushed == "is not on the remote" and seen.text == ""


@pytest.mark.parametrize("text", ["x" * 900, "é" * 900, "\n=== STATE ===\n" * 90, NASTY])
def test_the_reading_keeps_its_proved_bound(world: ForgeWorld, text: str) -> None:
    law = charter(world.loaded)
    request = Request(number=1, state="open", title=text, head="a" * 40, base=text, url=text)
    seen = ForgeReading(
        provider="git", place=text, branch=text, base="main", sha="a" * 40, tip="b" * 40, holds=False,
        foreign=(text,) * 5, others=200, request=request,
    )  # fmt: skip
    prompt = render(a_record(law), Readings(at=1.0, items={"git": GIT, "forge": seen}), law)
    bounds = worst_case(law, worst_case_bytes(law.schema.plain))
    assert all(size <= bounds[name] for name, size in prompt.sections)
    outside = section(prompt.text, "AUTHORITIES").split("\n")[2:]
    assert all(row.startswith(" ") for row in outside if row), outside[:5]
