"""read_files: ranges of lines, numbered, each with its place in the file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block
from contracts.base import JsonObject
from contracts.controls import marks, named, visible
from contracts.line_ends import said
from contracts.redact import LABEL
from contracts.text import clean, share, size
from contracts.tools import MAX_RANGE_BYTES, MAX_RANGE_LINES, SPECS
from tool_adapters.actions.context import ActionContext, Repeatable
from tool_adapters.actions.files import Files, Missing, Refused, artifact, is_binary
from tool_adapters.actions.nearest import nearest_names
from tool_adapters.actions.outline import outline

FIRST_LINES = 80
_LONG_LINE = 1000
_SLICE = 8 * 1024
_OUTLINE_ROWS = 150


@dataclass(frozen=True)
class Piece:
    """Rows to show and where they come from. `first` is the number of the first row's line, 0 where the rows
    are not consecutive lines; `total` the lines of the file; `notes` go into the title."""

    path: str
    rows: tuple[str, ...]
    first: int = 0
    total: int = 0
    title: str = ""
    notes: str = ""

    @property
    def overhead(self) -> int:
        """Bytes of the title, with what `shown` may add to it."""
        return size(self.title or self.path + self.notes) + 80

    @property
    def bytes(self) -> int:
        return sum(size(row) + 1 for row in self.rows) + self.overhead


class ReadFiles(Repeatable):
    spec = SPECS["read_files"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        return await self.within(call.args, self.ctx.room)

    async def within(self, args: JsonObject, room: int) -> ActionResult:
        """The result in at most `room` bytes. Always ok: what can't be read is said in its block."""
        begun = time.monotonic()
        blocks = await anyio.to_thread.run_sync(self._blocks, args["files"], room, abandon_on_cancel=True)
        return ActionResult(blocks=blocks, took=time.monotonic() - begun)

    def _blocks(self, entries: Sequence[JsonObject], room: int) -> tuple[Block, ...]:
        files = Files(self.ctx.root, self.ctx.paths)
        pieces = [piece for entry in entries for piece in self._pieces(files, entry)]
        rooms = share([piece.bytes for piece in pieces], room)
        return tuple(shown(piece, part) for piece, part in zip(pieces, rooms, strict=True))

    def _pieces(self, files: Files, entry: JsonObject) -> list[Piece]:
        path = str(entry["path"])
        begin, end, at = entry.get("from"), entry.get("to"), entry.get("at")
        try:
            data = (
                artifact(self.ctx.artifacts, path) if path.startswith("artifact:") else files.read(path).data
            )
        except Missing as missing:
            names = ", ".join(nearest_names([name for name in self.ctx.git.files() if name != path], path))
            return [Piece(path, (), title=missing.say + (f"; near it: {names}" if names else ""))]
        except Refused as refused:
            return [Piece(path, (), title=refused.say)]
        if is_binary(data):
            return [Piece(path, (), title=f"{path} is binary, {len(data):,} bytes")]
        # The whole file, before a range of it is taken: a key is known by its first line.
        safe = self.ctx.redactor.redact(data, keep_lines=True)
        pieces = pieces_of(path, safe, begin, end, at)
        return pieces if safe == data else [_marked(piece) for piece in pieces]


def pieces_of(
    path: str, data: bytes, begin: int | None = None, end: int | None = None, at: int | None = None
) -> list[Piece]:
    """What is shown of a text: the range `begin`–`end` (1-based, inclusive), of one line what stands from its
    character `at` on, or, of a large file without a range, its outline and its first 80 lines."""
    text = data.decode("utf-8", "replace")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    notes = _notes(data, text)
    total = len(lines)
    if begin is None and end is None and at is None and not path.startswith("artifact:"):
        large = total > MAX_RANGE_LINES or len(data) > MAX_RANGE_BYTES
        found = outline(path, text) if large else []
        if large:
            head = _noted(_range(path, lines, 1, min(total, FIRST_LINES)), notes)
            rows = tuple(f"{number}|{_shown(line)}" for number, line in found[:_OUTLINE_ROWS])
            more = f", the first {len(rows)} of {len(found):,}" if len(found) > len(rows) else ""
            title = f"{path} outline of {total:,} lines{more}"
            return [Piece(path, rows, total=total, title=title), head] if rows else [head]
    first = begin or 1
    last = min(end or total, first + MAX_RANGE_LINES - 1, total)
    if not total:
        return [Piece(path, (), title=f"{path} is empty")]
    if first > total:
        return [Piece(path, (), title=f"{path} has {total:,} lines: nothing at line {first:,}")]
    if path.startswith("artifact:"):
        # What a command printed: its colours are noise, as in the results of `run`.
        lines[first - 1 : last] = [clean(line) for line in lines[first - 1 : last]]
    if at is not None:
        return [_slice(path, lines[first - 1], first, at)]
    if last < first:
        return [Piece(path, (), title=f"{path} lines {first:,}–{end:,}: `to` comes before `from`")]
    return [_noted(_range(path, lines, first, last), notes)]


