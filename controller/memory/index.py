"""index: entries in a full-text index of SQLite's (FTS5) that lives as long as its process, in a temporary file that
has no name: nothing to clean, to repair or to share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from contracts.errors import Unavailable
from contracts.recall import Hit
from contracts.text import clean
from controller.memory.entries import Entry
from controller.memory.words import expression, parts, pieces

CHUNK_LINES, CHUNK_CHARS = 40, 2_000
MOST = 400  # matches that are ranked
SHOWN_LINES, BEFORE, LINE_CHARS = 6, 1, 240  # of a hit: lines, those before the best one, characters of each
_TABLES = """
CREATE TABLE places(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, step INTEGER NOT NULL, place TEXT NOT NULL, artifact TEXT NOT NULL,
  total INTEGER NOT NULL);
CREATE VIRTUAL TABLE chunks USING {module}(
  text, parts, place, id UNINDEXED, first UNINDEXED, kind UNINDEXED, step UNINDEXED);
"""
_FIND = """
SELECT id, first, text, bm25(chunks, 1.0, 1.0, 0.5) AS worth FROM chunks
WHERE chunks MATCH ? AND kind IN ({marks}) ORDER BY worth, step DESC LIMIT {most}
"""
_COUNT = "SELECT count(DISTINCT id) FROM chunks WHERE chunks MATCH ? AND kind IN ({marks})"


@dataclass(frozen=True)
class Found:
    """The hits, best first, and how many places match, those that are not among the hits included."""

    hits: tuple[Hit, ...]
    places: int


class Index:
    """Raises Unavailable for everything that SQLite refuses; the index is then of no use any more."""

    def __init__(self, module: str = "fts5") -> None:
        try:
            # An empty name: a private file in the temporary folder, used once the cache is full, gone with us.
            self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._db.executescript(
                "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384;"
            )
            self._db.executescript(_TABLES.format(module=module))
        except sqlite3.Error as error:
            raise _refused(error) from error

    def add(self, entries: Iterable[Entry]) -> None:
        """All of them, in one transaction."""
        try:
            self._db.execute("BEGIN")
            for entry in entries:
                self._add(entry)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _refused(error) from error

    def held(self) -> dict[str, int]:
        """How many entries of each kind there are."""
        try:
            return dict(self._db.execute("SELECT kind, count(*) FROM places GROUP BY kind").fetchall())
        except sqlite3.Error as error:
            raise _refused(error) from error

    def find(self, words: Sequence[str], kinds: Sequence[str], limit: int, *, all_words: bool) -> Found:
        """What holds the words: the best match of each place, newest first among equals; what says the very same
        as a better one is only counted there."""
        marks, asked = ",".join("?" * len(kinds)), (expression(words, all_words=all_words), *kinds)
        try:
            rows = self._db.execute(_FIND.format(marks=marks, most=MOST), asked).fetchall()
            total = self._db.execute(_COUNT.format(marks=marks), asked).fetchone()[0]
            places: dict[int, list[tuple[int, str]]] = {}
            for id, first, text, _ in rows:
                places.setdefault(id, []).append((first, text))
            hits = self._hits(places, words, limit)
        except sqlite3.Error as error:
            raise _refused(error) from error
        return Found(tuple(hits), total)

    def close(self) -> None:
        self._db.close()

    # ---- inside ---------------------------------------------------------------------------------------
    def _add(self, entry: Entry) -> None:
        row = (entry.kind, entry.step, entry.place, entry.artifact, entry.total)
        id = self._db.execute(
            "INSERT INTO places(kind, step, place, artifact, total) VALUES (?,?,?,?,?)", row
        ).lastrowid
        self._db.executemany(
            "INSERT INTO chunks(text, parts, place, id, first, kind, step) VALUES (?,?,?,?,?,?,?)",
            (
                (text, parts(f"{entry.place}\n{text}"), entry.place, id, first, entry.kind, entry.step)
                for first, text in _chunks(entry)
            ),
        )

    def _hits(self, places: dict[int, list[tuple[int, str]]], words: Sequence[str], limit: int) -> list[Hit]:
        hits: dict[tuple[str, str], Hit] = {}
        for id, chunks in places.items():
            kind, step, place, artifact, total = self._db.execute(
                "SELECT kind, step, place, artifact, total FROM places WHERE id = ?", (id,)
            ).fetchone()
            (first, text), more = chunks[0], len(chunks) - 1
            lines = text.split("\n")
            window = _window(lines, words)
            piece = "\n".join(_around(lines[at], words) for at in window)
            if (same := hits.get((kind, piece))) is not None:
                if step not in (same.step, *same.also):
                    hits[kind, piece] = replace(same, also=(*same.also, step))
            elif len(hits) < limit:
                begin, end = first + window.start, first + window.stop - 1
                hits[kind, piece] = Hit(
                    kind=kind, step=step, place=place, text=piece, artifact=artifact, first=begin, last=end,
                    total=total or first + len(lines) - 1, more=more,
                )  # fmt: skip
        return list(hits.values())


def missing(module: str = "fts5") -> str | None:
    """Why nothing can be recalled on this machine; None when it can."""
    try:
        Index(module).close()
    except Unavailable as error:
        return str(error)
    return None


def _refused(error: sqlite3.Error) -> Unavailable:
    if "no such module" in str(error):
        return Unavailable(
            f"the SQLite {sqlite3.sqlite_version} of this Python has no full-text search (FTS5)",
            hint="`recall` needs a Python whose SQLite has it",
        )
    return Unavailable(
        f"the index of the run's past can't be used: {error}",
        hint="it stands in the temporary folder: free space there",
    )


def _chunks(entry: Entry) -> Iterator[tuple[int, str]]:
    """The text in pieces of whole lines, each with the number of its first line: what is near together is found
    together, and a long output does not count as one."""
    lines, room, first = list[str](), CHUNK_CHARS, entry.first
    for number, line in enumerate(entry.lines, start=entry.first):
        if lines and (len(lines) >= CHUNK_LINES or len(line) > room):
            yield first, "\n".join(lines)
            lines, room, first = [], CHUNK_CHARS, number
        lines.append(line)
        room -= len(line)
    yield first, "\n".join(lines)


def _window(lines: Sequence[str], words: Sequence[str]) -> range:
    """The lines around the one that holds the most of the words."""
    wanted = [pieces(word) for word in words]
    worth = [sum(all(piece in line for piece in each) for each in wanted) for line in map(str.lower, lines)]
    best = worth.index(max(worth))
    begin = max(0, min(best - BEFORE, len(lines) - SHOWN_LINES))
    return range(begin, min(len(lines), begin + SHOWN_LINES))


def _around(line: str, words: Sequence[str]) -> str:
    """A line, of a long one the part around the first word that it holds."""
    if len(line) <= LINE_CHARS:
        return line
    low = line.lower()
    at = next((at for word in words for piece in pieces(word) if (at := low.find(piece)) >= 0), 0)
    begin = max(0, min(at - LINE_CHARS // 4, len(line) - LINE_CHARS))
    end = begin + LINE_CHARS
    return ("…" if begin else "") + clean(line[begin:end]) + ("…" if end < len(line) else "")
