"""The real CLIs behind the presets, each launched by its adapter against the loopback gateway."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from contracts.reply import AgentReply, Prompt
from tests.agents.binaries import ROOT
from tests.agents.others.recorded import Recorder
from tests.gateway import Answer, Gateway, Policy, Recorded, Script
from tests.tool_adapters.agent_world import ask, settings
from tool_adapters.agents.preset import Gemini, Opencode, PresetAgent, Qwen

KINDS: dict[str, type[PresetAgent]] = {"gemini": Gemini, "opencode": Opencode, "qwen": Qwen}
# All that a CLI could rewrite, expand or run.
PROMPT = Prompt(
    1,
    "=== SKILL ===\nBe good. ${PATH} {env:PATH} {file:/etc/hostname} @/etc/hostname\n\n",
    "=== STATE ===\nx: 1\n@pytest.fixture\ndef f(): ...  # a@b.example @. @./ @../ !{ls} /help é “q”\n\ttab\n",
)


@cache
def installed() -> dict[str, Path]:
    """`scripts/presets` run once: a path by name, `node` a folder."""
    done = subprocess.run(
        [ROOT / "scripts/presets"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return {name: Path(path) for name, path in (line.split(" ", 1) for line in done.stdout.splitlines())}


def programs() -> Path:
    """The folder in which they are installed."""
    path = installed()["gemini"]
    return next(parent for parent in path.parents if parent.name == "node_modules").parent


@dataclass
class Launch:
    """One launch: its reply, how its process ended, and every request that came."""

    reply: AgentReply
    recorder: Recorder
    requests: list[Recorded]
    agent: PresetAgent

    @property
    def asked(self) -> list[Recorded]:
        return [request for request in self.requests if request.api != "other"]


def launch(
    folder: Path,
    kind: str,
    policy: Policy | Answer | None,
    prompt: Prompt = PROMPT,
    environ: dict[str, str] | None = None,
    **config: Any,
) -> Launch:
    """One launch of a real CLI. `policy` None: nothing listens where it is sent. Any other host than the gateway would
    be asked for through the gateway as a proxy, and so be seen."""
    answers = policy if callable(policy) else Script([policy or {}], repeat_last=True)
    with Gateway(answers, strict=False) as gateway:
        proxy = {"HTTPS_PROXY": gateway.url, "HTTP_PROXY": gateway.url, "NO_PROXY": "127.0.0.1,localhost"}
        path = f"{installed()['node']}{os.pathsep}{os.defpath}"
        base = gateway.url if kind == "gemini" else gateway.url_openai
        made = settings(
            folder,
            kind,
            {"MY_KEY": "dummy-key", **proxy, **(environ or {}), "PATH": path},
            cli=installed()[kind],
            auth="gateway",
            api_key_env="MY_KEY",
            base_url=base if policy is not None else f"http://127.0.0.1:{closed_port()}",
            model="fake-1",
            **config,
        )
        recorder = Recorder(made.runner)
        agent = KINDS[kind](replace(made, runner=recorder))
        assert agent.preflight() == []
        return Launch(ask(agent, prompt), recorder, gateway.requests, agent)


def closed_port() -> int:
    """A loopback port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
