"""What a classifier does whatever is said (the wordings: tests/agents/fixtures/classes), when limits end, and how a
process ends by itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from contracts.ports import Captured, Ran
from contracts.reply import ReplyClass
from tool_adapters.agents.classify import Signals, classify, ended_badly
from tool_adapters.agents.resets import reset_time

NOW = datetime(2026, 11, 30, 8, 40, tzinfo=UTC).timestamp()


def test_never_ok_and_the_agent_is_quoted() -> None:
    assert "the gremlins" in classify(Signals(channel="the \x1b[31mgremlins\x1b[0m\nare back"), NOW).message
    assert all(classify(Signals((kind,)), NOW).cls is not ReplyClass.OK for kind in ("", "ok", "success"))


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_server_error_is_no_limit_whatever_it_says(status: int) -> None:
    assert classify(Signals((), status, "usage limit reached|1796040000"), NOW).cls is ReplyClass.TRANSIENT


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("resets 8:35am", -300),  # just passed: now, not tomorrow
        ("resets 8:20am", 86400 - 1200),
        ("resets 12am", 15 * 3600 + 1200),
        ('{"resets_at":1796028060}', 60),
        ("limit reached|1796028060000", 60),
        ("try again in 250ms", 0.25),
        ("resets Nov 20, 8:40am", 355 * 86400),  # a date without a year lies ahead
        ("limit reached|1000000000", None),  # 2001
        ("resets Feb 31, 9am", None),
        ("resets 3pm (Nowhere/City)", 6 * 3600 + 1200),
        ("port 1796028060", None),
        ("", None),
    ],
)
def test_reset_time(said: str, seconds: float | None) -> None:
    found = reset_time(said, NOW)
    assert found == (None if seconds is None else pytest.approx(NOW + seconds))


def test_year_turns() -> None:
    new_year = datetime(2026, 12, 31, 23, 0, tzinfo=UTC).timestamp()
    assert reset_time("resets Jan 1, 1am (UTC)", new_year) == pytest.approx(new_year + 7200)


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        (Ran(None, missing="claude", refused="the program 'claude' was not found"), ReplyClass.MISCONFIGURED),
        (Ran(None, refused="argument list too long (E2BIG): …"), ReplyClass.MISCONFIGURED),
        (Ran(None, timed_out=True), ReplyClass.HANG),
        (Ran(None, idle=True, out=Captured(b"half", 4)), ReplyClass.HANG),
        (Ran(None, flooded=True, out=Captured(b"x", 10**8)), ReplyClass.CRASHED),
        (Ran(137, signal=9), ReplyClass.KILLED),
        (Ran(143), ReplyClass.KILLED),
        (Ran(139, signal=11), ReplyClass.CRASHED),
        (Ran(134), ReplyClass.CRASHED),
        (Ran(134, out=Captured(b"{}", 2)), None),
        (Ran(1), ReplyClass.CRASHED),
        (Ran(0), ReplyClass.MISSING),
        (Ran(0, out=Captured(b"{}", 2)), None),
        (Ran(1, err=Captured(b"Error", 5)), None),
        (Ran(None, settled=True, out=Captured(b"{}", 2)), None),
    ],
)
def test_end_of_a_process(ran: Ran, expected: ReplyClass | None) -> None:
    found = ended_badly(ran, "agent", 600, 120)
    assert (found.cls if found else None) == expected
