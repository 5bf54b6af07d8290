"""What a task may say of the credential of an agent, whatever the environment holds. `credentials` looks there."""

from __future__ import annotations

from contracts.errors import ConfigError
from tool_adapters.agents.settings import AgentSettings


def claude_auth(settings: AgentSettings) -> None:
    """Raises ConfigError for what can't be said of Claude Code's credential."""
    config = settings.config
    _refuse_options(settings, api_key=("token_env", "auth_file"), subscription=("api_key_env", "auth_file"))
    if config.auth == "gateway":
        _need_url(settings)
        if config.api_key_env and config.token_env:
            raise ConfigError(
                f"agent {settings.name}: `api_key_env` and `token_env` are both named",
                hint="name the one that the gateway takes",
            )


def codex_auth(settings: AgentSettings) -> None:
    """Raises ConfigError for what can't be said of Codex's credential."""
    config = settings.config
    _refuse_options(settings, api_key=("token_env", "auth_file"), subscription=("api_key_env", "token_env"))
    match config.auth:
        case "api-key":
            pass
        case "gateway":
            _need_url(settings)
        case "subscription":
            if not config.auth_file:
                raise ConfigError(
                    f"agent {settings.name}: auth is subscription, but no auth_file is named",
                    hint="run `codex login`, then write `auth_file: ~/.codex/auth.json`",
                )
        case _:
            raise ConfigError(
                f"agent {settings.name}: codex has no `auth: {config.auth}`",
                hint="write `auth: api-key`, `subscription`, or `gateway` with `base_url:`",
            )


def key_auth(settings: AgentSettings, usual: str | None) -> str:
    """The variable that holds the one key of an agent that takes no other kind of credential; `usual` is that variable
    where the task names none. Raises ConfigError, with what mends it."""
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
    return name


def key_name(settings: AgentSettings, usual: str | None) -> str | None:
    """The variable that holds such a key; None where the task must name it."""
    config = settings.config
    return config.api_key_env or (config.token_env if config.auth == "gateway" else None) or usual


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
