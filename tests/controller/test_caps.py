"""Caps and a person's yes: what keeps deeds on a forge few, timely, and agreed to. On GitHub and on GitLab."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from tests.controller.forge_world import BRANCH, PUSH, TOKEN, opened
from tests.controller.forges import KINDS, Place, place
from tests.controller.test_push import code
from tests.controller.test_queue import say
from tests.controller.test_step import WORK
from tests.controller.world import action, finish
from tests.forge.hub import Hub

MERGE = action("pr_merge")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)


@pytest.fixture(params=KINDS)
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A run whose first commit is pushed."""
    with place(request.param, tmp_path) as made:
        made.go([WORK[0], PUSH], limit=2)
        yield made


# ---- caps -------------------------------------------------------------------------------------------------
def crowd(at: Place, count: int, ours: bool = True, state: str = "", age: float = 7200.0) -> None:
    """Pull requests of other branches."""
    when = (datetime.now(UTC) - timedelta(seconds=age)).isoformat(timespec="seconds")
    text = (
        "x\n\n<!-- skill-state run=other@0123456789ab#1 keys=0123456789abcdef0123456789abcdef -->"
        if ours
        else "by hand"
    )
    for number in range(count):
        branch = f"other-{len(at.requests)}-{number}"
        if isinstance(at.forge, Hub):
            at.world.git("push", "-q", "origin", f"main:refs/heads/{branch}")
            made = at.forge.open(branch, body=text)
        else:
            made = at.forge.request(
                "f" * 40, source_branch=branch, description=text, source_project_id=1, target_project_id=1
            )
        made |= {"created_at": when} | ({"state": state} if state else {})


def test_so_many_may_be_open(at: Place) -> None:
    crowd(at, 4)
    crowd(at, 9, ours=False)
    crowd(at, 3, state="closed")
    crowd(at, 1)
    end = at.go([opened()], limit=1)
    assert code(end) == "policy.cap_open" and "5 pull requests of ours are open" in end.record.correction.say
    at.close()
    assert code(at.go([opened()], limit=1)) == ""


def test_so_many_may_be_opened_in_an_hour(at: Place) -> None:
    crowd(at, 2, age=1800.0, state="closed")
    end = at.go([opened()], limit=1)
    assert code(end) == "policy.cap_hourly" and "which it is in 30 min" in end.record.correction.say
    for each in at.requests:
        each["created_at"] = (datetime.now(UTC) - timedelta(seconds=3700)).isoformat(timespec="seconds")
    assert code(at.go([opened()], limit=1)) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_only_within_the_schedule(kind: str, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    closed, still = now + timedelta(hours=2), now + timedelta(hours=3)
    window = f"{closed:%H:%M}-{still:%H:%M}"
    with place(kind, tmp_path, caps={"schedule": [window]}) as at:
        end = at.go([WORK[0], PUSH], limit=2)
        assert code(end) == "policy.cap_schedule" and at.world.tip() == ""
        assert (
            window in end.record.correction.say
            and "for forge to be free, which it is in" in end.record.correction.say
        )
        at.world.git("push", "-q", "origin", f"{BRANCH}:{BRANCH}")
        assert code(at.go([opened()], limit=1)) == "policy.cap_schedule"


def test_a_run_waits_for_room_and_then_for_the_merge(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contracts.waiting.POLL", 0.2)
    crowd(at, 5)
    assert at.go([action("wait", {"authority": "forge", "is": ["free"]})]).outcome is Outcome.waiting
    at.close()
    time.sleep(0.25)
    end = at.go([opened(), action("wait", {"authority": "forge", "is": ["merged", "closed"]})])
    assert end.outcome is Outcome.waiting and len(at.world.prompts) == 2
    if isinstance(at.forge, Hub):
        at.requests[-1] |= {"state": "closed", "merged_at": "2026-03-01T12:00:00Z", "merged": True}
    else:
        at.requests[-1] |= {"state": "merged"}
    time.sleep(0.25)
    end = at.go([finish()], limit=2)
    assert end.record.step == 6 and "pull request 6 merged at" in at.world.prompts[0]


# ---- a person's yes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_a_merge_that_needs_a_yes_is_for_one_commit(kind: str, tmp_path: Path) -> None:
    approvals = "approvals: {boundaries: [pr_merge], on_blocked: continue}\n"
    with place(kind, tmp_path, more=approvals) as at:
        (entry,) = at.go([WORK[0], PUSH, opened(), MERGE], limit=4).record.queue
        assert entry.basis == {"head": at.world.head, "forge request": f"1 at {at.world.head}"}
        at.go([WORK[1], PUSH], limit=2)
        say(at.world, entry)
        assert code(at.go([], limit=1)) == "policy.approval_moved" and at.sent("merge") == 0
        (entry,) = at.go([MERGE], limit=1).record.queue
        say(at.world, entry)
        at.go([], limit=1)
        assert at.sent("merge") == 1 and at.requests[0]["state"] in ("closed", "merged")


def test_nothing_is_merged_that_ci_has_not_passed(tmp_path: Path) -> None:
    with place("github", tmp_path) as at:
        options = f"{{provider: github, url: '{at.forge.url}', repository: acme/widget, poll: 200ms}}"
        text = at.world.file.read_text()
        at.world.file.write_text(
            text.replace("authorities:\n", f"authorities:\n  remote: {{use: ci, options: {options}}}\n")
        )
        hub = at.forge
        assert isinstance(hub, Hub)
        at.go([WORK[0], PUSH, opened()], limit=3)
        check = hub.check(at.world.head, "test", "in_progress")
        end = at.go([MERGE], limit=1)
        assert code(end) == "policy.merge_red" and "remote says pending" in end.record.correction.say
        check |= {"status": "completed", "conclusion": "success"}
        at.go([MERGE], limit=1)
        assert at.sent("merge") == 1
