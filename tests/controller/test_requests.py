"""Pull requests and comments, on GitHub and on GitLab: made once whatever dies or gets lost, refused where they must
be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.forge_marks import keys, unmarked
from contracts.outcomes import Outcome
from contracts.queue import DID_NOT, HAPPENED, Answer
from tests.controller.forge_world import BRANCH, PUSH, TOKEN, opened
from tests.controller.forges import KINDS, Place, place
from tests.controller.test_ci import section
from tests.controller.test_push import code, dies_at_the_deed
from tests.controller.test_step import WORK
from tests.controller.world import action, finish
from tests.forge.hub import Hub
from tests.forge.server import Reply
from tool_adapters.forge import client


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    monkeypatch.setattr(client, "AGAIN", 0.2)
    monkeypatch.setattr("controller.verify.AGAIN", 0.2)


@pytest.fixture(params=KINDS)
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A run whose first commit is pushed."""
    with place(request.param, tmp_path) as made:
        made.go([WORK[0], PUSH], limit=2)
        yield made


def update(**args: Any) -> dict[str, Any]:
    return action("pr_update", args)


def comment(body: str, issue: int | None = None) -> dict[str, Any]:
    return (
        action("issue_comment", {"issue": issue, "body": body})
        if issue
        else action("pr_comment", {"body": body})
    )


MERGE = action("pr_merge")


# ---- opened -----------------------------------------------------------------------------------------------
def test_from_work_to_merged(at: Place) -> None:
    world = at.world
    end = at.go([WORK[1], PUSH, opened(), update(title="Tidier"), comment("Please look."), MERGE, finish()])
    assert end.outcome is Outcome.completed
    (request,) = at.requests
    assert request["title"] == "Tidier" and unmarked(at.text()) == "All `old` is `new`."
    assert len(keys(at.text())) == 2 and "skill-state run=tidy@" in at.text()
    assert [unmarked(each) for each in at.comments(1)] == ["Please look."]
    assert world.git("ls-remote", "origin", "main").split()[0] != world.git("rev-parse", "main").strip()
    shown = section(world.prompts[3], "AUTHORITIES")
    assert "\n pull request 1 open at" in shown and "into main: Tidy up https://" in shown
    told = [prompt.partition("=== OBSERVATION ===\n")[2].split("\n")[0] for prompt in world.prompts]
    assert told[3].startswith("step 5 pr_open: pull request 1 open at")
    assert told[6].startswith("step 8 pr_merge: pull request 1 is merged at")
    for seen in at.forge.seen:
        name = "authorization" if at.kind == "github" else "private-token"
        assert TOKEN in seen.headers[name] and TOKEN not in str(seen.body)


def test_it_must_be_pushed_first_and_there_is_one_at_most(at: Place) -> None:
    end = at.go([WORK[1], opened()], limit=2)
    assert code(end) == "policy.request_not_pushed" and at.sent("open") == 0
    end = at.go([PUSH, opened(), opened("Again")], limit=3)
    assert code(end) == "policy.request_open" and len(at.requests) == 1


def test_what_there_is_not_can_not_be_changed(at: Place) -> None:
    for deed in (update(title="x"), comment("x"), MERGE):
        assert code(at.go([deed], limit=1)) == "policy.request_none"
    at.go([opened()], limit=1)
    assert code(at.go([update()], limit=1)) == "policy.update_nothing"
    assert at.go([update(title="two\nlines")], limit=1).record.correction.code == "schema.args"


def test_a_draft_is_not_merged(at: Place) -> None:
    end = at.go([opened(draft=True), MERGE], limit=2)
    assert code(end) == "policy.merge_draft" and at.requests[0]["draft"]


# ---- people -----------------------------------------------------------------------------------------------
def test_a_person_closed_it(at: Place) -> None:
    at.go([opened()], limit=1)
    at.close()
    end = at.go([comment("hello?"), opened("Again")], limit=2)
    assert code(end) == "policy.request_closed" and len(at.requests) == 1
    assert "pull request 1 closed at" in section(at.world.prompts[0], "AUTHORITIES")


def test_a_new_run_may_open_another(at: Place) -> None:
    at.go([opened()], limit=1)
    at.close()
    end = at.go([opened("Anew")], limit=1, new=True)
    assert code(end) == "policy.request_not_pushed", "the branch holds the work of the run before"
    at.world.git("push", "-q", "origin", f":{BRANCH}")
    end = at.go([WORK[0], PUSH, opened("Anew")], limit=3)
    assert code(end) == "" and [each["title"] for each in at.requests] == ["Tidy up", "Anew"]


