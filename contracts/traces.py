"""The text of one failure in what a test runner printed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from contracts.text import clean

TRACE_LINES = 60

_FOREIGN = re.compile(r" +at .*(?:/|\()(?:node_modules/|node:)")
_TRACES = tuple(
    re.compile(pattern, re.M | re.S)
    for pattern in (
        r"^_{3,} (?!summary)[^\n]+ _{3,}$.*?(?=^_{3,} [^\n]+ _{3,}$|^={3,} [^\n]+ ={3,}$|^!{3,}|\Z)",  # pytest
        r"^={40,}\n(?:FAIL|ERROR): [^\n]+\n.*?(?=^={40,}$|^-{40,}\nRan |\Z)",  # unittest
        r"^---- .+? stdout ----$.*?(?=^---- .+? stdout ----$|^failures:$|\Z)",  # cargo
        r"^=== RUN   [^\n]+\n(?:[ \t]+[^\n]*\n)+--- FAIL: [^\n]+$",  # go -v: the messages come first
        r"^[ \t]*--- FAIL: [^\n]+\n(?:[ \t]+[^\n]*\n|panic: .*?(?=^FAIL\b|\Z)|\n)*",  # go, subtests included
        r"^panic: .*?(?=^FAIL\b|\Z)",  # go, outside of a test
        r"^  ● [^\n]+\n.*?(?=^  ● |^Test Suites:|^(?:PASS|FAIL) |\Z)",  # jest
        r"^\s?FAIL  [^\n]+ (?:>|\[) [^\n]+\n.*?(?=^⎯|^\s?FAIL  |\Z)",  # vitest
        r"^  \d+\) [^\n]+\n {7}.*?(?=^  \d+\) |\Z)",  # mocha
        r"^not ok \d+(?: -)? [^\n]*\n  ---\n.*?^  \.\.\.$",  # node:test, TAP
        r"^✖ [^\n]+\n(?:[ ]{2,}[^\n]*\n|\n)+",  # node:test, spec
        r"^error(?:\[E\d+\])?: [^\n]+\n +--> .*?(?=^error|^warning|\Z)",  # rustc
        r"^Traceback \(most recent call last\):\n.*?^\S[^\n]*$(?:\n^\S[^\n]*$)?",  # Python
    )
)


def first_trace(text: str | bytes, lines: int = TRACE_LINES, prefer: Iterable[str] = ()) -> str:
    """The text of the first failure, of those of the tests named `prefer` if one of them is found, at most
    `lines` lines (the middle is cut), or empty."""
    text = clean(text)
    wanted = tuple(part for name in prefer for part in _headed(name))
    found = (
        _of(text, wanted)
        or min(
            ((match.start(), match[0]) for pattern in _TRACES if (match := pattern.search(text))),
            default=(0, ""),
        )[1]
    )
    return shortened(found.strip("\n"), lines)


def shortened(text: str, lines: int) -> str:
    """`text` in at most `lines` lines. The end of a trace says what went wrong, its beginning which test it was."""
    rows = text.split("\n")
    if len(rows) > lines:  # what stands in other people's code goes first
        rows = [row for row in rows if not _FOREIGN.match(row)]
    if len(rows) <= lines:
        return "\n".join(rows)
    front = lines // 3
    kept = lines - front - 1
    return "\n".join([*rows[:front], f"… {len(rows) - front - kept} lines …", *rows[-kept:]])


def _headed(name: str) -> tuple[str, ...]:
    """How the heading of a failure names the test: pytest says `TestK.test_in` for `a.py::TestK::test_in`."""
    return (name, ".".join(name.split("::")[1:])) if ".py::" in name else (name,)


def _of(text: str, wanted: tuple[str, ...]) -> str:
    if not wanted:
        return ""
    for pattern in _TRACES:
        for match in pattern.finditer(text):
            first, *rest = match[0].strip("\n=").split("\n")
            heading = "\n".join([first, *(row for row in rest if "--- FAIL: " in row)])
            if any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w\[])", heading) for name in wanted):
                return match[0]
    return ""
