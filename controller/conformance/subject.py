"""The agent under test: pointed at the loopback, with a dummy key, amid things that it must leave alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.agents import AgentConfig
from contracts.base import JsonObject
from contracts.dialects import Dialect, compile_dialect
from contracts.errors import ConfigError
from contracts.grammar import specs
from contracts.ports import Agent, Runner
from contracts.state import StateSchema
from tool_adapters.agents.settings import AgentSettings

KEY_NAME = "SKILL_STATE_CONFORMANCE_KEY"
KEY = "dummy-key-of-the-conformance-suite"
SECRET = "canary-that-no-child-may-see"
LEAK = "MEMORY-FILE-THAT-NOBODY-ASKED-FOR"
# What a `base_url` ends in, by the API that is spoken there.
PATHS = {"messages": "", "generate": "", "responses": "/v1", "chat": "/v1"}
PROGRAM = Path(__file__).with_name("program.py")

SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["phase", "done"],
    "properties": {
        "phase": {"type": "string", "enum": ["look", "change", "finish"]},
        "done": {"type": "integer", "minimum": 0, "maximum": 999},
        "notes": {
            "type": "object",
            "maxProperties": 8,
            "propertyNames": {"type": "string", "maxLength": 20},
            "additionalProperties": {"type": "string", "maxLength": 200},
        },
    },
}
TRANSITION: JsonObject = {
    "state_patch": {"phase": "finish", "done": 3, "notes": {"a1": "moved “whole”\n\\ to C:\\new"}},
    "action": {"tool": "finish", "args": {"summary": "done"}},
}
# Credentials of others, and markers of an enclosing session: what a shell has, and no agent may be given.
CANARIES = (
    *(
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CODEX_API_KEY",
        "OPENAI_API_KEY",
    ),
    *(
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "NPM_TOKEN",
        "DATABASE_URL",
    ),
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "PYTHONPATH", "NODE_PATH", "GIT_DIR"),
)
# What the known CLIs take in by themselves: of the folder they start in and those above it, and of a home.
MEMORY = (
    *(
        "AGENTS.md",
        "CLAUDE.md",
        "CLAUDE.local.md",
        "GEMINI.md",
        "QWEN.md",
        ".pi/SYSTEM.md",
        ".claude/commands/leak.md",
    ),
    *(
        "{user}/.claude/CLAUDE.md",
        "{user}/.codex/AGENTS.md",
        "{user}/.pi/agent/AGENTS.md",
        "{user}/.pi/agent/SYSTEM.md",
    ),
    *("{user}/.gemini/GEMINI.md", "{user}/.qwen/QWEN.md", "{user}/.config/opencode/AGENTS.md"),
)


@dataclass(frozen=True)
class Place:
    """The folders of a suite below `root`: the agent's own home, the folder that its empty ones lie in (of what looks
    like a repository), the caller's home."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def cwd(self) -> Path:
        return self.root / "repository" / "empty"

    @property
    def user(self) -> Path:
        return self.root / "user"

    def make(self) -> None:
        """Makes them, full of memory files that say LEAK."""
        repository = self.cwd.parent
        for folder in ("objects", "refs"):
            (repository / ".git" / folder).mkdir(parents=True)
        (repository / ".git/HEAD").write_text(f"ref: refs/heads/{LEAK}\n")
        for name in MEMORY:
            path = repository / name.replace("{user}", str(self.user))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{LEAK}\n")
        self.cwd.mkdir()


@dataclass(frozen=True)
class Subject:
    """One kind of agent with its settings. `config` is the task's entry, or that of an agent without one; `cli` another
    binary than it names. `dialect`, `reply` are what it is asked by, and the right answer in it."""

    name: str
    kind: Any
    config: AgentConfig
    base_dir: Path = field(default_factory=Path.cwd)
    cli: Path | None = None

    @property
    def settings(self) -> AgentConfig:
        """The entry as it is tested: without exploring. A program of the suite's own stands in where kind command has
        no `run:`."""
        config = self.config.model_copy(update={"explore": "none", "prespawn": False})
        if self.kind.kind == "command" and not config.run and not config.options:
            names: list[Any] = ["OPENAI_BASE_URL", "OPENAI_API_KEY"]
            run = (sys.executable, str(PROGRAM))
            config = config.model_copy(update={"run": run, "options": {"env": names}})
        return config

    @property
    def dialect(self) -> Dialect:
        kind = self.kind
        allowed = specs(("read_files", "finish"), {})
        return compile_dialect(
            kind.dialect_kind, StateSchema(SCHEMA), allowed, reasoning=not kind.native_reasoning
        )

    @property
    def reply(self) -> JsonObject:
        return self.dialect.encode(TRANSITION)

    @property
    def at_loopback(self) -> bool:
        """Whether it can be pointed at another address than its vendor's."""
        return self.pointed("http://127.0.0.1:1") is not None

    @property
    def mode(self) -> str:
        """How it is asked, as the facts of a version are sorted by: the kind of credential that the dummy stands for,
        and the API where the kind speaks several."""
        pointed = self.pointed("http://127.0.0.1:1")
        if pointed is None:
            return "none"
        several = callable(getattr(self.kind, "wire", None))
        return f"{pointed[0].auth}, {self._wire}" if several else pointed[0].auth

    @property
    def _wire(self) -> Any:
        """The API that the kind names, by its configuration where it speaks several."""
        wire = getattr(self.kind, "wire", None)
        return wire(self.settings) if callable(wire) else wire

    def pointed(self, url: str) -> tuple[AgentConfig, Mapping[str, str]] | None:
        """Its settings and variables with `url` (no path) in the place of its vendor's address."""
        point = getattr(self.kind, "pointed", None)
        if point is not None:
            made: tuple[AgentConfig, Mapping[str, str]] | None = point(self.settings, url, KEY)
            return made
        wire = self._wire
        if wire is None:
            return None
        if wire not in PATHS:
            raise ConfigError(f"agent {self.name}: `wire` is one of {', '.join(PATHS)}, not {wire!r}")
        # A login is a file of its own, and a cloud signs for its own address: a key stands in for both.
        subscription = self.config.auth == "subscription" and self.config.auth_file is None
        update = {
            "auth": "subscription" if subscription else "api-key",
            "token_env": KEY_NAME if subscription else None,
            "api_key_env": None if subscription else KEY_NAME,
            "auth_file": None,
            "base_url": url + PATHS[wire],
            "model": self.config.model or ("any-model" if getattr(self.kind, "needs_model", False) else None),
        }
        return self.settings.model_copy(update=update), {KEY_NAME: KEY}

    def agent(self, place: Place, runner: Runner, url: str, timeout: float) -> Agent:
        """The adapter, asked at `url`, each launch ended after `timeout` seconds from outside (and no sooner from
        inside)."""
        config, named = self.pointed(url) or (self.settings, self._dummies())
        environ = dict.fromkeys(CANARIES, SECRET)
        environ |= {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(place.user), "LANG": "C.UTF-8"}
        made: Agent = self.kind(
            AgentSettings(
                name=self.name,
                config=config.model_copy(update={"timeout": timeout, "idle": 900.0}),
                dialect=self.dialect,
                runner=runner,
                home=place.home,
                cwd=place.cwd,
                environ=environ | dict(named),
                cli=self.cli,
                base_dir=self.base_dir,
            )
        )
        return made

    def _dummies(self) -> Mapping[str, str]:
        """What a program that can't be pointed elsewhere is given for the variables that it names."""
        names = self.config.options.get("env", [])
        return {str(name): KEY for name in names} if isinstance(names, list) else {}
