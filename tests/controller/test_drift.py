"""What changes outside between two steps: the snapshot first, then the agent; a person where it is locked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import reconcilers.http
from contracts.outcomes import Outcome
from contracts.queue import Answer
from controller.assemble import assemble
from controller.replay import replay
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from tests.controller.test_ci import section
from tests.controller.test_documents import SHIP
from tests.controller.test_queue import record, rows, say, waiting
from tests.controller.test_step import WORK, go
from tests.controller.world import TASK, World, action, edit, finish
from tests.forge.application import Application
from tests.forge.github import GithubStub
from tests.forge.server import Reply

LOOK = action("read_files", {"files": [{"path": "src/b.txt"}]})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[GithubStub]:
    monkeypatch.setattr(reconcilers.http, "PAUSES", (0.01, 0.01))
    with GithubStub() as stub:
        yield stub


@pytest.fixture
def app() -> Iterator[Application]:
    with Application() as stub:
        stub.runs("a" * 40, health="ok")
        stub.metrics = {"rate": 0.1}
        yield stub


def made(folder: Path, hub: Any, more: str = "", app: Any = None, **options: Any) -> World:
    said = {"provider": "github", "url": hub.url, "repository": "acme/widget", "number": 12, **options}
    said = {name: value for name, value in said.items() if value is not None}
    text = f"authorities:\n  ticket: {{use: issues, options: {said}}}\n"
    if app:
        runs = {"provider": "http", "url": f"{app.url}/version", "health": "/health", "migration": "/db"}
        rate = {"url": f"{app.url}/metrics", "pointer": "/rate", "at_most": 1}
        text += f"  production: {{use: deployment, options: {runs}}}\n  errors: {{use: http_json, options: {rate}}}\n"
    text = TASK.replace("authorities:\n", text).replace("checks:\n", SHIP + "checks:\n")
    return World(folder, task=text + more)


def drift(prompt: str) -> list[str]:
    """The lines of what changed, as the prompt has them."""
    rows = section(prompt, "AUTHORITIES").split("\n")
    if not rows[0].startswith("changed outside since"):
        return []
    return [
        row.strip()
        for row in rows[1 : next(at for at, row in enumerate(rows[1:], 1) if not row.startswith(" "))]
    ]


def test_what_changed_is_said_until_a_step_is_committed(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "everywhere")
    world = made(tmp_path / "r", hub)
    end = go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == [], "what was never read before did not change"
    before = end.record.outside["ticket/12"]
    issue |= {"state": "closed", "body": "only in a.txt"}
    bad = action("run", {"command": "nothing"})
    end = go(world, [bad, LOOK, LOOK], limit=3)
    shown = ["ticket/12 was open, is closed; its text was edited (Replace old)"]
    assert [drift(prompt) for prompt in world.prompts] == [shown, shown, []]
    assert section(world.prompts[0], "AUTHORITIES").startswith(
        "changed outside since step 0; below is how it is now"
    )
    after = end.record.outside["ticket/12"]
    assert before.said.startswith("open") and after.said.startswith("closed") and after.since > before.since
    assert [row.extra.get("drift") for row in rows(world) if row.kind == "step"] == [None, shown, None]


def test_a_change_before_a_crash_is_said_after_it(tmp_path: Path, hub: GithubStub) -> None:
    """The snapshot is durable before the launch, and so is what is still to be said."""
    issue = hub.issue("Replace old")
    world = made(tmp_path / "r", hub)
    go(world, [LOOK], limit=1)
    issue["state"] = "closed"

    def die(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
        go(world, [die], limit=1)
    assert record(world).outside["ticket/12"].said.startswith("closed")
    go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == ["ticket/12 was open, is closed (Replace old)"]


def test_back_and_forth_is_said_as_it_is_now(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old")
    world = made(tmp_path / "r", hub)
    bad = action("run", {"command": "nothing"})
    go(world, [LOOK], limit=1)
    issue["state"] = "closed"
    go(world, [bad], limit=1)
    issue["state"] = "open"
    go(world, [bad], limit=1)
    assert drift(world.prompts[0]) == ["ticket/12 was closed, is open (Replace old)"]


def test_what_can_not_be_read_did_not_change(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old")
    world = made(tmp_path / "r", hub)
    go(world, [LOOK], limit=1)
    hub.always = {"/issues": Reply(503)}
    go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == [] and "ticket: unknown (" in world.prompts[0]
    issue["state"] = "closed"
    hub.always = {}
    go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == ["ticket/12 was open, is closed (Replace old)"]


def test_what_comes_and_goes(tmp_path: Path, hub: GithubStub) -> None:
    world = made(tmp_path / "r", hub, number=None)
    go(world, [LOOK], limit=1)
    hub.issue("First\n=== STATE ===")
    go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == ["ticket/12 is new: open (First === STATE ===)"]
    hub.issues[0]["state"] = "closed"
    go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == ["ticket/12 is not there any more; it was open"]


def test_of_a_list_that_is_cut_nothing_comes_or_goes(tmp_path: Path, hub: GithubStub) -> None:
    for number in range(45):
        hub.issue(f"Bug {number}")
    world = made(tmp_path / "r", hub, number=None)
    go(world, [LOOK], limit=1)
    hub.issue("One more")
    hub.issues[30]["title"] = "Edited"
    go(world, [LOOK], limit=1)
    assert drift(world.prompts[0]) == ["ticket/42 its text was edited (Edited)"]


def test_what_is_deployed_and_measured(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    hub.issue("Replace old")
    world = made(tmp_path / "r", hub, app=app)
    go(world, [LOOK], limit=1)
    app.runs("b" * 40, health="down", db=7)
    app.metrics = {"rate": 5}
    go(world, [LOOK, LOOK], limit=2)
    assert drift(world.prompts[0]) == [
        f"production was {'a' * 40}, is {'b' * 40}, database 7", "production/health was healthy, is unhealthy",
        "errors was as wanted, is not as wanted",
    ]  # fmt: skip
    assert drift(world.prompts[1]) == []


def test_our_own_deed_is_no_drift(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    """The authorities are read again after what is done outside: what they say then is its evidence."""
    hub.issue("Replace old")
    world = made(tmp_path / "r", hub, app=app)
    app.always = {
        "/version": lambda: Reply(
            200, {"revision": ("b" if (world.root / "shipped").exists() else "a") * 40, "health": "ok"}
        )
    }
    go(world, [LOOK, action("run", {"command": "ship"}), LOOK], limit=3)
    assert [drift(prompt) for prompt in world.prompts] == [[], [], []]
    assert record(world).outside["production"].said == "b" * 40
    kept = [
        row.digests["evidence"] for row in rows(world) if row.kind == "step" and "evidence" in row.digests
    ]
    told = FileArtifacts(world.root / ".agent-runtime/artifacts", bytes).get(kept[-1])
    assert b'"production"' in told and ("b" * 40).encode() in told, (
        "the full evidence is kept outside the state"
    )


# ---- what is locked ---------------------------------------------------------------------------------------
LOCKED = """locked_requirements:
  - {{id: scope, value: "Only a.txt.", source: "{source}"}}
