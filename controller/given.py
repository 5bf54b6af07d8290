"""given: every secret value that is handed to an agent, by a name that may be shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contracts.agents import AgentConfig
from contracts.task import Task

CREDENTIALS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CODEX_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)


def given(config: AgentConfig, environ: Mapping[str, str], base: Path) -> dict[str, str]:
    """Every value that is handed to the agent, by a name that may be shown: never to be stored or shown."""
    given = config.options.get("env", ())
    named = [config.token_env, config.api_key_env, *(given if isinstance(given, list) else ()), *CREDENTIALS]
    secrets = {name: environ[name] for name in named if isinstance(name, str) and environ.get(name)}
    if config.auth_file:
        try:
            login = json.loads((base / Path(config.auth_file).expanduser()).read_bytes())
        except (OSError, ValueError):
            login = {}  # the adapter's preflight says what is wrong with it
        secrets |= {f"auth_file {key}": value for key, value in _texts(login)}
    return secrets


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The long texts of a login file: tokens and keys."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, str(name))
    elif isinstance(value, str) and len(value) >= 20:
        yield key, value


def tokens(task: Task, environ: Mapping[str, str]) -> dict[str, str]:
    """Every token that an authority is read with, or the forge acted on, by its variable's name: never to be stored or
    shown."""
    named = [getattr(each.settings, "token_env", None) for each in task.authorities.values()]
    named += [task.forge.token_env] if task.forge is not None else []
    return {name: environ[name].strip() for name in named if name and environ.get(name, "").strip()}
