"""What each class of reply means, what the run does about it, what it costs, and whether another agent may do better.

The one table: the gate, the count of failures, the charge and the fallback read it, and docs/agents.md is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from contracts.outcomes import Outcome
from contracts.reply import ReplyClass

FORM = 'Reply with one JSON object: {"state_patch": …, "action": {"tool": …, "args": …}} and nothing else'
TRIES = 3
A_REST = 900.0  # seconds, where nobody says how long
# Seconds before an agent is asked again whose limit ended in the past: asked at once, it may say the same again.
OVERDUE = 120.0
# The longest limit of a plan is a week. What comes back later than that is for a person to decide.
LONGEST_WAIT = 8 * 86400.0


class Does(StrEnum):
    """What the run does about a reply."""

    JUDGE = "judged by the six layers"
    CORRECT = "corrected: the next prompt says what was wrong"
    RETRY = "asked again"
    WAIT = "waits for the reset"
    STOP = "stops"
    ASK = "stops, a person must act"


class Charged(StrEnum):
    """What a launch costs the budgets."""

    ASKED = "as reported; what is not reported, as reserved"
    REFUSED = "as reported; else nothing where it is known that the launch asked for no more"


class Cooldown(StrEnum):
    """How long an agent is left out while another one goes on. NEVER: no other agent can help, or may without a
    person's word."""

    NEVER = "–"
    RESET = "until the reset"
    REST = f"{A_REST / 60:g} minutes"
    RUN = "the rest of the run"


@dataclass(frozen=True)
class Rule:
    """A row. `ends` is the outcome with which a call ends: at once, after `tries` such launches in a row, or (CORRECT)
    after as many rejections in a row as `budgets.rejections`. `pause` is in seconds: before the second try, doubled
    before each further one, or where a limit does not say when it ends. `advice` is for the model where it is
    corrected, else for a person."""

    means: str
    does: Does
    ends: Outcome | None
    cooldown: Cooldown = Cooldown.NEVER
    charged: Charged = Charged.ASKED
    tries: int = 1
    pause: float = 0.0
    advice: str = ""

    def due(self, now: float, told: float | None) -> float:
        """When (UTC seconds) a limit is over that by its own words ends at `told`: after `now`, and never late."""
        if told is None:
            return now + self.pause
        return min(told, now + LONGEST_WAIT) if told > now else now + OVERDUE

    def left_out_until(self, now: float, reset: float | None) -> float | None:
        """Until when (UTC seconds) the agent that ended so is left out; None: for the rest of the run."""
        match self.cooldown:
            case Cooldown.RESET:
                return reset
            case Cooldown.REST:
                return now + A_REST
            case _:
                return None


def _again(means: str, pause: float = 0.0) -> Rule:
    return Rule(means, Does.RETRY, Outcome.failed, Cooldown.REST, tries=TRIES, pause=pause)


def _wrong(means: str, advice: str = FORM) -> Rule:
    return Rule(means, Does.CORRECT, Outcome.stuck, Cooldown.RUN, advice=advice)


def _setting(means: str, advice: str = "") -> Rule:
    return Rule(means, Does.STOP, Outcome.config_error, charged=Charged.REFUSED, advice=advice)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        ReplyClass.OK: Rule("a reply in the agreed form", Does.JUDGE, None, Cooldown.RUN),
        ReplyClass.INVALID: _wrong("there was a reply, but not in the agreed form"),
        ReplyClass.MISSING: _wrong("there was no transition in the reply"),
        ReplyClass.REFUSAL: _wrong("the model declined to answer", "Do what you can, or `ask`"),
        ReplyClass.SCHEMA_REFUSED: _setting(
            "the vendor refuses the schema of the reply", "`controller validate` looks at it offline"
        ),
        ReplyClass.AUTH: _setting("the credential is missing, expired or refused"),
        ReplyClass.LIMIT_WITH_RESET: Rule(
            "a limit that ends by itself",
            Does.WAIT,
            Outcome.waiting,
            Cooldown.RESET,
            Charged.REFUSED,
            pause=A_REST,
        ),
        ReplyClass.LIMIT_PERMANENT: Rule(
            "a cap that somebody set, or an account without money",
            Does.ASK,
            Outcome.blocked,
            Cooldown.RUN,
            Charged.REFUSED,
            advice="waiting does not help; when it is lifted: `controller run --retry`",
        ),
        ReplyClass.TRANSIENT: _again("trouble at the vendor, or too many requests at once", 30.0),
        ReplyClass.CONTEXT_TOO_LONG: Rule(
            "the prompt is longer than the model takes",
            Does.STOP,
            Outcome.stuck,
            Cooldown.RUN,
            advice="lower `limits:` in the task, or take a model with a larger context",
        ),
        ReplyClass.BUDGET: Rule("a cap of the agent's own is used up", Does.STOP, Outcome.budget_exhausted),
        ReplyClass.HANG: _again("no answer in time, or silence for too long"),
        ReplyClass.KILLED: _again("a signal that the controller did not send ended the process"),
        ReplyClass.CRASHED: _again("the process broke down"),
        ReplyClass.UNAVAILABLE: _again("the vendor can't be reached", 30.0),
        ReplyClass.MISCONFIGURED: _setting("the program, the model or a setting is wrong"),
        ReplyClass.UNKNOWN: _again("a failure that nobody has seen before"),
    }
)


def retried(cause: str) -> bool:
    """Whether a launch that ended so is one of the failures in a row after which a run halts."""
    rule = RULES.get(cause)
    return rule is not None and rule.does is Does.RETRY
