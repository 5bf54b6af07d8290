"""The recordings are complete, name nothing of the machine that made them, and are still true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents import pinned_version
from tests.agents.cases import CASES, Agent, Case
from tests.agents.record import record
from tests.agents.recordings import FIXTURES, Recording, load

AGENTS: tuple[Agent, ...] = ("claude", "codex", "pi")
RESULT = {
    *("subtype", "is_error", "terminal_reason", "stop_reason", "api_error_status", "api_error_type"),
    *("result", "errors", "structured_output"),
}
AGAIN = {
    "claude": [
        "valid",
        "invalid_reply",
        "prose",
        "refusal",
        "400_schema",
        "429",
        "cut_before_answer",
        "slash_command",
    ],
    "codex": ["valid", "prose", "refusal", "400_schema", "429", "cut_after_message", "no_credential"],
    "pi": [
        *("valid", "invalid_reply", "coerced_reply", "two_calls", "unknown_tool_beside", "prose", "refusal"),
        *("responses_refusal", "messages_refusal", "400_schema", "responses_429", "cut_before_answer"),
        *("no_schema", "no_system"),
    ],
}


def gist(recording: Recording) -> tuple[Any, ...]:
    """What a classifier may stand on: all but counts of tokens, which depend on the machine (they count
    paths), and of a message that only begins who speaks: how much of it was there is a matter of time."""
    if recording.agent != "claude":
        events = [json.loads(line) for line in recording.stdout.splitlines()]
        told: Any = [
            {k: v for k, v in event.items() if k != "usage"}
            if event["type"] != "message_start"
            else event["message"]["role"]
            for event in events
            if event["type"] != "message_update"
        ]
    elif recording.stdout.startswith("{"):
        told = {k: v for k, v in json.loads(recording.stdout).items() if k in RESULT}
    else:
        told = recording.stdout
    return recording.code, recording.killed, recording.requests, told, recording.stderr


@pytest.mark.parametrize("agent", AGENTS)
def test_every_case_is_recorded_with_the_pinned_version(agent: Agent) -> None:
    recorded = load(agent)
    assert set(recorded) == {case.name for case in CASES if case.agent == agent}
    assert {recording.version for recording in recorded.values()} == {pinned_version(agent)}
    for name, recording in recorded.items():
        assert recording.case == name
        assert recording.path().read_text("utf-8") == recording.text()


def test_recordings_name_no_machine() -> None:
    allowed = {"127.0.0.1:1", "platform.openai.com", "chatgpt.com", "www.anthropic.com", "support.claude.com"}
    for path in FIXTURES.rglob("*.json*"):
        text = path.read_text("utf-8")
        assert not re.search(r"/(root|home|tmp|work|Users|var)/", text), path
        assert set(re.findall(r"https?://([^/\s\"']+)", text)) <= allowed, path
        assert "dummy-key" not in text, path


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name in AGAIN[case.agent]], ids=lambda c: f"{c.agent}-{c.name}"
)
def test_the_binary_still_does_what_was_recorded(case: Case, tmp_path: Path) -> None:
    assert gist(record(case, tmp_path)) == gist(load(case.agent)[case.name])


def test_one_request_when_nothing_is_wrong_and_when_the_reply_is() -> None:
    """No repair and no retry inside the CLI: what the controller does not see, it cannot bound."""
    exceptions = {"no_reply": 2, "subscription_no_reply": 2, "404_model": 2, "subscription_400_schema": 3}
    for name, recording in load("claude").items():
        assert recording.requests <= exceptions.get(name, 2 if name == "subscription_401" else 1), name
    for name, recording in load("codex").items():
        assert recording.requests <= (1 if "401_" not in name else 3), name
    for name, recording in load("pi").items():
        assert recording.requests <= 1, name


@pytest.mark.parametrize("agent", AGENTS)
def test_only_valid_replies_look_like_success(agent: Agent) -> None:
    """Exit 0 is not enough: a local command ends so without a reply, Codex does whatever the message is, Pi
    whatever comes."""
    good = {name for name, recording in load(agent).items() if recording.code == 0}
    answered = {"valid", "valid_about_limits", "slow", "subscription_valid"}
    if agent == "claude":
        assert good == answered | {"slash_command"}
        assert "structured_output" not in json.loads(load(agent)["slash_command"].stdout)
    elif agent == "pi":
        assert good == set(load(agent)) - {"no_credential", "no_schema", "no_system"}
    else:
        wrong = {"invalid_reply", "invalid_json", "prose", "prose_around_json", "prose_mentions_429"}
        assert good == answered | {"subscription_refreshed", "no_reply", "refusal"} | wrong
