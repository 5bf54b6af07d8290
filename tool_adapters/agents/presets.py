"""How the CLIs of Gemini, opencode and Qwen Code are started so that they ask their model once and do nothing else.

Measured on gemini-cli 0.61.0, opencode 1.18.33 and qwen-code 0.24.4. Each gets a HOME of its own with the configuration
below, no tools, and no second request where it can be told so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.ports import Ran
from contracts.reply import Prompt
from tool_adapters.agents import preset_replies
from tool_adapters.agents.preset_replies import Told

# The child's own name for the key, so that no other program takes it for its own.
CHILD_KEY = "SKILL_STATE_AGENT_KEY"
WORDS = "Reply now, with the one JSON object and nothing else.\n"


@dataclass(frozen=True)
class Asked:
    """What a launch is made of. `system` (the system prompt) and `schema` are files in `home`; `key` is the
    credential's value."""

    prompt: Prompt
    home: Path
    system: Path
    schema: Path
    model: str
    key: str
    base_url: str | None


@dataclass(frozen=True)
class Start:
    """`argv` after the program; `env` beside that of every agent; `files` of HOME, path -> what it holds as JSON."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """One CLI. `key_env` is the variable that holds the user's key where the task names none; `model` the default;
    `read` takes its output apart; `astray` says of a file with the output so far that what follows can only be
    requests that nobody asked for.

    `words` stand on stdin where the whole prompt is the system prompt: these CLIs rewrite what comes on stdin wherever
    an `@` stands in it. (gemini-cli fills in `${AvailableTools}` and three more words of its own in a system prompt,
    which is the smaller evil.) Else the system prompt is the prompt's stable part, and the rest comes on stdin.
    """

    program: str
    install: str
    key_env: str | None
    model: str | None
    start: Callable[[Asked], Start]
    read: Callable[[Ran], Told]
    astray: Callable[[Path], bool] | None = None
    words: str | None = None


def _gemini(asked: Asked) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "model": {"maxSessionTurns": 1},
        "tools": {"core": ["none"]},
        "mcp": {"allowed": []},
        "context": {
            "includeDirectoryTree": False,
            "memoryBoundaryMarkers": [],
        },  # else GEMINI.md of a folder above
        "skills": {"enabled": False},
        "hooksConfig": {"enabled": False},
    }
    env = {
        "GEMINI_API_KEY": asked.key,
        "GEMINI_SYSTEM_MD": str(asked.system),
        "GEMINI_CLI_NO_RELAUNCH": "true",  # else a second process, which outlives the first
        **({"GOOGLE_GEMINI_BASE_URL": asked.base_url} if asked.base_url else {}),
    }
    argv = ("-m", asked.model, "-o", "stream-json", "--skip-trust")
    return Start(argv, env, {".gemini/settings.json": settings})


# opencode installs its plugin interface from a package registry unless this folder says that it has it.
_INSTALLED = {
    ".config/opencode/node_modules/.package-lock.json": {},
    ".config/opencode/package-lock.json": {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}},
}


def _opencode(asked: Asked) -> Start:
    provider, _, model = asked.model.rpartition("/")
    provider = provider or "gateway"
    entry: dict[str, Any] = {"options": {"apiKey": f"{{env:{CHILD_KEY}}}"}}
    if asked.base_url:
        entry["options"]["baseURL"] = asked.base_url
        entry |= {"npm": "@ai-sdk/openai-compatible", "models": {model: {"name": model}}}
    config = {
        "model": f"{provider}/{model}",
        "small_model": f"{provider}/{model}",
        "provider": {provider: entry},
        "agent": {
            "step": {
                "mode": "primary",
                "prompt": f"{{file:{asked.system}}}",
                "tools": {"*": False},
                "permission": {"*": "deny"},
            }
        },
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "compaction": {"auto": False, "prune": False},
        "plugin": [],
        "instructions": [],
        "mcp": {},
        "lsp": False,
        "formatter": False,
    }
    off = ("AUTOUPDATE", "MODELS_FETCH", "PROJECT_CONFIG", "DEFAULT_PLUGINS", "AUTOCOMPACT", "PRUNE", "SHARE")
    env = {
        CHILD_KEY: asked.key,
        "OPENCODE_CONFIG": str(asked.home / "opencode.json"),
        "OPENCODE_PURE": "1",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in (*off, "CLAUDE_CODE", "EXTERNAL_SKILLS")},
    }
    argv = (
        "run",
        "--format",
        "json",
        "--agent",
        "step",
        "--title",
        "step",
    )  # a title of its own costs a request
    return Start(argv, env, {"opencode.json": config, **_INSTALLED})


# Excluding all of them is the only switch that works: `--core-tools none` has no effect.
_QWEN_TOOLS = "edit,get_goal,notebook_edit,read_file,run_shell_command,update_goal"


def _qwen(asked: Asked) -> Start:
    env = {
        "OPENAI_API_KEY": asked.key,
        "QWEN_SYSTEM_MD": str(asked.system),
        "QWEN_USAGE_STATISTICS_ENABLED": "false",
        **({"OPENAI_BASE_URL": asked.base_url} if asked.base_url else {}),
    }
    argv = (
        *("--auth-type", "openai", "-m", asked.model, "--bare"),
        # Takes every word up to the next option.
        *("--exclude-tools", _QWEN_TOOLS, "--max-session-turns", "1"),
        *("--json-schema", f"@{asked.schema}", "-o", "stream-json"),
    )
    return Start(argv, env)


GEMINI = Preset(
    program="gemini",
    install="npm install -g @google/gemini-cli",
    key_env="GEMINI_API_KEY",
    model="gemini-2.5-pro",
    start=_gemini,
    read=preset_replies.gemini,
    words=WORDS,
)
OPENCODE = Preset(
    program="opencode",
    install="npm install -g opencode-ai",
    key_env=None,
    model=None,
    start=_opencode,
    read=preset_replies.opencode,
    astray=preset_replies.opencode_astray,
)
QWEN = Preset(
    program="qwen",
    install="npm install -g @qwen-code/qwen-code (Node 22)",
    key_env="OPENAI_API_KEY",
    model=None,
    start=_qwen,
    read=preset_replies.qwen,
    astray=preset_replies.qwen_astray,
    words=WORDS,
)
