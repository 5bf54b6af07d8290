"""One run of a real agent binary with the smallest wire, in a scrubbed environment with its own home.

This is the tests' own way to call the binaries (the recordings and the gateway's tests stand on it); the
adapters of `tool_adapters` are tested against the recordings and the gateway, so they are not used here.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tests.agents.binaries import ROOT, claude_binary, codex_binary, node_binary, pi_script

Json = dict[str, Any]
Auth = Literal["api-key", "subscription"]

CLAUDE_MODEL = "claude-sonnet-5-5"
CODEX_MODEL = "gpt-6.2-sol"
PI_MODEL = "some-model"
DUMMY_KEY = "dummy-key-for-loopback"

CLAUDE_ENV = {
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
}
# A refused request is otherwise sent again without one beta after the other. Not with a subscription:
# there the body still uses what two of those betas name.
CLAUDE_KEY_ENV = {"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"}

CODEX_CONFIG = """\
model = "{model}"
model_provider = "gateway"
model_catalog_json = "{home}/catalog.json"
model_instructions_file = "{home}/instructions.md"
include_permissions_instructions = false
include_apps_instructions = false
include_collaboration_mode_instructions = false
include_environment_context = false
project_doc_max_bytes = 0
web_search = "disabled"
check_for_update_on_startup = false

