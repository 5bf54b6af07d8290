"""When a window of the week is open, in its zone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from contracts.errors import ConfigError
from contracts.windows import MIDNIGHT, parsed


def zone_of(name: str) -> ZoneInfo:
    """Raises ConfigError for a zone that this machine does not know."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ConfigError(
            f"forge.caps.timezone: {name!r} is no time zone that this machine knows",
            hint="a name such as Europe/Berlin, or UTC; `pip install tzdata` where the system has none",
        ) from None


def opens(windows: Sequence[str], here: ZoneInfo, at: float) -> float | None:
    """None while one of the windows is open at `at` (UTC seconds), or there are none; else when the next one opens."""
    if not windows:
        return None
    today = datetime.fromtimestamp(at, here).date()
    ahead: list[float] = []
    for text in windows:
        days, begin, end = parsed(text)
        for offset in range(-1, 9):
            day = today + timedelta(days=offset)
            if day.weekday() in days:
                first, last = _moment(day, begin, here), _moment(day, end, here)
                if first <= at < last:
                    return None
                ahead += [first] if first > at else []
    return min(ahead)


def _moment(day: date, minute: int, zone: ZoneInfo) -> float:
    day += timedelta(days=minute // MIDNIGHT)
    minute %= MIDNIGHT
    return datetime.combine(day, time(minute // 60, minute % 60), zone).timestamp()
