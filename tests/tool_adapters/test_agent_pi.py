"""Pi: the real program against the gateway, over each API that it speaks with an endpoint of one's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contracts.agents import Price
from contracts.errors import ConfigError
from contracts.reply import Prompt, ReplyClass
from tests.agents import node_binary, pi_script, pinned_version
from tests.agents.recordings import load
from tests.gateway import (
    ApiError,
    Call,
    Calls,
    Gateway,
    Hang,
    Invalid,
    Recorded,
    Refusal,
    Script,
    Text,
    Truncated,
)
from tests.tool_adapters.agent_world import FINISH, KEYS, PROMPT, Player, ask, settings, surround
from tests.tool_adapters.pi_world import APIS, KEY, pi
from tool_adapters.agents import launch
from tool_adapters.agents.pi import adapter
from tool_adapters.agents.pi.adapter import Pi
from tool_adapters.agents.pi.configuration import Target

R = ReplyClass
COERCED = {
    "state_patch": {},
    "action": {"tool": "read_files", "args": {"files": [{"path": "a", "from": "1"}]}},
}
OVERHEAD = 700
KNOWN = {"api": None, "provider": "openai"}


def rest(request: Recorded, *parts: str) -> int:
    """Bytes of the request that are neither prompt nor schema."""
    known = [*(part.rstrip("\n") if part is not parts[0] else part for part in parts), request.schema]
    return len(request.body) - sum(len(json.dumps(part, separators=(",", ":")).encode()) for part in known)


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
    assert rest(request, PROMPT.stable, PROMPT.volatile) <= OVERHEAD


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


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_one(api: str, tmp_path: Path) -> None:
    with Gateway(Script([Refusal()])) as gateway:
        reply = ask(pi(tmp_path, gateway, api))
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


# ---- one call, and no more -------------------------------------------------------------------------------
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Calls([Call("", FINISH), Call("", FINISH)]), "2 tool calls in one answer"),
        (Calls([Call("", FINISH), Call("bash", {"command": "ls"})]), "2 tool calls in one answer"),
        (Call("bash", {"command": "touch LEAK"}), "'bash', which is no tool here"),
    ],
)
def test_anything_but_one_call_of_the_tool_is_no_reply(answer, said: str, api: str, tmp_path: Path) -> None:
    with Gateway(Script([answer])) as gateway:
        reply = ask(pi(tmp_path, gateway, api))
    assert (reply.cls, len(gateway.requests)) == (R.INVALID, 1), reply
    assert said in reply.message and not list(tmp_path.rglob("LEAK"))


# ---- what Pi knows by itself -----------------------------------------------------------------------------
@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-haiku-4-5", "claude-of-tomorrow"])
def test_a_model_of_pis_list_gets_no_more(model: str, tmp_path: Path) -> None:
    """Pi's list switches on a second tool, a second system message and other models to fall back on."""
    with Gateway(Script([FINISH])) as gateway:
        options = {"api": None}
        agent = pi(tmp_path, gateway, "anthropic-messages", model=model, options=options)
        reply = ask(agent)
    assert (reply.cls, reply.value) == (R.OK, FINISH), reply
    (request,) = gateway.requests
    assert [tool["name"] for tool in request.tools] == ["skill_state_transition"]
    assert "fallbacks" not in request.parsed and request.model == model
    thinks = request.parsed.get("thinking", {"type": "disabled"})["type"] != "disabled"
    assert request.parsed["tool_choice"]["type"] == ("auto" if thinks else "any")
    if model != "claude-of-tomorrow":
        assert [message["role"] for message in request.parsed["messages"]] == ["user"]
        assert rest(request, PROMPT.stable, PROMPT.volatile) <= OVERHEAD
    assert (reply.usage.usd_micro is None) == (model == "claude-of-tomorrow"), "a price of another model"


def test_the_beginning_is_the_same_in_every_step(tmp_path: Path) -> None:
    with Gateway(Script([FINISH] * 3)) as gateway:
        agent = pi(tmp_path, gateway, "openai-responses", model="gpt-5.6-sol", options=KNOWN)
        for step in range(3):
            assert ask(agent, Prompt(step, PROMPT.stable, f"=== STATE ===\nstep: {step}\n")).cls is R.OK
    sent = [json.loads(request.body) for request in gateway.requests]
    for body in sent:
        body["input"] = [item for item in body["input"] if item["role"] != "user"]
    assert sent[0] == sent[1] == sent[2], "what is no prompt differs between steps"
    assert "prompt_cache_key" not in sent[0]


def test_thinking_is_asked_for(tmp_path: Path) -> None:
    with Gateway(Script([FINISH, FINISH])) as gateway:
        for folder, effort in (("a", {}), ("b", {"effort": "high"})):
            ask(
                pi(
                    tmp_path / folder,
                    gateway,
                    "openai-responses",
                    model="gpt-5.6-sol",
                    options=KNOWN | effort,
                )
            )
    assert [request.parsed["reasoning"]["effort"] for request in gateway.requests] == ["none", "high"]


# ---- nothing else gets in --------------------------------------------------------------------------------
def test_nothing_of_the_user_or_the_project_gets_in(tmp_path: Path) -> None:
    environ = {**surround(tmp_path), **KEYS, **KEY}
    with Gateway(Script([FINISH])) as gateway:
        reply = ask(pi(tmp_path, gateway, environ=environ))
    assert reply.cls is R.OK, reply
    (request,) = gateway.requests
    assert b"LEAK" not in request.body and not (tmp_path / "LEAK").exists()
    assert request.headers["authorization"] == "Bearer dummy-key" and request.added == []
    assert not list((tmp_path / "home").rglob("*.jsonl")), "no session is kept"


