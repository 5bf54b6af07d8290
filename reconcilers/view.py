"""The file ranges that the state asks for, read afresh from the worktree, within one bound for all: the small ones
whole, the large ones in equal parts."""

from __future__ import annotations

import time
from pathlib import Path

import anyio.to_thread

from contracts.base import JsonObject
from contracts.controls import marks, visible
from contracts.enclosing import enclosing, say_enclosing
from contracts.line_ends import said
from contracts.paths import PathPolicy, normalise
from contracts.ports import Ask
from contracts.ranges import numbered
from contracts.readings import ViewPiece, ViewReading
from contracts.redact import LABEL, Redactor
from contracts.text import share, size

MAX_VIEWS = 6
MAX_FILE = 8 * 1024 * 1024
TITLE = 400  # bytes kept aside for the title of each view


class ViewReconciler:
    """`root` is the worktree, `paths` refuses files with secrets, `limit` the bytes that all views together may
    take. What can't be shown says why; nothing is raised."""

    name = "view"
    when = ("step",)

    def __init__(self, root: Path, paths: PathPolicy, limit: int, redactor: Redactor | None = None) -> None:
        self._root, self._paths, self._limit = root, paths, limit
        self._redactor = redactor or Redactor()

    async def read(self, ask: Ask) -> ViewReading:
        return await anyio.to_thread.run_sync(self._read, ask)

    def _read(self, ask: Ask) -> ViewReading:
        began = time.monotonic()
        whole = {name: self._piece(view) for name, view in list(ask.view.items())[:MAX_VIEWS]}
        rooms = share([_bytes(piece) for piece in whole.values()], self._limit)
        pieces = {
            name: _fitted(piece, room) for (name, piece), room in zip(whole.items(), rooms, strict=True)
        }
        return ViewReading(pieces=pieces, took=time.monotonic() - began)

    def _piece(self, view: JsonObject) -> ViewPiece:
        """The range as if it were the only one."""
        path, first, last = str(view["path"]), int(view["from"]), int(view["to"])
        data = self._bytes(path)
        if isinstance(data, str):
            return ViewPiece(path=path, first=first, last=last, problem=data)
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        if lines[-1] == "":
            lines.pop()
        total = len(lines)
        if first > total:
            problem = f"the range is gone: the file has {total:,} lines now"
            return ViewPiece(path=path, first=first, last=last, total=total, problem=problem)
        last = min(last, total)
        rows, shown = numbered(lines, first, last, self._limit - TITLE)
        cut = _cut(first, shown) if shown < last else ""
        text = "\n".join(rows)
        return ViewPiece(
            path=path,
            first=first,
            last=last,
            total=total,
            text=text,
            problem=cut,
            inside=visible(say_enclosing(enclosing(lines, first))),
            notes=_notes(data, marks("\n".join(lines[first - 1 : shown])), LABEL in text),
        )

    def _bytes(self, path: str) -> bytes | str:
        """The file's bytes, or why it can't be shown."""
        cleaned = normalise(path)
        if cleaned is None:
            return "that is no path inside the worktree"
        place = (self._root / cleaned).resolve()
        if not place.is_relative_to(self._root.resolve()):
            return "it leads out of the worktree"
        inside = place.relative_to(self._root.resolve()).as_posix()
        if ".git" in inside.split("/")[:1] or self._paths.secret(inside) or self._paths.secret(cleaned):
            return "it is not shown: it may hold secrets"
        try:
            if not place.is_file():
                gone = (
                    "there is no such file"
                    if inside == cleaned
                    else f"it leads to {inside!r}, which does not exist"
                )
                return "that is no file" if place.exists() else gone
            if place.stat().st_size > MAX_FILE:
                return "the file is larger than 8 MiB"
            data = place.read_bytes()
        except OSError as error:
            return f"it can't be read: {error.strerror}"
        return "it is binary" if b"\0" in data[:8192] else self._redactor.redact(data, keep_lines=True)


def _notes(data: bytes, controls: str, redacted: bool) -> str:
    notes = [said(data)]
    notes += [f"control characters are shown as {controls}: write them so"] if controls else []
    notes += ["secrets are redacted: such a line can't be replaced by what is shown"] if redacted else []
    return "; ".join(note for note in notes if note)


def _bytes(piece: ViewPiece) -> int:
    """What the piece takes in a prompt: its title, its rows, and the margin and line break of each."""
    return TITLE + sum(size(row) + 2 for row in piece.text.split("\n"))


def _fitted(piece: ViewPiece, room: int) -> ViewPiece:
    """The piece in at most `room` bytes, cut at whole lines."""
    if _bytes(piece) <= room:
        return piece
    rows: list[str] = []
    room -= TITLE
    for row in piece.text.split("\n"):
        room -= size(row) + 2
        if room < 0:
            break
        rows.append(row)
    cut = _cut(piece.first, piece.first + len(rows) - 1)
    return piece.model_copy(update={"text": "\n".join(rows), "problem": cut})


def _cut(first: int, last: int) -> str:
    return f"only lines {first:,}–{last:,} fit: narrow the range"
