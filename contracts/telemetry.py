"""One number of the outside, held against what it must be: now, or for as long as is asked. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from contracts.base import Frozen
from contracts.ci import CiState
from contracts.live import ValueOptions
from contracts.text import line

AHEAD = 60.0  # seconds that a server's clock may be ahead of ours

Sample = tuple[float | None, float]  # UTC seconds, None where it is not known; the number


@dataclass(frozen=True)
class Judged:
    """`again` (UTC seconds): when it may say something else by itself."""

    state: CiState
    why: str
    value: float | None = None
    again: float | None = None


def at_pointer(body: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) names. Raises LookupError where there is nothing."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(body, list) and key.isascii() and key.isdigit() and (key == "0" or key[0] != "0"):
            if int(key) >= len(body):
                raise LookupError(f"nothing is at {pointer}")
            body = body[int(key)]
        elif isinstance(body, dict) and key in body:
            body = body[key]
        else:
            raise LookupError(f"nothing is at {pointer}")
    return body


def judge(found: Sequence[Sample], rule: ValueOptions, now: float, since: float | None) -> Judged:
    """What the samples say. `since` (UTC seconds) is when the rule was first seen to hold without a break, where it
    is one number that is looked at; None: it was not seen to hold before."""
    later = now + rule.poll
    if not found:
        return Judged("unknown", "there is no sample", again=later)
    times = [at for at, _ in found if at is not None]
    if rule.window is None or not times:
        value = found[-1][1]
        broken = [each for _, each in found if not rule.holds(each)]
        if broken:
            return Judged("failed", f"it is not {rule.wanted}", broken[-1])
        if rule.window is None:
            return Judged("passed", f"it is {rule.wanted}", value)
        return _lasting(value, rule, now, since)
    inside = [(at, each) for at, each in found if at is not None and now - rule.window <= at <= now + AHEAD]
    if not inside:
        return Judged("unknown", f"the newest sample is {now - max(times):,.0f} s old", again=later)
    newest = max(inside)[1]
    if broken := [each for _, each in inside if not rule.holds(each)]:
        return Judged("failed", f"{len(broken)} of {len(inside)} samples are not {rule.wanted}", broken[-1])
    if len(found) == 1:
        return _lasting(newest, rule, now, since)
    covered = now - min(times)
    if covered < rule.window * 0.9:  # the first sample of a window is seldom at its very edge
        return Judged(
            "pending", f"the samples go back {covered:,.0f} s only", newest, now + rule.window - covered
        )
    return Judged("passed", f"all {len(inside)} samples are {rule.wanted}", newest)


def _lasting(value: float, rule: ValueOptions, now: float, since: float | None) -> Judged:
    """One number that holds now: it must have been seen to hold for as long as is asked."""
    window = rule.window or 0.0
    began = now if since is None else min(since, now)
    if now - began < window:
        why = f"it holds since {now - began:,.0f} s, {window:g} s are asked for"
        return Judged("pending", why, value, began + window)
    return Judged("passed", f"it is {rule.wanted}", value)


class ValueReading(Frozen):
    """A number and what it says. `wanted` and `why` are our own words, `note` the outside's; `read` is False where
    nothing could be read."""

    kind: Literal["value"] = "value"
    name: str
    state: CiState
    why: str
    wanted: str
    value: float | None = None
    samples: int = 0
    note: str = ""
    not_before: float | None = None
    read: bool = True
    took: float = 0.0

    @property
    def said(self) -> str:
        """One line of ours."""
        value = "" if self.value is None else f"{self.value:g}: "
        return line(f"{self.state}: {value}{self.why}", 300)

    @property
    def text(self) -> str:
        return self.note

    def passes(self, head: str) -> bool:
        """Whether it is positive evidence; of no commit."""
        return self.state == "passed"
