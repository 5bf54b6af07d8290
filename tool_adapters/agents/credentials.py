"""Which credential goes to an agent: exactly the kind that the task names, and nothing beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from contracts.errors import ConfigError
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
    config = settings.config
    _refuse_options(settings, api_key=("token_env", "auth_file"), subscription=("api_key_env", "auth_file"))
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
            _need_url(settings)
            if config.api_key_env and config.token_env:
                raise ConfigError(
                    f"agent {settings.name}: `api_key_env` and `token_env` are both named",
                    hint="name the one that the gateway takes",
                )
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
    config = settings.config
    _refuse_options(settings, api_key=("token_env", "auth_file"), subscription=("api_key_env", "token_env"))
    match config.auth:
        case "api-key":
            return _codex_key(settings, "api-key")
        case "gateway":
            _need_url(settings)
            return _codex_key(settings, "gateway")
        case "subscription":
            mend = "run `codex login`, then write `auth_file: ~/.codex/auth.json`"
            if not config.auth_file:
                raise ConfigError(
                    f"agent {settings.name}: auth is subscription, but no auth_file is named", hint=mend
                )
            path = _home_path(settings, config.auth_file)
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
        case _:
            raise ConfigError(
                f"agent {settings.name}: codex has no `auth: {config.auth}`",
                hint="write `auth: api-key`, `subscription`, or `gateway` with `base_url:`",
            )


def key_credential(settings: AgentSettings, usual: str | None) -> Credential:
    """The one key of an agent that takes no other kind of credential, under the name of the user's variable; `usual`
    is that variable where the task names none. Raises ConfigError, with the one command that mends it."""
    config = settings.config
    _refuse_options(settings, api_key=("token_env", "auth_file"), subscription=())
    if config.auth not in ("api-key", "gateway"):
        raise ConfigError(
            f"agent {settings.name}: {config.kind} has no `auth: {config.auth}`",
            hint="write `auth: api-key`, or `gateway` with `base_url:`",
        )
    if config.auth == "gateway":
        _need_url(settings)
    name = key_name(settings, usual)
    if name is None:
        raise ConfigError(
            f"agent {settings.name}: which variable holds the key is not said",
            hint="write `api_key_env: NAME`",
        )
    return Credential(config.auth, {name: _value(settings, name, f"export {name}=KEY")})


def key_name(settings: AgentSettings, usual: str | None) -> str | None:
    """The variable that holds such a key; None where the task must name it."""
    config = settings.config
    return config.api_key_env or (config.token_env if config.auth == "gateway" else None) or usual


def pi_credential(settings: AgentSettings, provider: str) -> Credential:
    """The credential for Pi, whose model belongs to `provider` as Pi names it. Raises ConfigError, with the one
    command that mends it."""
    ((name, value),) = key_credential(settings, PI_KEYS.get(provider)).env.items()
    if name == CLAUDE_KEY and settings.config.base_url is None and _FOREIGN.match(value):
        _wrong(settings, name, "a key of another vendor", f"export {name}=KEY with an Anthropic key")
    return Credential(settings.config.auth, {PI_CHILD_KEY: value}, notices=_unused(settings, name))


def pi_key_name(settings: AgentSettings, provider: str) -> str | None:
    """The variable that holds Pi's key; None where the task must name it."""
    return key_name(settings, PI_KEYS.get(provider))


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


def _refuse_options(settings: AgentSettings, api_key: tuple[str, ...], subscription: tuple[str, ...]) -> None:
    """An option of another kind of credential, ignored in silence, would mean that the wrong one is billed."""
    auth = settings.config.auth
    cloud = ("api_key_env", "token_env", "auth_file")
    refused = {"api-key": api_key, "subscription": subscription, "gateway": ("auth_file",)}
    for option in refused.get(auth, cloud):
        if getattr(settings.config, option) is not None:
            raise ConfigError(
                f"agent {settings.name}: `{option}` does not go with `auth: {auth}`",
                hint=f"remove `{option}`, or name the kind of credential that you mean with `auth:`",
            )


def _need_url(settings: AgentSettings) -> None:
    if not settings.config.base_url:
        raise ConfigError(
            f"agent {settings.name}: `auth: gateway` needs `base_url:`", hint="name the gateway's address"
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
