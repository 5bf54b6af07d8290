"""Python by lines: headers around a line, the extent of a function, where a statement ends."""

from __future__ import annotations

import re

from tests.scenarios.policy.prompt import File
from tests.scenarios.upkeep.answers import AFTER, BEFORE, FURTHER, Look, indent

_HEADER = re.compile(
    r"\s*(?:class|def|async|if|elif|else|for|while|try|except|finally|with|match|case)\b.*(?::|[(\[,\\])\s*(?:#.*)?$"
)
_OPEN, _CLOSE = "([{", ")]}"


def headers(file: File, at: int, upto: str) -> list[tuple[int, str]] | Look:
    """The headers of the blocks around line `at`, innermost first, as far as the first one that begins with
    the word `upto`."""
    depth, number = indent(file.rows[at]), at - 1
    found: list[tuple[int, str]] = []
    while depth and number:
        line = file.rows.get(number)
        if line is None:
            return Look(((max(1, number - FURTHER), at + AFTER // 3),))
        if line.strip() and indent(line) < depth and _HEADER.match(line):
            found.append((number, line))
            depth = indent(line)
            if line.split()[0] == upto:
                break
        number -= 1
    return found


def statement(file: File, at: int) -> int | Look:
    """The last line of the statement that begins in line `at`."""
    depth, number = 0, at
    while True:
        line = file.rows.get(number)
        if line is None:
            return Look(((max(1, at - BEFORE), number + FURTHER // 2),))
        code = bare(line)
        depth += sum(code.count(one) for one in _OPEN) - sum(code.count(one) for one in _CLOSE)
        if depth <= 0 and not code.rstrip().endswith("\\"):
            return number
        number += 1


def function(file: File, at: int, head: int) -> int | Look:
    """The last line of the function whose header is line `head` and that holds line `at`."""
    depth, last, number = indent(file.rows[head]), at, at + 1
    while True:
        line = file.rows.get(number)
        if line is None:
            if file.total and number > file.total:
                return last
            return Look(((max(1, head - 1), number + FURTHER),))
        if line.strip() and not line.lstrip().startswith(("#", ")", "]", "}")):
            if indent(line) <= depth:
                return last
            last = number
        number += 1


def bare(line: str) -> str:
    """The line without comment, its strings emptied."""
    return re.sub(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|#.*""", lambda hit: "''" if hit[1] else "", line)