def test_the_branch_of_a_merged_request_begins_anew(at: Place) -> None:
    at.go([opened(), MERGE], limit=2)
    world = at.world
    world.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    end = at.go([WORK[0], PUSH, opened("Anew")], limit=3, new=True)
    assert code(end) == "" and world.tip() == world.head and len(at.requests) == 2


def test_what_a_person_wrote_into_the_description_stays(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from tool_adapters.forge.requests import PrUpdate

    at.go([opened()], limit=1)
    act = PrUpdate.act

    def late(self: PrUpdate, call: Any) -> Any:
        at.rewrite("Mine now.")
        return act(self, call)

    monkeypatch.setattr(PrUpdate, "act", late)
    assert code(at.go([update(body="Theirs")], limit=1)) == "pr_update.moved" and at.text() == "Mine now."
    monkeypatch.setattr(PrUpdate, "act", act)
    at.go([update(title="Only the title")], limit=1)
    assert unmarked(at.text()) == "Mine now." and len(keys(at.text())) == 1


def test_a_push_by_hand_before_the_merge(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from tool_adapters.forge.requests import PrMerge

    at.go([opened()], limit=1)
    act = PrMerge.act

    def late(self: PrMerge, call: Any) -> Any:
        at.world.by_hand()
        return act(self, call)

    monkeypatch.setattr(PrMerge, "act", late)
    end = at.go([MERGE], limit=1)
    assert code(end) == "pr_merge.refused" and "409" in end.record.correction.say
    monkeypatch.setattr(PrMerge, "act", act)
    assert code(at.go([MERGE], limit=1)) == "policy.merge_head" and at.requests[0]["state"] in (
        "open",
        "opened",
    )


def test_what_an_agent_writes_commands_nobody(at: Place) -> None:
    forged = "<!-- skill-state run=tidy@0123456789ab#1 keys=0123456789abcdef0123456789abcdef -->"
    text = f"/merge\n  /close\n@ana @org/team mail@example.org\n{forged}\r/approve"
    at.go([opened(body=text), comment(text), comment(text, at.issue("An issue"))], limit=3)
    posted = [at.text(), *at.comments(1)]
    assert len(posted) == 2
    for each in posted:
        assert "\n/" not in f"\n{each}" and "@ana" not in each and "mail@example.org" in each
        assert len(keys(each)) == 1 and keys(each) != ("0123456789abcdef0123456789abcdef",)
    assert getattr(at.forge, "quick", []) == []


# ---- refused, later, nobody knows -------------------------------------------------------------------------
REFUSED = {
    "403": Reply(
        403, {"message": "Resource not accessible by integration"}, {"X-RateLimit-Remaining": "4000"}
    ),
    "404": Reply(404, {"message": "Not Found"}),
    "405": Reply(405, {"message": "Not allowed"}),
    "422": Reply(
        422, {"message": "Validation Failed", "errors": [{"message": "No commits between main and x"}]}
    ),
    "moved": Reply(307, b"", {"Location": "http://127.0.0.1:9/x"}),
}
LATER = {
    "403 with retry-after": Reply(403, {"message": "secondary rate limit"}, {"Retry-After": "1"}),
    "403 secondary": Reply(403, {"message": "You have exceeded a secondary rate limit"}),
    "403 used up": Reply(403, {"message": "x"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}),
    "429": Reply(429, {"message": "slow down"}, {"Retry-After": "1"}),
}
MAYBE = {
    "500": Reply(500, {"message": "oops"}, {"Retry-After": "1"}),
    "502": Reply(502, b"<html>", {"Content-Type": "text/html", "Retry-After": "1"}),
    "503 with retry-after": Reply(503, b"", {"Retry-After": "1"}),
    "cut": Reply(cut=0),
    "cut in the middle": Reply(201, {"number": 1, "title": "x" * 99}, cut=9),
}


ONE = pytest.mark.parametrize("at", ["github"], indirect=True)  # how an answer is read does not differ


@ONE
@pytest.mark.parametrize("fault", REFUSED)
def test_a_refusal_is_told_and_not_repeated(at: Place, fault: str) -> None:
    at.forge.fail(at.path("open"), REFUSED[fault])
    end = at.go([opened()], limit=1)
    assert code(end) == "pr_open.refused" and end.outcome is None and at.sent("open") == 1
    assert "would again" in end.record.correction.say and at.requests == []
    if fault == "422":
        assert "No commits between" in end.record.correction.say


@ONE
@pytest.mark.parametrize("fault", [*LATER, *MAYBE])
def test_trouble_is_waited_for_and_then_it_is_done_once(
    at: Place, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contracts.answers.SECONDARY", 0.2)
    at.forge.fail(at.path("open"), (LATER | MAYBE)[fault])
    end = at.go([opened()], limit=1)
    assert end.outcome is Outcome.waiting and end.record.staged.tool == "pr_open" and at.requests == []
    time.sleep(1.1)
    end = at.go([], limit=1)
    assert end.outcome is None and len(at.requests) == 1 and at.world.prompts == []


@pytest.mark.parametrize("what", ["open", "update", "merge", "say", "issue"])
def test_an_acknowledgement_that_got_lost(at: Place, what: str) -> None:
    """It was done, and the connection cut before the answer: exactly one of it results."""
    if what != "open":
        at.go([opened()], limit=1)
    number = at.issue("An issue")
    deeds = {"open": opened(), "update": update(body="New."), "merge": MERGE}
    deeds |= {"say": comment("Once."), "issue": comment("Once.", number)}
    at.forge.lost.append(at.path("say" if what == "issue" else what))
    end = at.go([deeds[what]], limit=1)
    assert end.outcome is None and end.record.observation.step == end.record.step and not at.forge.lost
    assert len(at.requests) == 1 and at.sent("say" if what == "issue" else what) == 1
    said = at.comments(number, "issue") if what == "issue" else at.comments(1)
    assert len(said) == (what in ("say", "issue"))


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("what", ["open", "update", "merge", "say"])
def test_a_controller_that_died_at_the_deed(
    at: Place, what: str, done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what != "open":
        at.go([opened()], limit=1)
    deeds = {"open": opened(), "update": update(title="New"), "merge": MERGE, "say": comment("Once.")}
    dies_at_the_deed(at.world, [deeds[what]], monkeypatch, done)
    end = at.go([], limit=1)
    assert end.record.observation.step == end.record.step and at.world.prompts == []
    assert len(at.requests) == 1 and at.sent(what) == 1 and len(at.comments(1)) == (what == "say")


def test_a_forge_that_is_down_when_a_dead_controllers_deed_is_looked_for(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_at_the_deed(at.world, [opened()], monkeypatch, True)
    at.forge.always = {"GET /": Reply(503, b"", {"Retry-After": "1"})}
    end = at.go([], limit=1)
    assert end.outcome is Outcome.waiting and end.record.queue == (), (
        "nobody is asked what can be looked up later"
    )
    at.forge.always = {}
    time.sleep(1.1)
    assert at.go([], limit=1).record.observation.tool == "pr_open" and at.sent("open") == 1


@pytest.mark.parametrize("word", [HAPPENED, DID_NOT])
def test_what_is_not_seen_for_a_day_is_for_a_person(
    at: Place, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import anyio

    from tests.controller.test_queue import store

    monkeypatch.setattr("controller.staging.PATIENCE", 0.5)
    at.forge.always = {at.path("open"): Reply(500, b"", {"Retry-After": "1"})}
    assert at.go([opened()], limit=1).outcome is Outcome.waiting
    time.sleep(1.1)
    end = at.go([], limit=1)
    (entry,) = end.record.queue
    assert end.outcome is Outcome.blocked and entry.kind == "unknown" and "pr_open" in entry.why
    at.forge.always = {}
    monkeypatch.setattr("controller.staging.PATIENCE", 3600.0)
    anyio.run(store(at.world).post, "tidy", Answer(entry=entry.id, text=word, by="ana", at=1.0))
    end = at.go([action("list_files")], limit=2)
    assert len(at.requests) == (word == DID_NOT)


def test_a_branch_that_is_protected_against_the_merge(at: Place) -> None:
    at.go([opened()], limit=1)
    at.forge.blocked = {1: "Required status check is expected."} if isinstance(at.forge, Hub) else {1: 405}
    end = at.go([MERGE, finish()], limit=2)
    assert (
        at.sent("merge") == 1 and "pr_merge.refused" in at.world.prompts[1] and "`ask`" in at.world.prompts[1]
    )
    assert end.outcome is None
