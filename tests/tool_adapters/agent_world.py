"""Agents under test: real processes, a program that plays a recorded CLI, an own environment."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from contracts.dialects import compile_dialect
from contracts.reply import AgentReply, Prompt
from contracts.state import StateSchema
from contracts.task import AgentConfig
from tests.contracts.tools import ACTIONS
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import Graces, ProcessRunner

PROMPT = Prompt(1, "=== SKILL ===\nBe good.\n\n", "=== STATE ===\nx: 1\n")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NOW = datetime(2026, 11, 30, 8, 40, tzinfo=UTC).timestamp()
KEYS = {"ANTHROPIC_API_KEY": "dummy-key", "OPENAI_API_KEY": "dummy-key"}
HOSTILE = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_SSE_PORT": "1",
    "CLAUDE_CONFIG_DIR": "/nowhere",
    "CODEX_HOME": "/nowhere",
    "CODEX_SANDBOX": "seatbelt",
    "GIT_DIR": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "NODE_OPTIONS": "--require /nowhere",
    "MAX_STRUCTURED_OUTPUT_RETRIES": "9",
    "AWS_SECRET_ACCESS_KEY": "other-secret",
}
DIALECTS = {
    kind: compile_dialect(kind, StateSchema.builtin("coding"), ACTIONS)  # type: ignore[arg-type]
    for kind in ("merge", "strict")
}
FINISH = {"state_patch": {}, "action": {"tool": "finish", "args": {"summary": "done"}}}


def settings(
    folder: Path, kind: str, environ: Mapping[str, str] = KEYS, *, cli: Path | None = None, **config: Any
) -> AgentSettings:
    """Settings of one agent below `folder`; nothing of this machine but the PATH."""
    more = {name: config.pop(name) for name in ("worktree", "base_dir", "dialect") if name in config}
    dialect = more.pop("dialect", DIALECTS["strict" if kind == "codex" else "merge"])
    return AgentSettings(
        name="mine",
        config=AgentConfig(kind=kind, **config),
        dialect=dialect,
        runner=ProcessRunner(
            folder / "spool", graces=Graces(interrupt=0.3, terminate=0.3, sweep=0.2), disk_cap=20_000_000
        ),
        home=folder / "home",
        cwd=folder / "work",
        environ={"PATH": os.defpath, **environ},
        cli=cli,
        now=lambda: NOW,
        **more,
    )


def ask(agent: Any, prompt: Prompt = PROMPT) -> AgentReply:
    """One launch."""
    reply: AgentReply = anyio.run(agent.ask, prompt)
    return reply


class Player:
    """A program that notes how it was started, prints what it is told, and ends as it is told."""

    def __init__(self, folder: Path, stdout: str = "", stderr: str = "", end: str = "exit 0") -> None:
        self.folder = folder / "player"
        self.folder.mkdir(parents=True)
        self.path = self.folder / "cli"
        (self.folder / "out").write_text(stdout)
        (self.folder / "err").write_text(stderr)
        at = self.folder
        self.path.write_text(
            "#!/bin/sh\n"
            '[ "$1" = debug ] && exit 1\n'
            f"printf '%s\\0' \"$@\" > {at}/argv; env > {at}/env; pwd > {at}/cwd; ls -A > {at}/ls\n"
            f"cat > {at}/stdin\ncat {at}/err >&2\ncat {at}/out\n{end}\n"
        )
        self.path.chmod(0o755)

    def read(self, what: str) -> str:
        """`stdin`, `cwd`, `ls` of the last start."""
        return (self.folder / what).read_text()

    @property
    def argv(self) -> list[str]:
        return self.read("argv").split("\0")[:-1]

    @property
    def env(self) -> dict[str, str]:
        pairs = (line.partition("=") for line in self.read("env").splitlines())
        ours = ("SKILL_STATE_CHILD_", "PWD", "SHLVL", "OLDPWD", "_")
        return {
            name: value for name, _, value in pairs if not name.startswith(ours[0]) and name not in ours[1:]
        }


def login(
    path: Path, refresh: str = "rt-1", refreshed: str = "2026-11-30T08:00:00.000000Z"
) -> dict[str, Any]:
    """A ChatGPT login as `codex login` writes it, with tokens that no server knows."""
    claims = {
        "email": "someone@example.org",
        "https://api.openai.com/auth": {"chatgpt_plan_type": "plus", "chatgpt_account_id": "acc-1"},
    }
    tokens = {
        "id_token": _jwt(claims),
        "access_token": _jwt({"sub": "someone"}),
        "refresh_token": refresh,
        "account_id": "acc-1",
    }
    written = {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": "sk-beside",
        "tokens": tokens,
        "last_refresh": refreshed,
    }
    path.write_text(json.dumps(written))
    path.chmod(0o600)
    return written


def _jwt(claims: Mapping[str, Any]) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, {"exp": int(time.time()) + 30 * 86400, **claims})
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    return ".".join([*coded, "c2ln"])
