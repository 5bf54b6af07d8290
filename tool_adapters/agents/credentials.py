"""Which credential goes to an agent: exactly the kind that the task names, and nothing beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from contracts.errors import ConfigError
from tool_adapters.agents.auth import claude_auth, codex_auth, key_auth
from tool_adapters.agents.clouds import bedrock, vertex
from tool_adapters.agents.settings import AgentSettings

CLAUDE_KEY, CLAUDE_BEARER, CLAUDE_TOKEN = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
)
CODEX_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
PI_KEYS: Mapping[str, str] = {"anthropic": CLAUDE_KEY, "openai": "OPENAI_API_KEY"}
# Variables that would let the CLI choose another payer by itself. None is passed on; set, they are worth a word.
CHOOSERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
# The generated configuration names this variable, so that no other program takes the key for its own.
CODEX_CHILD_KEY, PI_CHILD_KEY = "SKILL_STATE_CODEX_KEY", "SKILL_STATE_PI_KEY"
# How keys of other vendors begin.
_FOREIGN = re.compile(r"sk-(?!ant-)|AKIA|ASIA|AIza|ya29\.|gh[opsu]_|github_pat_|eyJ")


@dataclass(frozen=True)
class Credential:
    """`kind` as used and audited; `env` the secrets that the child gets, `more` what it is told beside them;
    `auth_file` a login to copy into its home; `url` the variable that a `base_url` goes into; `notices` say
    which other credentials were seen and are not passed on."""

    kind: str
    env: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)
    auth_file: Path | None = None
    url: str = "ANTHROPIC_BASE_URL"
    notices: tuple[str, ...] = ()


def claude_credential(settings: AgentSettings) -> Credential:
    """The credential for Claude Code. Raises ConfigError, with the one command that mends it."""
    claude_auth(settings)
    config = settings.config
    match config.auth:
        case "api-key":
            name = config.api_key_env or CLAUDE_KEY
            value = _value(settings, name, f"export {name}=KEY (or write `auth: subscription`)")
            if value.startswith("sk-ant-oat"):
                _wrong(settings, name, "a subscription token", "write `auth: subscription`")
            if config.base_url is None and _FOREIGN.match(value):
                _wrong(settings, name, "a key of another vendor", f"export {name}=KEY with an Anthropic key")
            return Credential("api-key", {CLAUDE_KEY: value}, notices=_unused(settings, name))
        case "subscription":
            name = config.token_env or CLAUDE_TOKEN
            mend = f"run `claude setup-token`, then export {name}=TOKEN"
            value = _value(settings, name, mend)
            if value.startswith("sk-ant-api"):
                _wrong(settings, name, "an API key", mend)
            if _FOREIGN.match(value):
                _wrong(settings, name, "a key of another vendor", mend)
            return Credential("subscription", {CLAUDE_TOKEN: value}, notices=_unused(settings, name))
        case "gateway":
            name = config.api_key_env or config.token_env or CLAUDE_BEARER
            target = CLAUDE_KEY if config.api_key_env else CLAUDE_BEARER
            value = _value(settings, name, f"export {name}=TOKEN")
            return Credential("gateway", {target: value}, notices=_unused(settings, name))
        case "bedrock":
            env, more = bedrock(settings)
            return Credential(
                "bedrock", env, more, url="ANTHROPIC_BEDROCK_BASE_URL", notices=_unused(settings, "")
            )
        case "vertex":
            return Credential(
                "vertex", {}, vertex(settings), url="ANTHROPIC_VERTEX_BASE_URL", notices=_unused(settings, "")
            )


def codex_credential(settings: AgentSettings) -> Credential:
    """The credential for Codex. Raises ConfigError, with the one command that mends it."""
    codex_auth(settings)
    config = settings.config
    if config.auth != "subscription":
        return _codex_key(settings, config.auth)
    path = _home_path(settings, config.auth_file or "")
    login = read_login(path)
    if login is None:
        raise ConfigError(
            f"agent {settings.name}: {path} is missing or unreadable: not logged in",
            hint="run `codex login`",
        )
    if not has_tokens(login):
        raise ConfigError(
            f"agent {settings.name}: auth is subscription, but {path} holds no ChatGPT login",
            hint="run `codex login`, or write `auth: api-key`",
        )
    return Credential("subscription", auth_file=path, notices=_unused(settings, ""))


def key_credential(settings: AgentSettings, usual: str | None) -> Credential:
    """The one key of an agent that takes no other kind of credential, under the name of the user's variable; `usual`
    is that variable where the task names none. Raises ConfigError, with the one command that mends it."""
    name = key_auth(settings, usual)
    return Credential(settings.config.auth, {name: _value(settings, name, f"export {name}=KEY")})


def pi_credential(settings: AgentSettings, provider: str) -> Credential:
    """The credential for Pi, whose model belongs to `provider` as Pi names it. Raises ConfigError, with the one
    command that mends it."""
    ((name, value),) = key_credential(settings, PI_KEYS.get(provider)).env.items()
    if name == CLAUDE_KEY and settings.config.base_url is None and _FOREIGN.match(value):
        _wrong(settings, name, "a key of another vendor", f"export {name}=KEY with an Anthropic key")
    return Credential(settings.config.auth, {PI_CHILD_KEY: value}, notices=_unused(settings, name))


def read_login(path: Path) -> dict[str, Any] | None:
    """The content of a Codex login file; None when it is missing or is none."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def has_tokens(login: Mapping[str, Any]) -> bool:
    """Whether a login file holds a ChatGPT login."""
    tokens = login.get("tokens")
    return isinstance(tokens, dict) and bool(tokens.get("access_token")) and bool(tokens.get("refresh_token"))


