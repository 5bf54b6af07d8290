"""What a store carries for the files of artifacts. To flush a file for each output of a step takes longer than all
else in it; so the bytes go into the store's own transaction with the row that names them, and stay there until many
files are flushed together. After a power loss a file that did not survive is written again from them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from controller.stores.artifact_files import flush_many, place, whole, write

FULL = 2 * 1024 * 1024  # bytes; then the files are flushed
_TABLE = "CREATE TABLE IF NOT EXISTS carried(id TEXT PRIMARY KEY, data BLOB NOT NULL)"


class Carried:
    """`waiting` are the outputs that the next write takes along, by id. Methods work in the caller's transaction."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.waiting: dict[str, bytes] = {}
        self._size: int | None = None  # bytes in the table; None: not known yet

    @property
    def full(self) -> bool:
        return (self._size or 0) > FULL

    def take(self, db: sqlite3.Connection) -> None:
        """Put what waits into the table."""
        db.execute(_TABLE)
        if self._size is None:
            (self._size,) = db.execute("SELECT total(length(data)) FROM carried").fetchone()
        db.executemany("INSERT OR REPLACE INTO carried(id, data) VALUES (?,?)", self.waiting.items())

    def taken(self) -> None:
        """The transaction is durable: nothing waits any more."""
        self._size = (self._size or 0) + sum(map(len, self.waiting.values()))
        self.waiting.clear()

    def settle(self, db: sqlite3.Connection) -> None:
        """Flush every file, the lost ones written again, and empty the table. Raises OSError."""
        db.execute(_TABLE)
        paths = []
        for id, data in db.execute("SELECT id, data FROM carried"):
            path = place(self.root, id)
            if not whole(path, id):
                write(path, data)
            paths.append(path)
        if paths:
            flush_many(self.root, paths)
        db.execute("DELETE FROM carried")
        self._size = 0
