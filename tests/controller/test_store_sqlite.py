"""SQLite as a store: the suite of every store, and what only a file can suffer."""

from __future__ import annotations

import socket
import sqlite3
from pathlib import Path

import anyio
import pytest

from contracts.errors import Busy, ConfigError, Unavailable
from contracts.record import FORMAT
from controller.stores.sqlite import SqliteStore
from tests.controller.store_suite import Make, StoreSuite, record, row


class TestSqlite(StoreSuite):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        self.path = tmp_path / "state.db"
        return lambda: SqliteStore(self.path)

    def holder(self) -> str:
        return (
            "import anyio, sys, pathlib\n"
            "from controller.stores.sqlite import SqliteStore\n"
            f"anyio.run(SqliteStore(pathlib.Path({str(self.path)!r})).lease, 'tidy', 60)\n"
            "print('held', flush=True)\nsys.stdin.read()\n"
        )


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"

    async def story() -> None:
        store = SqliteStore(path)
        lease = await store.lease("tidy", 60)
        first = await store.swap(record(), row(0), lease)
        await store.swap(first, row(1), lease)
        store.close()

    anyio.run(story)
    return path


def loaded(path: Path) -> object:
    return anyio.run(SqliteStore(path).load, "tidy")


def test_a_good_file_loads(stored: Path) -> None:
    assert loaded(stored) is not None
    assert anyio.run(SqliteStore(stored).verify, record().run) == []


@pytest.mark.parametrize(
    "damage", [b"", b"\0" * 4096, b"not a database at all" * 300], ids=["empty", "zeroed", "foreign"]
)
def test_a_damaged_file_is_refused_and_kept(stored: Path, damage: bytes) -> None:
    stored.write_bytes(damage)
    with pytest.raises(Unavailable) as error:
        loaded(stored)
    assert "state.db" in str(error.value)
    assert stored.read_bytes() == damage, "nothing starts afresh by itself"


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE things(x)")
    other.close()
    with pytest.raises(Unavailable, match="not a store of this program"):
        loaded(path)


def test_a_store_from_a_newer_version_is_refused(stored: Path) -> None:
    db = sqlite3.connect(stored)
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(Unavailable, match="schema 99"):
        loaded(stored)


def test_a_record_of_a_newer_format_is_refused(stored: Path) -> None:
    from contracts.base import digest

    db = sqlite3.connect(stored)
    data = db.execute("SELECT record FROM runs").fetchone()[0]
    assert b'"format":%d' % FORMAT in data, "said although it is the default: an older version must know"
    data = data.replace(b'"format":%d' % FORMAT, b'"format":7', 1)
    assert b'"format":7' in data
    db.execute("UPDATE runs SET record = ?, sum = ?", (data, digest(data)))
    db.commit()
    db.close()
    with pytest.raises(Unavailable, match="format 7"):
        loaded(stored)


@pytest.mark.parametrize("column", ["record", "sum"])
def test_a_changed_record_is_refused(stored: Path, column: str) -> None:
    db = sqlite3.connect(stored)
    old = db.execute(f"SELECT {column} FROM runs").fetchone()[0]
    text = old if isinstance(old, str) else old.decode()
    db.execute(
        f"UPDATE runs SET {column} = ?", (text.replace("a", "b", 1).encode() if column == "record" else "0",)
    )
    db.commit()
    db.close()
    with pytest.raises(Unavailable, match="checksum"):
        loaded(stored)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "UPDATE audit SET row = replace(CAST(row AS TEXT), '2.0', '3.0') WHERE seq = 1",
            "row 1 was changed",
        ),
        ("DELETE FROM audit WHERE seq = 1", "row 1 is missing"),
        ("DELETE FROM audit WHERE seq = 2", "the record names 2 rows, the chain ends at 1"),
    ],
)
def test_verify_finds_a_changed_or_missing_row(stored: Path, change: str, told: str) -> None:
    db = sqlite3.connect(stored)
    db.execute(change)
    db.commit()
    db.close()
    assert any(told in line for line in anyio.run(SqliteStore(stored).verify, record().run))


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no store"):
        anyio.run(SqliteStore(tmp_path / "none" / "state.db", create=False).load, "tidy")
    assert not (tmp_path / "none").exists()


def test_a_folder_without_rights_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(Unavailable, match=r"state\.db"):
        anyio.run(SqliteStore(blocker / "state.db").load, "tidy")


def test_the_worktree_is_left_to_an_owner_of_another_host_that_did_not_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, left = tmp_path / "state.db", list[int]()

    async def story() -> None:
        def elsewhere() -> str:
            return "elsewhere"

        with monkeypatch.context() as patch:
            patch.setattr(socket, "gethostname", elsewhere)
            gone = await SqliteStore(path).lease("tidy", 60)
            await SqliteStore(path).release(gone)
        mine = await SqliteStore(path, leave=left.append).lease("tidy", 60)
        await SqliteStore(path).release(mine)
        assert left == [], "who gave the lease up has ended"
        with monkeypatch.context() as patch:
            patch.setattr(socket, "gethostname", elsewhere)
            theirs = await SqliteStore(path).lease("tidy", -1)
        with pytest.raises(Busy, match=theirs.id):
            await SqliteStore(path).lease("tidy", 60)  # a caller that can't leave the worktree
        assert (await SqliteStore(path, leave=left.append).lease("tidy", 60)).epoch == theirs.epoch + 1
        assert left == [theirs.epoch]

    anyio.run(story)
