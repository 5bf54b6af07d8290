"""The ways to a model that are measured: an agent and a kind of credential, as a task names them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agents.binaries import claude_binary, codex_binary, node_binary, pi_script
from tests.agents.lean import CLAUDE_MODEL, CODEX_MODEL, DUMMY_KEY, PI_MODEL, chatgpt_login

Json = dict[str, Any]
PRICE = {"input": 1, "cached": 0.1, "output": 5}


@dataclass(frozen=True)
class Way:
    """`agent`: its kind and its name in the task. `most`: the bytes of overhead that a step may have. `api`: what Pi
    speaks. `more`: what else stands in the entry."""

    agent: str
    auth: str
    most: int
    environ: Json = field(default_factory=dict)
    api: str = ""
    more: Json = field(default_factory=dict)

    def entry(self, url: str, folder: Path) -> Json:
        """The agent's entry in a task; its model is the gateway at `url`, a login is made in `folder`."""
        entry: Json = {"kind": self.agent, "auth": self.auth, **self.more}
        if self.agent == "claude":
            return entry | {"model": CLAUDE_MODEL, "base_url": url, "options": {"cli": str(claude_binary())}}
        if self.agent == "pi":
            cli = {"cli": str(pi_script()), "node": str(node_binary()), "api": self.api}
            entry |= {"model": PI_MODEL, "base_url": self.base(url), "api_key_env": "MY_KEY"}
            return entry | {"price": PRICE, "options": cli}
        entry |= {"model": CODEX_MODEL, "base_url": f"{url}/v1", "price": PRICE}
        if self.auth == "subscription":
            login = folder / "login.json"
            login.write_text(json.dumps(chatgpt_login()))
            entry["auth_file"] = str(login)
        return entry | {"options": {"cli": str(codex_binary())}}

    def base(self, url: str) -> str:
        """The address that Pi is told, by what it speaks there."""
        return url if self.api == "anthropic-messages" else f"{url}/v1"


WAYS = {
    "claude, key": Way("claude", "api-key", 1100, {"ANTHROPIC_API_KEY": DUMMY_KEY}),
    "claude, subscription": Way("claude", "subscription", 2300, {"CLAUDE_CODE_OAUTH_TOKEN": DUMMY_KEY}),
    "codex, key": Way("codex", "api-key", 2000, {"CODEX_API_KEY": DUMMY_KEY}),
    "codex, login": Way("codex", "subscription", 2000),
    "codex, gateway": Way("codex", "gateway", 2000, {"CODEX_API_KEY": DUMMY_KEY}),
    "pi, chat": Way("pi", "gateway", 700, {"MY_KEY": DUMMY_KEY}, "openai-completions"),
    "pi, responses": Way("pi", "gateway", 700, {"MY_KEY": DUMMY_KEY}, "openai-responses"),
    "pi, messages": Way("pi", "gateway", 700, {"MY_KEY": DUMMY_KEY}, "anthropic-messages"),
}
