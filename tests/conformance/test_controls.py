"""The positive controls: each broken promise is found, by the case that should find it and by no other."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contracts.agents import AgentConfig
from contracts.reply import AgentReply, Prompt
from controller.conformance.cases import cases_of
from controller.conformance.known import Known
from controller.conformance.subject import Subject
from controller.conformance.suite import Report, run_suite
from tool_adapters.agents.claude import Claude

FAKE = Path(__file__).with_name("fake_claude.py")
NOTHING = Known()
# One launch for the first row, one for each of the others.
LOOKED_AT = (
    *("round_trip", "one_request", "schema", "prompt", "environment", "surroundings", "leftovers"),
    *("big_prompt", "broken_reply", "terminate", "auth", "limit_with_reset", "server_error"),
)
FAULTS: dict[str, set[str]] = {
    "none": set(),
    "ignores_schema": {"schema"},
    "asks_twice": {"one_request"},
    "phones_home": {"one_request"},
    "tells_environment": {"surroundings"},
    "sends_memory": {"surroundings"},
    "sends_twice": {"prompt"},
    "cuts_prompt": {"big_prompt"},
    "leaves_process": {"leftovers"},
    "leaves_file": {"leftovers"},
    "ignores_term": {"terminate"},
    "ends_well": {"auth", "limit_with_reset", "server_error"},
    "mumbles": {"auth", "limit_with_reset", "server_error"},
    "papers_over": {"broken_reply"},
    "retries": {"server_error"},
    "makes_up": {"round_trip", "big_prompt"},
}


def fake(folder: Path, fault: str, kind: Any = Claude) -> Subject:
    """An agent whose program breaks one promise."""
    program = folder / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} {fault} "$@"\n')
    program.chmod(0o755)
    return Subject("fake", kind, AgentConfig(kind="claude"), folder, program)


def suite(
    subject: Subject, only: tuple[str, ...] = LOOKED_AT, known: Known = NOTHING, patience: float = 60
) -> Report:
    return run_suite(subject, known=known, only=only, patience=patience)


def found(report: Report) -> set[str]:
    return {row.case for row in report.rows if row.verdict == "bad"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_promise_is_found_by_its_case(fault: str, tmp_path: Path) -> None:
    report = suite(fake(tmp_path, fault))
    assert [row.case for row in report.rows] == list(LOOKED_AT)
    assert found(report) == FAULTS[fault], report.rows
    assert report.good == (not FAULTS[fault])


def test_the_fake_keeps_every_other_promise_too(tmp_path: Path) -> None:
    """Else the controls would say nothing of the cases that they leave out."""
    report = suite(fake(tmp_path, "none"), only=())
    assert [row.case for row in report.rows] == [case.name for case in cases_of(fake(tmp_path, "none"))]
    assert {row.verdict for row in report.rows} == {"good"}, report.rows


def test_one_that_never_ends_is_found_and_the_rest_is_not_waited_for(tmp_path: Path) -> None:
    report = suite(fake(tmp_path, "hangs"), only=(), patience=4)
    assert found(report) >= {"round_trip"} and "gave no reply within" in report.rows[0].why[0]
    untried = [row for row in report.rows if row.verdict == "untried"]
    assert {"hang", "terminate", "auth"} <= {row.case for row in untried}
    assert untried[0].why == ("not even a right reply came through",)


class Open(Claude):
    """An adapter that hands its caller's whole environment on."""

    def environment(self, folders: Any, credential: Any) -> dict[str, str]:
        return {**self.settings.environ, **super().environment(folders, credential)}


class Spoken(Claude):
    """One that puts the prompt into the command line."""

    def argv(self, binary: Path, credential: Any, system: Path) -> list[str]:
        return [*super().argv(binary, credential, system), "--also", system.read_text()]


class Raising(Claude):
    """One that lets out what it should turn into a class."""

    async def ask(self, prompt: Prompt) -> AgentReply:
        reply = await super().ask(prompt)
        if reply.cls == "auth":
            raise RuntimeError("401")
        return reply


@pytest.mark.parametrize(
    ("kind", "cases"),
    [(Open, {"environment"}), (Spoken, {"prompt", "big_prompt"}), (Raising, {"auth"})],
)
def test_a_broken_adapter_is_found_by_its_case(kind: Any, cases: set[str], tmp_path: Path) -> None:
    assert found(suite(fake(tmp_path, "none", kind))) == cases


