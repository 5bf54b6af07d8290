"""Windows of the week: what is open when, over midnight, over a change of the clock, and what is no window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from pydantic import TypeAdapter, ValidationError

from contracts.errors import ConfigError
from contracts.windows import Window, Zone
from reconcilers.schedule import opens, zone_of

UTC_ = ZoneInfo("UTC")


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("window", "now", "opening"),
    [
        ("22:00-06:00", "2026-03-02T21:59", "2026-03-02T22:00"),
        ("22:00-06:00", "2026-03-02T22:00", None),
        ("22:00-06:00", "2026-03-03T05:59", None),
        ("22:00-06:00", "2026-03-03T06:00", "2026-03-03T22:00"),
        ("fri 22:00-06:00", "2026-03-07T05:00", None),  # Saturday morning belongs to Friday's window
        ("fri 22:00-06:00", "2026-03-08T05:00", "2026-03-13T22:00"),
        ("sat,sun", "2026-03-06T12:00", "2026-03-07T00:00"),
        ("sat,sun", "2026-03-08T23:59", None),
        ("sat-mon", "2026-03-09T08:00", None),
        ("sat-mon", "2026-03-10T00:00", "2026-03-14T00:00"),
        ("MON-FRI 9:00-17:30", "2026-03-02T17:30", "2026-03-03T09:00"),
        ("0:00-24:00", "2028-02-29T23:59", None),
    ],
)
def test_open_or_when(window: str, now: str, opening: str | None) -> None:
    assert opens([window], UTC_, at(now)) == (at(opening) if opening else None)


def test_one_of_several_is_enough_and_none_is_always() -> None:
    now = at("2026-03-02T12:00")
    assert opens([], UTC_, now) is None
    assert opens(["sat", "mon"], UTC_, now) is None
    assert opens(["sat", "wed"], UTC_, now) == at("2026-03-04T00:00")


def test_the_hours_are_those_of_the_zone_also_when_its_clock_changes() -> None:
    for day in ("2026-01-15", "2026-07-15"):
        opening = opens(["20:00-21:00"], ZoneInfo("Europe/Berlin"), at(f"{day}T12:00"))
        assert opening == at(f"{day}T20:00", "Europe/Berlin")
    spring = opens(
        ["2:30-4:00"], ZoneInfo("Europe/Berlin"), at("2026-03-29T00:00")
    )  # 2:30 is skipped that night
    assert spring is not None and spring < at("2026-03-29T02:00")


def test_every_hour_of_a_year_is_open_or_opens_within_a_week() -> None:
    now, windows = datetime(2026, 1, 1, tzinfo=UTC), ["tue 3:00-4:00"]
    seen = 0
    for _ in range(366 * 24):
        when = opens(windows, ZoneInfo("America/New_York"), now.timestamp())
        seen += when is None
        assert when is None or 0 < when - now.timestamp() <= 7 * 86400 + 3600
        now += timedelta(hours=1)
    assert seen == 52


@pytest.mark.parametrize(
    "text", ["", "noon", "mon fri", "25:00-26:00", "9:00-17:60", "mon-", "mon-fri 9-17", "sat sun 1:00-2:00"]
)
def test_what_is_no_window(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Window).validate_python(text)


def test_zones() -> None:
    assert zone_of(TypeAdapter(Zone).validate_python("UTC")).key == "UTC"
    for text in ("../etc/passwd", "/etc/localtime", "a b"):
        with pytest.raises(ValidationError):
            TypeAdapter(Zone).validate_python(text)
    with pytest.raises(ConfigError, match="no time zone that this machine knows"):
        zone_of("Mars/Olympus")
