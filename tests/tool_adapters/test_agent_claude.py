"""Claude Code: every recorded end of the real binary, the end of its process, and the real binary itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.base import JsonObject
from contracts.errors import ConfigError
from contracts.reply import AgentReply, Prompt, ReplyClass
from tests.agents import claude_binary, pinned_version
from tests.agents.recordings import load
from tests.gateway import ApiError, Gateway, Script, Text
from tests.tool_adapters.agent_world import FINISH, HOSTILE, KEYS, NOW, PROMPT, Player, ask, settings
from tool_adapters.agents import launch
from tool_adapters.agents.claude import Claude

RECORDED = load("claude")
R = ReplyClass


def play(folder: Path, stdout: str, stderr: str = "", end: str = "exit 0", **config) -> AgentReply:
    player = Player(folder, stdout, stderr, end)
    return ask(Claude(settings(folder, "claude", cli=player.path, **config)))


def changed(case: str, **fields) -> str:
    """A recorded result object with other fields."""
    return json.dumps({**json.loads(RECORDED[case].stdout), **fields}) + "\n"


def test_limit_says_when_it_ends(tmp_path: Path) -> None:
    recorded = RECORDED["subscription_429_plan_limit"]
    reply = play(tmp_path, recorded.stdout, end="exit 1")
    assert reply.not_before == NOW + 3 * 3600 + 20 * 60  # 12pm UTC
    assert "5-hour limit" in reply.message


def test_usage_comes_from_the_models_not_from_the_last_turn(tmp_path: Path) -> None:
    def model(read: int, made: int) -> JsonObject:
        tokens = {"inputTokens": 100, "outputTokens": 20, "costUSD": 0.001}
        return {**tokens, "cacheReadInputTokens": read, "cacheCreationInputTokens": made}

    models = {"a": model(1000, 7), "b": model(0, 0)}
    out = changed("invalid_reply", modelUsage=models, total_cost_usd=0.0123456)
    usage = play(tmp_path, out, end="exit 1").usage
    assert (usage.input, usage.cached, usage.output, usage.usd_micro) == (1207, 1000, 40, 12346)


@pytest.mark.parametrize(
    ("case", "known"),
    [
        ("401", True),
        ("connection_refused", True),
        ("no_credential", True),
        ("500", True),
        ("cut_in_headers", False),
        ("headers_timeout", False),
        ("hang_mid_stream", False),
    ],
)
def test_unknown_usage_is_not_zero(case: str, known: bool, tmp_path: Path) -> None:
    recorded = RECORDED[case]
    usage = play(tmp_path, recorded.stdout, end=f"exit {recorded.code}").usage
    assert (usage.input, usage.usd_micro) == ((0, 0) if known else (None, None))


@pytest.mark.parametrize(
    ("out", "end", "expected"),
    [
        (changed("valid", is_error=True), "exit 0", R.UNKNOWN),  # dressed as success
        (RECORDED["valid"].stdout, "exit 1", R.UNKNOWN),
        (changed("500", is_error=False, api_error_status=None), "exit 0", R.MISSING),
        (changed("valid", structured_output="text"), "exit 0", R.MISSING),
        ("", "exit 0", R.MISSING),
        ("", "exit 1", R.CRASHED),
        ("", "kill -KILL $$", R.KILLED),
        ("", "kill -SEGV $$", R.CRASHED),
        ("update available!\n", "exit 0", R.UNKNOWN),
        ("API Error: 429 usage limit reached\n", "exit 0", R.UNKNOWN),  # no channel of the agent's own
        ("[]\n", "exit 0", R.UNKNOWN),
        (RECORDED["valid"].stdout[:200], "exit 0", R.UNKNOWN),
        ("update available!\n" + RECORDED["valid"].stdout, "exit 0", R.OK),
    ],
)
def test_every_signal_counts(out: str, end: str, expected: ReplyClass, tmp_path: Path) -> None:
    assert play(tmp_path, out, "", end).cls == expected


def test_prints_its_reply_and_never_exits(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.1)
    reply = play(tmp_path, RECORDED["valid"].stdout, end="sleep 60", timeout=20.0)
    assert (reply.cls, reply.value) == (R.OK, {"answer": "yes", "n": 3})


def test_hang_and_flood(tmp_path: Path) -> None:
    reply = play(tmp_path / "a", "", end="sleep 60", timeout=0.3)
    assert reply.cls is R.HANG and "0.3 s" in reply.message and reply.usage.input is None
    assert play(tmp_path / "b", "", end="yes", timeout=20.0).cls is R.CRASHED


def test_nothing_secret_is_said(tmp_path: Path) -> None:
    reply = play(tmp_path, "", "Error: bad key dummy-key given\n", "exit 1")
    assert "dummy-key" not in reply.message + reply.text and "bad key" in reply.message


@pytest.mark.parametrize(
    ("environ", "config", "said", "mended_by"),
    [
        ({}, {}, "ANTHROPIC_API_KEY is not set", "export ANTHROPIC_API_KEY="),
        ({}, {"auth": "subscription"}, "CLAUDE_CODE_OAUTH_TOKEN is not set", "claude setup-token"),
        (KEYS, {"auth": "subscription"}, "CLAUDE_CODE_OAUTH_TOKEN is not set", "claude setup-token"),
        (
            {"T": "sk-ant-api03-x"},
            {"auth": "subscription", "token_env": "T"},
            "T holds an API key",
            "setup-token",
        ),
        ({"K": "sk-ant-oat01-x"}, {"api_key_env": "K"}, "K holds a subscription token", "auth: subscription"),
        (
            {"CLAUDE_CODE_OAUTH_TOKEN": "x", **KEYS},
            {"token_env": "CLAUDE_CODE_OAUTH_TOKEN"},
            "token_env",
            "auth:",
        ),
        ({"ANTHROPIC_API_KEY": "two words"}, {}, "blanks", "export"),
        (KEYS, {"auth": "gateway"}, "base_url", "address"),
        (KEYS, {"auth": "bedrock"}, "AWS_REGION is not set", "export AWS_REGION"),
        (KEYS, {"explore": "delegate"}, "delegate", "none"),
        (KEYS, {"explore": "read-only"}, "worktree", "none"),
        (KEYS, {"options": {"clj": "x"}}, "unknown option 'clj'", "cli"),
        (KEYS, {"options": {"cli": "nowhere/claude"}}, "is no program", "cli"),
    ],
)
def test_preflight_refuses(environ, config, said: str, mended_by: str, tmp_path: Path) -> None:
    cli = None if "options" in config else Player(tmp_path).path
    with pytest.raises(ConfigError) as error:
        Claude(settings(tmp_path, "claude", environ, cli=cli, **config)).preflight()
    assert said in error.value.message and mended_by in error.value.hint


def test_preflight_without_the_program(tmp_path: Path) -> None:
    agent = Claude(settings(tmp_path, "claude", {**KEYS, "PATH": str(tmp_path)}))
    with pytest.raises(ConfigError, match="npm install"):
        agent.preflight()
    assert ask(agent).cls is R.MISCONFIGURED


def test_schema_too_large_for_a_command_line(tmp_path: Path) -> None:
    made = settings(tmp_path, "claude", cli=Player(tmp_path).path)
    large = {"type": "object", "description": "x" * 200_000}
    agent = Claude(replace(made, dialect=replace(made.dialect, schema=large)))
    with pytest.raises(ConfigError, match=r"200,0\d\d bytes.*E2BIG"):
        agent.preflight()
    reply = ask(agent)
    assert reply.cls is R.MISCONFIGURED and "E2BIG" in reply.message


# ---- the real binary -------------------------------------------------------------------------------------
def real(folder: Path, gateway: Gateway, environ: dict[str, str], **config) -> Claude:
    made = settings(
        folder,
        "claude",
        {**HOSTILE, **environ},
        cli=claude_binary(),
        base_url=gateway.url_anthropic,
        **config,
    )
    agent = Claude(made)
    agent.preflight()
    return agent


def test_real_with_a_key(tmp_path: Path) -> None:
    with Gateway(Script([FINISH])) as gateway:
        agent = real(tmp_path, gateway, KEYS)
        reply = ask(agent)
    assert (reply.cls, reply.value, reply.requests) == (R.OK, FINISH, 1), reply
    assert agent.profile.version == pinned_version("claude") and agent.profile.credential == "api-key"
    (request,) = gateway.requests
    assert b"LEAK" not in request.body and not (tmp_path / "LEAK").exists()
    assert request.headers["x-api-key"] == "dummy-key" and "authorization" not in request.headers
    assert [tool["name"] for tool in request.tools] == ["StructuredOutput"]
    assert (request.system_text, request.user_text) == (PROMPT.stable, PROMPT.volatile)
    assert request.schema == agent.settings.dialect.schema
    assert (reply.usage.input, reply.usage.output) == (
        request.usage["input_tokens"],
        request.usage["output_tokens"],
    )


def test_real_with_a_subscription_bills_no_key(tmp_path: Path) -> None:
    with Gateway(Script([FINISH])) as gateway:
        environ = {"ANTHROPIC_API_KEY": "sk-billed", "CLAUDE_CODE_OAUTH_TOKEN": "dummy-token"}
        agent = real(tmp_path, gateway, environ, auth="subscription")
        reply = ask(agent, Prompt(1, PROMPT.stable, "/cost\n"))
    assert (reply.cls, reply.value, reply.requests) == (R.OK, FINISH, 1), reply
    (request,) = gateway.requests
    assert request.headers["authorization"] == "Bearer dummy-token" and "x-api-key" not in request.headers
    assert b"sk-billed" not in request.body
    assert b"LEAK" not in request.body and not (tmp_path / "LEAK").exists()
    assert request.user_text == "\n/cost\n"  # no command of the CLI
    # What the CLI says of its surroundings stands before the prompt, so that a cache holds it.
    said = [block["text"] for message in request.parsed["messages"] for block in message["content"]]
    assert "# Environment" in said[0] and said[-1] == request.user_text


def test_real_exploring_reads_only_the_worktree(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with Gateway(Script([FINISH])) as gateway:
        reply = ask(real(tmp_path, gateway, KEYS, explore="read-only", worktree=tmp_path / "tree"))
    assert reply.cls is R.OK and reply.requests is None, reply
    (request,) = gateway.requests
    assert b"LEAK" not in request.body and not (tmp_path / "LEAK").exists()
    assert sorted(tool["name"] for tool in request.tools) == ["Glob", "Grep", "Read", "StructuredOutput"]


REFUSED = ApiError(400, "invalid_request_error", "tools.0.custom.input_schema: is not supported")


@pytest.mark.parametrize(
    ("auth", "answer", "expected"),
    [
        ("api-key", ApiError(401, "authentication_error", "invalid x-api-key"), R.AUTH),
        ("api-key", REFUSED, R.SCHEMA_REFUSED),
        ("api-key", Text("429 usage limit"), R.MISSING),
        ("subscription", REFUSED, R.SCHEMA_REFUSED),
        ("subscription", Text("429 usage limit"), R.MISSING),
    ],
)
def test_real_failures_cost_one_request(auth: str, answer, expected: ReplyClass, tmp_path: Path) -> None:
    environ = {**KEYS, "CLAUDE_CODE_OAUTH_TOKEN": "dummy-token"}
    with Gateway(Script([answer])) as gateway:
        reply = ask(real(tmp_path, gateway, environ, auth=auth))
    assert reply.cls is expected and len(gateway.requests) == 1, reply
