"""Codex: every recorded end of the real binary, its generated home, the lent login, and the real binary itself."""

from __future__ import annotations

import json
import platform
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from contracts.reply import AgentReply, ReplyClass
from tests.agents import codex_binary, pinned_version
from tests.agents.recordings import load
from tests.gateway import ApiError, Gateway, Script
from tests.tool_adapters.agent_world import (
    DIALECTS,
    FINISH,
    HOSTILE,
    KEYS,
    NOW,
    Player,
    ask,
    settings,
    surround,
)
from tool_adapters.agents import launch
from tool_adapters.agents.binary import native_codex
from tool_adapters.agents.codex import Codex, read_events
from tool_adapters.agents.codex_home import trimmed_catalog

RECORDED = load("codex")
R = ReplyClass


def play(folder: Path, stdout: str, stderr: str = "", end: str = "exit 0", **config) -> AgentReply:
    player = Player(folder, stdout, stderr, end)
    return ask(Codex(settings(folder, "codex", cli=player.path, **config)))


def events(*made: dict) -> str:
    return "".join(json.dumps(event) + "\n" for event in made)


def message(text: str) -> dict:
    return {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}


DONE = {
    "type": "turn.completed",
    "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7},
}


def test_limits_say_when_they_end(tmp_path: Path) -> None:
    plan = play(tmp_path / "a", RECORDED["429_plan_limit"].stdout, end="exit 1")
    assert plan.not_before == NOW + 3 * 3600 + 20 * 60  # 12:00 PM in the child's zone, which is UTC
    assert play(tmp_path / "b", RECORDED["failed_rate"].stdout, end="exit 1").not_before == NOW + 7


def test_usage_is_summed_and_priced(tmp_path: Path) -> None:
    out = events(message('{"n": 1}'), DONE, DONE)
    free = play(tmp_path / "a", out)
    assert (free.usage.input, free.usage.cached, free.usage.output, free.usage.usd_micro) == (
        200,
        120,
        14,
        None,
    )
    priced = play(tmp_path / "b", out, price={"input": 2.0, "cached": 0.5, "output": 10.0})
    assert priced.usage.usd_micro == 80 * 2 + 60 + 140
    assert play(tmp_path / "c", events(message("{}")), end="exit 1").usage.input is None


@pytest.mark.parametrize(
    ("out", "end", "expected"),
    [
        (events(message('{"n": 1}'), DONE), "exit 1", R.UNKNOWN),
        (events(message('{"n": 1}')), "exit 0", R.UNKNOWN),  # no turn.completed
        (
            events(message('{"n": 1}'), DONE, {"type": "turn.failed", "error": {"message": "odd"}}),
            "exit 0",
            R.UNKNOWN,
        ),
        (events(message('{"n": 1}'), message('{"n": 2}'), DONE), "exit 0", R.OK),
        (events(message('{"n": "\\ud800"}'), DONE), "exit 0", R.INVALID),
        (events(message('{"n": 1}'), message("done"), DONE), "exit 0", R.INVALID),
        (events(message("[1]"), DONE), "exit 0", R.INVALID),
        (
            events({"type": "item.completed", "item": {"type": "error", "message": "429 usage limit"}}),
            "exit 1",
            R.UNKNOWN,
        ),
        ("not json\n" + events(message("{}"), {"type": "brand.new"}, DONE), "exit 0", R.OK),
        ("", "exit 1", R.CRASHED),
        ("", "exit 0", R.MISSING),
        ("", "kill -KILL $$", R.KILLED),
    ],
)
def test_every_signal_counts(out: str, end: str, expected: ReplyClass, tmp_path: Path) -> None:
    assert play(tmp_path, out, "", end).cls == expected


def test_the_last_message_is_the_reply() -> None:
    seen = read_events(events(message('{"n": 1}'), message('{"n": 2}'), DONE).encode())
    assert seen.message == '{"n": 2}' and seen.completed and seen.failure is None


def test_startup_error_is_read_from_stderr(tmp_path: Path) -> None:
    said = "Reading additional input from stdin...\nError: unknown configuration field `x` in config.toml\n"
    reply = play(tmp_path, "", said, "exit 1")
    assert reply.cls is R.MISCONFIGURED and reply.message.startswith("Error: unknown configuration field")


def test_prints_its_reply_and_never_exits(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.1)
    reply = play(tmp_path, events(message('{"n": 1}'), DONE), end="sleep 60", timeout=20.0)
    assert (reply.cls, reply.value) == (R.OK, {"n": 1})


# ---- the generated home ----------------------------------------------------------------------------------
def test_generated_configuration(tmp_path: Path) -> None:
    player = Player(tmp_path, events(message("{}"), DONE))
    made = settings(tmp_path, "codex", cli=player.path, base_url="http://127.0.0.1:1/v1", idle=90.0)
    made = replace(made, config=made.config.model_copy(update={"options": {"effort": "high"}}))
    ask(Codex(made))
    home = tmp_path / "home/codex"
    config = tomllib.loads((home / "config.toml").read_text())
    provider = config["model_providers"][config["model_provider"]]
    assert provider["base_url"] == "http://127.0.0.1:1/v1" and provider["stream_idle_timeout_ms"] == 90_000
    assert config["model_reasoning_effort"] == "high" and config["model"] == "gpt-6.2-sol"
    assert provider["request_max_retries"] == provider["stream_max_retries"] == 0
    assert not any(config["features"].values()) and config["project_doc_max_bytes"] == 0
    assert Path(config["model_instructions_file"]).read_text() == "=== SKILL ===\nBe good.\n\n"
    assert (
        player.env[provider["env_key"]] == "dummy-key"
        and "dummy-key" not in (home / "config.toml").read_text()
    )
    assert json.loads((home / "schema.json").read_text()) == DIALECTS["strict"].schema
    assert not (home / "AGENTS.md").exists()
    assert (home / "config.toml").stat().st_mode & 0o077 == 0 and home.stat().st_mode & 0o077 == 0
    assert not home.is_relative_to(player.env["TMPDIR"])  # below it Codex refuses to work


