"""The suite's last line: how many kills, and what was lost or doubled."""

from __future__ import annotations

from typing import Any

from tests.suites.crash.trial import TALLY


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if TALLY:
        terminalreporter.write_line(TALLY.line())