def test_what_the_model_runs_gets_no_credential(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    looks = Call("bash", {"command": "env; echo seen"})
    with Gateway(Script([looks, looks, FINISH])) as gateway:
        reply = ask(pi(tmp_path, gateway, explore="delegate", worktree=tree))
    assert reply.cls is R.OK and len(gateway.requests) == 3, reply
    for request in gateway.requests:
        assert request.headers["authorization"] == "Bearer dummy-key"
        assert b"dummy-key" not in request.body
    assert b"PI_OFFLINE=1" in gateway.requests[1].body and b"seen" in gateway.requests[2].body


def test_a_launch_without_our_prompt_is_none(tmp_path: Path) -> None:
    """A handler that fails would let Pi go on with a prompt of its own."""
    with Gateway(Script([])) as gateway:
        agent = pi(tmp_path, gateway)
        real = agent.settings.home / "system.md"
        agent.settings.home.mkdir(parents=True)
        extension = Path(adapter.__file__).with_name("extension.ts").read_text("utf-8")
        assert "SKILL_STATE_SYSTEM" in extension
        folder = tmp_path / "package"
        folder.mkdir()
        (folder / "extension.ts").write_text(extension.replace("SKILL_STATE_SYSTEM", "SKILL_STATE_NOTHING"))
        argv = agent.argv(node_binary(), pi_script(), Target.of(agent.settings), folder / "extension.ts")
        agent.argv = lambda *_: argv  # type: ignore[method-assign]
        reply = ask(agent)
    assert reply.cls is R.MISCONFIGURED and real.exists(), reply
    assert gateway.requests == []


# ---- its end ---------------------------------------------------------------------------------------------
def test_a_launch_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with Gateway(Script([Hang()])) as gateway:
        reply = ask(pi(tmp_path, gateway, idle=60.0, timeout=4.0))
    assert (reply.cls, reply.survivors) == (R.HANG, ()) and "4 s" in reply.message, reply


def test_prints_its_reply_and_never_exits(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.1)
    player = Player(tmp_path, load("pi")["valid"].stdout, end="sleep 60")
    reply = ask(Pi(settings(tmp_path, "pi", cli=player.path, timeout=20.0)))
    assert (reply.cls, reply.value) == (R.OK, {"answer": "yes", "n": 3})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("v20.19.2", "Pi needs Node 22.19 or newer, and {} is 20.19.2"),
        ("v22.18.0", "Pi needs Node 22.19 or newer, and {} is 22.18.0"),
        ("hello", "{} does not say a Node version"),
        ("v22.19.0", ""),
        ("v24.0.0-nightly", ""),
    ],
)
def test_the_version_of_node(said: str, expected: str, tmp_path: Path) -> None:
    node = tmp_path / "bin/node"
    node.parent.mkdir()
    node.write_text(f"#!/bin/sh\necho {said}\n")
    node.chmod(0o755)
    made = settings(
        tmp_path, "pi", cli=Player(tmp_path).path, environ={**KEYS, "PATH": f"{node.parent}:{os.defpath}"}
    )
    del made.config.options["node"]
    if not expected:
        Pi(made).preflight()
        return
    with pytest.raises(ConfigError) as error:
        Pi(made).preflight()
    assert error.value.message == f"agent mine: {expected.format(node)}"
    assert "install Node.js 22.19 or newer" in error.value.hint
    assert ask(Pi(made)).cls is R.MISCONFIGURED


def test_exploring_is_refused(tmp_path: Path) -> None:
    made = settings(tmp_path, "pi", cli=Player(tmp_path).path, explore="read-only")
    with pytest.raises(ConfigError, match="`explore: read-only` is not for kind pi"):
        Pi(made).preflight()


def test_without_the_programs(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    made = settings(tmp_path, "pi", {**KEYS, "PATH": str(programs)})
    with pytest.raises(ConfigError, match="npm install -g @earendil-works/pi-coding-agent"):
        Pi(made).preflight()
    del made.config.options["node"]
    (programs / "pi").write_text("#!/bin/sh\n")
    (programs / "pi").chmod(0o755)
    with pytest.raises(ConfigError, match=r"`node` is not on the PATH.*install Node\.js 22\.19"):
        Pi(made).preflight()


# ---- what it used ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("price", "expected"),
    [(None, 25), (Price(input=1.0, cached=0.1, output=4.0), 100 + 6 + 28)],
)
def test_usage(price: Price | None, expected: int, tmp_path: Path) -> None:
    tokens = {"input": 90, "cacheRead": 60, "cacheWrite": 10, "output": 7, "totalTokens": 167}
    call = {"type": "toolCall", "name": "skill_state_transition", "arguments": FINISH}
    message = {"role": "assistant", "content": [call], "stopReason": "toolUse"}
    message["usage"] = tokens | {"cost": {"total": 0.000025}}
    out = json.dumps({"type": "message_end", "message": message}) + '\n{"type": "agent_settled"}\n'
    usage = ask(Pi(settings(tmp_path, "pi", cli=Player(tmp_path, out).path, price=price))).usage
    assert (usage.input, usage.cached, usage.output, usage.usd_micro) == (160, 60, 7, expected)
