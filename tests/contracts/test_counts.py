"""Counts are read from what real runners printed (recorded in tests/data/runners); go's from its documented form."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.counts import first_trace, parse_counts, say_counts

RECORDED = Path(__file__).parents[1] / "data" / "runners"

GO_VERBOSE = """\
=== RUN   TestAdd
--- PASS: TestAdd (0.00s)
=== RUN   TestSub
    sub_test.go:12: got 3, want 4
--- FAIL: TestSub (0.01s)
=== RUN   TestTable
=== RUN   TestTable/empty_name
    --- PASS: TestTable/empty_name (0.00s)
--- PASS: TestTable (0.00s)
=== RUN   TestNet
    net_test.go:5: no network
--- SKIP: TestNet (0.00s)
FAIL
FAIL\texample.com/calc\t0.004s
FAIL
"""
GO_QUIET = """\
--- FAIL: TestSub (0.01s)
    sub_test.go:12: got 3, want 4
FAIL
FAIL\texample.com/calc\t0.004s
ok  \texample.com/other\t0.002s
FAIL\texample.com/broken [build failed]
?   \texample.com/empty\t[no test files]
FAIL
"""


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
        ("cargo", "cargo", 3, 1, 0, 1),
        ("jest", "jest", 1, 1, 0, 2),
        ("vitest", "vitest", 1, 1, 0, 2),
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
        ("cargo", "t::bad"),
        ("jest", "grp › breaks"),
        ("vitest", "b.spec.mjs > grp > breaks"),
        ("node_tap", "breaks"),
        ("node_spec", "breaks"),
    ],
)
def test_failed_tests_are_named(name: str, first: str) -> None:
    counts = parse_counts(recorded(name))
    assert counts is not None and counts.failures[0] == first


def test_a_parametrised_name_is_whole() -> None:
    counts = parse_counts(recorded("pytest_q"))
    assert counts is not None and "test_a.py::test_par[x[1]]" in counts.failures


def test_go() -> None:
    verbose, quiet = parse_counts(GO_VERBOSE), parse_counts(GO_QUIET)
    assert verbose is not None and quiet is not None
    assert (verbose.passed, verbose.failed, verbose.skipped) == (3, 1, 1)
    assert verbose.failures == quiet.failures == ("TestSub",)
    assert (quiet.passed, quiet.failed, quiet.errors) == (1, 1, 1)
    assert "got 3, want 4" in first_trace(GO_QUIET)


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
        ("cargo", "assertion `left == right` failed", "test result"),
        ("jest", "expect(received).toBe(expected)", "Test Suites"),
        ("vitest", "expected 1 to be 2", "Test Files"),
        ("node_spec", "AssertionError", "boom"),
        ("node_tap", "ERR_ASSERTION", "boom"),
    ],
)
def test_first_trace(name: str, has: str, lacks: str) -> None:
    trace = first_trace(recorded(name))
    assert has in trace and lacks not in trace


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
