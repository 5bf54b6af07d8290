"""The real CLIs as they go on with a conversation: a process a message, the session kept in a home of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from contracts.dialects import Dialect
from contracts.ports import Ran, Runner
from contracts.reply import Prompt, ReplyClass
from tests.agents import claude_binary, codex_binary, node_binary, pi_script
from tests.agents.lean import CLAUDE_MODEL, CODEX_MODEL, DUMMY_KEY, PI_MODEL, run
from tests.gateway import Gateway
from tests.tool_adapters.real_agents import real
from tool_adapters.agents.claude import Claude
from tool_adapters.agents.codex import Codex
from tool_adapters.agents.pi.adapter import Pi

KINDS: dict[str, Any] = {"claude": Claude, "codex": Codex, "pi": Pi}
LIMIT = 120.0  # seconds of one launch
CODEX_CONFIG = """\
model = "{model}"
openai_base_url = "{url}/v1"
check_for_update_on_startup = false
[analytics]
enabled = false
"""
REPLY = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "action": {"type": "string"}},
    "required": ["thought", "action"],
    "additionalProperties": False,
}


class Default:
    """The plain command, in an empty folder with an empty home. Codex by its built-in provider, as it comes."""

    def __init__(self, folder: Path, cli: str, url: str) -> None:
        self._home, self._work, temporary = (folder / name for name in ("home", "work", "tmp"))
        for each in (self._home, self._work, temporary):
            each.mkdir(parents=True)
        self._argv: Callable[[bool], list[str]] = getattr(self, f"_{cli}")
        self._begun = False
        common = {"PATH": os.defpath, "LANG": "C.UTF-8", "TMPDIR": str(temporary), "HOME": str(self._home)}
        self._env = common | self._configured(cli, url)

    def say(self, message: str) -> str:
        """The answer to one message, as the command prints it. Raises RuntimeError."""
        done = run(self._argv(self._begun), self._work, self._env, message, LIMIT)
        self._begun = True
        if done.code:
            raise RuntimeError(f"{done.argv} ended with {done.code}: {done.stderr.decode()[-2000:]}")
        return done.stdout.decode().strip()

    def _configured(self, cli: str, url: str) -> dict[str, str]:
        """Where its model is, and what of its traffic would go elsewhere is off."""
        if cli == "claude":
            quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
            return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": DUMMY_KEY} | dict.fromkeys(quiet, "1")
        if cli == "codex":
            (self._home / "config.toml").write_text(CODEX_CONFIG.format(model=CODEX_MODEL, url=url))
            return {"CODEX_HOME": str(self._home), "CODEX_API_KEY": DUMMY_KEY}
        models = self._home / ".pi/agent/models.json"
        models.parent.mkdir(parents=True)
        endpoint = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": DUMMY_KEY}
        models.write_text(json.dumps({"providers": {"endpoint": {**endpoint, "models": [{"id": PI_MODEL}]}}}))
        return {"PI_OFFLINE": "1"}

    def _claude(self, again: bool) -> list[str]:
        return [str(claude_binary()), "-p", "--model", CLAUDE_MODEL, *(["--continue"] if again else [])]

    def _codex(self, again: bool) -> list[str]:
        resumed = ["resume", "--last"] if again else []
        return [str(codex_binary()), "exec", *resumed, "--skip-git-repo-check", "-"]

    def _pi(self, again: bool) -> list[str]:
        # The same words from the first message on: the session of this id is opened, or begun.
        words = ["-p", "--provider", "endpoint", "--model", PI_MODEL, "--session-id", "warehouse"]
        return [str(node_binary()), str(pi_script()), *words]


class Lean:
    """The product's own adapter; nothing is changed but the words of the command line that are about a session."""

    def __init__(self, folder: Path, cli: str, gateway: Gateway, system: str) -> None:
        dialect = Dialect("merge", REPLY, False, dict, dict)
        agent = real(folder, gateway, cli, dialect=dialect, prespawn=False)
        keeping: Any = Keeping(agent.settings.runner, cli)
        self._agent = KINDS[cli](replace(agent.settings, runner=keeping))
        self._agent.preflight()
        self._system, self._step = f"{system}\n\n", 0

    def say(self, message: str) -> str:
        """The answer to one message, as two lines. Raises RuntimeError."""
        self._step += 1
        reply = anyio.run(self._agent.ask, Prompt(self._step, self._system, message))
        if reply.cls is not ReplyClass.OK or reply.value is None:
            raise RuntimeError(f"message {self._step}: {reply.cls}: {reply.message}")
        return f"Thought: {reply.value['thought']}\nAction: {reply.value['action']}"


class Keeping:
    """ports.Runner: a launch keeps its session, and goes on with that of the launch before."""

    FORBIDS = {"claude": "--no-session-persistence", "codex": "--ephemeral", "pi": "--no-session"}
    GOES_ON = {"claude": ("--continue",), "codex": ("resume", "--last"), "pi": ("--continue",)}

    def __init__(self, runner: Runner, cli: str) -> None:
        self._runner, self._cli, self._begun = runner, cli, False

    async def run(self, argv: Sequence[str], **how: Any) -> Ran:
        if self.FORBIDS[self._cli] not in argv:  # a question to the CLI itself
            return await self._runner.run(argv, **how)
        words = [word for word in argv if word != self.FORBIDS[self._cli]]
        if self._begun:
            end = len(words) - (words[-1] == "-")  # the prompt from stdin is the last word
            words[end:end] = self.GOES_ON[self._cli]
        self._begun = True
        return await self._runner.run(words, **how)
