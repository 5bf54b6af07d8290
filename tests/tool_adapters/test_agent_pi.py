"""Pi: the real program against the gateway, over each API that it speaks with an endpoint of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.reply import Prompt, ReplyClass
from tests.agents import pinned_version
from tests.gateway import ApiError, Gateway, Hang, Invalid, Refusal, Script, Text, Truncated
from tests.tool_adapters.agent_world import FINISH, PROMPT, ask
from tests.tool_adapters.pi_world import APIS, pi

R = ReplyClass
COERCED = {
    "state_patch": {},
    "action": {"tool": "read_files", "args": {"files": [{"path": "a", "from": "1"}]}},
}
OVERHEAD = 700


@pytest.mark.parametrize("api", APIS)
def test_one_request_one_forced_call(api: str, tmp_path: Path) -> None:
    with Gateway(Script([FINISH])) as gateway:
        agent = pi(tmp_path, gateway, api)
        reply = ask(agent)
    assert (reply.cls, reply.value, reply.requests, reply.survivors) == (R.OK, FINISH, 1, ()), reply
    assert (agent.profile.version, agent.profile.credential) == (pinned_version("pi"), "api-key")
    (request,) = gateway.requests
    assert [tool.get("function", tool)["name"] for tool in request.tools] == ["skill_state_transition"]
    assert request.schema == agent.settings.dialect.schema
    assert (request.system_text, request.user_text) == (PROMPT.stable, PROMPT.volatile.rstrip("\n"))
    choice = request.parsed["tool_choice"]
    if api == "anthropic-messages":
        assert choice == {"type": "any", "disable_parallel_tool_use": True}
    else:
        assert (choice, request.parsed["parallel_tool_calls"]) == ("required", False)
    told = request.usage
    assert (reply.usage.input, reply.usage.output) == (told["input_tokens"], told["output_tokens"])
    parts = (PROMPT.stable, PROMPT.volatile.rstrip("\n"), request.schema)
    rest = len(request.body) - sum(len(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    assert rest <= OVERHEAD, f"{rest} bytes of the request are neither prompt nor schema"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("answer", "expected", "said"),
    [
        (Invalid('{"state_patch": {'), R.INVALID, "not one JSON object"),
        (Text("All done; the limit was 429."), R.MISSING, "in prose"),
        (Truncated('{"state_patch": {'), R.INVALID, "cut off"),
        (ApiError(401, "authentication_error", "invalid x-api-key"), R.AUTH, "mend the key in MY_KEY"),
        (ApiError(429, "rate_limit_error", "Rate limit reached"), R.TRANSIENT, "Rate limit"),
        (ApiError(500, "api_error", "Internal server error"), R.TRANSIENT, "Internal"),
        (ApiError(529, "overloaded_error", "Overloaded"), R.TRANSIENT, "Overloaded"),
    ],
)
def test_a_failure_costs_one_request(
    answer, expected: ReplyClass, said: str, api: str, tmp_path: Path
) -> None:
    with Gateway(Script([answer])) as gateway:
        reply = ask(pi(tmp_path, gateway, api))
    assert (reply.cls, len(gateway.requests)) == (expected, 1), reply
    assert said in reply.message and "dummy-key" not in reply.message + reply.text


def test_a_refusal_is_one(tmp_path: Path) -> None:
    with Gateway(Script([Refusal()])) as gateway:
        reply = ask(pi(tmp_path, gateway, "anthropic-messages"))
    assert (reply.cls, len(gateway.requests)) == (R.REFUSAL, 1), reply


@pytest.mark.parametrize("answer", [COERCED, {"state_patch": {}, "action": {"tool": "nothing"}}])
def test_what_is_gated_is_what_the_model_said(answer, tmp_path: Path) -> None:
    """Pi coerces arguments to the schema, or refuses them and would ask again; neither counts here."""
    with Gateway(Script([answer])) as gateway:
        reply = ask(pi(tmp_path, gateway))
    assert (reply.cls, reply.value, len(gateway.requests)) == (R.OK, answer, 1), reply


@pytest.mark.parametrize("where", ["before_headers", "mid_stream"])
def test_silence_is_bounded_inside(where, tmp_path: Path) -> None:
    with Gateway(Script([Hang(where)])) as gateway:
        reply = ask(pi(tmp_path, gateway, idle=1.0, timeout=60.0))
    assert (reply.cls, len(gateway.requests)) == (R.HANG, 1), reply


def test_a_prompt_is_sent_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("LEAK")
    text = f"/help\n@{tmp_path}/secret.txt @secret.txt\n!ls\n" + "é" * 500_000
    with Gateway(Script([FINISH])) as gateway:
        reply = ask(pi(tmp_path, gateway), Prompt(1, "Be good.", text))
    assert reply.cls is R.OK, reply
    (request,) = gateway.requests
    assert (request.system_text, request.user_text) == ("Be good.", text)
