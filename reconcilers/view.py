"""The file ranges that the state asks for, read afresh from the worktree, within one bound for all."""

from __future__ import annotations

import time
from pathlib import Path

import anyio.to_thread

from contracts.base import JsonObject
from contracts.paths import PathPolicy, normalise
from contracts.ports import Ask
from contracts.ranges import numbered
from contracts.readings import ViewPiece, ViewReading
from contracts.redact import Redactor

MAX_VIEWS = 6
MAX_FILE = 8 * 1024 * 1024
TITLE = 240  # bytes kept aside for the title of each view


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
        wanted = list(ask.view.items())[:MAX_VIEWS]
        pieces: dict[str, ViewPiece] = {}
        room = self._limit
        for place, (name, view) in enumerate(wanted):
            piece = self._piece(view, room // (len(wanted) - place) - TITLE)
            room -= len(piece.text.encode()) + piece.text.count("\n") + TITLE
            pieces[name] = piece
        return ViewReading(pieces=pieces, took=time.monotonic() - began)

    def _piece(self, view: JsonObject, room: int) -> ViewPiece:
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
        rows, shown = numbered(lines, first, last, room)
        cut = f"only lines {first:,}–{shown:,} fit: narrow the range" if shown < last else ""
        return ViewPiece(path=path, first=first, last=last, total=total, text="\n".join(rows), problem=cut)

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
                return "the file is gone" if not place.exists() else "that is no file"
            if place.stat().st_size > MAX_FILE:
                return "the file is larger than 8 MiB"
            data = place.read_bytes()
        except OSError as error:
            return f"it can't be read: {error.strerror}"
        return "it is binary" if b"\0" in data[:8192] else self._redactor.redact(data, keep_lines=True)