def _codex_key(settings: AgentSettings, kind: str) -> Credential:
    config, environ = settings.config, settings.environ
    named = config.api_key_env or (config.token_env if kind == "gateway" else None)
    name = named or next((key for key in CODEX_KEYS if environ.get(key, "").strip()), CODEX_KEYS[1])
    value = _value(
        settings, name, f"export {name}=KEY (or log in: `codex login`, `auth: subscription`, `auth_file:`)"
    )
    if kind == "api-key" and (
        value.startswith("sk-ant-") or re.match(r"AKIA|ASIA|AIza|gh[opsu]_|eyJ", value)
    ):
        _wrong(settings, name, "a key of another vendor", f"export {name}=KEY with an OpenAI key")
    return Credential(kind, {CODEX_CHILD_KEY: value}, notices=_unused(settings, name))


def _value(settings: AgentSettings, name: str, mend: str) -> str:
    value = settings.environ.get(name, "").strip()
    if not value:
        others = [each for each in _known(settings) if each != name and settings.environ.get(each)]
        beside = f"; {others[0]} is, which would be billed elsewhere" if others else ""
        raise ConfigError(
            f"agent {settings.name}: auth is {settings.config.auth}, but {name} is not set{beside}", hint=mend
        )
    if any(ord(char) < 33 or ord(char) > 126 for char in value):
        raise ConfigError(f"agent {settings.name}: {name} holds blanks or control characters", hint=mend)
    return value


def _wrong(settings: AgentSettings, name: str, what: str, mend: str) -> NoReturn:
    raise ConfigError(
        f"agent {settings.name}: auth is {settings.config.auth}, but {name} holds {what}", hint=mend
    )


def _home_path(settings: AgentSettings, text: str) -> Path:
    home = settings.environ.get("HOME", "")
    path = Path(home, text[2:]) if text.startswith("~/") and home else Path(text).expanduser()
    return settings.base_dir / path


def _known(settings: AgentSettings) -> tuple[str, ...]:
    known = {"claude": (CLAUDE_KEY, CLAUDE_BEARER, CLAUDE_TOKEN), "pi": tuple(PI_KEYS.values())}
    return known.get(settings.config.kind or "", CODEX_KEYS)


def _unused(settings: AgentSettings, used: str) -> tuple[str, ...]:
    auth = settings.config.auth
    choosers = [
        name for name in CHOOSERS if settings.config.kind == "claude" and not name.lower().endswith(auth)
    ]
    return tuple(
        f"agent {settings.name}: {name} is set but not passed on: auth is {auth}"
        for name in (*_known(settings), *choosers)
        if name != used and settings.environ.get(name)
    )
