"""The real programs of all agents, the model's side a gateway on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents import claude_binary, codex_binary
from tests.gateway import Gateway
from tests.tool_adapters.agent_world import FINISH, HOSTILE, KEYS, login, settings
from tests.tool_adapters.pi_world import pi
from tool_adapters.agents.claude import Claude
from tool_adapters.agents.codex import Codex

TOKEN = {"CLAUDE_CODE_OAUTH_TOKEN": "dummy-token"}


def real(folder: Path, gateway: Gateway, way: str, **config: Any) -> Any:
    """The real program of an agent, the way that it is paid for, its processes started ahead."""
    kind, _, auth = way.partition(" ")
    given = {"prespawn": True, **({"auth": auth} if auth else {}), **config}
    if kind == "pi":
        return pi(folder, gateway, **given)
    if way == "codex subscription":
        folder.mkdir(parents=True, exist_ok=True)
        login(folder / "auth.json")
        given["auth_file"] = str(folder / "auth.json")
    made, binary, url = {
        "claude": (Claude, claude_binary, gateway.url_anthropic),
        "codex": (Codex, codex_binary, gateway.url_openai),
    }[kind]
    environ = {**HOSTILE, **(TOKEN if way == "claude subscription" else KEYS)}
    agent = made(settings(folder, kind, environ, cli=binary(), base_url=url, **given))
    agent.preflight()
    return agent


def done(way: str) -> Any:
    """A reply in the agent's dialect."""
    return {**FINISH, "state_patch": []} if way.startswith("codex") else FINISH
