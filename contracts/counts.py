"""What test runners print about themselves: counts and failed tests. Pure.

Understood: pytest, unittest, go test, cargo test, jest, vitest, mocha, node:test, TAP. Counts of several runs in one
output are added up. A text that no runner wrote gives None, which is never taken as "no failures".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from contracts.readings import TestCounts
from contracts.text import clean

MAX_FAILURES = 20  # names that are shown and stored
MAX_NAMES = 400  # names that are told apart

_PYTEST_WORDS = (
    "passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun|subtests passed|subtests failed"
)
_PYTEST = re.compile(
    rf"^(?:=+ )?(\d+ (?:{_PYTEST_WORDS})(?:, \d+ (?:{_PYTEST_WORDS}))*|no tests (?:ran|collected)(?: \(.*\))?) in "
    r"[\d.]+s(?: \([\d:, days]+\))?(?: =+)?$",
    re.M,
)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.M)
_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n\n(?:OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?$", re.M
)
_UNITTEST_FAILED = re.compile(r"^(?:FAIL|ERROR): (.+)$", re.M)
_CARGO = re.compile(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.M)
_CARGO_FAILED = re.compile(r"^test (.+?) \.\.\. FAILED$", re.M)
_GO = re.compile(r"^[ \t]*--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$", re.M)
_GO_PACKAGE = re.compile(r"^(ok|FAIL|\?|---)[ \t]+(\S+)(?:[ \t]+((?:[\d.]+s\b|\(cached\)|\[).*))?$", re.M)
_JEST = re.compile(r"^Tests:[ ]+(\d+ \w+(?:, \d+ \w+)*)$", re.M)
_JEST_FAILED = re.compile(r"^\s*● (?!Console$)(.+)$", re.M)
_VITEST = re.compile(r"^ *Tests  (\d+ [a-z ]+(?:\| \d+ [a-z ]+)*\(\d+\)|no tests)$", re.M)
_VITEST_FAILED = re.compile(r"^ *(?:FAIL|×) {1,2}(\S+ > .+)$", re.M)
_JEST_UNLOADED = re.compile(r"^FAIL (\S+)[^\n]*\n  ● Test suite failed to run$", re.M)
_VITEST_UNLOADED = re.compile(r"^ *FAIL {1,2}(\S+) \[ [^\n]+ \]$", re.M)
_MOCHA = re.compile(r"^ {2}(\d+) (passing|pending|failing)(?: \([\d.]+m?s\))?$", re.M)
_MOCHA_FAILED = re.compile(r"^ {2}\d+\) (\S.*(?:\n {7,}\S.*)*?):\n", re.M)
_TAP_PLAN = re.compile(r"^1\.\.(\d+)(?: #.*)?$", re.M)
_TAP = re.compile(r"^(ok|not ok)\b(?: \d+)?(?: - )?([^#\n]*)(?:# *(SKIP|TODO)\b.*)?", re.M | re.I)
_NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d+)$", re.M)
_NODE_FAILED = re.compile(r"^\s*(?:not ok \d+ - (.+?)(?: # .*)?|✖ (.+?) \([\d.]+ms\)(?: # .*)?)$", re.M)


def parse_counts(text: str | bytes, names: int = MAX_FAILURES) -> TestCounts | None:
    """The counts that a test runner printed, or None. What was expected to fail (xfailed, xpassed, todo) is
    counted as skipped, so that marking a test so can't hide it. At most `names` names of failed tests."""
    text = clean(text)
    for parse in _PARSERS:
        found = parse(text)
        if found is not None:
            return found.model_copy(update={"failures": found.failures[:names]})
    return None


def say_counts(counts: TestCounts) -> str:
    """`12 passed, 2 failed, 1 skipped (pytest)`."""
    parts = [f"{counts.passed} passed"]
    errors = "error" if counts.errors == 1 else "errors"
    more = ((counts.failed, "failed"), (counts.errors, errors), (counts.skipped, "skipped"))
    parts += [f"{number} {word}" for number, word in more if number]
    return ", ".join(parts) + (f" ({counts.runner})" if counts.runner else "")


def _names(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip()[:200] for name in found))[:MAX_NAMES]


def _words(text: str) -> dict[str, int]:
    """`3 failed, 2 passed` and `1 failed | 2 passed` as a mapping."""
    found: dict[str, int] = {}
    for number, word in re.findall(r"(\d+) ([a-z]+)", text):
        found[word] = found.get(word, 0) + int(number)
    return found


def _pytest(text: str) -> TestCounts | None:
    summaries = _PYTEST.findall(text)
    if not summaries:
        return None
    total: dict[str, int] = {}
    for summary in summaries:
        for word, number in _words(re.sub(r"subtests (passed|failed)", "subtests", summary)).items():
            total[word] = total.get(word, 0) + number
    return TestCounts(
        passed=total.get("passed", 0),
        failed=total.get("failed", 0),
        errors=total.get("error", 0) + total.get("errors", 0),
        skipped=sum(total.get(word, 0) for word in ("skipped", "xfailed", "xpassed")),
        failures=_names(_PYTEST_FAILED.findall(text)),
        runner="pytest",
    )


def _unittest(text: str) -> TestCounts | None:
    ends = _UNITTEST.findall(text)
    if not ends:
        return None
    ran = failed = errors = skipped = 0
    for number, rest in ends:
        more = {
            word: int(value) for word, value in re.findall(r"([a-z ]*[a-z])=(\d+)", rest.replace(", ", ","))
        }
        ran += int(number)
        failed += more.get("failures", 0)
        errors += more.get("errors", 0)
        skipped += sum(more.get(word, 0) for word in ("skipped", "expected failures", "unexpected successes"))
    return TestCounts(
        passed=max(ran - failed - errors - skipped, 0),
        failed=failed,
        errors=errors,
        skipped=skipped,
        failures=_names(_UNITTEST_FAILED.findall(text)),
        runner="unittest",
    )


