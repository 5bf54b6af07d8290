"""What waits for a person is put before them on the forge, and decided there by their word, as it was said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.forge_words import governs
from contracts.outcomes import Outcome
from contracts.queue import Entry
from controller.hearing import heard
from tests.controller.forge_world import PUSH, TOKEN, opened
from tests.controller.forges import KINDS, Place, place
from tests.controller.test_push import code
from tests.controller.test_queue import record, rows, say
from tests.controller.test_step import WORK
from tests.controller.world import action, finish
from tests.forge.hub import Hub
from tests.forge.server import Reply

MERGE = action("pr_merge")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)


def approvals(kind: str, more: str = "") -> str:
    who = f"ana, '{kind}:Ana', '{kind}:bob'"
    return f"approvals: {{boundaries: [pr_merge], who: [{who}]{more}}}\n"


class Talk:
    """A run that waits for a yes to a merge, and the people on its pull request."""

    def __init__(self, at: Place, number: int = 1, on: str = "request") -> None:
        self.at, self.number, self.on = at, number, on

    @property
    def entry(self) -> Entry:
        (entry,) = record(self.at.world).queue
        return entry

    @property
    def put(self) -> list[str]:
        return [
            each for each in self.at.comments(self.number, self.on) if governs(each) and "skill-state" in each
        ]

    def say(self, text: str, by: str = "ana", edited: bool = False) -> dict[str, Any]:
        """`{}` in the text is the entry's id and hash."""
        said = text.replace("{}", f"{self.entry.id} {self.entry.hash[:12]}")
        if isinstance(self.at.forge, Hub):
            made = self.at.forge.comment(self.number, by, said)
        else:
            made = self.at.forge.note(
                f"{'issues' if self.on == 'issue' else 'merge_requests'}/{self.number}", by, said
            )
        if edited:
            made["updated_at"] = "2099-01-01T00:00:00Z"
        return made


@pytest.fixture(params=KINDS)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Talk]:
    with place(request.param, tmp_path, more=approvals(request.param)) as at:
        end = at.go([WORK[0], PUSH, opened(), MERGE])
        assert end.outcome is Outcome.blocked
        yield Talk(at)


def merged(talk: Talk) -> bool:
    return talk.at.sent("merge") == 1 and talk.at.requests[0]["state"] in ("closed", "merged")


# ---- decided there ----------------------------------------------------------------------------------------
def test_a_yes_on_the_pull_request(talk: Talk) -> None:
    (text,) = talk.put
    assert talk.entry.hash in text and "pr_merge needs a person's yes" in text and TOKEN not in text
    assert f"approve {talk.entry.id} {talk.entry.hash[:12]}" in text
    end = talk.at.go([])
    assert end.outcome is Outcome.blocked and len(talk.put) == 1, (
        "it is put there once, and nobody was launched"
    )
    talk.say("Fine by me.\n\napprove {}")
    end = talk.at.go([WORK[1], finish()])
    assert end.outcome is Outcome.completed and merged(talk)
    told = [each for row in rows(talk.at.world) for each in row.human_events]
    assert f"approve a4 by {talk.at.kind}:Ana" in told
    assert len(talk.at.world.prompts) == 2, "no launch for what was approved"


def test_what_the_last_step_of_a_limited_call_asks_is_put_there_by_that_call(tmp_path: Path) -> None:
    with place("github", tmp_path, more=approvals("github")) as at:
        at.go([WORK[0], PUSH, opened(), MERGE], limit=4)
        talk = Talk(at)
        (text,) = talk.put
        assert talk.entry.hash in text
        at.go([])
        assert len(talk.put) == 1


def test_a_no_with_its_reason(talk: Talk) -> None:
    talk.say("reject {} because it is Friday", by="BOB")
    end = talk.at.go([WORK[1]], limit=1)
    assert f"{talk.at.kind}:bob said no to a4" in talk.at.world.prompts[0]
    assert "because it is Friday" in talk.at.world.prompts[0] and end.record.queue == () and not merged(talk)


@pytest.mark.parametrize(
    ("text", "by", "edited"),
    [
        ("approve {}", "eve", False),
        ("approve {}", "bot", False),
        ("approve {}", "ana", True),
        ("> approve {}", "ana", False),
        ("I would not approve {}", "ana", False),
        ("approve a4", "ana", False),
        ("approve a4 000000000000", "ana", False),
    ],
)
def test_no_yes(talk: Talk, text: str, by: str, edited: bool) -> None:
    talk.say(text, by, edited)
    assert talk.at.go([]).outcome is Outcome.blocked and not merged(talk)


def test_a_yes_that_is_edited_or_taken_away_before_it_is_acted_on(talk: Talk) -> None:
    made = talk.say("approve {}")

    anyio.run(heard, record(talk.at.world), talk.at.world.rig([]))  # in the inbox, and not acted on yet
    assert talk.entry.status == "approved" and talk.entry.via.startswith("request 1 comment ")
    made |= {"body": f"approve {talk.entry.id} {talk.entry.hash[:12]}\nand more"}
    end = talk.at.go([WORK[1]], limit=1)
    assert (
        code(end) == "policy.approval_moved" and "was edited or taken away since" in end.record.correction.say
    )
    assert not merged(talk)


