"""`wait`: an authority is looked at again without a launch, until it says what was waited for, or time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.authorities import Authority
from contracts.deeds import Forge
from contracts.documents import Document, DocumentsReading
from contracts.forge_reading import ForgeReading
from contracts.outcomes import Outcome
from contracts.readings import CiReading, CommandReading, UnknownReading
from contracts.waiting import standing, waits
from controller.assemble import charter
from tests.controller.test_ci import head, task
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, action, finish
from tests.forge.github import GithubStub
from tests.forge.server import Reply


@pytest.fixture
def hub() -> Iterator[GithubStub]:
    with GithubStub() as stub:
        stub.when = datetime.now(UTC).isoformat(timespec="seconds")
        yield stub


@pytest.fixture
def world(tmp_path: Path, hub: GithubStub) -> World:
    """A run whose two edits are done and whose commit is pushed by hand."""
    text = task(hub.url).replace(" ask, finish]", " ask, wait, finish]")
    world = World(tmp_path / "repo", task=text)
    go(world, WORK, limit=2)
    hub.push("topic", head(world))
    return world


def wait(*words: str, **more: Any) -> dict[str, Any]:
    return action("wait", {"authority": "remote", **({"is": list(words)} if words else {}), **more})


def again(world: World, answers: Any = (), **options: Any) -> Any:
    """The next call, once the run is due."""
    time.sleep(0.25)
    return go(world, answers, **options)


def test_ci_is_polled_without_a_launch_and_then_the_agent_is_asked_again(
    world: World, hub: GithubStub
) -> None:
    check = hub.check(head(world), "test", "in_progress")
    end = go(world, [wait("passed", "failed")])
    assert end.outcome is Outcome.waiting and "waiting for passed or failed" in end.record.halt.say
    for _ in range(10):
        end = again(world)
        assert end.outcome is Outcome.waiting and world.prompts == []
    check |= {"status": "completed", "conclusion": "success"}
    end = again(world, [finish()])
    assert end.outcome is Outcome.completed and len(world.prompts) == 1
    assert "step 3 wait: done" in world.prompts[0] and "remote: github says passed of" in world.prompts[0]


def test_what_ci_came_to_is_told_when_it_is_not_what_was_waited_for(world: World, hub: GithubStub) -> None:
    check = hub.check(head(world), "test", "in_progress")
    go(world, [wait("passed")])
    check |= {"status": "completed", "conclusion": "failure"}
    end = again(world, [wait()], limit=2)
    assert "wait.otherwise" in world.prompts[0] and "test: failure" in world.prompts[0]
    assert end.record.correction.code == "policy.wait_over", "it is decided already"


def test_decided_is_what_it_waits_for_unless_told(world: World, hub: GithubStub) -> None:
    check = hub.check(head(world), "test", "in_progress")
    assert go(world, [wait()]).outcome is Outcome.waiting
    check |= {"status": "completed", "conclusion": "cancelled"}
    end = again(world, [finish()], limit=1)
    assert end.record.step == 3 and end.record.observation.tool == "wait"


def test_time_is_up(world: World, hub: GithubStub) -> None:
    hub.check(head(world), "test", "in_progress")
    end = go(world, [wait(until="1s")])
    assert end.record.halt.not_before <= end.record.staged.deadline
    time.sleep(1.05)
    go(world, [finish()], limit=2)
    assert "wait.late" in world.prompts[0] and "checks are still to end" in world.prompts[0]


def test_a_forge_that_can_not_be_read_ends_no_wait(world: World, hub: GithubStub) -> None:
    hub.check(head(world), "test", "in_progress")
    go(world, [wait("passed", "changed")])
    hub.always = {"/check-runs": Reply(502, b"<html>", {"Content-Type": "text/html"})}
    end = again(world)
    assert end.outcome is Outcome.waiting and "can't be read now" in end.record.halt.say


def test_there_must_be_something_to_wait_for(tmp_path: Path, hub: GithubStub) -> None:
    world = World(tmp_path / "r", task=task(hub.url).replace(" ask, finish]", " ask, wait, finish]"))
    end = go(world, [wait("passed")], limit=1)
    assert end.record.correction.code == "policy.wait_nothing" and "not pushed" in end.record.correction.say
    hub.push("topic", head(world))
    hub.check(head(world), "test", "failure")
    end = go(world, [wait("passed")], limit=1)
    assert end.record.correction.code == "policy.wait_nothing" and "says failed" in end.record.correction.say
    end = go(world, [wait("failed", "passed")], limit=1)
    assert end.record.correction.code == "policy.wait_over"
    end = go(world, [wait("blocked", authority="remaining"), wait("lost")], limit=2)
    assert end.record.correction.code == "schema.args"


def test_waiting_is_no_standstill(world: World, hub: GithubStub) -> None:
    """Seven waits of the same kind, each for CI to say something else, and far more polls than steps."""
    check = hub.check(head(world), "test", "in_progress", details_url="https://example.org/0")
    for number in range(25):
        assert again(world, [wait("changed")]).outcome is Outcome.waiting
        check["html_url"] = f"https://example.org/{number + 1}"
    end = again(world, [finish()])
    assert end.outcome is Outcome.waiting and end.record.staged.tool == "finish"


def test_what_is_waited_for_after_a_crash(
    world: World, hub: GithubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from controller import step as module

    check = hub.check(head(world), "test", "in_progress")

    async def dying(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "act", dying)
        with pytest.raises(KeyboardInterrupt):
            go(world, [wait()])
    assert go(world).outcome is Outcome.waiting and world.prompts == []
    check |= {"status": "completed", "conclusion": "success"}
    assert again(world, [finish()]).outcome is Outcome.completed


def test_a_finish_is_not_waited_for_without_end(
    world: World, hub: GithubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.staging.PATIENCE", 1.0)
    hub.check(head(world), "test", "in_progress")
    assert go(world, [finish()]).outcome is Outcome.waiting
    time.sleep(1.05)
    end = go(world, [wait("blocked", until="1h")], limit=2)
    assert "finish.late" in world.prompts[0] and end.record.staged.tool == "wait"


# ---- what can be waited for -------------------------------------------------------------------------------
def test_only_what_changes_by_itself(tmp_path: Path) -> None:
    assert "wait" not in [spec.name for spec in charter(World(tmp_path / "r").loaded).specs]
    away = TASK.replace("worklist: true}", "worklist: true, network: true}").replace(" ask,", " ask, wait,")
    law = charter(World(tmp_path / "s", task=away).loaded)
    assert law.task.actions.allow[-2] == "wait" and law.spec("wait") is not None
    assert 'args {"authority":"remaining","is":["ok"],"until":"4h"} is: ok|failed|changed' in law.grammar
    for args, fits in (
        ({"authority": "remaining"}, True),
        ({"authority": "x"}, False),
        ({"is": ["ok"]}, False),
    ):
        assert (law.arguments("wait", args) == []) is fits
    for until in ("4", "0h", "1w", "100000d", "h"):
        assert law.arguments("wait", {"authority": "remaining", "until": until})


def test_words() -> None:
    here = Authority.model_validate({"use": "command", "run": ["x"]})
    text = Document(id="7", status="merged", title="t", digest="d")
    pull = DocumentsReading(name="p", what="pull request", place="github acme/widget", items=(text,))
    assert standing(pull) == {"merged"} and standing(pull, "something") == {"merged", "changed"}
    assert standing(pull.model_copy(update={"what": "issue"})) == frozenset()
    known = {"x": here, "y": here.model_copy(update={"network": True}), "z": Authority(use="mine")}
    assert waits(known, None, ()) == {"y": ("ok", "failed", "changed"), "z": ("changed",)}
    hub = Forge.model_validate({"provider": "github", "repository": "a/b"})
    assert waits({}, hub, ["pr_open"]) == {"forge": ("changed", "merged", "closed", "free")}
    assert waits({}, Forge(provider="git"), ["git_push"]) == {"forge": ("changed",)}
    forge = ForgeReading(provider="git", place="git origin", branch="b", base="main", sha="a" * 40)
    assert standing(forge) == frozenset() and standing(forge.model_copy(update={"free": True})) == {"free"}
    ci = CiReading(name="c", provider="github", sha="a", state="passed", why="")
    assert standing(ci) == {"passed", "decided"}
    assert standing(ci.model_copy(update={"state": "pending"})) == frozenset()
    assert standing(ci.model_copy(update={"state": "unknown"})) == {"unknown", "decided"}
    assert standing(ci.model_copy(update={"state": "unknown", "not_before": 1.0})) == {"unknown"}
    assert (
        standing(UnknownReading(name="c", why=""), "something") == standing(None, "something") == frozenset()
    )
    unread = {"state": "unknown", "read": False}
    assert standing(ci.model_copy(update=unread | {"not_before": 1.0}), "something") == frozenset()
    assert standing(ci.model_copy(update=unread)) == {"unknown", "decided"}, (
        "nobody can read it: waiting is no use"
    )
    command = CommandReading(name="d", ok=True, exit=0, took=1.0)
    assert standing(command) == {"ok"} and "failed" in standing(command.model_copy(update={"ok": False}))
    assert standing(command.model_copy(update={"timed_out": True}), "x") == frozenset()
    assert standing(command, "unread") == {"ok", "changed"}
