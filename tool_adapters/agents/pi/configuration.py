"""What Pi is configured by: the options of the task, and the files of its own home that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson

from contracts.errors import ConfigError
from tool_adapters.agents.credentials import PI_CHILD_KEY
from tool_adapters.agents.launch import check_options, effort
from tool_adapters.agents.settings import AgentSettings

OPTIONS = ("cli", "node", "provider", "api", "effort")
DEFAULT_PROVIDER, DEFAULT_MODEL = "anthropic", "claude-sonnet-5-5"
APIS = ("openai-completions", "openai-responses", "anthropic-messages")
# Pi's name for an endpoint that it does not know by itself.
ENDPOINT = "endpoint"
# Pi shortens the answer where it thinks that the prompt leaves little room. How long a prompt may be, the vendor says.
UNKNOWN_WINDOW = 100_000_000
# What Pi's list switches on for single models: places for changes in mid-conversation, of which there are none here
# (a second tool, a second system message), and another model that the vendor may answer with.
ONE_TURN = {
    **dict.fromkeys(
        (
            *("supportsMidConvoSystemMessages", "supportsMidConvoToolChanges", "supportsMidConvoEffort"),
            *("supportsMidConvoToolAdditions", "supportsAdditionalTools", "supportsToolSearch"),
        ),
        False,
    ),
    "allowedFallbackModels": [],
}


@dataclass(frozen=True)
class Target:
    """Who is asked. `provider`: a name of Pi's own list, or ENDPOINT with the `api` that is spoken at the
    `base_url`; `effort`: Pi's word for how much the model thinks."""

    provider: str
    model: str
    api: str | None = None
    base_url: str | None = None
    effort: str = "off"

    @classmethod
    def of(cls, settings: AgentSettings) -> Target:
        """What the task names. Raises ConfigError."""
        check_options(settings, OPTIONS)
        config, options = settings.config, settings.config.options
        provider, api = options.get("provider"), options.get("api")
        if provider is not None and api is not None:
            raise ConfigError(
                f"agent {settings.name}: `provider` and `api` are both named",
                hint="`provider` for one that Pi knows, `api` with `base_url` for an endpoint of your own",
            )
        thinks = effort(settings) or "off"
        if api is not None:
            return cls(ENDPOINT, _model(settings), _api(settings, api), _address(settings), thinks)
        name = DEFAULT_PROVIDER if provider is None else provider
        if not isinstance(name, str) or not name:
            raise ConfigError(f"agent {settings.name}: `provider` is a name", hint="such as openrouter")
        model = config.model or DEFAULT_MODEL if name == DEFAULT_PROVIDER else _model(settings, name)
        return cls(name, model, base_url=config.base_url, effort=thinks)

    def files(self, idle: float) -> Mapping[str, str]:
        """The content of settings.json and models.json. `idle` in seconds."""
        entry: dict[str, Any] = {"apiKey": f"${PI_CHILD_KEY}"}
        if self.base_url is not None:
            entry["baseUrl"] = self.base_url
        if self.api is not None:
            model = {"id": self.model, "reasoning": self.effort != "off", "contextWindow": UNKNOWN_WINDOW}
            entry |= {"api": self.api, "models": [model]}
        else:
            entry["modelOverrides"] = {self.model: {"compat": ONE_TURN}}
        settings = {
            "retry": {"enabled": False},
            "compaction": {"enabled": False},
            "cacheWarming": "off",
            "enableInstallTelemetry": False,
            "defaultProjectTrust": "never",
            "httpIdleTimeoutMs": round(idle * 1000),
        }
        made = {"settings.json": settings, "models.json": {"providers": {self.provider: entry}}}
        return MappingProxyType({name: orjson.dumps(value).decode() for name, value in made.items()})


def _model(settings: AgentSettings, provider: str = "") -> str:
    if settings.config.model:
        return settings.config.model
    of, hint = "", "write `model:`"
    if provider:
        of = f" of provider {provider!r}"
        hint += (
            f", one that `pi --list-models {provider}` shows, or `api:` and `base_url:` for another endpoint"
        )
    raise ConfigError(f"agent {settings.name}: no model{of} is named", hint=hint)


def _api(settings: AgentSettings, api: Any) -> str:
    if api not in APIS:
        raise ConfigError(f"agent {settings.name}: there is no api {api!r}", hint=f"one of {', '.join(APIS)}")
    return str(api)


def _address(settings: AgentSettings) -> str:
    if settings.config.base_url is None:
        raise ConfigError(
            f"agent {settings.name}: `api` needs `base_url:`", hint="name the endpoint's address"
        )
    return settings.config.base_url