def test_a_yes_that_can_not_be_looked_at_again_waits(talk: Talk) -> None:
    talk.say("approve {}")
    anyio.run(heard, record(talk.at.world), talk.at.world.rig([]))
    talk.at.forge.always = {"GET /": Reply(503, b"", {"Retry-After": "1"})}
    end = talk.at.go([], limit=1)
    assert end.outcome is Outcome.waiting and talk.entry.status == "approved" and not merged(talk)
    talk.at.forge.always = {}


def test_the_yes_is_for_the_commit_that_was_looked_at(talk: Talk) -> None:
    talk.say("approve {}")
    talk.at.world.by_hand()
    end = talk.at.go([WORK[1]], limit=1)
    assert code(end) == "policy.approval_moved" and not merged(talk)


def test_a_word_here_still_decides(talk: Talk) -> None:
    say(talk.at.world, talk.entry)
    talk.at.go([], limit=1)
    assert merged(talk)


def test_a_no_there_takes_a_yes_from_here_back(talk: Talk) -> None:
    entry = talk.entry
    say(talk.at.world, entry)
    talk.say("reject {}", by="bob")
    talk.at.go([WORK[1]], limit=1)
    assert not merged(talk) and record(talk.at.world).queue == ()


# ---- put there --------------------------------------------------------------------------------------------
def test_a_forge_that_is_down_holds_nothing_up_and_it_is_put_there_later(talk: Talk) -> None:
    if isinstance(talk.at.forge, Hub):
        talk.at.forge.comments.clear()
    else:
        talk.at.forge.notes.clear()
    talk.at.forge.always = {"GET /": Reply(503, b"", {"Retry-After": "1"})}
    assert talk.at.go([]).outcome is Outcome.blocked and talk.put == []
    talk.at.forge.always = {}
    time.sleep(0.1)
    assert talk.at.go([]).outcome is Outcome.blocked and len(talk.put) == 1


def test_an_answer_that_gets_lost_puts_it_there_once(tmp_path: Path) -> None:
    with place("github", tmp_path, more=approvals("github")) as at:
        at.forge.lost.append("/comments")
        at.go([WORK[0], PUSH, opened(), MERGE])
        assert at.go([]).outcome is Outcome.blocked and len(Talk(at).put) == 1


def test_on_an_issue_that_the_task_names_and_while_the_run_goes_on(tmp_path: Path) -> None:
    with place("github", tmp_path, issue=12, more=approvals("github", ", on_blocked: continue")) as at:
        number = at.issue("Decisions")
        assert number == 12
        talk = Talk(at, 12, "issue")
        at.go([WORK[0], PUSH, opened(), MERGE, WORK[1]], limit=5)
        assert len(talk.put) == 1 and at.comments(1) == []
        talk.say("approve {}")
        end = at.go([PUSH], limit=1)
        assert code(end) == "policy.approval_moved", "it was for the commit before"


def test_nobody_named_nothing_put(tmp_path: Path) -> None:
    with place("github", tmp_path, more="approvals: {boundaries: [pr_merge], who: [ana]}\n") as at:
        end = at.go([WORK[0], PUSH, opened(), MERGE])
        assert end.outcome is Outcome.blocked and at.comments(1) == []


def test_a_question_is_answered_there(tmp_path: Path) -> None:
    with place("github", tmp_path, more="approvals: {who: ['github:ana']}\n") as at:
        at.go([WORK[0], PUSH, opened(), action("ask", {"question": "Which one, /merge or @bob?"})])
        talk = Talk(at)
        (text,) = talk.put
        assert "\n> Which one, /merge or @\u200bbob?\n" in text
        talk.say("answer {} the first")
        at.go([WORK[1]], limit=2)
        assert "answer to: Which one" in at.world.prompts[0] and "\n the first\n" in at.world.prompts[0]


def test_a_review_decides_too_and_its_body_must_stay(tmp_path: Path) -> None:
    with place("github", tmp_path, more=approvals("github")) as at:
        assert isinstance(at.forge, Hub)
        at.go([WORK[0], PUSH, opened(), MERGE])
        talk, now = Talk(at), datetime.now(UTC).isoformat(timespec="seconds")
        at.forge.review(1, "ana", "APPROVED")
        body = f"approve {talk.entry.id} {talk.entry.hash[:12]}"
        at.forge.reviews[1][0] |= {"body": body, "submitted_at": now, "commit_id": at.world.head}
        at.go([], limit=1)
        assert merged(talk)


def test_a_pull_request_read_as_a_text_is_not_another_for_what_is_decided_on_it(tmp_path: Path) -> None:
    with place("github", tmp_path, more=approvals("github")) as at:
        options = f"{{provider: github, url: '{at.forge.url}', repository: acme/widget, comments: 9}}"
        text = at.world.file.read_text()
        text = text.replace("authorities:\n", f"authorities:\n  pull: {{use: pulls, options: {options}}}\n")
        at.world.file.write_text(text)
        at.go([WORK[0], PUSH, opened(), MERGE])
        talk = Talk(at)
        assert any(name.startswith("outside pull/") for name in talk.entry.basis)
        talk.say("approve {}")
        at.go([], limit=1)
        assert merged(talk)
