"""What a classifier does whatever is said (what that means: tests/agents/meanings.py), and when limits end."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.reply import ReplyClass
from tool_adapters.agents.classify import Signals, classify
from tool_adapters.agents.resets import reset_time

NOW = datetime(2026, 11, 30, 8, 40, tzinfo=UTC).timestamp()


def test_never_ok_and_the_agent_is_quoted() -> None:
    assert "the gremlins" in classify(Signals(channel="the \x1b[31mgremlins\x1b[0m\nare back"), NOW).message
    assert all(classify(Signals((kind,)), NOW).cls is not ReplyClass.OK for kind in ("", "ok", "success"))


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_server_error_is_no_limit_whatever_it_says(status: int) -> None:
    assert classify(Signals((), status, "usage limit reached|1796040000"), NOW).cls is ReplyClass.TRANSIENT


@pytest.mark.parametrize(
    ("now", "said", "resets"),
    [
        # Clocks in Berlin show 02:30 twice, at 00:30 and at 01:30 UTC, when summer ends.
        ("2026-10-24T22:00Z", "resets 2:30am (Europe/Berlin)", "2026-10-25T00:30Z"),
        ("2026-10-25T00:25Z", "resets 2:30am (Europe/Berlin)", "2026-10-25T00:30Z"),
        ("2026-10-25T00:39Z", "resets 2:30am (Europe/Berlin)", "2026-10-25T00:30Z"),
        ("2026-10-25T00:40Z", "resets 2:30am (Europe/Berlin)", "2026-10-25T01:30Z"),
        ("2026-10-25T00:50Z", "resets 2:30am (Europe/Berlin)", "2026-10-25T01:30Z"),
        ("2026-10-25T01:50Z", "resets 2:30am (Europe/Berlin)", "2026-10-26T01:30Z"),
        ("2026-10-25T00:50Z", "resets Oct 25, 2:30am (Europe/Berlin)", "2026-10-25T01:30Z"),
        ("2026-10-24T20:00Z", "resets 3pm (Europe/Berlin)", "2026-10-25T14:00Z"),
        # They never show it when summer begins: it is what the clock before the change would have shown.
        ("2027-03-27T22:00Z", "resets 2:30am (Europe/Berlin)", "2027-03-28T01:30Z"),
        ("2027-03-27T20:00Z", "resets 3pm (Europe/Berlin)", "2027-03-28T13:00Z"),
        ("2026-11-01T04:00Z", "resets 1:30am (America/New_York)", "2026-11-01T05:30Z"),
        ("2026-11-01T05:45Z", "resets 1:30am (America/New_York)", "2026-11-01T06:30Z"),
        ("2026-11-30T23:30Z", "resets 1am (Asia/Tokyo)", "2026-12-01T16:00Z"),  # its date is not ours
    ],
)
def test_clocks_are_set_back_and_forward(now: str, said: str, resets: str) -> None:
    at = datetime.fromisoformat(now).timestamp()
    assert reset_time(said, at) == datetime.fromisoformat(resets).timestamp()


@given(
    now=st.integers(1796000000, 1860000000),
    zone=st.sampled_from(
        ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
    ),
    minute=st.integers(0, 1439),
)
def test_a_clock_time_is_the_next_such_moment(now: int, zone: str, minute: int) -> None:
    found = reset_time(f"resets at {minute // 60}:{minute % 60:02} ({zone})", float(now))
    assert found is not None and now - 600 < found <= now + 26 * 3600
    there = datetime.fromtimestamp(found, ZoneInfo(zone))
    skipped = datetime.fromtimestamp(found - 3600, ZoneInfo(zone)).utcoffset() != there.utcoffset()
    assert skipped or there.hour * 60 + there.minute == minute


def test_year_turns() -> None:
    new_year = datetime(2026, 12, 31, 23, 0, tzinfo=UTC).timestamp()
    assert reset_time("resets Jan 1, 1am (UTC)", new_year) == new_year + 7200
