"""Pi under test: the pinned script on the pinned Node, its model the loopback gateway."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.agents import node_binary, pi_script
from tests.gateway import Gateway
from tests.tool_adapters.agent_world import HOSTILE, settings
from tool_adapters.agents.pi.adapter import Pi

APIS = ("openai-completions", "openai-responses", "anthropic-messages")
KEY = {"MY_KEY": "dummy-key"}


def pi(
    folder: Path, gateway: Gateway, api: str = APIS[0], environ: Mapping[str, str] = KEY, **config: Any
) -> Pi:
    """The adapter with an endpoint of its own that speaks `api` (or with `options` that say who is asked),
    looked at before the first launch."""
    url = gateway.url_anthropic if api == "anthropic-messages" else gateway.url_openai
    wished = {"node": str(node_binary()), "api": api, **config.pop("options", {})}
    options = {name: value for name, value in wished.items() if value is not None}
    wanted: dict[str, Any] = {"model": "some-model", "base_url": url, "api_key_env": "MY_KEY", **config}
    made = settings(folder, "pi", {**HOSTILE, **environ}, cli=pi_script(), options=options, **wanted)
    agent = Pi(made)
    agent.preflight()
    return agent
