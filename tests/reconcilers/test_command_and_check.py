from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.checks import Check
from contracts.errors import Permanent, Temporary
from contracts.feedback import feedback
from contracts.ports import Ask
from contracts.readings import CheckReading, CommandReading, TestCounts
from reconcilers.check import CheckReconciler, excerpt
from reconcilers.command import CommandReconciler
from tests.tool_adapters.repositories import git, repository, write
from tool_adapters.git import Repo
from tool_adapters.process import ProcessRunner, child_environment

PY = sys.executable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {"src/m.py": "def one():\n    return 1\n", "tests/test_m.py": "def test(): pass\n"}
    return repository(tmp_path / "repo", files)


def command(tmp_path: Path, run: Any, **more: Any) -> CommandReading:
    runner = ProcessRunner(tmp_path / "spool")
    reader = CommandReconciler("it", run, cwd=tmp_path, env=child_environment(), runner=runner, **more)
    return anyio.run(reader.read, Ask(base="", head="", step=1, now=0.0))


def check(
    root: Path,
    run: Any,
    *,
    pins: tuple[str, ...] = (),
    floor: Any = None,
    cwd: str = "",
    printed: Any = None,
    **more: Any,
) -> CheckReading:
    asked = Check.model_validate({"name": "c", "role": "guard", "run": run, **more})
    repo = Repo(root)
    reader = CheckReconciler(
        asked,
        pins=pins,
        cwd=root / cwd,
        env=child_environment(),
        runner=ProcessRunner(root.parent / "spool"),
        git=repo.reader(),
    )
    base = git(root, "rev-list", "--max-parents=0", "HEAD")
    ask = Ask(base=base, head=base, step=1, now=0.0, floor=floor or {}, printed=printed or {})
    return anyio.run(reader.read, ask)


# ---- authorities --------------------------------------------------------------------------------------------
def test_command_shows_what_it_prints(tmp_path: Path) -> None:
    seen = command(tmp_path, "printf 'one\\ntwo\\n'; echo three >&2")
    assert (seen.ok, seen.exit, seen.text, seen.count) == (True, 0, "one\ntwo\nthree", None)
    assert (
        seen.digest
        == command(tmp_path, ("printf", "one\\ntwo\\n")).digest
        != command(tmp_path, "echo x").digest
    )


def test_command_exits_and_limits(tmp_path: Path) -> None:
    assert command(tmp_path, "exit 1", ok_exit=(0, 1)).exit == 1
    with pytest.raises(Permanent, match=r"exit 3: .*broken"):
        command(tmp_path, "echo broken >&2; exit 3")
    with pytest.raises(Permanent, match="no-such-tool"):
        command(tmp_path, ("no-such-tool",))
    with pytest.raises(Temporary, match="not done"):
        command(tmp_path, "sleep 30", timeout=0.3)


def test_worklist_counts_lines_and_shows_forty(tmp_path: Path) -> None:
    seen = command(tmp_path, "seq 1 60", worklist=True)
    assert seen.count == 60 and "\n40\n" in seen.text and "41" not in seen.text and "20 more" in seen.text
    assert command(tmp_path, "true", worklist=True).count == 0


def test_long_and_dirty_output_is_cut_and_clean(tmp_path: Path) -> None:
    seen = command(tmp_path, r"printf '\033[31mred\377\000\n'; seq 1 5000", max_bytes=1000)
    assert len(seen.text.encode()) <= 1000 and seen.total > 20_000
    assert seen.text.startswith("red\ufffd\n1\n") and "cut" in seen.text and seen.text.endswith("5000")


# ---- pass rules ---------------------------------------------------------------------------------------------
def test_exit_codes(root: Path) -> None:
    assert check(root, "true").passed
    seen = check(root, "echo why; exit 4")
    assert (seen.passed, seen.exit, seen.why) == (False, 4, "exit 4: why")
    assert check(root, "exit 1", pass_exit=[1]).passed
    assert not check(root, "exit 0", pass_exit=[1]).passed


