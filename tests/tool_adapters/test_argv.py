"""Exactly what the vendors' programs are started with: words, environment, folder, standard input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contracts.reply import Prompt
from tests.tool_adapters.agent_world import (
    DIALECTS,
    EVERY_CHILD,
    HOSTILE,
    PROMPT,
    Player,
    ask,
    login,
    settings,
)
from tool_adapters.agents.claude import Claude
from tool_adapters.agents.codex import Codex
from tool_adapters.agents.pi.adapter import Pi

BOTH = {
    "ANTHROPIC_API_KEY": "the-key",
    "CLAUDE_CODE_OAUTH_TOKEN": "the-token",
    "ANTHROPIC_AUTH_TOKEN": "the-bearer",
}
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "MAX_STRUCTURED_OUTPUT_RETRIES": "1",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
    "CLAUDE_CODE_PROMPT_CACHE_TTL": "5m",
    "CLAUDE_CODE_MODEL_CAPABILITIES": "-mid_conv_system,-per_turn_effort,-context_management",
    "API_TIMEOUT_MS": "120000",
    "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "120000",
}
RESTRICTED = ["--restricted", "--strict-mcp-config", "--disable-slash-commands"]


def every_child(folder: Path) -> dict[str, str]:
    return {**EVERY_CHILD, "GIT_CEILING_DIRECTORIES": str(folder / "work")}


def started(folder: Path, agent, environ: dict[str, str], prompt: Prompt = PROMPT, **config) -> Player:
    player = Player(folder)
    made = agent(settings(folder, agent.kind, {**HOSTILE, **environ}, cli=player.path, **config))
    made.preflight()
    ask(made, prompt)
    return player


@pytest.mark.parametrize(
    ("config", "lean", "credential"),
    [
        ({}, ["--bare"], {"ANTHROPIC_API_KEY": "the-key"}),
        ({"auth": "subscription"}, RESTRICTED, {"CLAUDE_CODE_OAUTH_TOKEN": "the-token"}),
        (
            {"auth": "gateway", "base_url": "https://gw.example"},
            ["--bare"],
            {"ANTHROPIC_AUTH_TOKEN": "the-bearer", "ANTHROPIC_BASE_URL": "https://gw.example"},
        ),
    ],
)
def test_claude(config, lean: list[str], credential: dict[str, str], tmp_path: Path) -> None:
    player = started(tmp_path, Claude, BOTH, options={"effort": "high"}, **config)
    home, argv = tmp_path / "home", player.argv
    schema = argv.pop(argv.index("--json-schema") + 1)
    assert argv == [
        *("-p", *lean, "--no-session-persistence", "--tools", "", "--max-turns", "1"),
        *(
            "--model",
            "claude-sonnet-5-5",
            "--effort",
            "high",
            "--system-prompt-file",
            str(home / "system.md"),
        ),
        *("--json-schema", "--output-format", "json"),
    ]
    assert json.loads(schema) == {k: v for k, v in DIALECTS["merge"].schema.items() if k != "$schema"}
    own = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "CLAUDE_CONFIG_DIR": str(home / "claude")}
    assert player.env == {**every_child(tmp_path), **QUIET, **own, **credential}
    assert (home / "system.md").read_text() == PROMPT.stable and player.read("stdin") == PROMPT.volatile
    assert player.read("cwd").strip() == str(tmp_path / "work/launch") and player.read("ls") == ""


def test_claude_explores_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    player = started(tmp_path, Claude, BOTH, explore="read-only", worktree=tmp_path / "tree")
    argv = player.argv
    assert argv[1:4] == RESTRICTED and argv[argv.index("--tools") + 1] == "Read,Grep,Glob"
    deny = json.loads(argv[argv.index("--settings") + 1])["permissions"]["deny"]
    assert "Read(**/.env)" in deny and "Read(**/*.pem)" in deny
    assert int(argv[argv.index("--max-turns") + 1]) > 1 and player.read("cwd").strip() == str(
        tmp_path / "tree"
    )


@pytest.mark.parametrize("first", ["/cost", "!ls", "#note", "@/etc/hostname", " x", ""])
def test_claude_reads_no_command_in_the_prompt(first: str, tmp_path: Path) -> None:
    player = started(tmp_path, Claude, BOTH, Prompt(1, "stable", first))
    assert player.read("stdin") == "\n" + first


def test_codex_with_a_key(tmp_path: Path) -> None:
    player = started(tmp_path, Codex, {"CODEX_API_KEY": "the-key", "OPENAI_API_KEY": "other"})
    home = tmp_path / "home"
    assert player.argv == [
        *("exec", "--ephemeral", "--json", "--skip-git-repo-check", "--strict-config"),
        *("--output-schema", str(home / "codex/schema.json"), "--sandbox", "read-only"),
        *("--cd", str(tmp_path / "work/launch"), "-"),
    ]
    own = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "CODEX_HOME": str(home / "codex")}
    assert player.env == {**every_child(tmp_path), **own, "SKILL_STATE_CODEX_KEY": "the-key"}
    assert player.read("stdin") == PROMPT.volatile and player.read("ls") == ""


def test_codex_with_a_login_gets_no_key(tmp_path: Path) -> None:
    login(tmp_path / "auth.json")
    more = {"auth": "subscription", "auth_file": "~/auth.json"}
    player = started(tmp_path, Codex, {"OPENAI_API_KEY": "other", "HOME": str(tmp_path)}, **more)
    assert set(player.env) == {*every_child(tmp_path), "HOME", "TMPDIR", "CODEX_HOME"}


def test_pi_with_an_endpoint_of_ones_own(tmp_path: Path) -> None:
    environ = {"MY_KEY": "the-key", "OPENAI_API_KEY": "other", "ANTHROPIC_API_KEY": "other"}
    options = {"api": "openai-completions", "effort": "high"}
    more = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY", "options": options}
    player = started(tmp_path, Pi, environ, idle=90.0, **more)
    home = tmp_path / "home"
    extension = Path(player.argv[player.argv.index("--extension") + 1])
    assert extension.name == "extension.ts" and extension.is_file()
    assert player.argv == [
        *("--mode", "json", "--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates"),
        *("--no-themes", "--no-context-files", "--no-mcp", "--no-approve"),
        *("--provider", "endpoint", "--model", "m", "--thinking", "high"),
        *("--extension", str(extension), "--tools", "skill_state_transition"),
    ]
    files = {"SKILL_STATE_SCHEMA": str(home / "schema.json"), "SKILL_STATE_SYSTEM": str(home / "system.md")}
    own = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "PI_OFFLINE": "1", "SKILL_STATE_PI_KEY": "the-key"}
    assert player.env == {**every_child(tmp_path), **own, **files}
    assert player.read("stdin") == PROMPT.volatile and player.read("ls") == ""
    assert (home / "system.md").read_text() == PROMPT.stable
    assert json.loads((home / "schema.json").read_text()) == DIALECTS["merge"].schema

    agent = home / ".pi/agent"
    models, settled = (json.loads((agent / f"{name}.json").read_text()) for name in ("models", "settings"))
    (model,) = models["providers"]["endpoint"].pop("models")
    assert models["providers"] == {
        "endpoint": {
            "api": "openai-completions",
            "baseUrl": "http://127.0.0.1:1/v1",
            "apiKey": "$SKILL_STATE_PI_KEY",
        }
    }
    assert (model["id"], model["reasoning"]) == ("m", True)
    assert settled["httpIdleTimeoutMs"] == 90_000
    assert settled["retry"] == settled["compaction"] == {"enabled": False}
    for path in home.rglob("*"):
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0, path
        assert path.is_dir() or "the-key" not in path.read_text()


def test_pi_asks_the_provider_that_it_knows(tmp_path: Path) -> None:
    player = started(tmp_path, Pi, {"ANTHROPIC_API_KEY": "sk-ant-the-key", "OPENAI_API_KEY": "other"})
    at = player.argv.index("--provider")
    assert player.argv[at : at + 4] == ["--provider", "anthropic", "--model", "claude-sonnet-5-5"]
    assert player.env["SKILL_STATE_PI_KEY"] == "sk-ant-the-key"
    (known,) = json.loads((tmp_path / "home/.pi/agent/models.json").read_text())["providers"].items()
    assert known[0] == "anthropic" and known[1].keys() == {"apiKey", "modelOverrides"}


def test_proxies_reach_the_agent_and_the_venv_does_not(tmp_path: Path) -> None:
    venv = str(tmp_path / "venv")
    environ = {
        "PATH": f"{venv}/bin:{os.defpath}",
        "VIRTUAL_ENV": venv,
        "HTTPS_PROXY": "http://proxy.example:3128",
        "no_proxy": "localhost",
        "LC_ALL": "C.UTF-8",
    }
    env = started(tmp_path, Claude, {**BOTH, **environ}).env
    assert env["PATH"] == os.defpath and "VIRTUAL_ENV" not in env
    assert (env["HTTPS_PROXY"], env["no_proxy"], env["LC_ALL"]) == (
        "http://proxy.example:3128",
        "localhost",
        "C.UTF-8",
    )
