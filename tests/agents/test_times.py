"""When a limit ends: each amount, number, date and clock means what tests.agents.times says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.agents.times import AMOUNTS, BEFORE_AMOUNTS, CLOCKS, MONTHS, NO_TIMES, NOW, NUMBERS
from tool_adapters.agents.resets import reset_time

BERLIN = ZoneInfo("Europe/Berlin")


def lasts(said: str) -> float | None:
    """In seconds."""
    found = reset_time(said, NOW)
    return None if found is None else found - NOW


@pytest.mark.parametrize(("said", "seconds"), [*AMOUNTS.items()])
def test_an_amount(said: str, seconds: float) -> None:
    for before in BEFORE_AMOUNTS:
        assert lasts(f"{before} {said}.") == pytest.approx(seconds, abs=1e-6)
    assert lasts(f"TRY AGAIN IN {said.upper()}") == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(("said", "seconds"), NUMBERS.items())
def test_a_number(said: str, seconds: float) -> None:
    assert reset_time(said, NOW) == reset_time(said.upper(), NOW) == NOW + seconds


@pytest.mark.parametrize(("said", "clock"), CLOCKS.items())
def test_a_clock(said: str, clock: tuple[int, int, int]) -> None:
    day, hour, minute = clock
    ends = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=day - 1, hours=hour, minutes=minute)
    found = reset_time(said, NOW)
    assert found is not None and datetime.fromtimestamp(found, UTC).replace(second=0, microsecond=0) == ends


@pytest.mark.parametrize("month", MONTHS)
def test_a_month(month: str) -> None:
    ends = datetime(2026 if month == "December" else 2027, MONTHS.index(month) + 1, 28, 9, tzinfo=UTC)
    for name in (month, month[:3], month[:3].upper()):
        assert reset_time(f"resets {name} 28, 9am", NOW) == ends.timestamp()


@pytest.mark.parametrize("said", [line.strip() for line in NO_TIMES.strip().splitlines()])
def test_no_time(said: str) -> None:
    assert reset_time(said, NOW) is None


def test_where_no_zone_is_said_it_is_that_of_the_child() -> None:
    for said in ("resets at 15:00", "resets 3pm (Nowhere/City)", "regain access on 2026-11-30T15:00"):
        assert reset_time(said, NOW, BERLIN) == NOW + 5 * 3600 + 1200
    for zone in ("Z", " UTC", "+00:00", ":00.123Z", ":00.123+00:00"):
        assert reset_time(f"regain access on 2026-11-30T15:00{zone}", NOW, BERLIN) == NOW + 6 * 3600 + 1200


def test_what_is_far_off() -> None:
    assert reset_time("try again in 400 days", NOW) == NOW + 400 * 86400
    assert reset_time("regain access on 2026-11-29T08:40Z", NOW) == NOW - 86400
