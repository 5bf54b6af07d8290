"""The suite's last line: how many cases, and which codes were reached how often."""

from __future__ import annotations

from typing import Any

TOLD: list[str] = []


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in TOLD:
        terminalreporter.write_line(line)
