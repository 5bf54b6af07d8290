"""Passages of files as bytes: where a text stands, with which line ends; lines that go from one file to another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from contracts.patch_apply import is_crlf
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
        return f"{how} ({len(self.data):,} bytes{gone})\n  {line(rows[0], 160)}\n  …\n  {line(rows[-1], 160)}"


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


def fitted(data: bytes, old: str, new: str) -> tuple[bytes, bytes]:
    """`old` and `new` as bytes, with the file's line ends where it has CRLF and the text has not."""
    plain, fresh = encoded(old), encoded(new)
    if b"\r\n" not in data:
        return plain, fresh
    dos = with_crlf(plain)
    if is_crlf(data) or (dos != plain and plain not in data and dos in data):
        return (plain if plain in data and dos not in data else dos), with_crlf(fresh)
    return plain, fresh


def with_crlf(data: bytes) -> bytes:
    """Every line end as CRLF."""
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def lines_of(data: bytes, part: bytes) -> Iterator[int]:
    """The line numbers at which `part` begins."""
    at, line, seen = data.find(part), 1, 0
    while at >= 0:
        line += data.count(b"\n", seen, at)
        seen = at
        yield line
        at = data.find(part, at + len(part))
