"""Passages of files as bytes: where a text stands, with which line ends; lines that go from one file to another."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contracts.controls import restored, visible
from contracts.line_ends import replaced
from contracts.text import line
from tool_adapters.actions.files import Refused

MAX_COPY = 4 * 1024 * 1024


@dataclass(frozen=True)
class Piece:
    """Lines `first`–`last` (1-based) of a text as `data`, and the `rest` of it without them."""

    data: bytes
    rest: bytes
    first: int
    last: int

    def told(self, source: str, path: str, moved: bool, *, created: bool) -> str:
        """What was done, with the first and last line: whether it is what was meant is seen at once."""
        rows = self.data.decode("utf-8", "replace").rstrip("\n").split("\n")
        how = f"{path}: {'created from' if created else 'got'} lines {self.first:,}–{self.last:,} of {source}"
        gone = ", taken out there" + ("" if self.rest else ", which is gone") if moved else ""
        return f"{how} ({len(self.data):,} bytes{gone})\n  {_row(rows[0])}\n  …\n  {_row(rows[-1])}"


def taken(source: str, data: bytes, begin: int | None, end: int | None) -> Piece:
    """The lines `begin`–`end` of `data`, line ends and all (absent: from the first, to the last). Raises
    Refused."""
    # Only a line feed ends a line, as in what is shown.
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
    first, last = begin or 1, end or len(lines)
    if not 1 <= first <= last <= len(lines):
        raise Refused("edit.range", f"{source!r} has {len(lines):,} lines: there is no {first:,}–{last:,}")
    piece = b"".join(lines[first - 1 : last])
    if len(piece) > MAX_COPY:
        raise Refused("edit.too_large", f"lines {first:,}–{last:,} of {source!r} are more than 4 MiB")
    if b"\0" in piece:
        raise Refused("edit.binary", f"{source!r} is binary: edits are for text")
    return Piece(piece, b"".join([*lines[: first - 1], *lines[last:]]), first, last)


def joined(was: bytes | None, piece: bytes) -> bytes:
    """`piece` after what a file holds, on a line of its own."""
    if not was:
        return piece
    return was + (b"" if was.endswith(b"\n") else b"\n") + piece


def encoded(text: str) -> bytes:
    """The text as UTF-8. Raises Refused."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Refused(
            "edit.text", "the text holds half of a surrogate pair: it can't be written as UTF-8"
        ) from None


def exchanged(data: bytes, old: str, new: str) -> tuple[bytes, list[int]]:
    """`data` with `new` for `old`, both as they are written after what was shown, and the lines where it stood.
    Raises Refused."""
    return replaced(data, encoded(restored(old, data)), encoded(restored(new, data)))


def _row(text: str) -> str:
    return line(visible(text.removesuffix("\r")), 160)
