"""The real agent binaries that tests drive: pinned, installed by `scripts/agents`, never the user's own."""

from tests.agents.binaries import claude_binary, codex_binary, node_binary, pi_script, pinned_version

__all__ = ["claude_binary", "codex_binary", "node_binary", "pi_script", "pinned_version"]
