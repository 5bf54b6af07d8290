"""What `x-freshness` may say: how long an entry of the state holds. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic_core import PydanticCustomError

from contracts.units import seconds

FORMS = "`head` (until HEAD moves), `5 steps`, a duration such as `24h`, or `authority NAME` (while it says the same)"


@dataclass(frozen=True)
class FreshRule:
    """`amount` is of steps or seconds, `name` that of an authority."""

    kind: Literal["head", "steps", "time", "authority"]
    amount: float = 0.0
    name: str = ""


def rule_of(text: str) -> FreshRule | None:
    """The rule that a text states; None for none."""
    if text == "head":
        return FreshRule("head")
    if found := re.fullmatch(r"([1-9][0-9]{0,5}) steps?", text):
        return FreshRule("steps", float(found[1]))
    if found := re.fullmatch(r"authority ([a-z0-9][a-z0-9_-]{0,39})", text):
        return FreshRule("authority", name=found[1])
    try:
        return FreshRule("time", seconds(text))
    except PydanticCustomError:
        return None
