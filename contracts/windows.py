"""Windows of the week in which something may be done: `mon-fri 22:00-06:00`, `sat,sun`, `9:00-17:30`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from contracts.units import invalid

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FORM = "expected days, hours or both, such as `mon-fri 22:00-06:00`, `sat,sun` or `22:00-06:00`"
_HOURS = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")
MIDNIGHT = 24 * 60  # minutes


def parsed(text: str) -> tuple[frozenset[int], int, int]:
    """(days of the week on which it opens, minute of the day when it opens, minute when it closes: beyond 1440 on the
    next day). Raises an error that reaches the user as it is."""
    days, begin, end = frozenset(range(7)), 0, MIDNIGHT
    words = text.lower().split()
    if not 1 <= len(words) <= 2:
        raise invalid(FORM)
    if hours := _HOURS.fullmatch(words[-1]):
        first, last = (int(hours[1]), int(hours[2])), (int(hours[3]), int(hours[4]))
        if max(first[1], last[1]) > 59 or max(first, last) > (24, 0):
            raise invalid(FORM)
        begin, end = first[0] * 60 + first[1], last[0] * 60 + last[1]
        end += MIDNIGHT if end <= begin else 0
        words.pop()
    if len(words) > 1:
        raise invalid(FORM)
    if words:
        days = frozenset(day for part in words[0].split(",") for day in _days(part))
    return days, begin, end


def _days(part: str) -> Iterator[int]:
    first, dash, last = part.partition("-")
    if first not in DAYS or (dash and last not in DAYS):
        raise invalid(FORM)
    begin = DAYS.index(first)
    length = (DAYS.index(last) - begin) % 7 if dash else 0
    yield from ((begin + offset) % 7 for offset in range(length + 1))


def _window(text: str) -> str:
    parsed(text)
    return text


Window = Annotated[str, StringConstraints(min_length=1, max_length=80), AfterValidator(_window)]
Zone = Annotated[str, StringConstraints(max_length=60, pattern=r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$")]