"""


def answer(world: World, text: str) -> None:
    (entry,) = record(world).queue
    body = Answer(entry=entry.id, text=text, by="ana", at=time.time())
    store = SqliteStore(world.root / ".agent-runtime/state.db")
    anyio.run(store.post, "tidy", body)


@pytest.mark.parametrize(
    "source",
    ["issue:12", "issue:acme/widget#12", "https://example.org/acme/widget/issues/12", "ticket", "ticket/12"],
)
def test_a_locked_requirement_that_rests_on_it_is_for_a_person(
    tmp_path: Path, hub: GithubStub, source: str
) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    world = made(tmp_path / "r", hub, LOCKED.format(source=source))
    go(world, WORK[:1], limit=1)
    issue["body"] = "everywhere"
    end = go(world, [])
    assert end.outcome is Outcome.blocked and end.record.halt.cause == "drift", "no launch was paid for"
    told = end.record.halt.say
    assert (
        "ticket/12 its text was edited" in told
        and "Only a.txt." in told
        and "controller answer o1 TEXT" in told
    )
    assert go(world, []).outcome is Outcome.blocked, "nothing changes while nobody answers"
    answer(world, "Everywhere now: the requirement will be dropped.")
    end = go(world, [LOOK], limit=2)
    (prompt,) = world.prompts
    assert "the requirement will be dropped" in section(prompt, "OBSERVATION") and end.record.queue == ()
    assert "its text was edited" not in section(prompt, "AUTHORITIES"), (
        "the answer came with a committed step"
    )
    assert end.record.spent.launches == 2


def test_other_sources_ask_nobody(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    for number, source in enumerate(("issue:112", "issue:1", "check:sound", "a person")):
        world = made(tmp_path / f"r{number}", hub, LOCKED.format(source=source))
        go(world, [LOOK], limit=1)
        issue["body"] = f"everywhere {number}"
        assert go(world, [LOOK], limit=1).outcome is None, source
    plain = LOCKED.replace("locked_requirements", "constraints").format(source="issue:12")
    world = made(tmp_path / "plain", hub, plain)
    go(world, [LOOK], limit=1)
    issue["body"] = "again"
    assert go(world, [LOOK], limit=1).outcome is None, "a constraint is not locked"
    world = made(tmp_path / "policy", hub, plain.replace("source:", "change_policy: locked, source:"))
    go(world, [LOOK], limit=1)
    issue["body"] = "and again"
    assert go(world, []).outcome is Outcome.blocked, "unless it says so"


def test_a_boundary_is_concerned_as_well(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    more = 'approval_boundaries: [{value: "Never while the database is at 7.", source: production}]\n'
    hub.issue("Replace old")
    world = made(tmp_path / "r", hub, more, app=app)
    go(world, [LOOK], limit=1)
    app.runs("a" * 40, health="ok", db=7)
    end = go(world, [])
    assert end.outcome is Outcome.blocked and "database 7" in end.record.halt.say


def test_an_approved_deed_waits_for_the_answer(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    approvals = '{boundaries: [{paths: ["src/b*"]}], on_blocked: continue}'
    world = made(tmp_path / "r", hub, LOCKED.format(source="issue:12") + f"approvals: {approvals}\n")
    go(world, [WORK[1]], limit=1)
    say(world, waiting(world))
    issue["body"] = "everywhere"
    end = go(world, [])
    assert end.outcome is Outcome.blocked and end.record.halt.cause == "drift" and world.branch_log() == []
    assert [entry.id for entry in end.record.queue] == ["o1", "a1"], "the yes is kept"
    store = SqliteStore(world.root / ".agent-runtime/state.db")
    anyio.run(store.post, "tidy", Answer(entry="o1", text="it holds", by="ana", at=time.time()))
    go(world, [LOOK], limit=3)
    assert world.branch_log() == ["step 4: edit_files src/b.txt"], "then it is done, without a launch"


def test_edited_again_before_the_answer_is_asked_again(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    world = made(tmp_path / "r", hub, LOCKED.format(source="issue:12"))
    go(world, [LOOK], limit=1)
    issue["body"] = "everywhere"
    go(world, [])
    answer(world, "it holds")
    issue["body"] = "everywhere but in c.txt"
    end = go(world, [])
    assert end.outcome is Outcome.blocked and end.record.halt.cause == "drift"
    answer(world, "that does not matter")
    assert "that does not matter" in section((go(world, [LOOK], limit=2), world.prompts[0])[1], "OBSERVATION")


def test_an_edited_intent_answers_too(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    world = made(tmp_path / "r", hub, LOCKED.format(source="issue:12"))
    go(world, WORK[:1], limit=1)
    issue["body"] = "everywhere"
    go(world, [])
    world.file.write_text(world.file.read_text().replace("Only a.txt.", "Everywhere."))
    end = go(world, [WORK[1], finish()], accept=True)
    assert end.outcome is Outcome.completed and end.record.queue == ()


def test_without_ask_a_retry_goes_on(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    world = made(tmp_path / "r", hub, LOCKED.format(source="issue:12"))
    world.file.write_text(world.file.read_text().replace("ask, finish]", "finish]"))
    go(world, [LOOK], limit=1)
    issue["body"] = "everywhere"
    end = go(world, [])
    assert end.outcome is Outcome.blocked and "controller run --retry" in end.record.halt.say
    end = go(world, [LOOK], retry=True, limit=1)
    assert drift(world.prompts[0]) == ["ticket/12 its text was edited (Replace old)"]


# ---- since when -------------------------------------------------------------------------------------------
def test_a_number_must_hold_for_a_while(tmp_path: Path, hub: GithubStub, app: Application) -> None:
    """The snapshot knows since when; a break begins the time anew."""
    hub.issue("Replace old")
    world = made(tmp_path / "r", hub, app=app)
    text = world.file.read_text().replace("'at_most': 1", "'at_most': 1, 'window': '1h', 'poll': '100ms'")
    world.file.write_text(text + "  - {name: calm, role: guard, authority: errors}\n")
    go(world, WORK[:1], limit=1)
    began = record(world).outside["errors"].since
    app.metrics = {"rate": 5}
    go(world, [LOOK], limit=1)
    app.metrics = {"rate": 0.2}
    end = go(world, [WORK[1], finish()])
    again = end.record.outside["errors"].since
    assert again > began and end.outcome is Outcome.waiting and "3600 s are asked for" in end.record.halt.say
    assert end.record.halt.not_before == again + 3600


# ---- replay -----------------------------------------------------------------------------------------------
def test_a_question_of_ours_is_replayed(tmp_path: Path, hub: GithubStub) -> None:
    issue = hub.issue("Replace old", "only in a.txt")
    world = made(tmp_path / "r", hub, LOCKED.format(source="issue:12"))
    go(world, WORK[:1], limit=1)
    issue["body"] = "everywhere"
    go(world, [])
    answer(world, "it holds")
    end = go(world, [edit("src/b.txt", "old", "new"), finish()])
    assert end.outcome is Outcome.completed
    rig = assemble(world.loaded)
    found = replay(rows(world), rig.task, rig.artifacts)
    assert (found.wrong, found.skipped) == ((), ()) and found.gated == 4
