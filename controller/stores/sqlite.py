"""The record, its audit chain, inbox and lease in one SQLite file: WAL, synchronous=FULL, one transaction a
write, compare-and-swap on the version, every write fenced by the lease's epoch."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import anyio.to_thread
import orjson
from pydantic import ValidationError

from contracts.base import digest
from contracts.errors import Busy, ConfigError, ControllerError, Lost
from contracts.outcomes import CLOSING
from contracts.ports import Lease, Owner
from contracts.queue import Post, PostBody
from contracts.record import AuditRow, RunRecord
from controller.stores import document
from controller.stores.carried import Carried
from controller.stores.document import faults, following, loaded, parsed
from controller.stores.mirror import GENESIS, Mirror, Row
from controller.stores.owner import alive, me
from controller.stores.sqlite_file import SqliteFile


class SqliteStore:
    """`path` is created on first use unless `create` is False, in which case a missing file is a ConfigError.
    `evict(pid, started)` ends an owner of this host and what it left running; without it an owner that lives
    keeps its lease for ever. `leave(epoch)` leaves the worktree to an owner of another host whose lease ran out;
    without it that lease is not taken."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        evict: Callable[[int, str], Sequence[str]] | None = None,
        leave: Callable[[int], None] | None = None,
    ) -> None:
        self.path, self._evict, self._leave = path, evict, leave
        self._file = SqliteFile(path, create)
        self._mirror = Mirror(path.parent / "audit")
        self.carried = Carried(path.parent / "artifacts")

    # ---- reading --------------------------------------------------------------------------------------
    async def load(self, run: str) -> RunRecord | None:
        with self._file.reading() as db:
            by = "run = ?" if "@" in run else "task = ? ORDER BY number DESC LIMIT 1"
            row = db.execute(f"SELECT record, sum, version FROM runs WHERE {by}", (run,)).fetchone()
            if row is None:
                return None
            record = self._parse(*row)
            posts = db.execute(
                "SELECT id, body FROM inbox WHERE task = ? ORDER BY id", (record.task,)
            ).fetchall()
        return loaded(record, (Post(id=id, body=document.body.validate_json(said)) for id, said in posts))

    async def runs(self, task: str) -> list[tuple[str, int, str | None]]:
        """(run id, version, outcome) of every run of a task, newest first."""
        with self._file.reading() as db:
            found = db.execute(
                "SELECT run, version, outcome FROM runs WHERE task = ? ORDER BY number DESC", (task,)
            ).fetchall()
        return [(run, version, outcome) for run, version, outcome in found]

    async def log(self, run: str) -> AsyncIterator[tuple[int, str, str, AuditRow]]:
        with self._file.reading() as db:
            rows = db.execute("SELECT seq, prev, hash, row FROM audit WHERE run = ? ORDER BY seq", (run,))
            for seq, prev, hash, row in rows:
                try:
                    yield seq, prev, hash, AuditRow.model_validate_json(row)
                except ValidationError as error:
                    raise self._file.damaged(f"audit row {seq} can't be read") from error

    async def verify(self, run: str) -> list[str]:
        """What is wrong with the audit chain of a run; empty when it holds."""
        record = await self.load(run)
        with self._file.reading() as db:
            rows = db.execute("SELECT seq, prev, hash, row FROM audit WHERE run = ? ORDER BY seq", (run,))
            wrong = faults(rows, record)
        if record is not None and (older := self._older(record.task)):
            wrong.append(older)
        return wrong

    def _older(self, task: str) -> str:
        """Why this store is not the newest that there was: the audit's second copy holds what it does not, and going on
        from it would do again what was done since."""
        if (last := self._mirror.newest(task)) is None:
            return ""
        run, seq, hash = last
        with self._file.reading() as db:
            row = db.execute(
                "SELECT seq, hash FROM audit WHERE run = ? ORDER BY seq DESC LIMIT 1", (run,)
            ).fetchone()
        mine = tuple(row) if row else (0, GENESIS)
        if mine[0] > seq or mine == (seq, hash):
            return ""
        return f"it is not the newest: the audit's second copy of {run} ends at row {seq:,}, the store at {mine[0]:,}"

    # ---- writing --------------------------------------------------------------------------------------
    async def swap(
        self, record: RunRecord, row: AuditRow | None, lease: Lease, consumed: Sequence[int] = ()
    ) -> RunRecord:
        after, data, new = following(record, row)
        outcome = str(record.outcome) if record.outcome in CLOSING else None
        with self._file.writing() as db:
            self._fenced(db, lease)
            values = (after.version, outcome, data, digest(data), after.run)
            if record.version == 0:
                done = db.execute(
                    "INSERT INTO runs(version, outcome, record, sum, run, task, number) VALUES (?,?,?,?,?,?,?)"
                    " ON CONFLICT DO NOTHING",
                    (*values, after.task, after.number),
                ).rowcount
            else:
                done = db.execute(
                    "UPDATE runs SET version = ?, outcome = ?, record = ?, sum = ? WHERE run = ? AND version = ?",
                    (*values, record.version),
                ).rowcount
            if done != 1:
                raise Lost(f"run {record.run} was changed by another controller")
            if new is not None:
                db.execute(
                    "INSERT INTO audit(run, seq, prev, hash, row) VALUES (?,?,?,?,?)", (after.run, *new)
                )
            db.executemany("DELETE FROM inbox WHERE id = ?", [(id,) for id in consumed])
            if self.carried.waiting:
                self.carried.take(db)
        self.carried.taken()
        if self.carried.full:
            with suppress(ControllerError), self._file.writing() as db:
                self._settled(db)
        if new is not None:
            self._mirrored(after.run, new)
        left = tuple(post for post in record.inbox if post.id not in consumed)
        return after.model_copy(update={"inbox": left})

    async def restore(self, run: str, rows: Sequence[Row]) -> None:
        """Put a chain back as it was, into a store that has none of this run."""
        with self._file.writing() as db:
            db.executemany(
                "INSERT INTO audit(run, seq, prev, hash, row) VALUES (?,?,?,?,?)",
                [(run, *row) for row in rows],
            )

    async def post(self, task: str, body: PostBody) -> int:
        said = document.body.dump_json(body)
        with self._file.writing() as db:
            done = db.execute("INSERT INTO inbox(task, body) VALUES (?,?)", (task, said))
            return int(done.lastrowid or 0)

    # ---- the lease ------------------------------------------------------------------------------------
    async def lease(self, task: str, seconds: float) -> Lease:
        owner = me()
        await self._clear(task, owner)
        if older := self._older(task):
            raise self._file.damaged(older)
        now = time.time()
        with self._file.writing() as db:
            held = db.execute(
                "SELECT id, epoch, owner, expires FROM leases WHERE task = ?", (task,)
            ).fetchone()
            if held:
                other = Owner(**orjson.loads(held[2]))
                lives = alive(other)
                taken = other.pid and other != owner and lives is not False
                if taken and (lives or held[3] > now or not self._leave):
                    raise Busy(
                        f"task {task!r} is being worked on by pid {other.pid} on {other.host} (lease {held[0]})",
                        hint="wait for it, or `controller stop`",
                    )
                if other.boot != owner.boot:  # the machine may have lost its power since
                    self._settled(db)
            lease = Lease(
                task=task,
                id=uuid.uuid4().hex[:12],
                epoch=(held[1] if held else 0) + 1,
                owner=owner,
                expires=now + seconds,
            )
            db.execute(
                "INSERT OR REPLACE INTO leases(task, id, epoch, owner, expires) VALUES (?,?,?,?,?)",
                (task, lease.id, lease.epoch, orjson.dumps(asdict(owner)), lease.expires),
            )
        return lease

    async def _clear(self, task: str, taker: Owner) -> None:
        """Before a lease is taken over on this host: an owner whose time is up is ended (stopped, it may hold
        the file's lock: so this comes before the transaction), and so is what a dead one left running, which
        would do its deed a second time beside us. One of another host can't be ended."""
        with self._file.reading() as db:
            held = db.execute("SELECT owner, expires, epoch FROM leases WHERE task = ?", (task,)).fetchone()
        if held is None:
            return
        other = Owner(**orjson.loads(held[0]))
        lives, over = alive(other), held[1] <= time.time()
        if not other.pid or other == taker:
            return
        if lives is None and over and self._leave:
            self._leave(held[2])
        elif other.boot == taker.boot and (lives is False or (lives and over)) and self._evict:
            await anyio.to_thread.run_sync(self._evict, other.pid, other.started)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        expires = time.time() + seconds
        with self._file.writing() as db:
            self._fenced(db, lease)
            db.execute("UPDATE leases SET expires = ? WHERE task = ?", (expires, lease.task))
        return Lease(task=lease.task, id=lease.id, epoch=lease.epoch, owner=lease.owner, expires=expires)

    async def release(self, lease: Lease) -> None:
        """Gives the lease up; nothing happens when it is no longer ours. The epoch stays, so it only grows."""
        with self._file.writing() as db:
            db.execute(
                "UPDATE leases SET expires = 0, owner = ? WHERE task = ? AND id = ?",
                (orjson.dumps(asdict(lease.owner) | {"pid": 0, "started": ""}), lease.task, lease.id),
            )

    async def unlock(self, task: str, id: str) -> Owner:
        """See Store."""
        with self._file.writing() as db:
            held = db.execute("SELECT id, owner, epoch FROM leases WHERE task = ?", (task,)).fetchone()
            owner = Owner(**orjson.loads(held[1])) if held else None
            if owner is None or not owner.pid or held[0] != id:
                raise ConfigError(f"task {task!r} has no lease {id!r}", hint="`controller status` names it")
            if alive(owner):
                raise Busy(
                    f"pid {owner.pid} holds the lease and lives", hint="`controller stop --now` ends it"
                )
            if owner != me() and alive(owner) is None and self._leave:
                self._leave(held[2])
            gone = orjson.dumps(asdict(owner) | {"pid": 0, "started": ""})
            db.execute(
                "UPDATE leases SET id = '', epoch = epoch + 1, expires = 0, owner = ? WHERE task = ?",
                (gone, task),
            )
        return owner

    async def tasks(self) -> list[str]:
        """Every task that has a run or had a lease here."""
        with self._file.reading() as db:
            found = db.execute("SELECT task FROM runs UNION SELECT task FROM leases ORDER BY task")
            return [task for (task,) in found.fetchall()]

    async def holder(self, task: str) -> Lease | None:
        """The lease of a task whose owner is, as far as can be known, still alive."""
        with self._file.reading() as db:
            held = db.execute(
                "SELECT id, epoch, owner, expires FROM leases WHERE task = ?", (task,)
            ).fetchone()
        if held is None:
            return None
        owner = Owner(**orjson.loads(held[2]))
        lives = alive(owner)
        if lives is False or (lives is None and held[3] < time.time()):
            return None
        return Lease(task=task, id=held[0], epoch=held[1], owner=owner, expires=held[3])

    def close(self) -> None:
        self._file.close()

    def _mirrored(self, run: str, row: Row) -> None:
        """The row is durable in the store; a mirror that can't be written is caught up with later."""
        try:
            if not self._mirror.append(run, [row]):
                with self._file.reading() as db:
                    rows = db.execute(
                        "SELECT seq, prev, hash, row FROM audit WHERE run = ? ORDER BY seq", (run,)
                    )
                    self._mirror.rewrite(run, rows.fetchall())
        except OSError:
            return

    def _settled(self, db: sqlite3.Connection) -> None:
        """What can't be flushed now is carried on."""
        with suppress(OSError):
            self.carried.settle(db)

    # ---- inside ---------------------------------------------------------------------------------------
    @staticmethod
    def _fenced(db: sqlite3.Connection, lease: Lease) -> None:
        held = db.execute("SELECT id, epoch FROM leases WHERE task = ?", (lease.task,)).fetchone()
        if held != (lease.id, lease.epoch):
            raise Lost(f"the lease of task {lease.task!r} was taken by another controller")

    def _parse(self, data: bytes, sum: str, version: int) -> RunRecord:
        if digest(data) != sum:
            raise self._file.damaged("the record does not match its checksum")
        record = parsed(data, self._file.damaged)
        if record.version != version:
            raise self._file.damaged("the record's version does not match its row")
        return record
