"""The real agent binaries that tests drive: pinned, installed by `scripts/agents`, never the user's own."""

from tests.agents.binaries import claude_binary, codex_binary, pinned_version

__all__ = ["claude_binary", "codex_binary", "pinned_version"]
