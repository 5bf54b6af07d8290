"""Agents under test: real processes, a program that plays a recorded CLI, an own environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from contracts.agents import AgentConfig
from contracts.dialects import compile_dialect
from contracts.reply import AgentReply, Prompt
from contracts.state import StateSchema
from tests.agents.lean import chatgpt_login
from tests.contracts.tools import ACTIONS
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import Graces, ProcessRunner

PROMPT = Prompt(1, "=== SKILL ===\nBe good.\n\n", "=== STATE ===\nx: 1\n")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
EVERY_CHILD = {"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "NO_COLOR": "1"}
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
    if kind == "pi":
        config["options"] = {"node": str(shell_as_node(folder)), **config.get("options", {})}
    dialect = more.pop("dialect", DIALECTS["strict" if kind == "codex" else "merge"])
    runner = ProcessRunner(
        folder / "spool", graces=Graces(interrupt=0.3, terminate=0.3, sweep=0.2), disk_cap=20_000_000
    )
    return AgentSettings(
        name="mine",
        config=AgentConfig(kind=kind, **config),
        dialect=dialect,
        runner=runner,
        ahead=runner,
        home=folder / "home",
        cwd=folder / "work",
        environ={"PATH": os.defpath, **environ},
        cli=cli,
        now=lambda: NOW,
        **more,
    )


def shell_as_node(folder: Path) -> Path:
    """A Node that runs the script of a Player."""
    path = folder / "node"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v24.0.0 && exit\nexec /bin/sh "$@"\n')
        path.chmod(0o755)
    return path


def surround(folder: Path) -> dict[str, str]:
    """Makes `folder` a repository full of what agents like to read, with a home beside it that is full of it,
    too. Every such thing says LEAK. The environment that names that home."""
    hook = {"hooks": [{"type": "command", "command": f"touch {folder}/LEAK"}]}
    hooks = json.dumps({"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook], "Stop": [hook]}})
    server = json.dumps({"mcpServers": {"leak": {"command": "touch", "args": [f"{folder}/LEAK"]}}})
    toml = f'[mcp_servers.leak]\ncommand = "touch"\nargs = ["{folder}/LEAK"]\n'
    touch = (
        f'import {{ writeFileSync }} from "node:fs"; export default () => writeFileSync("{folder}/LEAK", "");'
    )
    user = folder / "user"
    for name, text in {
        "CLAUDE.md": "LEAK",
        "CLAUDE.local.md": "LEAK",
        "AGENTS.md": "LEAK",
        ".claude/settings.json": hooks,
        ".claude/commands/leak.md": "LEAK",
        ".mcp.json": server,
        ".codex/config.toml": toml,
        "user/.claude/CLAUDE.md": "LEAK",
        "user/.claude/settings.json": hooks,
        "user/.claude.json": server,
        "user/.codex/AGENTS.md": "LEAK",
        "user/.codex/config.toml": toml,
        "user/.codex/hooks.json": hooks,
        ".pi/SYSTEM.md": "LEAK",
        ".pi/settings.json": json.dumps({"sessionDir": f"{folder}/LEAK"}),
        ".pi/extensions/leak.ts": touch,
        "user/.pi/agent/AGENTS.md": "LEAK",
        "user/.pi/agent/extensions/leak.ts": touch,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ["git", "-c", "user.name=LEAK", "-c", "user.email=leak@example.org"]
    for words in (["init", "-q", "-b", "LEAK"], ["add", "."], ["commit", "-qm", "LEAK"]):
        subprocess.run([*git, *words], cwd=folder, env={"PATH": os.defpath, "HOME": str(user)}, check=True)
    return {"HOME": str(user), "CLAUDE_CONFIG_DIR": str(user / ".claude"), "CODEX_HOME": str(user / ".codex")}


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


def login(path: Path) -> dict[str, Any]:
    """A ChatGPT login as `codex login` writes it, an API key beside it, with tokens that no server knows."""
    beside = {"OPENAI_API_KEY": "sk-beside", "last_refresh": "2026-11-30T08:00:00Z"}
    written: dict[str, Any] = {**chatgpt_login(), **beside}
    path.write_text(json.dumps(written))
    path.chmod(0o600)
    return written
