"""What a run says, compared with its last one: on recorded output of real tools (tests/data/runners)."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.feedback import Feedback, feedback, normalised
from contracts.junit import BadReport, parse_reports
from contracts.readings import Printed
from contracts.text import cut

RECORDED = Path(__file__).parents[1] / "data" / "runners"


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


def said(text: str, step: int = 1, last: Feedback | None = None, exit: int = 1) -> Feedback:
    return feedback(text, exit=exit, step=step, last=last.printed if last else None)


def test_new_failures_come_first_and_their_trace() -> None:
    before = said(recorded("pytest_q"))
    after = said(recorded("pytest_after"), 2, before)
    assert after.said == (
        "3 passed, 3 failed, 1 error, 3 skipped (pytest) "
        "(was 2 passed, 3 failed, 1 error, 3 skipped: 1 no longer fail, 1 new)"
    )
    rows = after.names.split("\n")
    assert rows[:3] == ["failed, and did not before:", "  test_a.py::test_late", "failed before too: 3"]
    assert "KeyError: 'late'" in after.trace and "boom" not in after.trace
    assert "RuntimeError: boom" in before.trace and before.names.startswith("failed:\n")


@pytest.mark.parametrize(
    "name",
    ["pytest_q", "unittest", "go_test", "cargo_test", "jest", "vitest", "mocha", "node_spec", "tsc", "mypy"],
)
def test_the_same_again_is_said(name: str) -> None:
    first = said(recorded(name), 3)
    slower = recorded(name).replace("(0.00s)", "(1.20s)").replace("in 0.0", "in 7.1").replace(" ms)", "9 ms)")
    second = said(slower, 9, first)
    third = said(slower, 12, second)
    assert second.same and second.since == third.since == "output unchanged since step 3 (times aside)"
    assert second.said == first.said and "was" not in second.said
    assert not said(slower + "one line more\n", 13, third).same
    assert not feedback(slower, exit=2, step=13, last=third.printed).same
    if first.names:
        assert "before too" in third.names and 0 < third.trace.count("\n") < 20


def test_nothing_is_called_the_same_that_is_not_known_whole() -> None:
    first = feedback("a cut text", exit=0, step=1, whole=False)
    assert not feedback("a cut text", exit=0, step=2, last=first.printed, whole=False).same


def test_what_was_red_and_is_green_now() -> None:
    before = said(recorded("cargo_test"))
    after = said(recorded("cargo_pass"), 2, before, exit=0)
    assert after.said == (
        "4 passed, 1 skipped (cargo) (was 3 passed, 1 failed, 1 skipped: 1 no longer fail, 0 new)"
    )
    assert (after.names, after.trace) == ("", "")


def test_at_most_twenty_names_new_ones_first() -> None:
    def failing(numbers: range) -> str:
        rows = "".join(f"FAILED t.py::test_{n} - no\n" for n in numbers)
        return f"{rows}{len(numbers)} failed in 1.00s\n"

    before = said(failing(range(30)))
    after = said(failing(range(55)), 2, before)
    rows = after.names.split("\n")
    assert rows[0] == "failed, and did not before:" and rows[1] == "  t.py::test_30"
    assert rows[21:] == ["  … and 5 more", "failed before too: 30"]
    assert after.counts is not None and len(after.counts.failures) == 20 and len(after.counts.marks) == 55
    assert "(was 0 passed, 30 failed: 0 no longer fail, 25 new)" in after.said
    fewer = said(failing(range(3)), 3, after)
    assert "52 no longer fail, 0 new" in fewer.said and "failed before too: 3" in fewer.names


def test_a_change_that_can_not_be_told_is_not_told() -> None:
    rows = "".join(f"FAILED t.py::test_{n} - no\n" for n in range(500))
    before = said(f"{rows}500 failed in 1.00s\n")
    after = said("FAILED t.py::test_7 - no\n1 failed in 1.00s\n", 2, before)
    assert after.said.endswith("(was 0 passed, 500 failed)")


def test_compilers_and_linters() -> None:
    before = said(recorded("tsc"))
    assert before.said == "5 errors in 2 files" and before.trace == ""
    changed = recorded("tsc").replace("TS2305: Module '\"./a\"' has no exported member 'missing'.", "TS1: no")
    after = said(changed.replace("(3,3)", "(9,3)"), 2, before)
    assert after.said == "5 errors in 2 files (was 5 errors in 2 files: 1 gone, 1 new)"
    assert after.problems(2000).split("\n")[:2] == ["src/b.ts: 3", "  new 1:13 TS1 no"]
    clean = said("", 3, after, exit=0)
    assert clean.said == "" and said(recorded("tsc"), 4, clean).problems(900).count("  new ") == 5


def test_a_test_runner_is_asked_first() -> None:
    told = said(recorded("go_test"))
    assert told.counts is not None and told.counts.errors == 1 and not told.found
    assert "example.com/x/broken [build failed]" in told.names


def test_what_nobody_knows_is_left_to_its_last_lines() -> None:
    told = said("make: *** [Makefile:3: all] Error 1\nsrc/a.py:12:import six\n")
    assert (told.said, told.names, told.found, told.trace) == ("", "", (), "")


def test_normalising_takes_times_and_nothing_else() -> None:
    assert normalised("3 passed in 0.02s") == normalised("3 passed in 1.5s (0:00:01)")
    assert normalised("ok  \tp\t(cached)") == normalised("ok  \tp\t0.004s")
    assert normalised("a.py:3: x") != normalised("a.py:4: x")
    assert normalised("3 passed") != normalised("4 passed")


# ---- JUnit XML ---------------------------------------------------------------------------------------------


def xml(name: str) -> bytes:
    return (RECORDED / f"junit_{name}.xml").read_bytes()


@pytest.mark.parametrize(
    ("name", "numbers", "first", "trace"),
    [
        ("pytest", (3, 3, 1, 2), "test_a › test_bad", "AssertionError: differs"),
        ("jest", (2, 1, 0, 1), "grp breaks", "expect(received).toBe(expected)"),
        ("vitest", (1, 1, 0, 2), "b.spec.mjs › grp > breaks", "expected 1 to be 2"),
        ("node", (1, 2, 0, 1), "test › breaks", "AssertionError"),
    ],
)
def test_reports_of(name: str, numbers: tuple[int, ...], first: str, trace: str) -> None:
    report = parse_reports({f"{name}.xml": xml(name)})
    counts = report.counts
    assert (counts.passed, counts.failed, counts.errors, counts.skipped) == numbers
    assert counts.failures[0] == first and trace in report.traces[first]


def told(text: str, reports: dict[str, bytes], last: Printed | None = None) -> Feedback:
    return feedback(text, exit=1, step=1, last=last, report="r.xml", reports=reports)


def test_several_reports_are_added_up_and_stand_in_for_the_output() -> None:
    found = told("BUILD FAILED", {"a.xml": xml("jest"), "b.xml": xml("vitest")})
    assert found.said == "3 passed, 2 failed, 3 skipped (JUnit XML)" and "grp breaks" in found.names
    assert found.trace.startswith("grp breaks\n")


def test_where_output_and_report_disagree_the_worse_counts() -> None:
    good = b'<testsuite><testcase name="a"/><testcase name="b"/></testsuite>'
    assert told("1 failed, 9 passed in 1.0s", {"r.xml": good}).said.startswith("2 passed, 1 failed")
    bad = b'<testsuite><testcase name="a"><error message="x"/></testcase></testsuite>'
    found = told("9 passed in 1.0s", {"r.xml": bad})
    assert found.said == "0 passed, 1 error (pytest and JUnit XML)" and found.names == "failed:\n  a"


def test_a_report_that_is_missing_is_said() -> None:
    found = told("9 passed in 1.0s", {})
    assert found.trouble == "the report r.xml was not written by this run"


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE a [<!ENTITY x "y">]><testsuite name="&x;"/>',
        b'<!DOCTYPE testsuite SYSTEM "file:///etc/passwd"><testsuite/>',
        b'<!DOCTYPE t [<!ENTITY % p SYSTEM "http://localhost/x"> %p;]><testsuite/>',
        b"<html/>",
        b"<testsuite>",
        b"\xff\xfe",
        b"",
        b"<a>" * 50,
    ],
)
def test_hostile_and_broken_reports_are_refused(data: bytes) -> None:
    with pytest.raises(BadReport, match=r"the report r\.xml can't be read"):
        parse_reports({"r.xml": data})


# ---- cuts --------------------------------------------------------------------------------------------------


def test_a_cut_names_its_bytes_and_the_line_to_read_on_from() -> None:
    text = "".join(f"row {n}\n" for n in range(1, 2001))
    shown = cut(text, 1000, artifact="a1b2", first=1)
    front, note, back = shown.partition("\n… cut ")[0], shown.split("… ")[1], shown.rsplit(" …\n", 1)[1]
    missing = len(text) - len(front) - len(back)
    last = front.rsplit("\n", 1)[-1]
    number = front.count("\n") + 1
    assert note.startswith(f"cut {missing:,} of {len(text):,} bytes; read artifact:a1b2 from {number} ")
    assert f"row {number}".startswith(last) and len(shown.encode()) <= 1000
    later = cut(text, 1000, artifact="a1b2", first=501)
    assert (
        f"read artifact:a1b2 from {500 + later.partition(chr(10) + '… cut')[0].count(chr(10)) + 1} " in later
    )
    assert "from" not in cut(text, 1000, artifact="a1b2").split("… ")[1]