def test_missing_timed_out_and_killed_are_red_and_say_so(root: Path) -> None:
    seen = check(root, ["no-such-tool"])
    assert not seen.passed and "no-such-tool" in seen.why
    assert not check(root, ["no-such-tool"], pass_exit=[0, 1, 127]).passed
    seen = check(root, "sleep 30", timeout=0.4)
    assert (seen.passed, seen.timed_out, seen.exit) == (False, True, None) and "not done after" in seen.why
    assert "signal 9" in check(root, "kill -9 $$").why


def say(text: str, code: int = 0) -> list[str]:
    return [PY, "-c", f"print({text!r}); raise SystemExit({code})"]


def test_counts_decide_beside_the_exit_code(root: Path) -> None:
    seen = check(root, say("== 12 passed, 1 skipped in 0.10s =="))
    assert seen.passed and seen.counts == TestCounts(passed=12, skipped=1, runner="pytest", marks=())
    assert seen.why == "12 passed, 1 skipped (pytest)"
    assert not check(root, say("== 3 failed, 12 passed in 0.10s ==")).passed
    seen = check(root, say("== no tests ran in 0.01s =="))
    assert (seen.passed, seen.why) == (False, "it ran 0 tests")
    assert check(root, say("No tests found, exiting")).why == "it ran 0 tests"


def test_minimum_passed_and_no_new_skips(root: Path) -> None:
    text = say("== 10 passed, 3 skipped in 0.10s ==")
    assert check(root, text, min_tests=10).passed
    assert "only 10 tests passed, 11" in check(root, text, min_tests=11).why
    assert "only 10 tests passed, 12" in check(root, text, floor={"c.passed": 12}).why
    assert check(root, text, floor={"c.passed": 10, "c.skipped": 3, "other.passed": 99}).passed
    assert "3 tests were skipped, at the start it was 2" in check(root, text, floor={"c.skipped": 2}).why
    assert not check(root, "true", min_tests=1).passed
    assert not check(root, "true", floor={"c.passed": 5}).passed


def test_changed_pins_are_red_before_anything_runs(root: Path) -> None:
    touched = root / "ran"
    run = f"touch {touched}"
    assert check(root, run, pins=("tests/**", "conftest.py")).passed
    touched.unlink()
    write(root, {"src/m.py": "x = 1\n"})
    assert check(root, run, pins=("tests/**",)).passed
    touched.unlink()
    write(root, {"tests/test_m.py": "pass\n", "conftest.py": "collect_ignore_glob = ['*']\n"})
    seen = check(root, run, pins=("tests/**", "conftest.py"))
    assert (seen.passed, seen.pins_broken) == (False, ("conftest.py", "tests/test_m.py"))
    assert "conftest.py" in seen.why and not touched.exists()
    assert check(root, run, pins=("tests/**",), may_edit=["tests/test_*.py"]).passed
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a step committed it")
    assert not check(root, run, pins=("tests/**",)).passed
    (root / "tests/test_m.py").unlink()
    assert check(root, run, pins=("tests/**",)).pins_broken == ("tests/test_m.py",)


def test_pins_are_relative_to_the_tasks_folder(root: Path) -> None:
    write(root, {"sub/tests/t.py": "new\n", "tests/test_m.py": "changed\n"})
    assert check(root, "true", pins=("tests/**",), cwd="sub").pins_broken == ("tests/t.py",)


def test_a_real_unittest_run(root: Path) -> None:
    write(
        root,
        {
            "tests/test_x.py": "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self): pass\n    def test_b(self): self.assertEqual(1, 2)\n"
        },
    )
    seen = check(root, [PY, "-m", "unittest", "discover", "-s", "tests", "-p", "test_x.py"])
    assert not seen.passed and seen.counts and (seen.counts.passed, seen.counts.failed) == (1, 1)
    assert "AssertionError: 1 != 2" in seen.text and "test_b" in seen.text


def test_excerpt_is_bounded_and_holds_what_matters() -> None:
    trace = "\n".join(f"    line {n}" for n in range(300))
    said = f"dots\n____ test_one ____\n{trace}\nE   boom\n=== short test summary info ===\n" + "x" * 40_000
    said += (
        "\n" + "".join(f"FAILED t.py::test_{n} - no\n" for n in range(20)) + "20 failed, 2 passed in 1.0s\n"
    )
    text = excerpt(said, feedback(said, exit=1, step=1), "abcd", passed=False)
    assert len(text.encode()) <= 8192
    assert text.startswith("2 passed, 20 failed") and "test_19" in text and "first failure" in text
    assert "artifact:abcd" in text
    rows = "\n".join(map(str, range(99))) + "\n3 passed in 0.1s"
    short = excerpt(rows, feedback(rows, exit=0, step=1), None, passed=True)
    assert "95" in short and "94\n" not in short


