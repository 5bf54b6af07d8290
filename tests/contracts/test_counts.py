"""Counts are read from what real runners printed (recorded in tests/data/runners)."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.counts import parse_counts, say_counts
from contracts.traces import first_trace

RECORDED = Path(__file__).parents[1] / "data" / "runners"


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.txt").read_bytes()


@pytest.mark.parametrize(
    ("name", "runner", "passed", "failed", "errors", "skipped"),
    [
        ("pytest_q", "pytest", 2, 3, 1, 3),
        ("pytest_plain", "pytest", 2, 3, 1, 3),
        ("pytest_v", "pytest", 2, 3, 1, 3),
        ("pytest_color", "pytest", 2, 3, 1, 3),
        ("pytest_collect", "pytest", 0, 0, 1, 0),
        ("pytest_pass", "pytest", 1, 0, 0, 0),
        ("pytest_none", "pytest", 0, 0, 0, 0),
        ("unittest", "unittest", 1, 1, 1, 2),
        ("unittest_v", "unittest", 1, 1, 1, 2),
        ("unittest_pass", "unittest", 1, 0, 0, 0),
        ("node_spec", "node", 1, 3, 0, 1),
        ("node_tap", "node", 1, 3, 0, 1),
        ("cargo_test", "cargo", 3, 1, 0, 1),
        ("jest", "jest", 1, 1, 0, 2),
        ("vitest", "vitest", 1, 1, 0, 2),
        ("pytest_ci", "pytest", 2, 3, 1, 3),
        ("pytest_short", "pytest", 2, 3, 1, 3),
        ("pytest_line", "pytest", 2, 3, 1, 3),
        ("pytest_xdist", "pytest", 2, 3, 1, 3),
        ("pytest_maxfail", "pytest", 1, 1, 0, 0),
        ("pytest_interrupted", "pytest", 1, 0, 0, 0),
        ("unittest_collect", "unittest", 0, 0, 1, 0),
        ("unittest_none", "unittest", 0, 0, 0, 0),
        ("cargo_backtrace", "cargo", 1, 1, 0, 1),
        ("cargo_color", "cargo", 3, 1, 0, 1),
        ("cargo_pass", "cargo", 4, 0, 0, 1),
        ("cargo_none", "cargo", 0, 0, 0, 0),
        ("go_test", "go, packages", 1, 3, 1, 0),
        ("go_test_v", "go", 3, 3, 0, 1),
        ("go_test_pass", "go, packages", 1, 0, 0, 0),
        ("go_test_cached", "go, packages", 1, 0, 0, 0),
        ("go_test_run_none", "go, packages", 0, 0, 0, 0),
        ("go_test_panic", "go, packages", 0, 1, 0, 0),
        ("go_test_timeout", "go, packages", 0, 0, 1, 0),
        ("node_color", "node", 1, 3, 0, 1),
        ("node_pass", "node", 1, 0, 0, 0),
        ("jest_color", "jest", 1, 1, 0, 2),
        ("jest_ci", "jest", 2, 1, 0, 2),
        ("jest_pass", "jest", 1, 0, 0, 0),
        ("jest_broken", "jest", 1, 0, 1, 0),
        ("vitest_color", "vitest", 1, 1, 0, 2),
        ("vitest_ci", "vitest", 2, 1, 0, 2),
        ("vitest_pass", "vitest", 1, 0, 0, 0),
        ("vitest_broken", "vitest", 1, 0, 1, 0),
        ("mocha", "mocha", 1, 1, 0, 2),
        ("mocha_dot", "mocha", 1, 1, 0, 2),
        ("mocha_color", "mocha", 1, 1, 0, 2),
        ("mocha_pass", "mocha", 1, 0, 0, 0),
        ("tape", "tap", 2, 1, 0, 1),
        ("tape_pass", "tap", 1, 0, 0, 0),
    ],
)
def test_recorded_output_of(
    name: str, runner: str, passed: int, failed: int, errors: int, skipped: int
) -> None:
    counts = parse_counts(recorded(name))
    assert counts is not None
    assert (counts.runner, counts.passed, counts.failed, counts.errors, counts.skipped) == (
        runner,
        passed,
        failed,
        errors,
        skipped,
    )
    assert len(counts.failures) == failed + errors


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("pytest_q", "test_a.py::test_bad"),
        ("pytest_color", "test_a.py::test_bad"),
        ("pytest_collect", "test_c.py"),
        ("unittest", "test_err (unit_b.T.test_err)"),
        ("cargo_test", "t::bad"),
        ("jest", "grp › breaks"),
        ("vitest", "b.spec.mjs > grp > breaks"),
        ("node_tap", "breaks"),
        ("node_spec", "breaks"),
        ("mocha", "grp › breaks"),
        ("go_test", "TestSub"),
        ("go_test_timeout", "example.com/x/panics [no test named]"),
        ("jest_broken", "./s.test.js"),
        ("vitest_broken", "s.spec.mjs"),
    ],
)
def test_failed_tests_are_named(name: str, first: str) -> None:
    counts = parse_counts(recorded(name))
    assert counts is not None and counts.failures[0] == first


def test_a_parametrised_name_is_whole() -> None:
    counts = parse_counts(recorded("pytest_q"))
    assert counts is not None and "test_a.py::test_par[x[1]]" in counts.failures


def test_several_runs_are_added_up() -> None:
    counts = parse_counts(recorded("pytest_q") + recorded("pytest_pass"))
    assert counts is not None and counts.passed == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "5 passed the exam in Rome",
        "I ran 3 tests in 1s\n\nOK",
        "ok then",
        "tests 5\npass 5\nfail 0",
        recorded("pytest_qq"),
        recorded("go_test_none"),
        recorded("jest_none"),
        recorded("vitest_none"),
        recorded("eslint_stylish"),
        recorded("cargo_check"),
        b"\xff\xfe\x00garbage\x1b[31m",
    ],
)
def test_what_no_runner_wrote_has_no_counts(text: str | bytes) -> None:
    assert parse_counts(text) is None


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("pytest_q", "RuntimeError: boom", "test_in"),
        ("pytest_collect", "No module named 'nope_nope'", "short test summary"),
        ("unittest", "ValueError: x", "1 != 2"),
        ("cargo_test", "assertion `left == right` failed", "test result"),
        ("jest", "expect(received).toBe(expected)", "Test Suites"),
        ("vitest", "expected 1 to be 2", "Test Files"),
        ("node_spec", "AssertionError", "boom"),
        ("node_tap", "ERR_ASSERTION", "boom"),
        ("mocha", "AssertionError [ERR_ASSERTION]: 1 == 2", "passing"),
        ("mocha_color", "at Context.<anonymous>", "passing"),
        ("go_test", "got 3, want 4", "table: bad"),
        ("go_test_v", "got 3, want 4", "table: bad"),
        ("go_test_panic", "assignment to entry in nil map", "0.004s"),
        ("go_test_timeout", "test timed out after 1s", "FAIL\n"),
        ("jest_broken", "Unexpected token (1:10)", "node_modules/@babel"),
        ("vitest_broken", "Cannot find module", "Test Files"),
        ("unittest_collect", "No module named 'nope_nope'", "Ran 1 test"),
    ],
)
def test_first_trace(name: str, has: str, lacks: str) -> None:
    trace = first_trace(recorded(name))
    assert has in trace and lacks not in trace


@pytest.mark.parametrize(
    ("recording", "name", "has"),
    [
        ("pytest_q", "test_a.py::TestK::test_in", "assert [1, 2] == [1, 3]"),
        ("pytest_v", "test_a.py::test_par[x[1]]", "assert 'x[1]' == 'a b'"),
        ("unittest", "test_bad (unit_b.T.test_bad)", "1 != 2"),
        ("go_test", "TestTable/bad", "table: bad"),
        ("go_test_v", "TestTable/bad", "TestTable"),
        ("node_spec", "inner bad", "boom"),
    ],
)
def test_the_trace_of_a_test_by_name(recording: str, name: str, has: str) -> None:
    assert has in first_trace(recorded(recording), prefer=[name])
    assert has not in first_trace(recorded(recording))
    assert first_trace(recorded(recording), prefer=["test"]) == first_trace(recorded(recording))


def test_a_long_trace_keeps_both_ends() -> None:
    text = (
        "Traceback (most recent call last):\n" + "".join(f"  row {i}\n" for i in range(500)) + "Boom: end\n"
    )
    rows = first_trace(text).split("\n")
    assert len(rows) == 60
    assert rows[0].startswith("Traceback") and rows[-1] == "Boom: end"
    assert any("… 443 lines …" in row for row in rows)


def test_many_failures_are_capped() -> None:
    text = "".join(f"FAILED t.py::test_{i} - no\n" for i in range(50)) + "50 failed in 1.00s\n"
    counts = parse_counts(text)
    assert counts is not None and len(counts.failures) == 20 and counts.failed == 50


@pytest.mark.parametrize(
    "line", ["1 passed" * 20_000, "Tests  " + "1 a " * 20_000, "= " * 50_000, "Tests: " + "1 a, " * 20_000]
)
def test_hostile_lines_take_linear_work(line: str) -> None:
    assert parse_counts(line + "x") is None  # exponential work would never come back


def test_say_counts() -> None:
    counts = parse_counts(recorded("pytest_q"))
    assert counts is not None and say_counts(counts) == "2 passed, 3 failed, 1 error, 3 skipped (pytest)"


def test_a_tap_plan_that_is_not_kept_is_an_error() -> None:
    short = parse_counts("TAP version 13\nok 1 - a\n1..3\nBail out! no disk\n")
    assert short is not None and (short.passed, short.failed, short.errors) == (1, 0, 3)
    assert parse_counts("ok 1 fine\nok 2 fine\n") is None, "neither TAP without a plan nor go"
    assert "expected: 2" in first_trace(recorded("tape"))