def _noted(piece: Piece, notes: str) -> Piece:
    return replace(piece, notes=notes + piece.notes)


def _marked(piece: Piece) -> Piece:
    """Says it where a secret was taken out: what is shown there is not what the file holds."""
    if not any(LABEL in row for row in piece.rows):
        return piece
    said = "; secrets are redacted: such a line can't be replaced by what is shown"
    if piece.title:
        return replace(piece, title=piece.title + said)
    return replace(piece, notes=piece.notes + said)


def _range(path: str, lines: Sequence[str], first: int, last: int) -> Piece:
    rows: list[str] = []
    room = MAX_RANGE_BYTES
    for number in range(first, last + 1):
        row = f"{number}|{_shown(lines[number - 1])}"
        room -= size(row) + 1
        if room < 0 and rows:
            break
        rows.append(row)
    shown = marks("\n".join(lines[first - 1 : first - 1 + len(rows)]))
    notes = f"; control characters are shown as {shown}: write them so" if shown else ""
    if long := next(
        (n for n, line in enumerate(lines[first - 1 :][: len(rows)], first) if len(line) > _LONG_LINE), 0
    ):
        notes += f"; long lines are cut: `from` {long}, `at` {_LONG_LINE + 1} reads on"
    return Piece(path, tuple(rows), first, len(lines), notes=notes)


def _slice(path: str, line: str, number: int, at: int) -> Piece:
    """One line from its character `at` (1-based) on, in at most 8 KiB."""
    if at > len(line):
        return Piece(path, (), title=f"{path} line {number:,} has {len(line):,} characters")
    part = line[at - 1 : at - 1 + _SLICE]
    while (taken := size(visible(part))) > _SLICE:
        part = part[: len(part) * _SLICE // taken]
    last = at - 1 + len(part)
    more = f"; `at` {last + 1} reads on" if last < len(line) else ""
    shown = f"; control characters are shown as {signs}" if (signs := marks(part)) else ""
    title = f"{path} line {number:,} characters {at:,}–{last:,} of {len(line):,}{more}{shown}"
    return Piece(path, (f"{number}|{visible(part)}",), title=title)


def _notes(data: bytes, text: str) -> str:
    notes = [ends] if (ends := said(data)) else []
    if "�" in text and "�".encode() not in data:
        notes.append("not UTF-8")
    if data and not data.endswith(b"\n"):
        notes.append("no newline at the end")
    return f" ({', '.join(notes)})" if notes else ""


def _shown(line: str) -> str:
    if len(line) <= _LONG_LINE:
        return visible(line)
    return f"{visible(line[:_LONG_LINE])}… +{len(line) - _LONG_LINE:,} characters"


def shown(piece: Piece, room: int) -> Block:
    """The piece in at most `room` bytes, cut at whole lines; the title says which lines are there."""
    room -= piece.overhead
    rows: list[str] = []
    for row in piece.rows:
        room -= size(row) + 1
        if room < 0:
            break
        rows.append(row)
    full = sum(size(row) + 1 for row in piece.rows)
    title = clean(piece.title)[:600]
    if not title and not rows:
        title = (
            f"{named(piece.path)} lines from {piece.first:,} of {piece.total:,}: no room here, read it alone"
        )
    elif not title:
        last = piece.first + len(rows) - 1
        title = f"{named(piece.path)} lines {piece.first:,}–{last:,} of {piece.total:,}{piece.notes}"
    elif len(rows) < len(piece.rows):
        title += f" (cut after {len(rows)})"
    return Block(title=title, text="\n".join(rows), total=full)
