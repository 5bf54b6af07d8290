"""Complaints of compilers and linters, on what the real tools printed (tests/data/runners)."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.diagnostics import complaints, grouped, problems_of, say_problems

RECORDED = Path(__file__).parents[1] / "data" / "runners"


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.txt").read_bytes()


@pytest.mark.parametrize(
    ("name", "said", "row"),
    [
        ("gcc", "2 errors, 4 warnings in 3 files", "  5:10 ‘b’ undeclared (first use in this function)"),
        (
            "gcc_color",
            "1 error, 2 warnings in 1 file",
            "  4:7 warning -Wunused-variable unused variable ‘unused’",
        ),
        ("clang", "1 error, 2 warnings in 2 files", "  5:10 use of undeclared identifier 'b'"),
        ("rustc", "1 error in 1 file", "  2:18 E0308 mismatched types"),
        ("cargo_check", "2 errors, 1 warning in 1 file", "  2:21 E0308 mismatched types"),
        ("cargo_check_short", "2 errors, 1 warning in 1 file", "by rule: E0308 1, E0425 1"),
        ("go_build", "3 errors in 1 file", "  5:23 undefined: undefined"),
        ("go_vet", "2 errors in 1 file", "  8:2 self-assignment of a"),
        ("tsc", "5 errors in 2 files", "by rule: TS2322 2, TS2305 1, TS2554 1, TS2552 1"),
        (
            "tsc_pretty",
            "5 errors in 2 files",
            "  3:3 TS2322 Type 'number' is not assignable to type 'string'.",
        ),
        (
            "eslint_stylish",
            "5 errors, 1 warning in 2 files",
            "  2:9 no-undef 'undefinedThing' is not defined",
        ),
        ("eslint_color", "5 errors, 1 warning in 2 files", "  3:1 no-const-assign 'c' is constant"),
        ("eslint_unix", "5 errors, 1 warning in 2 files", "  3:13 no-empty Empty block statement."),
        ("mypy", "5 errors in 2 files", '  1 attr-defined Module "pkg.a" has no attribute "nothing"'),
        ("mypy_pretty", "5 errors in 2 files", '  3 call-arg Too many arguments for "f"'),
        ("ruff_full", "5 errors in 2 files", "  10:9 F821 Undefined name `undefined_name`"),
        ("ruff_concise", "7 errors in 3 files", "  2:1 invalid-syntax unexpected EOF while parsing"),
        ("ruff_grouped", "5 errors in 2 files", "  1:8 F401 `os` imported but unused"),
        ("flake8", "10 errors in 2 files", "  … and 2 more"),
        (
            "pylint",
            "3 errors, 14 warnings in 2 files",
            "  3:0 E1121 Too many positional arguments for function call",
        ),
        ("javac", "2 errors in 1 file", "  3 cannot find symbol"),
    ],
)
def test_recorded_output_of(name: str, said: str, row: str) -> None:
    found = complaints(recorded(name), "/home/dev/project")
    problems = problems_of(found)
    assert problems is not None and say_problems(problems) == said
    assert any(line.startswith(row) for line in grouped(found, 8000).split("\n"))
    assert not any(each.path.startswith("/") for each in found)


@pytest.mark.parametrize(
    "name", ["mypy_ok", "ruff_ok", "eslint_ok", "gcc_link", "pytest_q", "go_test_panic", "jest"]
)
def test_what_is_no_complaint(name: str) -> None:
    assert complaints(recorded(name)) == () and problems_of(()) is None


@pytest.mark.parametrize(
    "text",
    [
        "src/a.py:12:import six\nsrc/a.py:14:x = 'error: no'",
        "12:30:11: error: a clock is no file",
        "https://example.org/a: error: x",
        '  File "a.py", line 3, in f\nValueError: error: x',
        "a.c:1:2: note: only a note",
        "t.py:3: DeprecationWarning: old",
    ],
)
def test_what_only_looks_like_one(text: str) -> None:
    assert complaints(text) == ()


def test_files_and_rows_are_capped_and_counted() -> None:
    text = "".join(f"f{n % 30}.c:{n}:1: error: bad {n} [-Wx{n % 15}]\n" for n in range(600))
    found = complaints(text)
    shown = grouped(found, 64_000)
    assert shown.count(".c: 20\n") == 20 and "… and 15 more" in shown
    assert "… and 200 in 10 more files" in shown and shown.count("-Wx") == 20 * 5 + 12
    assert len(grouped(found, 2000).encode()) <= 2000
    problems = problems_of(found)
    assert problems is not None and (problems.errors, len(problems.marks), len(problems.codes)) == (
        600,
        400,
        12,
    )


def test_a_complaint_that_moved_is_the_same() -> None:
    before, after = complaints("a.c:1:1: error: bad [-Wx]"), complaints("./a.c:40:9: error: bad [-Wx]")
    assert before[0].mark == after[0].mark
    shown = grouped(complaints("a.c:1:1: error: first\nb.c:1:1: warning: later"), 900, {before[0].mark})
    assert shown.startswith("a.c: 1\n  new 1:1 first\nb.c")


@pytest.mark.parametrize(
    "row",
    [
        "a.b:1" * 40_000,
        "a.c:1: error: " + "x " * 990,
        " 1:1  error  " + " " * 1900,
        "x" + " " * 1900 + "y  z",
    ],
)
def test_hostile_lines_take_linear_work(row: str) -> None:
    assert len(complaints("x.js\n" + f"{row}\n" * 200)) <= 200  # quadratic work would take minutes
