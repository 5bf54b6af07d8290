"""What a range of lines stands inside: the headers above it with less indentation, whatever the language. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST, LONGEST = 3, 64  # headers, the innermost ones; characters of each
REACH = 4000  # lines that are looked back over
# What opens something ends so, or begins with a word that does; closing, continuing and commenting lines open nothing.
_HEADER = re.compile(
    r"(?!#|//|/\*|\*|--|<!--|\"\"\"|'''|@|[)\]}]|(?:else|elif|except|finally|catch|case)\b)"
    r"(?:.*(?:[:{(\[]|=>|\b(?:do|then|begin))\s*(?:#.*|//.*)?$"
    r"|(?:(?:export|default|public|private|protected|static|async|pub|abstract|final) )*"
    r"(?:class|def|function|func|fn|impl|struct|interface|module|namespace|trait|enum|sub|proc)\b)"
)


def enclosing(lines: Sequence[str], first: int) -> list[tuple[int, str]]:
    """(line number, text) of the headers around line `first` (from 1), outermost first; empty at the top level."""
    start = next((n for n in range(first, min(first + 40, len(lines)) + 1) if lines[n - 1].strip()), 0)
    if not start:
        return []
    found: list[tuple[int, str]] = []
    inside = _indent(lines[start - 1])
    for number in range(start - 1, max(0, start - REACH), -1):
        if inside == 0:
            break
        line = lines[number - 1]
        text = line.strip()
        if not text or _indent(line) >= inside or not _HEADER.match(text):
            continue
        inside = _indent(line)
        found.append((number, text if len(text) <= LONGEST else f"{text[:LONGEST]}…"))
    return found[:MOST][::-1]


def say_enclosing(headers: Sequence[tuple[int, str]]) -> str:
    """The headers as "in 12: class A > 40: def b(self):"; empty for none."""
    return "in " + " > ".join(f"{number:,}: {text}" for number, text in headers) if headers else ""


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
