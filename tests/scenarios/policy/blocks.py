"""Where a Python block ends, and what is left of lines that go."""

from __future__ import annotations

import re

from tests.scenarios.policy.prompt import File
from tests.scenarios.policy.steps import Change, Look

AHEAD = 60


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def blank(line: str) -> bool:
    return not line.strip()


def without(file: File, kind: str, first: int, last: int) -> Change | Look:
    """The lines taken away, and one of two blank lines that would come to stand together; `pass` where nothing
    else is left of a block."""
    if not file.sees(first - 1, last + 1):
        return Look(first - 8, last + AHEAD)
    after = file.rows.get(last + 1)
    before = file.rows.get(first - 1)
    if (before is None or blank(before)) and after is not None and blank(after):
        last += 1
    if before is not None and before.rstrip().endswith(":") and _alone(file, first, last):
        return Change(kind, first, last, (" " * indent(file.rows[first]) + "pass",))
    return Change(kind, first, last, ())


def _alone(file: File, first: int, last: int) -> bool:
    """Whether the lines are all that the block they stand in has."""
    for number in range(last + 1, file.total + 1):
        line = file.rows.get(number)
        if line is not None and not blank(line):
            return indent(line) < indent(file.rows[first])
    return True


def end_of(file: File, head: int) -> int | Look:
    """The last line of the block whose first line is `head`, blank lines after it left out."""
    depth, last, number = indent(file.rows[head]), head, head + 1
    while True:
        line = file.rows.get(number)
        if line is None:
            return last if file.total and number > file.total else Look(head - 8, number + AHEAD)
        if not blank(line):
            if indent(line) <= depth:
                return last
            last = number
        number += 1


def arms(file: File, head: int) -> list[tuple[str, int, int]] | Look:
    """The arms of an `if` as (condition, first line of the body, last line); `else` has the condition ''."""
    found: list[tuple[str, int, int]] = []
    number, depth = head, indent(file.rows[head])
    while True:
        line = file.rows[number]
        says = re.match(r"\s*(?:if|elif)\s+(.*?)\s*:\s*(?:#.*)?$", line)
        last = end_of(file, number)
        if isinstance(last, Look):
            return last
        found.append((says[1] if says else "", number + 1, last))
        number = last + 1
        while blank(file.rows.get(number, "")) and number <= file.total:
            number += 1
        follows = file.rows.get(number, "")
        if indent(follows) != depth or not re.match(r"\s*(elif\b|else\s*:)", follows):
            return found


def moved_out(file: File, first: int, last: int, depth: int) -> tuple[str, ...]:
    """The lines of a body, moved to column `depth`, blank lines at its head left out."""
    lines = [file.rows[number] for number in range(first, last + 1)]
    while lines and blank(lines[0]):
        lines.pop(0)
    by = indent(lines[0]) - depth
    return tuple(line[by:] if blank(line[:by]) else line for line in lines)
