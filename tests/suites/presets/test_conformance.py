"""The conformance suite on Gemini CLI, opencode and Qwen Code: nothing changed against the facts that are shipped."""

from __future__ import annotations

import pytest

from contracts.agents import AgentConfig
from controller.conformance.known import Known
from controller.conformance.subject import Subject
from controller.conformance.suite import run_suite
from tests.suites.presets.world import KINDS, installed

MEASURED = [kind for kind, adapter in KINDS.items() if Known.of(adapter).versions]


@pytest.mark.parametrize("kind", MEASURED)
def test_the_pinned_version_is_as_known(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{installed()['node']}:/usr/bin:/bin")
    report = run_suite(Subject(kind, KINDS[kind], AgentConfig(kind=kind), cli=installed()[kind]))
    assert [report.version] == list(Known.of(KINDS[kind]).versions)
    # How often one asks again before it is ended for it is a race.
    told = [(row.case, row.verdict, row.why) for row in report.rows if row.why != ("requests",)]
    assert [row for row in told if row[1] not in ("good", "flawed")] == []
    assert report.rows[0].verdict == "good"