def test_trimmed_catalog() -> None:
    entry = {
        "slug": "m",
        "tool_mode": "code",
        "multi_agent_version": 2,
        "use_responses_lite": True,
        "context": 9,
    }
    trimmed = trimmed_catalog(json.dumps({"models": [{"slug": "other"}, entry]}).encode(), "m")
    assert trimmed is not None
    (kept,) = json.loads(trimmed)["models"]
    assert kept["context"] == 9 and kept["use_responses_lite"] is False and "tool_mode" not in kept
    assert trimmed_catalog(b'{"models": []}', "m") is None and trimmed_catalog(b"oops", "m") is None


def test_native_binary_behind_the_shim(tmp_path: Path) -> None:
    machine = {"x86_64": "x64", "amd64": "x64"}.get(platform.machine().lower(), "arm64")
    system = "darwin" if sys.platform == "darwin" else "linux"
    package = tmp_path / f"node_modules/@openai/codex-{system}-{machine}"
    native = package / f"vendor/some-{system}-triple/bin/codex"
    shim = tmp_path / "node_modules/@openai/codex/bin/codex.js"
    for path, data in ((native, b"\x7fELF rest"), (shim, b"#!/usr/bin/env node\n")):
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        path.chmod(0o755)
    assert native_codex(shim) == native and native_codex(native) == native
    native.unlink()
    assert native_codex(shim) == shim


@pytest.mark.parametrize(
    ("environ", "config", "said", "mended_by"),
    [
        ({}, {}, "OPENAI_API_KEY is not set", "export OPENAI_API_KEY="),
        ({}, {"api_key_env": "MY_KEY"}, "MY_KEY is not set", "export MY_KEY="),
        ({"OPENAI_API_KEY": "sk-ant-api03-x"}, {}, "another vendor", "OpenAI key"),
        (KEYS, {"auth": "subscription"}, "no auth_file", "codex login"),
        (KEYS, {"auth": "subscription", "auth_file": "nowhere.json"}, "not logged in", "codex login"),
        (KEYS, {"auth": "subscription", "auth_file": "key.json"}, "no ChatGPT login", "codex login"),
        (KEYS, {"auth_file": "key.json"}, "auth_file", "auth:"),
        (KEYS, {"auth": "gateway"}, "base_url", "address"),
        (KEYS, {"explore": "read-only"}, "`explore: read-only` is not for kind codex", "none or delegate"),
    ],
)
def test_preflight_refuses(environ, config, said: str, mended_by: str, tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text('{"OPENAI_API_KEY": "sk-x", "tokens": null}')
    made = settings(tmp_path, "codex", environ, cli=Player(tmp_path).path, base_dir=tmp_path, **config)
    with pytest.raises(ConfigError) as error:
        Codex(made).preflight()
    assert said in error.value.message and mended_by in error.value.hint


# ---- the real binary -------------------------------------------------------------------------------------
def real(folder: Path, gateway: Gateway, environ: dict[str, str], **config) -> Codex:
    made = settings(
        folder,
        "codex",
        {**HOSTILE, **surround(folder), **environ},
        cli=codex_binary(),
        base_url=gateway.url_openai,
        **config,
    )
    agent = Codex(made)
    agent.preflight()
    return agent


def test_real_with_a_key(tmp_path: Path) -> None:
    reply_value = {"state_patch": [], "action": FINISH["action"]}
    with Gateway(Script([reply_value, reply_value])) as gateway:
        agent = real(tmp_path, gateway, KEYS, price={"input": 1.0, "cached": 0.0, "output": 4.0})
        reply, again = ask(agent), ask(agent)
    assert (reply.cls, reply.value, again.cls) == (R.OK, reply_value, R.OK), (reply, again)
    assert agent.profile.version == pinned_version("codex") and agent.profile.credential == "api-key"
    assert len(gateway.requests) == 2 and len(list((tmp_path / "home").glob("catalog-*.json"))) == 1
    request = gateway.requests[0]
    assert b"LEAK" not in request.body and not (tmp_path / "LEAK").exists()
    assert request.headers["authorization"] == "Bearer dummy-key" and request.tools == []
    assert request.prompt_text == "=== SKILL ===\nBe good.\n\n=== STATE ===\nx: 1\n" and request.added == []
    assert request.schema == DIALECTS["strict"].schema
    assert reply.usage.usd_micro == request.usage["input_tokens"] + 4 * request.usage["output_tokens"]


def test_real_schema_refusal_costs_one_request(tmp_path: Path) -> None:
    refused = ApiError(
        400, "invalid_request_error", "Invalid schema for response_format", "invalid_json_schema"
    )
    with Gateway(Script([refused])) as gateway:
        reply = ask(real(tmp_path, gateway, KEYS))
    assert reply.cls is R.SCHEMA_REFUSED and len(gateway.requests) == 1, reply