def _cargo(text: str) -> TestCounts | None:
    ends = _CARGO.findall(text)
    if not ends:
        return None
    passed, failed, ignored = (sum(int(end[i]) for end in ends) for i in range(3))
    names = _names(_CARGO_FAILED.findall(text))
    return TestCounts(passed=passed, failed=failed, skipped=ignored, failures=names, runner="cargo")


def _go(text: str) -> TestCounts | None:
    """Without `-v` go prints only failures and packages: then the packages that passed are the passed count."""
    tests = _GO.findall(text)
    packages = [found for found in _GO_PACKAGE.findall(text) if found[0] in ("ok", "FAIL") and found[2]]
    if not packages and not tests:
        return None
    if not packages and not re.search(r"^(PASS|FAIL)$", text, re.M):
        return None
    verbose = any(kind == "PASS" for kind, _ in tests)
    good = sum(word == "ok" and "[no tests to run]" not in rest for word, _, rest in packages)
    names = [name for kind, name in tests if kind == "FAIL"]
    broken = _go_broken(text)
    return TestCounts(
        passed=sum(kind == "PASS" for kind, _ in tests) if verbose else good,
        failed=len(names),
        errors=len(broken),
        skipped=sum(kind == "SKIP" for kind, _ in tests),
        failures=_names([*names, *broken]),
        runner="go" if verbose else "go, packages",
    )


def _go_broken(text: str) -> list[str]:
    """The packages that failed without a failed test: not built, killed, out of time."""
    broken, begun = [], 0
    for match in _GO_PACKAGE.finditer(text):
        if match[1] not in ("ok", "FAIL") or not match[3]:
            continue
        if match[1] == "FAIL" and "--- FAIL: " not in text[begun : match.start()]:
            why = match[3] if match[3].startswith("[") else "[no test named]"
            broken.append(f"{match[2]} {why}")
        begun = match.end()
    return broken


def _jest(text: str) -> TestCounts | None:
    ends = _JEST.findall(text)
    if not ends:
        return None
    names = _names(_JEST_FAILED.findall(text))
    # A file that can't be loaded has no tests that could fail: it is counted among the suites only.
    unloaded = _names(_JEST_UNLOADED.findall(text))
    names = tuple(name for name in names if name != "Test suite failed to run")
    return _scripted([_words(end) for end in ends], (*names, *unloaded), "jest", len(unloaded))


def _vitest(text: str) -> TestCounts | None:
    ends = list(_VITEST.finditer(text))
    if not ends:
        return None
    words = [_words(end[1].replace("expected fail", "todo")) for end in ends]
    unloaded = _names(_VITEST_UNLOADED.findall(text))
    names = _names(_VITEST_FAILED.findall(text))
    return _scripted(words, (*names, *unloaded), "vitest", len(unloaded))


def _scripted(ends: list[dict[str, int]], names: tuple[str, ...], runner: str, errors: int) -> TestCounts:
    def total(*words: str) -> int:
        return sum(end.get(word, 0) for end in ends for word in words)

    return TestCounts(
        passed=total("passed"),
        failed=total("failed"),
        errors=errors,
        skipped=total("skipped", "todo"),
        failures=names,
        runner=runner,
    )


def _mocha(text: str) -> TestCounts | None:
    found: dict[str, int] = {}
    for number, word in _MOCHA.findall(text):
        found[word] = found.get(word, 0) + int(number)
    if "passing" not in found:
        return None
    names = _names(re.sub(r"\s*\n\s*", " › ", name) for name in _MOCHA_FAILED.findall(text))
    return TestCounts(
        passed=found["passing"],
        failed=found.get("failing", 0),
        skipped=found.get("pending", 0),
        failures=names,
        runner="mocha",
    )


def _node(text: str) -> TestCounts | None:
    found: dict[str, int] = {}
    for word, number in _NODE.findall(text):
        found[word] = found.get(word, 0) + int(number)
    if not {"tests", "pass", "fail"} <= found.keys():
        return None
    names = _names(tap or spec for tap, spec in _NODE_FAILED.findall(text))
    return TestCounts(
        passed=found["pass"],
        failed=found["fail"],
        errors=found.get("cancelled", 0),
        skipped=found.get("skipped", 0) + found.get("todo", 0),
        failures=names,
        runner="node",
    )


def _tap(text: str) -> TestCounts | None:
    """Test Anything Protocol (tape, tap, prove, bats): results in the first column, and a plan of how many."""
    plan = _TAP_PLAN.search(text)
    if plan is None:
        return None
    results = _TAP.findall(text)
    excused = [word for word, _, directive in results if directive]
    red = [name.strip() for word, name, directive in results if word == "not ok" and not directive]
    missing = max(0, int(plan[1]) - len(results)) + len(re.findall(r"^Bail out!", text, re.M))
    return TestCounts(
        passed=len(results) - len(excused) - len(red),
        failed=len(red),
        errors=missing,
        skipped=len(excused),
        failures=_names(red),
        runner="tap",
    )


_PARSERS: tuple[Callable[[str], TestCounts | None], ...] = (
    _pytest,
    _unittest,
    _cargo,
    _jest,
    _vitest,
    _mocha,
    _node,
    _tap,
    _go,
)