def known_of(report: Report, **other: Mapping[str, Any]) -> Known:
    """What was seen, as what is known of version 1.0.0; `other` facts in their place."""
    facts = {case: {**seen, **other.get(case, {})} for case, seen in report.facts.items()}
    return Known({"1.0.0": {"api-key": facts}})


def test_a_fact_that_changed_is_told_with_both_values(tmp_path: Path) -> None:
    only = ("round_trip", "wire_size", "auth")
    known = known_of(suite(fake(tmp_path, "none"), only), auth={"exit": "7"})
    same, fatter = suite(fake(tmp_path, "none"), only, known), suite(fake(tmp_path, "fatter"), only, known)
    assert [row.verdict for row in same.rows] == ["good", "good", "changed"]
    assert [row.verdict for row in fatter.rows] == ["good", "changed", "changed"]
    row = fatter.rows[1]
    assert row.why == ("overhead",) and row.seen and row.expected
    assert row.seen["overhead"] - row.expected["overhead"] == len(', "metadata": {"more": ""}') + 3000
    assert (same.known, same.good) == ("1.0.0", False)


def test_what_is_recorded_stands_beside_what_was(tmp_path: Path) -> None:
    report = suite(fake(tmp_path, "none"), ("round_trip",))
    file = tmp_path / "claude.known.json"
    Known({"1.0.0": {"api-key": {"auth": {"exit": "1"}}, "subscription": {}}}).write(
        file, "1.0.0", report.mode, report.facts
    )
    known = Known.read(file.read_bytes())
    assert set(known.facts("1.0.0", "api-key")) == {"auth", "round_trip"}
    assert set(known.versions["1.0.0"]) == {"api-key", "subscription"}


def test_a_flaw_that_is_known_is_told_and_no_reason_to_fail_but_its_end_is_a_change(tmp_path: Path) -> None:
    only = ("round_trip", "leftovers")
    known = known_of(suite(fake(tmp_path, "leaves_file"), only))
    flawed, mended = (
        suite(fake(tmp_path, "leaves_file"), only, known),
        suite(fake(tmp_path, "none"), only, known),
    )
    assert [row.verdict for row in flawed.rows] == ["good", "flawed"] and flawed.good
    assert "notes.txt" in flawed.rows[1].why[0]
    assert [row.verdict for row in mended.rows] == ["good", "changed"] and mended.rows[1].why == ("broken",)
    now_and_then = Known({"1.0.0": {"api-key": {"leftovers": {"broken": "sometimes", "files": []}}}})
    for fault, verdict in (("leaves_file", "flawed"), ("none", "good")):
        assert suite(fake(tmp_path, fault), only, now_and_then).rows[1].verdict == verdict
    other = suite(fake(tmp_path, "makes_up"), only, known)
    assert [row.verdict for row in other.rows] == ["bad", "changed"] and not other.good


@pytest.mark.parametrize(
    ("fault", "file"), [("leaves_temporary", "tmp/fake-#/"), ("leaves_at_home", ".was-here")]
)
def test_what_stays_in_its_home_or_its_temporary_folder_is_a_change(
    fault: str, file: str, tmp_path: Path
) -> None:
    known = known_of(suite(fake(tmp_path, "none"), ("leftovers",)))
    [row] = suite(fake(tmp_path, fault), ("leftovers",), known).rows
    assert (row.verdict, row.why) == ("changed", ("files",))
    assert row.expected and row.seen and {*row.seen["files"]} - {*row.expected["files"]} == {file}
    known = known_of(suite(fake(tmp_path, fault), ("leftovers",)))
    assert suite(fake(tmp_path, fault), ("leftovers",), known).rows[0].verdict == "good", "where it is known"


def test_the_newest_known_version_is_the_one_that_an_unknown_is_held_against() -> None:
    known = Known.read(b'{"10.0.0": {}, "9.9.9": {}, "1.2.3": {}}')
    assert (known.near("9.9.9"), known.near("11.0.0"), NOTHING.near("1.0.0")) == ("9.9.9", "10.0.0", None)
