"""The suite on every real binary: nothing is bad, and nothing changed against the facts that are shipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.agents import AgentConfig
from controller.conformance.cases import cases_of
from controller.conformance.known import Known
from controller.conformance.subject import Subject
from controller.conformance.suite import run_suite
from controller.installed import found
from tests.agents import claude_binary, codex_binary, node_binary, pi_script, pinned_version

Entry = dict[str, Any]
ENDPOINT = {"model": "some-model", "base_url": "http://127.0.0.1:1/v1"}


def on_node(**options: str) -> Entry:
    """The options of Pi."""
    return {"options": {"node": str(node_binary()), **options}}


MODES: dict[tuple[str, str], tuple[Callable[[], Path], Callable[[], Entry]]] = {
    ("claude", "api-key"): (claude_binary, dict),
    ("claude", "subscription"): (claude_binary, lambda: {"auth": "subscription"}),
    ("codex", "api-key"): (codex_binary, dict),
    ("pi", "api-key, messages"): (pi_script, on_node),
    ("pi", "api-key, chat"): (pi_script, lambda: {**ENDPOINT, **on_node(api="openai-completions")}),
}


@pytest.mark.parametrize(("kind", "mode"), MODES, ids=" ".join)
def test_the_pinned_version_is_as_known(kind: str, mode: str) -> None:
    binary, entry = MODES[kind, mode]
    subject = Subject(kind, found("agents", kind), AgentConfig(kind=kind, **entry()), cli=binary())
    report = run_suite(subject)
    assert (report.version, report.known, report.mode) == (pinned_version(kind), pinned_version(kind), mode)
    assert [row.case for row in report.rows] == [case.name for case in cases_of(subject)]
    assert [(row.case, row.verdict, row.why) for row in report.rows if row.verdict != "good"] == []
    assert all(row.expected is not None for row in report.rows)


def test_kind_command_does_as_its_adapter_promises() -> None:
    report = run_suite(Subject("command", found("agents", "command"), AgentConfig(kind="command")))
    assert {row.verdict for row in report.rows} == {"good"}, report.rows


def test_the_facts_that_are_shipped_are_of_these_modes_and_the_pinned_versions() -> None:
    for kind in {kind for kind, _ in MODES}:
        known = Known.of(found("agents", kind)).versions
        assert list(known) == [pinned_version(kind)]
        assert set(known[pinned_version(kind)]) == {mode for other, mode in MODES if other == kind}
