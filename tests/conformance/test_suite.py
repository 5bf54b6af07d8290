"""How the suite goes about its launches, whatever the agent."""

from __future__ import annotations

import pytest

from contracts.agents import AgentConfig
from controller.conformance import suite
from controller.conformance.launches import Ask, Seen
from controller.conformance.subject import Subject
from controller.installed import found
from controller.surfaces import conform


@pytest.mark.parametrize("only", [("hang",), ("round_trip", "hang"), ("stall",)])
def test_a_deadline_is_measured_by_a_launch_that_ends(
    only: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[tuple[str, float]] = []

    def launch(subject: Subject, ask: Ask, place: object, runner: object, timeout: float) -> Seen:
        launched.append((ask.end, timeout))
        return Seen(subject, ask, took=2.0)

    monkeypatch.setattr(suite, "launch", launch)
    report = suite.run_suite(Subject("command", found("agents", "command"), AgentConfig()), only=only)
    assert launched == [("itself", suite.PATIENCE), ("deadline", 9.0)]
    assert [row.case for row in report.rows] == list(only), "the measured one is no row of its own"


def test_a_copy_of_unknown_version_is_told_what_to_do() -> None:
    told = [
        conform._sum(suite.Report("mine", "claude", version, "2.1.332", "api-key"))
        for version in ("", "2.1.332")
    ]
    assert "of unknown version, held against what is known of 2.1.332" in told[0]
    assert "name the copy by it, such as 2.1.332" in told[0] and "unknown" not in told[1]
