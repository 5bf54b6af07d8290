"""When a limit resets, read from the words in which agents say it. Pure: the present arrives as `now`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

DAY = 86400.0
# A clock time that has just passed means "now"; without this, a launch that ends a minute late waits a day.
JUST_PASSED = 600.0
LONGEST = 400 * DAY

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY}
_AMOUNT = (
    r"\d+(?:\.\d+)? ?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
)
_WITHIN = re.compile(
    rf"(?:try again|retry|available(?: again)?|reset\w*|regain access) (?:in|after) ((?:{_AMOUNT},? ?(?:and )?)+)",
    re.I,
)
_RETRY_AFTER = re.compile(r"retry[-_ ]after[\"']?[:=]? ?(\d+)\b", re.I)
_PART = re.compile(_AMOUNT, re.I)
_EPOCH = re.compile(r"(?:\||resets?(?:[_ ]?at)?[\"']?[:=]? ?|until )(1\d{9}|1\d{12})(?!\d)", re.I)
# A date is when a limit ends only where that is said of it: there are dates in names of models and in logs too.
_ISO = re.compile(
    r"(?:\breset\w*|try again|\bretry|available|regain access|until|after)(?: again)?"
    r"[\"']?[:=]?(?: (?:at|on|after))? ?[\"']?"
    r"\b(20\d\d)-(\d\d)-(\d\d)(?:(?:T| at | )(\d\d):(\d\d)(?::\d\d)?(?:\.\d+)?)?"
    r" ?(?:(Z|UTC)|([+-]\d\d):?(\d\d))?",
    re.I,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LEAD = r"(?:resets?|try again|available again|regain access)(?: (?:at|on))?"
_DATE = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>20\d\d))?"
_TIME = (
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?!\d))"
)
_ZONE = r"(?: ?\((?P<zone>[a-z]+(?:/[a-z_+\-0-9]+)*)\))?"
_CLOCK = re.compile(rf"{_LEAD} (?:{_DATE}(?:,| at)? )?{_TIME}{_ZONE}", re.I)
_ON_DATE = re.compile(rf"{_LEAD} {_DATE}{_ZONE}", re.I)


def reset_time(text: str, now: float, zone: tzinfo = UTC) -> float | None:
    """UTC epoch seconds at which `text`, one line with single spaces, says that the limit ends, or None.

    Clock times without a zone of their own are read in `zone` (the child's TZ). Known forms: an epoch after a
    bar (`limit reached|1736722800`), `in 5 days 3 hours`, `retry-after: 30`, an ISO date, `resets 3pm
    (Europe/Berlin)`, `resets at 15:00`, `resets Oct 6, 1pm`, `try again at Nov 30th, 2026 3:05 PM`. A time that
    can't be one (before yesterday, more than 400 days away) counts as none.
    """
    for read in (_epoch, _within, _iso, _clock):
        found = read(text, now, zone)
        if found is not None and now - DAY <= found <= now + LONGEST:
            return found
    return None


def _epoch(text: str, now: float, zone: tzinfo) -> float | None:
    match = _EPOCH.search(text)
    if match is None:
        return None
    value = float(match[1])
    return value / 1000 if value > 1e11 else value


def _within(text: str, now: float, zone: tzinfo) -> float | None:
    if match := _WITHIN.search(text):
        return now + sum(_seconds(part) for part in _PART.findall(match[1]))
    if match := _RETRY_AFTER.search(text):
        return now + float(match[1])
    return None


def _seconds(part: str) -> float:
    amount, unit = re.match(r"([\d.]+)\s*([a-z]+)", part.lower()).groups()  # type: ignore[union-attr]
    return float(amount) * _UNITS["ms" if unit.startswith(("ms", "milli")) else unit[0]]


def _iso(text: str, now: float, zone: tzinfo) -> float | None:
    match = _ISO.search(text)
    if match is None:
        return None
    year, month, day, hour, minute, utc, hours, minutes = match.groups()
    if hours:
        zone = timezone(timedelta(hours=int(hours), minutes=int(hours[0] + minutes)))
    try:
        when = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), tzinfo=UTC if utc else zone
        )
    except ValueError:
        return None
    return when.timestamp()


def _clock(text: str, now: float, zone: tzinfo) -> float | None:
    match = _CLOCK.search(text) or _ON_DATE.search(text)
    if match is None:
        return None
    part = match.groupdict()
    try:
        where = ZoneInfo(part["zone"]) if part["zone"] else zone
    except (KeyError, ValueError, OSError):
        where = zone
    today = datetime.fromtimestamp(now, where).date()
    try:
        at = _time(part)
        if not part["month"]:
            found = _ahead(today, at, where, now)
            return found if found > now - JUST_PASSED else _ahead(today + timedelta(days=1), at, where, now)
        month = _MONTHS.index(part["month"].lower()) + 1
        day = date(int(part["year"] or today.year), month, int(part["day"]))
        found = _ahead(day, at, where, now)
        if not part["year"] and found < now - DAY:
            found = _ahead(day.replace(year=day.year + 1), at, where, now)
        return found
    except ValueError:
        return None


def _time(part: Mapping[str, str | None]) -> time:
    """The time of day that was said; midnight where none was. Raises ValueError."""
    if part.get("hour24"):
        return time(int(part["hour24"] or 0), int(part["minute24"] or 0))
    if not part.get("hour"):
        return time()
    if not 1 <= (hour := int(part["hour"] or 0)) <= 12:
        raise ValueError("no hour of a clock with twelve")
    afternoon = 12 if (part["half"] or "").lower() == "p" else 0
    return time(hour % 12 + afternoon, int(part.get("minute") or 0))


def _ahead(day: date, at: time, where: tzinfo, now: float) -> float:
    """The moment when clocks in `where` show `at` on `day`. Where they do twice, because they are set back: the first
    of the two that is not over."""
    first, second = (datetime.combine(day, at.replace(fold=fold), where).timestamp() for fold in (0, 1))
    return second if first <= now - JUST_PASSED < second else first
