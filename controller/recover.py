"""recover: a new store from the audit chain when the old one is damaged. Nothing is thrown away: the damaged files
are moved aside, and what could not be rebuilt is said."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from contracts.errors import ConfigError, ControllerError, Unavailable
from contracts.record import AuditRow
from controller import audit
from controller.rebuild import Recovered, rebuilt
from controller.stores.mirror import Mirror, Row, sound
from controller.stores.sqlite import SqliteStore


async def recover(store: Path, task: str, head: str | None) -> Recovered:
    """Rebuild the newest run of `task` in a new store at `store`. `head` is the tip of the run's branch, when it
    is there. Raises ConfigError when the store is whole, Unavailable when nothing can be rebuilt from."""
    await _refuse_whole(store, task)
    run, rows = _best(store, task)
    record, lost = rebuilt(run, rows, head)
    kept = _moved_aside(store, run, rows)
    fresh = SqliteStore(store)
    await fresh.restore(run, rows)
    lease = await fresh.lease(task, 60)
    try:
        row = AuditRow(
            kind="decision",
            at=time.time(),
            step_id=f"{run}/{record.step}",
            step=record.step,
            extra={
                "what": "store rebuilt from the audit",
                "lost": list(lost),
                "kept": [str(path) for path in kept],
            }
            | audit.refused(record),
        )
        stored = await fresh.swap(record, row, lease)
    finally:
        await fresh.release(lease)
        fresh.close()
    return Recovered(stored, kept, lost)


async def _refuse_whole(store: Path, task: str) -> None:
    if not store.exists():
        return
    old = SqliteStore(store, create=False)
    try:
        found = await old.load(task)
        if found is not None and await old.verify(found.run):
            return  # the record is there, but its audit does not hold: rebuilt as far as a chain does
    except ControllerError:
        return
    finally:
        old.close()
    if found is not None:
        raise ConfigError(
            f"the store holds run {found.run} and is whole", where=str(store), hint="nothing to recover"
        )


def _best(store: Path, task: str) -> tuple[str, list[Row]]:
    """The newest run with the longest sound chain, from the table as far as it can be read, or the mirror."""
    found: dict[str, list[Row]] = {}
    for run, rows in [*_table(store), *_mirrors(store)]:
        if run.partition("@")[0] == task and len(rows) > len(found.get(run, ())):
            found[run] = rows
    if not found:
        raise Unavailable(
            f"no audit row of task {task!r} can be read, neither in the store nor in its mirror",
            where=str(store),
            hint="the commits of the run's branch are all that is left; `controller run` after moving the store away",
        )
    newest = max(found, key=lambda run: int(run.rpartition("#")[2] or 0))
    return newest, found[newest]


def _table(store: Path) -> list[tuple[str, list[Row]]]:
    rows: dict[str, list[Row]] = {}
    try:
        db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
        try:
            for run, seq, prev, hash, row in db.execute(
                "SELECT run, seq, prev, hash, row FROM audit ORDER BY run, seq"
            ):
                rows.setdefault(str(run), []).append((seq, prev, hash, row))
        finally:
            db.close()
    except sqlite3.Error:
        pass  # what was read until the damage counts
    return [(run, sound(each)) for run, each in rows.items()]


def _mirrors(store: Path) -> list[tuple[str, list[Row]]]:
    return [(path.stem, Mirror.read_file(path)) for path in sorted((store.parent / "audit").glob("*.jsonl"))]


def _moved_aside(store: Path, run: str, rows: list[Row]) -> tuple[Path, ...]:
    """The damaged files, and the run's mirror where it says something else than `rows`."""
    number = 1
    while (store.with_name(f"{store.name}.damaged-{number}")).exists():
        number += 1
    mirror = Mirror(store.parent / "audit")
    moves = {
        store.with_name(store.name + suffix): store.with_name(f"{store.name}.damaged-{number}{suffix}")
        for suffix in ("", "-wal", "-shm")
    }
    if mirror.last(run) != (rows[-1][0], rows[-1][2]):
        moves[mirror.path(run)] = mirror.path(run).with_suffix(f".damaged-{number}")
    kept = {old: new for old, new in moves.items() if old.exists()}
    for old, new in kept.items():
        old.rename(new)
    return tuple(kept.values())
