"""Ranges of lines: shown with numbers within a bound, and followed when the lines above them change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from contracts.base import JsonObject
from contracts.controls import visible
from contracts.text import size

Hunk = tuple[
    int, int, int, int
]  # old start, old count, new start, new count; 1-based, as `diff -U0` says them

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
LONG_LINE = 1000


def numbered(lines: Sequence[str], first: int, last: int, room: int) -> tuple[list[str], int]:
    """`12|text` for the lines `first`–`last` as far as they fit into `room` bytes (each with its line break and
    one space of margin), and the last line shown. A line is cut at 1,000 characters."""
    rows: list[str] = []
    for number in range(first, last + 1):
        text = lines[number - 1]
        row = f"{number}|{visible(text[:LONG_LINE])}" + (
            f"… ({len(text):,} characters)" if len(text) > LONG_LINE else ""
        )
        room -= size(row) + 2
        if room < 0:
            return rows, number - 1
        rows.append(row)
    return rows, last


def hunks(diff: bytes) -> dict[str, list[Hunk]]:
    """The hunks of a `git diff -U0 --no-prefix`-less output (`a/`, `b/`), by the path of the old side. A file that
    is gone has one hunk that takes all its lines."""
    found: dict[str, list[Hunk]] = {}
    path, skip = "", 0
    for line in diff.split(b"\n"):
        if skip:
            if not line.startswith(b"\\"):
                skip -= 1
            continue
        if line.startswith(b"--- "):
            name = line[4:].rstrip(b"\t").decode("utf-8", "surrogateescape")
            path = name.removeprefix("a/") if name != "/dev/null" else ""
        elif path and (match := _HUNK.match(line)):
            old, old_count, new, new_count = (int(part) if part else 1 for part in match.groups())
            found.setdefault(path, []).append((old, old_count, new, new_count))
            skip = old_count + new_count
        elif match := _HUNK.match(line):
            skip = sum(int(part) if part else 1 for part in (match[2], match[4]))
    return found


def followed(first: int, last: int, changes: Iterable[Hunk]) -> tuple[int, int]:
    """Where the range stands after the changes (in order of lines): what changed above moves it, what changed
    inside stretches or shrinks it. A boundary that was itself replaced stays with the replacement."""
    start, end, grown = first, last, 0
    for old, old_count, new, new_count in changes:
        begins = old if old_count else old + 1  # an insertion stands after line `old`
        ends = begins + old_count - 1
        if begins > last:
            break
        if ends >= first > begins:  # the first line was taken: the range begins with what stands there now
            start = new if new_count else new + 1
        elif ends < first:
            start = first + grown + new_count - old_count
        grown += new_count - old_count
        end = last + grown if ends <= last else (new + new_count - 1 if new_count else new)
    return max(1, start), max(1, start, end)


def follow(views: Mapping[str, JsonObject], changed: Mapping[str, Sequence[Hunk]]) -> JsonObject:
    """The merge patch that keeps the state's views on the lines that they were opened on; empty when none moved."""
    patch: JsonObject = {}
    for name, view in views.items():
        path, first, last = str(view.get("path")), int(view.get("from", 1)), int(view.get("to", 1))
        moved = followed(first, last, changed.get(path, ()))
        if moved != (first, last):
            patch[name] = {"from": moved[0], "to": moved[1]}
    return patch