def test_when_follows_the_task(root: Path) -> None:
    moments = {}
    for when in ("finish", "edit", "step"):
        asked = Check.model_validate({"name": "c", "role": "goal", "run": "true", "when": when})
        reader = CheckReconciler(
            asked, pins=(), cwd=root, env={}, runner=ProcessRunner(root.parent / "s"), git=Repo(root).reader()
        )
        moments[when] = reader.when
    assert moments == {"finish": ("finish",), "edit": ("edit", "finish"), "step": ("step", "edit", "finish")}


# ---- reports, and what changed -------------------------------------------------------------------------------
REPORT = "<testsuite><testcase name='a'/><testcase name='b'/>{}</testsuite>"


def test_a_check_reads_its_report_and_takes_the_worse(root: Path) -> None:
    write(
        root,
        {"r.txt": REPORT.format(""), "bad.txt": REPORT.format("<testcase name='c'><failure/></testcase>")},
    )
    good = check(root, "cp r.txt r.xml", report="r.xml")
    assert good.passed and good.why == "2 passed (JUnit XML)"
    less = check(root, "cp r.txt r.xml; echo '9 passed in 0.1s'", report="r.xml", min_tests=3)
    assert not less.passed and less.why == "only 2 tests passed, 3 are asked for"
    bad = check(root, "cp bad.txt r.xml; echo '3 passed in 0.1s'", report="*.xml")
    assert not bad.passed and bad.why == "exit 0, but 2 passed, 1 failed (pytest and JUnit XML)"


def test_a_report_that_was_not_written_or_can_not_be_read_is_red(root: Path) -> None:
    write(root, {"r.xml": REPORT.format("")})
    old = check(root, "echo '9 passed in 0.1s'", report="r.xml")
    assert not old.passed and old.why == "the report r.xml was not written by this run"
    bomb = """printf '<!DOCTYPE a [<!ENTITY b "c">]><testsuite>&b;</testsuite>' > r.xml"""
    seen = check(root, bomb, report="r.xml")
    assert not seen.passed and "document type or entities: they are not taken" in seen.why


def test_a_check_says_what_changed(root: Path) -> None:
    rows = "FAILED t.py::test_{} - no\n"
    write(root, {"out": rows.format(1) + rows.format(2) + "2 failed, 3 passed in 0.1s\n"})
    first = check(root, "cat out; exit 1")
    assert first.printed is not None and first.why == "exit 1: 3 passed, 2 failed (pytest)"
    printed = {"check c": first.printed}
    same = check(root, "sed s/0.1s/9.9s/ out; exit 1", printed=printed)
    assert same.text.startswith(
        "output unchanged since step 1 (times aside)\n\n3 passed, 2 failed (pytest)\n"
    )
    assert "t.py::test_2" in same.text and "FAILED" not in same.text
    write(root, {"out": rows.format(2) + "1 failed, 4 passed in 0.1s\n"})
    fewer = check(root, "cat out; exit 1", printed=printed)
    assert fewer.why.endswith("4 passed, 1 failed (pytest) (was 3 passed, 2 failed: 1 no longer fail, 0 new)")


def test_a_report_that_is_too_large_is_said_to_be_so(root: Path) -> None:
    seen = check(root, "head -c 17000000 /dev/zero > r.xml", report="r.xml")
    assert not seen.passed
    assert seen.why.startswith("the report r.xml was written and not read: more than 16 MiB, the most that")


def test_reports_beyond_the_number_that_is_read_are_said(root: Path) -> None:
    write(root, {"r.txt": REPORT.format("")})
    seen = check(root, "mkdir o; for n in $(seq 201); do cp r.txt o/$n.xml; done", report="o/*.xml")
    assert not seen.passed and "was written and not read: more than 200 reports" in seen.why
