"""The file of the SQLite store: made whole, opened with the durability that it needs, its errors told apart."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contracts.errors import Busy, ConfigError, Unavailable

APPLICATION_ID = 0x534B5354  # "SKST"
SCHEMA = 1
TABLES = """
CREATE TABLE runs(
  run TEXT PRIMARY KEY, task TEXT NOT NULL, number INTEGER NOT NULL, version INTEGER NOT NULL,
  outcome TEXT, record BLOB NOT NULL, sum TEXT NOT NULL);
CREATE UNIQUE INDEX runs_by_task ON runs(task, number);
CREATE TABLE audit(
  run TEXT NOT NULL, seq INTEGER NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL, row BLOB NOT NULL,
  PRIMARY KEY(run, seq)) WITHOUT ROWID;
CREATE TABLE inbox(id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE leases(
  task TEXT PRIMARY KEY, id TEXT NOT NULL, epoch INTEGER NOT NULL, owner BLOB NOT NULL, expires REAL NOT NULL);
"""


class SqliteFile:
    """WAL, synchronous=FULL. `path` is made on first use unless `create` is False, in which case a missing file is
    a ConfigError. Every way in raises Busy for a lock, Unavailable for what is damaged, newer or can't be written."""

    def __init__(self, path: Path, create: bool) -> None:
        self.path, self._create = path, create
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def damaged(self, what: str) -> Unavailable:
        return Unavailable(
            f"the store is damaged: {what}",
            where=str(self.path),
            hint="nothing was changed; `controller state recover` rebuilds it",
        )

    def _open(self) -> sqlite3.Connection:
        if self._db is not None:
            return self._db
        new = not self.path.exists()
        if new and not self._create:
            raise ConfigError(
                "there is no store here yet", where=str(self.path), hint="`controller run` makes it"
            )
        if not new and self.path.stat().st_size == 0:
            raise self.damaged("the file is empty")
        if new:
            try:
                self._make(self.path)
            except OSError as error:
                raise Unavailable(
                    f"the store can't be made: {error.strerror}", where=str(self.path)
                ) from error
        db = sqlite3.connect(self.path, isolation_level=None, timeout=10, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        application = db.execute("PRAGMA application_id").fetchone()[0]
        schema = db.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION_ID:
            db.close()
            raise self.damaged("it is not a store of this program")
        if schema > SCHEMA:
            db.close()
            raise Unavailable(
                f"the store has schema {schema}, this version reads up to {SCHEMA}",
                where=str(self.path),
                hint="upgrade",
            )
        self._db = db
        return db

    @staticmethod
    def _make(path: Path) -> None:
        """Beside its place, then put there whole: a store that is half made when we are killed would be taken
        for a damaged one ever after. Of two first runs at once one makes it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
        fresh.touch(0o600)  # what is never shown stands in it; SQLite gives its other files the same mode
        db = sqlite3.connect(fresh, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=FULL")
            pragmas = f"PRAGMA application_id={APPLICATION_ID};PRAGMA user_version={SCHEMA}"
            db.executescript(f"BEGIN;{TABLES};{pragmas};COMMIT")
        finally:
            db.close()
        try:
            with suppress(FileExistsError):
                os.link(fresh, path)
        except OSError:  # a file system without hard links
            if not path.exists():
                fresh.replace(path)
        fresh.unlink(missing_ok=True)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._open()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        try:
            db = self._open()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk may have ended it already
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> Exception:
        text = str(error)
        if "locked" in text or "busy" in text:
            return Busy("the store is locked by another process", where=str(self.path))
        if isinstance(error, sqlite3.OperationalError):
            if "unable to open" in text or "readonly" in text:
                return Unavailable(
                    f"the store can't be written: {text}",
                    where=str(self.path),
                    hint="check the folder's rights",
                )
            return Unavailable(
                f"the store can't be used: {text}", where=str(self.path), hint="free space, then run again"
            )
        return self.damaged(text)
