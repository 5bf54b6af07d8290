"""The agents of task.yaml: which one makes the steps, and how each is started."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from contracts.base import Frozen, JsonObject
from contracts.forge import EnvName
from contracts.units import Argv, Duration, Many, Name, Text

Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class AgentChoice(Frozen):
    """Which agent makes the steps. `--agent NAME` replaces `use` for one run."""

    use: Name = Field(
        description="name of the agent: an entry of agents, or a built-in one with its defaults"
    )
    fallback: Many[Name] = Field(default=(), description="agents to switch to when switching can help")

    @property
    def chain(self) -> tuple[str, ...]:
        """All of them in their order."""
        return (self.use, *self.fallback)


class Price(Frozen):
    """USD per million tokens."""

    input: Money = Field(description="USD per million input tokens that were not cached")
    cached: Money = Field(description="USD per million cached input tokens")
    output: Money = Field(description="USD per million output tokens")


class AgentConfig(Frozen):
    """How one agent is started. An absent `kind` is the entry's own name."""

    kind: Name | None = Field(
        default=None,
        description="claude, codex, pi, gemini, opencode, qwen, openai-compatible, command, or an installed one",
    )
    model: Text | None = Field(default=None, description="model name as the agent's CLI takes it")
    auth: Literal["api-key", "subscription", "bedrock", "vertex", "gateway"] = Field(
        default="api-key", description="the only kind of credential that is handed to the agent"
    )
    token_env: EnvName | None = Field(default=None, description="variable that holds the subscription token")
    api_key_env: EnvName | None = Field(default=None, description="variable that holds the API key")
    auth_file: Text | None = Field(
        default=None,
        description="login file, copied into the run's own home; refreshed tokens are written back",
    )
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=2048)] | None = Field(
        default=None, description="address of a model gateway"
    )
    explore: Literal["none", "read-only", "delegate"] = Field(
        default="none",
        description="none: it only answers; read-only: it may look at the worktree; delegate: it edits by itself in a "
        "copy of the worktree, and hands in what it changed (docs/agents.md)",
    )
    timeout: Duration = Field(default=600.0, description="longest time of one launch")
    idle: Duration = Field(default=120.0, description="longest silence of one launch")
    prespawn: bool = Field(
        default=False,
        description="start the next step's process while this one acts and verifies (docs/agents.md)",
    )
    price: Price | None = Field(default=None, description="for agents that report tokens and not money")
    run: Argv | None = Field(
        default=None, description="kind command: argv; prompt on stdin, one transition on stdout"
    )
    options: JsonObject = Field(default_factory=dict, description="settings of an installed adapter")


def price_known(config: AgentConfig) -> bool:
    """Whether a launch's cost in USD can be known. `config` as from `Task.agent_config`. Claude Code reports
    money itself; every other agent needs `price`: an unknown cost is not zero."""
    return config.price is not None or config.kind == "claude"