[analytics]
enabled = false
[history]
persistence = "none"
[skills]
include_instructions = false
[skills.bundled]
enabled = false
[tools.experimental_request_user_input]
enabled = false
[agents]
enabled = false
[features]
shell_tool = false
unified_exec = false
view_image = false
apps = false
plugins = false
goals = false
image_generation = false
skill_search = false
tool_suggest = false
sleep_tool = false
memories = false
hooks = false
shell_snapshot = false
browser_use = false
computer_use = false
in_app_browser = false
code_mode_host = false
remote_plugin = false
workspace_dependencies = false
deferred_tool_world_state = false
guardian_approval = false
unbounded_connection_retries = false
[model_providers.gateway]
name = "gateway"
base_url = "{url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = {idle_ms}
{credential}
"""


PI_LEAN = (
    *("--no-session", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes"),
    *("--no-context-files", "--no-mcp", "--no-approve", "--tools", "skill_state_transition"),
)


@dataclass(frozen=True)
class Finished:
    """What a run left: exit code (negative: the signal that ended it), the two streams."""

    argv: list[str]
    code: int
    stdout: bytes
    stderr: bytes
    killed: bool


def run_claude(
    folder: Path,
    url: str,
    prompt: str,
    schema: Json,
    *,
    system: str = "You reply by one StructuredOutput call.",
    auth: Auth = "api-key",
    env: dict[str, str] | None = None,
    more: Sequence[str] = (),
    timeout: float = 30,
) -> Finished:
    """`claude -p` in `folder/work` with its configuration in `folder/home`."""
    home, work = _folders(folder)
    (home / "system.md").write_text(system)
    lean = (
        ["--bare"]
        if auth == "api-key"
        else ["--restricted", "--strict-mcp-config", "--disable-slash-commands"]
    )
    argv = [str(claude_binary()), "-p", *lean, "--no-session-persistence", "--tools", "", "--max-turns", "1"]
    argv += ["--model", CLAUDE_MODEL, "--system-prompt-file", str(home / "system.md")]
    argv += ["--json-schema", json.dumps(schema), "--output-format", "json", *more]
    own = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home), "ANTHROPIC_BASE_URL": url}
    if auth == "api-key":
        own |= {"ANTHROPIC_API_KEY": DUMMY_KEY, **CLAUDE_KEY_ENV}
    else:
        own["CLAUDE_CODE_OAUTH_TOKEN"] = DUMMY_KEY
    return run(argv, work, _scrubbed(folder) | CLAUDE_ENV | own | (env or {}), prompt, timeout)


def run_codex(
    folder: Path,
    url: str,
    prompt: str,
    schema: Json,
    *,
    system: str = "You reply with one JSON object.",
    auth: Auth = "api-key",
    login: Json | None = None,
    idle_ms: int = 3000,
    env: dict[str, str] | None = None,
    timeout: float = 30,
) -> Finished:
    """`codex exec` in `folder/work` with CODEX_HOME `folder/home`, which is not below its TMPDIR.

    `url` has no path. A subscription is a ChatGPT login: `login` (default: one with fake tokens) becomes
    auth.json, and the token endpoint and the account's side requests are moved to `url` too.
    """
    home, work = _folders(folder)
    own = {"HOME": str(home), "CODEX_HOME": str(home)}
    account, credential = "", 'env_key = "GATEWAY_KEY"'
    if auth == "api-key":
        own["GATEWAY_KEY"] = DUMMY_KEY
    else:
        account, credential = f'chatgpt_base_url = "{url}/backend-api"\n', "requires_openai_auth = true"
        own["CODEX_REFRESH_TOKEN_URL_OVERRIDE"] = f"{url}/oauth/token"
        (home / "auth.json").write_text(json.dumps(chatgpt_login() if login is None else login))
        (home / "auth.json").chmod(0o600)
    (home / "instructions.md").write_text(system)
    (home / "catalog.json").write_text(json.dumps(trimmed_catalog(CODEX_MODEL)))
    (home / "schema.json").write_text(json.dumps(schema))
    facts = {
        "model": CODEX_MODEL,
        "home": home,
        "url": f"{url}/v1",
        "idle_ms": idle_ms,
        "credential": credential,
    }
    (home / "config.toml").write_text(account + CODEX_CONFIG.format(**facts))
    argv = [str(codex_binary()), "exec", "--ephemeral", "--json", "--skip-git-repo-check", "--strict-config"]
    argv += ["--output-schema", str(home / "schema.json"), "--sandbox", "read-only", "--cd", str(work), "-"]
    return run(argv, work, _scrubbed(folder) | own | (env or {}), prompt, timeout)


def run_pi(
    folder: Path,
    url: str,
    prompt: str,
    schema: Json,
    *,
    api: str = "openai-completions",
    system: str = "You reply by one call.",
    idle_ms: int = 3000,
    env: dict[str, str] | None = None,
    timeout: float = 30,
) -> Finished:
    """`pi --mode json` with the product's extension in `folder/work`, configured in `folder/home`. `url` has no
    path."""
    home, work = _folders(folder)
    (home / "system.md").write_text(system)
    (home / "schema.json").write_text(json.dumps(schema))
    address = url if api == "anthropic-messages" else f"{url}/v1"
    model = {"id": PI_MODEL, "contextWindow": 100_000_000}
    provider = {"baseUrl": address, "api": api, "apiKey": "$GATEWAY_KEY", "models": [model]}
    files = {
        "models": {"providers": {"gateway": provider}},
        "settings": {
            "retry": {"enabled": False},
            "compaction": {"enabled": False},
            "httpIdleTimeoutMs": idle_ms,
        },
    }
    (home / ".pi/agent").mkdir(parents=True)
    for name, value in files.items():
        (home / f".pi/agent/{name}.json").write_text(json.dumps(value))
    argv = [str(node_binary()), str(pi_script()), "--mode", "json", *PI_LEAN]
    argv += ["--provider", "gateway", "--model", PI_MODEL, "--thinking", "off"]
    argv += ["--extension", str(ROOT / "tool_adapters/agents/pi/extension.ts")]
    own = {"HOME": str(home), "PI_OFFLINE": "1", "GATEWAY_KEY": DUMMY_KEY, "NO_COLOR": "1"}
    own |= {"SKILL_STATE_SCHEMA": str(home / "schema.json"), "SKILL_STATE_SYSTEM": str(home / "system.md")}
    return run(argv, work, _scrubbed(folder) | own | (env or {}), prompt, timeout)


def run(argv: list[str], cwd: Path, env: dict[str, str], prompt: str, timeout: float) -> Finished:
    """One child in its own session, ended by SIGTERM (then SIGKILL) to its group after `timeout` seconds."""
    child = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    killed = False
    try:
        out, err = child.communicate(prompt.encode(), timeout)
    except subprocess.TimeoutExpired:
        killed = True
        os.killpg(child.pid, signal.SIGTERM)
        try:
            out, err = child.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
    return Finished(argv, child.returncode, out, err, killed)


def chatgpt_login(*, expires: int = 4_000_000_000) -> Json:
    """The auth.json of a ChatGPT login with unsigned tokens; `expires` in the past makes Codex refresh
    them first."""
    return {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": chatgpt_tokens("refresh-1", expires) | {"account_id": "account-1"},
        "last_refresh": "2026-01-01T00:00:00Z",
    }


def chatgpt_tokens(refresh: str, expires: int = 4_000_000_000) -> Json:
    """What a token endpoint returns. The identity claims must stay the same over a refresh."""
    who = {"chatgpt_plan_type": "plus", "chatgpt_account_id": "account-1", "chatgpt_user_id": "user-1"}
    claims = {"exp": expires, "email": "a@example.com", "https://api.openai.com/auth": who}
    return {"id_token": _jwt(claims), "access_token": _jwt(claims), "refresh_token": refresh}


def _jwt(claims: Json) -> str:
    parts = [
        base64.urlsafe_b64encode(json.dumps(p).encode()) for p in ({"alg": "none", "typ": "JWT"}, claims)
    ]
    return b".".join(part.rstrip(b"=") for part in [*parts, b"c2ln"]).decode()


def trimmed_catalog(model: str) -> Json:
    """The binary's own entry for `model` without any tool of its own."""
    entry = dict(_catalog()[model])
    for key in ("tool_mode", "multi_agent_version"):
        entry.pop(key, None)
    entry |= {"experimental_supported_tools": [], "apply_patch_tool_type": None, "use_responses_lite": False}
    return {"models": [entry]}


@cache
def _catalog() -> dict[str, Json]:
    """`codex debug models`: entry by slug."""
    done = subprocess.run(
        [codex_binary(), "debug", "models"], env={"PATH": os.defpath}, capture_output=True, check=True
    )
    return {entry["slug"]: entry for entry in json.loads(done.stdout)["models"]}


def _folders(folder: Path) -> tuple[Path, Path]:
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / "home", folder / "work"


def _scrubbed(folder: Path) -> dict[str, str]:
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "TMPDIR": str(folder / "tmp")}
