"""Which limit an agent speaks of: one that ends by itself, one that a person must lift, or too many requests at once.

The words decide where the vendor's types do not tell: 429 is said of all three. When a limit ends, `resets` reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from contracts.reply import ReplyClass
from contracts.reply_rules import LONGEST_WAIT
from tool_adapters.agents.resets import reset_time

# Typed words that say "some limit"; which one, the words of the channel must tell.
LIMIT_KINDS = frozenset({"rate_limit_error", "rate_limit", "rate_limit_exceeded"})
PLAN_KIND = "usage_limit_reached"

PAYS = "Whoever pays for the account can lift it, by adding credit"
ADMIN = "An admin of the organization can lift it"
OWNER = "An owner of the workspace can lift it"
ANYBODY = "Whoever owns the account can lift it"
LATE = "It ends by itself, but late; whoever owns the account can lift it"


@dataclass(frozen=True)
class Limit:
    """`reset`: UTC epoch seconds when it ends. `lifted_by`: who can end it, as a sentence, where waiting does not."""

    cls: ReplyClass
    reset: float | None = None
    lifted_by: str = ""


def _any(*wordings: str) -> re.Pattern[str]:
    return re.compile("|".join(wordings), re.I)


NOT_A_LIMIT = _any(r"not your usage limit")
# Caps that a person set, and accounts without money: waiting does not help. First match wins.
PERMANENT = (
    (_any(r"spend(ing)? cap set by the owner", r"workspace is out of credits"), OWNER),
    (
        _any(
            r"\bspend(ing)? (limit|cap)\b",
            r"\bmonthly (usage )?limit",
            r"group budget",
            r"disabled by your admin",
            r"service is disabled for your org",
            r"usage is paused for your org",
            r"limit is set to \$0",
            r"seat type doesn.t include",
            r"\borg(anization)? is out of usage",
        ),
        ADMIN,
    ),
    (
        _any(
            r"credit balance (is )?too low",
            r"requires? usage credits|(extra usage|usage credits) (is|are) required",
        ),
        PAYS,
    ),
    (_any(r"to use codex with your chatgpt plan, upgrade"), "You can lift it, by another plan"),
)
# Also said beside a reset time, which then counts.
NEEDS_A_PERSON = (
    (_any(r"contact your admin", r"ask your admin"), ADMIN),
    (_any(r"ask your workspace owner"), OWNER),
    (_any(r"out of (extra usage|usage credits|credits)"), PAYS),
)
# An account without money, unless it says when to try again: then it is the quota of a minute or a day.
QUOTA = _any(r"quota exceeded", r"exceeded your current quota")
PLAN_LIMIT = _any(
    r"usage limits?\b",
    r"hit your [\w'’, -]*limit",
    r"\b(5-hour|five-hour|weekly|daily|session) limit",
    r"limit reached\|",
)
RATE_LIMIT = _any(r"rate.?limit", r"too many requests", r"request rejected \(429\)", r"\blast status: 429\b")


def lifted_by(text: str) -> str:
    """Who can lift a limit that waiting does not, from the words in which it is said."""
    return _who(PERMANENT, text) or _who(NEEDS_A_PERSON, text) or (PAYS if QUOTA.search(text) else ANYBODY)


def limit_of(
    text: str, kinds: Collection[str], status: int | None, now: float, told: float | None = None
) -> Limit | None:
    """The limit that `text` speaks of; None when it speaks of none. `kinds`, `status` and `told`, when it ends, are
    what is said of it in types."""
    if NOT_A_LIMIT.search(text):
        return Limit(ReplyClass.TRANSIENT)
    limited = status == 429 or not LIMIT_KINDS.isdisjoint(kinds)
    rate, planned = bool(RATE_LIMIT.search(text)), PLAN_KIND in kinds or bool(PLAN_LIMIT.search(text))
    reset, asks = told or reset_time(text, now), _who(NEEDS_A_PERSON, text)
    quota = bool(QUOTA.search(text))
    if who := _who(PERMANENT, text) or (PAYS if quota and reset is None else ""):
        return Limit(ReplyClass.LIMIT_PERMANENT, reset, who)
    if reset is not None and (limited or rate or planned or asks or quota):
        if reset > now + LONGEST_WAIT:
            return Limit(ReplyClass.LIMIT_PERMANENT, reset, LATE)
        return Limit(ReplyClass.LIMIT_WITH_RESET, reset)
    if asks and "try again later" not in text.lower():
        return Limit(ReplyClass.LIMIT_PERMANENT, lifted_by=asks)
    if planned:
        return Limit(ReplyClass.LIMIT_WITH_RESET)
    return Limit(ReplyClass.TRANSIENT) if rate or limited else None


def _who(table: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str:
    return next((who for wording, who in table if wording.search(text)), "")
