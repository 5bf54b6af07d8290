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
from controller.surfaces.doctor import MEASURED
from tests.agents import claude_binary, codex_binary, node_binary, pi_script, pinned_version
from tests.agents.binaries import ROOT
from tests.agents.ways import some

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


MOST = [
    ("claude", "api-key", 1_100),
    ("claude", "subscription", 2_300),
    ("codex", "api-key", 2_000),
    ("pi", "api-key, chat", 700),
    ("pi", "api-key, messages", 700),
]


@pytest.mark.parametrize(("kind", "mode"), some(MODES, (("codex", "api-key"),)))
def test_the_pinned_version_is_as_known(kind: str, mode: str) -> None:
    binary, entry = MODES[kind, mode]
    subject = Subject(kind, found("agents", kind), AgentConfig(kind=kind, **entry()), cli=binary())
    report = run_suite(subject)
    assert (report.version, report.known, report.mode) == (pinned_version(kind), pinned_version(kind), mode)
    assert [row.case for row in report.rows] == [case.name for case in cases_of(subject)]
    assert [(row.case, row.verdict, row.why) for row in report.rows if row.verdict != "good"] == []
    assert all(row.expected is not None for row in report.rows)


@pytest.mark.parametrize("kind", ["command", "openai-compatible"])
def test_a_kind_without_a_binary_does_as_its_adapter_promises(kind: str) -> None:
    report = run_suite(Subject(kind, found("agents", kind), AgentConfig(kind=kind)))
    assert {row.verdict for row in report.rows} == {"good"}, report.rows


def test_the_facts_that_are_shipped_are_of_these_modes_and_the_pinned_versions() -> None:
    for kind in {kind for kind, _ in MODES}:
        known = Known.of(found("agents", kind)).versions
        assert list(known) == [pinned_version(kind)]
        assert set(known[pinned_version(kind)]) == {mode for other, mode in MODES if other == kind}


def test_everywhere_the_same_versions_are_called_known() -> None:
    versions = {kind: pinned_version(kind) for kind, _ in MODES}
    assert {kind: MEASURED[kind] for kind in versions} == versions
    table = (ROOT / "docs/agents.md").read_text("utf-8").split("launched as")[0]
    assert all(f"known: {version}" in table for version in versions.values())


@pytest.mark.parametrize(("kind", "mode", "most"), MOST)
def test_little_is_sent_beside_prompt_and_schema(kind: str, mode: str, most: int) -> None:
    """Bytes of a request; the test above holds the shipped facts against the binaries."""
    assert Known.of(found("agents", kind)).facts(pinned_version(kind), mode)["wire_size"]["overhead"] <= most
