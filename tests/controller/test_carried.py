"""Outputs that a step's own write carries: durable with its row, whatever became of their files."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import anyio
import pytest

from contracts.base import digest
from contracts.errors import Lost
from contracts.record import RunRecord
from controller.stores import carried
from controller.stores.artifact_files import flush_many, write
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from tests.controller.test_store_sqlite import record, row

TEXTS = [f"output {number}\n".encode() * 50 for number in range(5)]


class Folder:
    """A store and its artifacts, opened as a program that runs later would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = SqliteStore(root / "state.db")
        self.files = FileArtifacts(root / "artifacts", carried=self.store.carried)

    def path(self, id: str) -> Path:
        return self.files.root / id[:2] / id

    def ids(self) -> set[str]:
        with sqlite3.connect(self.root / "state.db") as db:
            return {id for (id,) in db.execute("SELECT id FROM carried")}

    async def written(self) -> tuple[RunRecord, list[str]]:
        """A run with one step, which names all of TEXTS."""
        lease = await self.store.lease("tidy", 60)
        before = await self.store.swap(record(), row(0), lease)
        ids = [self.files.keep(text) for text in TEXTS]
        after = await self.store.swap(before, row(1), lease)
        await self.store.release(lease)
        return after, ids

    def rebooted(self) -> None:
        """The machine is another one to the lease, as after a power loss."""
        with sqlite3.connect(self.root / "state.db") as db:
            db.execute("UPDATE leases SET owner = json_set(owner, '$.boot', 'before')")


def test_files_that_a_power_loss_took_are_written_again(tmp_path: Path) -> None:
    first = Folder(tmp_path)
    _, ids = anyio.run(first.written)
    assert first.ids() == set(ids)
    first.path(ids[0]).unlink()
    first.path(ids[1]).write_bytes(b"")
    first.path(ids[2]).write_bytes(TEXTS[2][:-1])
    first.store.close()
    first.rebooted()
    again = Folder(tmp_path)
    for id in ids[:3]:
        with pytest.raises(KeyError):
            again.files.get(id)
    anyio.run(again.store.lease, "tidy", 60)
    assert [again.files.get(id) for id in ids] == TEXTS
    assert again.ids() == set()


def test_they_are_carried_on_while_the_machine_runs(tmp_path: Path) -> None:
    first = Folder(tmp_path)
    _, ids = anyio.run(first.written)
    first.store.close()
    anyio.run(Folder(tmp_path).store.lease, "tidy", 60)
    assert first.ids() == set(ids)


def test_many_are_flushed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "FULL", sum(map(len, TEXTS)) - 1)
    folder = Folder(tmp_path)
    _, ids = anyio.run(folder.written)
    assert folder.ids() == set() and [folder.files.get(id) for id in ids] == TEXTS


def test_what_cannot_be_flushed_is_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*paths: object) -> None:
        raise OSError(5, "Input/output error")

    folder = Folder(tmp_path)
    monkeypatch.setattr(carried, "FULL", 1)
    monkeypatch.setattr(carried, "flush_many", refused)
    _, ids = anyio.run(folder.written)
    assert folder.ids() == set(ids)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_many_files_are_flushed_in_one_call_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    paths = [tmp_path / "a/1", tmp_path / "a/2", tmp_path / "b/1"]
    for path in paths:
        write(path, b"text")
    flush_many(tmp_path, paths)
    assert len(flushed) == (0 if platform == "linux" else 5)
    with pytest.raises(OSError):
        flush_many(tmp_path / "not there", [tmp_path / "not there/1"])


def test_a_step_flushes_its_own_write_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    folder = Folder(tmp_path)
    folder.files.keep(b"kept")
    assert flushed == []
    folder.files.put(b"put")
    assert len(flushed) == 2, "the file and its folder"
    folder.files.put(b"kept")
    assert len(flushed) == 4, "what was only kept is flushed when it has to be there"
    FileArtifacts(tmp_path / "others").keep(b"no store carries it")
    assert len(flushed) == 6


def test_a_write_that_was_too_late_carries_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        stored, _ = await folder.written()
        lease = await folder.store.lease("tidy", 60)
        folder.files.keep(b"of a step that is none")
        with pytest.raises(Lost):
            await folder.store.swap(stored.model_copy(update={"version": 1}), row(2), lease)
        assert digest(b"of a step that is none")[:16] not in folder.ids()

    folder = Folder(tmp_path)
    anyio.run(story)
