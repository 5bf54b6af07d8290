"""What is sent to an agent and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from contracts.base import Frozen, JsonObject
from contracts.submitted import Submitted

LOST = "launch lost: charged as reserved"  # the verdict on a launch that no reply was recorded of

AHEAD = "ahead"  # among the durations of an audit row: AgentReply.ahead


class ReplyClass(StrEnum):
    """How a launch ended. `contracts.reply_rules` says what each means for the run."""

    OK = "ok"
    INVALID = "invalid_reply"
    MISSING = "missing_reply"
    REFUSAL = "refusal"
    SCHEMA_REFUSED = "schema_refused"
    AUTH = "auth"
    LIMIT_WITH_RESET = "limit_with_reset"
    LIMIT_PERMANENT = "limit_permanent"
    TRANSIENT = "transient"
    CONTEXT_TOO_LONG = "context_too_long"
    BUDGET = "budget"
    HANG = "hang"
    KILLED = "killed"
    CRASHED = "crashed"
    UNAVAILABLE = "unavailable"
    MISCONFIGURED = "misconfigured"
    UNKNOWN = "unknown"


class Usage(Frozen):
    """Tokens as the agent reported them; None = not reported, which is not zero. Money in micro-USD."""

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    usd_micro: int | None = None


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt. `stable` is byte-identical in every step of a run, `volatile` is the rest; an agent
    reads `stable + volatile`. `sections` are (name, bytes) in order, `bound` the token bound bytes/2, `at` the
    UTC seconds of the readings that it shows."""

    step: int
    stable: str
    volatile: str
    sections: tuple[tuple[str, int], ...] = field(default=())
    at: float = 0.0

    @property
    def text(self) -> str:
        return self.stable + self.volatile

    @property
    def bytes(self) -> int:
        return len(self.text.encode("utf-8", "surrogatepass"))

    @property
    def bound(self) -> int:
        return (self.bytes + 1) // 2


class AgentProfile(Frozen):
    """Who answers and who pays. `credential`: `api-key`, `subscription`, `gateway`, `none`… as used."""

    name: str
    kind: str
    model: str = ""
    dialect: Literal["merge", "strict"] = "merge"
    reasoning: bool = False
    credential: str = "none"
    version: str = ""


class AgentReply(Frozen):
    """What an adapter made of its process, in the agent's dialect.

    value       the structured reply when class is ok, else None.
    text        the agent's final text or the raw reply, at most 64 KiB, for the audit and for diagnosis.
    message     why it failed: one sentence, from the agent's own error channel, what to do included.
    not_before  UTC epoch seconds when a limit says when it resets.
    requests    requests that the launch made at most, each after one that was refused (None = not known: an agent with
                tools of its own asks as often as it likes). took in seconds.
    submitted   what it changed by itself, of an agent with `explore: delegate`.
    notices     what the user should know of how it was started.
    ahead       seconds that its process, started ahead, had waited for its prompt; 0 of one that was started for it
                although the next one is started ahead; None of an agent none of whose processes is.
    """

    cls: ReplyClass
    value: JsonObject | None = None
    text: str = ""
    message: str = ""
    usage: Usage = Usage()
    not_before: float | None = None
    requests: int | None = None
    survivors: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    ahead: float | None = None
    took: float = 0.0
    submitted: Submitted | None = None


class Reply(Frozen):
    """An AgentReply decoded to the canonical transition. `problems` says what could not be decoded."""

    agent: AgentProfile
    raw: AgentReply
    transition: JsonObject | None = None
    problems: tuple[str, ...] = ()
