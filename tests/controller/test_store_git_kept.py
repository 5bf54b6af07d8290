"""What a record on a remote holds: damage to it is noticed, and outputs go along as far as the limits say."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import anyio
import pytest

from contracts.errors import Unavailable
from contracts.ports import Artifacts, Gone
from controller.restore import restore
from controller.stores import git_layout, git_outputs, owner
from controller.stores.artifacts import FileArtifacts
from controller.stores.git import GitStore
from controller.stores.git_outputs import SharedArtifacts
from tests.controller.store_suite import record, row
from tests.controller.two_clones import LEASE, RECORD, Two
from tests.tool_adapters.repositories import git
from tool_adapters import remote_refs
from tool_adapters.remote_refs import GitRemote


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    monkeypatch.setattr(remote_refs, "PAUSES", (0.0, 0.05))
    return Two(tmp_path)


# ---- damage ----------------------------------------------------------------------------------------------------
def tampered(two: Two, files: dict[str, bytes | None], *, lease: bool = False) -> None:
    """Somebody commits something else onto the record; `lease`: and writes a lease that names it."""
    refs = GitRemote(two.root, two.folder / "tamper.git", "origin")
    there = refs.fetch(git_layout.prefix("tidy"))
    old, held = there[RECORD], there[LEASE]
    new, names = refs.make(
        [remote_refs.Draft("tampered", files, old, old), remote_refs.Draft("named", {}, held, 0)]
    )
    refs.push([remote_refs.Move(RECORD, old, new), *[remote_refs.Move(LEASE, held, names)] * lease])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"runs/0001/record.json": b"{"}, "no JSON object"),
        ({"runs/0001/record.json": b'{"format": 7}'}, "format 7"),
        ({"runs/0001/record.json": b'{"format": 2}'}, "another shape"),
        ({"format": b"9\n"}, "layout 9"),
        ({"consumed.json": b"[]"}, "can't be read"),
    ],
)
def test_a_damaged_or_newer_record_is_refused(two: Two, files: dict[str, bytes | None], told: str) -> None:
    anyio.run(two.begun, two.store(), 2)
    tampered(two, files)
    with pytest.raises(Unavailable, match=told):
        anyio.run(two.store().load, "tidy")


def test_a_rebuilding_that_was_killed_midway_is_no_fresh_start_and_is_gone_on_with(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        opening = row(0).model_copy(
            update={"kind": "opened", "extra": {"record": record(1, two.base).model_dump(mode="json")}}
        )
        store = two.store()
        lease = await store.lease("tidy", 60)
        stored = await store.swap(record(1, two.base), opening, lease)
        await store.swap(stored, row(1), lease)
        await store.release(lease)
        tampered(two, {"runs/0001/record.json": b"{"}, lease=True)
        killed = two.store("other", trusting=True)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(killed, "swap", Mock(side_effect=KeyboardInterrupt))
            await restore(killed, "tidy")
        assert "runs/0001/record.json" not in git(two.bare, "ls-tree", "-r", "--name-only", RECORD)
        with pytest.raises(Unavailable, match="the record of run 1 is missing"):
            await two.store("other").load("tidy")
        back = await restore(two.store("other", trusting=True), "tidy")
        assert back.record.rows == 3 and await two.store().load("tidy") == back.record

    anyio.run(story)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"runs/0001/audit/0000/01.json": None}, "row 1 is missing"),
        ({"runs/0001/audit/0000/03.json": None}, "the record names 3 rows, the chain ends at 2"),
    ],
)
def test_verify_finds_a_missing_row(two: Two, files: dict[str, bytes | None], told: str) -> None:
    stored, _ = anyio.run(two.begun, two.store(), 3)
    assert anyio.run(two.store().verify, stored.run) == []
    tampered(two, files, lease=True)
    assert any(told in line for line in anyio.run(two.store().verify, stored.run))


# ---- outputs ---------------------------------------------------------------------------------------------------
def named(*ids: str) -> Any:
    return row(1).model_copy(update={"digests": {f"output {id}": id for id in ids}})


def shared(two: Two, clone: str) -> tuple[GitStore, Artifacts]:
    files = FileArtifacts(two.folder / clone / ".agent-runtime/artifacts")
    store = two.store(clone, shelf=files)
    return store, SharedArtifacts(files, store, "tidy")


def test_outputs_that_the_record_names_are_read_in_any_clone(two: Two) -> None:
    async def story() -> None:
        store, outputs = shared(two, "repo")
        stored, lease = await two.begun(store)
        inner, unnamed = outputs.put(b"the inner one"), outputs.put(b"nobody names it")
        outer = outputs.put(b"see artifact:" + inner.encode())
        large = outputs.put(b"x" * (git_outputs.EACH + 1))
        await store.swap(stored, named(outer, large), lease)
        _, there = shared(two, "other")
        assert there.get(outer) == outputs.get(outer) and there.get(inner[:8]) == b"the inner one"
        with pytest.raises(Gone) as gone:
            there.get(large)
        assert "more than 1 MiB: it was left on" in gone.value.why and owner.me().host in gone.value.why
        assert outputs.get(large), "where it was made it is there"
        with pytest.raises(Gone, match=unnamed):
            there.get(unnamed)
        with pytest.raises(KeyError):
            there.get("zz")

    anyio.run(story)


def test_the_oldest_outputs_go_and_so_does_their_history(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_outputs, "ALL", 3000)

    async def story() -> None:
        store, outputs = shared(two, "repo")
        stored, lease = await two.begun(store)
        other = two.store("other")
        await other.load("tidy")
        ids = []
        for step in range(1, 9):
            ids.append(outputs.put(bytes([64 + step]) * 600))
            stored = await store.swap(stored.model_copy(update={"step": step}), named(ids[-1]), lease)
            assert len(git(two.bare, "rev-list", RECORD).splitlines()) <= 6
        _, there = shared(two, "other")
        held = [id for id in ids if _has(there, id)]
        assert held == ids[-len(held) :] and 2 <= len(held) <= 5
        with pytest.raises(Gone) as gone:
            there.get(ids[0])
        assert "keeps the newest" in gone.value.why
        assert await other.load("tidy") == stored, "a clone that saw the old history knows the new one"
        assert await other.verify(stored.run) == []

    anyio.run(story)


def _has(outputs: Artifacts, id: str) -> bool:
    try:
        return bool(outputs.get(id))
    except KeyError:
        return False
