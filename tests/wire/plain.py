"""The one-shot commands that people are told to use, each as it stands: nothing of the CLI's own is turned off but
what would call another host. They get the same prompt and schema, and the same scrubbed environment as the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents.binaries import claude_binary, codex_binary, node_binary, pi_script
from tests.agents.lean import CLAUDE_MODEL, CODEX_MODEL, DUMMY_KEY, PI_MODEL, Finished, run
from tests.wire.ways import Way

Json = dict[str, Any]
CODEX_CONFIG = """\
model = "{model}"
model_provider = "gateway"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.gateway]
name = "gateway"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "CODEX_API_KEY"
"""


def plain(way: Way, folder: Path, url: str, prompt: str, schema: Json) -> Finished:
    """One run of the plain command of this agent in the empty `folder`. Codex always by a key and a provider of its
    own, which sends less than its built-in one."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir(parents=True)
    home, work = folder / "home", folder / "work"
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(home),
    }
    if way.agent == "claude":
        return _claude(way, work, env | way.environ, url, prompt, schema)
    if way.agent == "pi":
        return _pi(way, work, env, url, prompt)
    (home / "config.toml").write_text(CODEX_CONFIG.format(model=CODEX_MODEL, url=url))
    (home / "schema.json").write_text(json.dumps(schema))
    argv = [
        str(codex_binary()),
        "exec",
        "--ephemeral",
        "--json",
        "--skip-git-repo-check",
        "--sandbox",
        "read-only",
    ]
    argv += ["--output-schema", str(home / "schema.json"), "--cd", str(work), "-"]
    return run(argv, work, env | {"CODEX_HOME": str(home), "CODEX_API_KEY": DUMMY_KEY}, prompt, 60)


def _pi(way: Way, work: Path, env: Json, url: str, prompt: str) -> Finished:
    """Pi knows no schema of a reply."""
    provider = {"baseUrl": way.base(url), "api": way.api, "apiKey": DUMMY_KEY, "models": [{"id": PI_MODEL}]}
    settings = Path(env["HOME"]) / ".pi" / "agent"
    settings.mkdir(parents=True)
    (settings / "models.json").write_text(json.dumps({"providers": {"endpoint": provider}}))
    argv = [
        str(node_binary()),
        str(pi_script()),
        "--mode",
        "json",
        "--provider",
        "endpoint",
        "--model",
        PI_MODEL,
    ]
    return run(argv, work, env | {"PI_OFFLINE": "1"}, prompt, 60)


def _claude(way: Way, work: Path, env: Json, url: str, prompt: str, schema: Json) -> Finished:
    argv = [str(claude_binary()), "-p", "--tools", "", "--no-session-persistence", "--model", CLAUDE_MODEL]
    argv += ["--json-schema", json.dumps(schema), "--output-format", "json"]
    quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    env |= {"ANTHROPIC_BASE_URL": url} | dict.fromkeys(quiet, "1")
    return run(argv, work, env, prompt, 60)
