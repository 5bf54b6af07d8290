"""Refs of a Git remote as a store: the suite of every store, and what only a remote can suffer."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import Busy, Lost, Moved, Unavailable
from contracts.queue import StopRequest
from controller.stores import owner
from controller.stores.git import GitStore
from tests.controller.store_suite import Make, StoreSuite, record, row
from tests.controller.two_clones import RECORD, WORK, Two, remote
from tests.tool_adapters.repositories import git
from tool_adapters import remote_refs
from tool_adapters.remote_refs import GitRemote


class TestGit(StoreSuite):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        self.root = remote(tmp_path)
        self.base = git(self.root, "rev-parse", "HEAD")
        return lambda: GitStore(GitRemote(self.root, self.root / ".agent-runtime/remote.git", "origin"))

    def holder(self) -> str:
        return (
            "import anyio, sys, pathlib\n"
            "from controller.stores.git import GitStore\n"
            "from tool_adapters.remote_refs import GitRemote\n"
            f"root = pathlib.Path({str(self.root)!r})\n"
            "refs = GitRemote(root, root / '.agent-runtime/remote.git', 'origin')\n"
            "anyio.run(GitStore(refs).lease, 'tidy', 60)\n"
            "print('held', flush=True)\nsys.stdin.read()\n"
        )


class TestGitFromClones(TestGit):
    """The same, each opening from a clone of its own that knows nothing yet."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        self.root = remote(tmp_path)
        self.base = git(self.root, "rev-parse", "HEAD")
        clones = iter(range(1000))

        def fresh() -> GitStore:
            name = f"clone-{next(clones)}"
            git(tmp_path, "clone", "-q", str(tmp_path / "remote.git"), name)
            return GitStore(GitRemote(tmp_path / name, tmp_path / name / "copy.git", "origin"))

        return fresh


# ---- what only a remote can suffer -----------------------------------------------------------------------------
@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    monkeypatch.setattr(remote_refs, "PAUSES", (0.0, 0.05))
    return Two(tmp_path)


def test_record_audit_branch_and_lease_move_together_or_not_at_all(two: Two) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        before = two.refs()
        assert before[WORK] == two.base and before[RECORD]
        tip = two.commit()
        await two.store("other").post("tidy", StopRequest(by="ana", at=1.0))
        stored = await store.swap(stored.model_copy(update={"head": tip}), row(1), lease)
        after = two.refs()
        assert after[WORK] == tip and after[RECORD] != before[RECORD]
        # The remote takes neither when it does not take both.
        (two.bare / "hooks/update").write_text(f'#!/bin/sh\ntest "$1" != {WORK}\n')
        (two.bare / "hooks/update").chmod(0o755)
        with pytest.raises(Unavailable, match="hook declined"):
            await store.swap(stored.model_copy(update={"head": two.commit(parent=tip)}), row(2), lease)
        assert two.refs() == after
        assert (await two.store("other").load("tidy")).version == stored.version  # type: ignore[union-attr]

    anyio.run(story)


def test_what_stands_there_can_be_read_by_people(two: Two) -> None:
    anyio.run(two.begun, two.store(), 3)
    log = git(two.bare, "log", "--format=%s%n%(trailers:key=Skill-State-Run,valueonly)", RECORD).split("\n")
    assert (
        log[0] == "step 2: step" and log[1].startswith("tidy@") and len([each for each in log if each]) == 6
    )
    assert git(two.bare, "show", f"{RECORD}:runs/0001/record.json").startswith('{"format":')


def test_whoever_lost_the_lease_moves_nothing(two: Two) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        other = two.store("other")
        await other.unlock("tidy", lease.id) if owner.known(lease.owner) is None else await store.release(
            lease
        )
        taken = await other.lease("tidy", 60)
        before = two.refs()
        for write in (store.swap(stored, row(1), lease), store.renew(lease, 60)):
            with pytest.raises(Lost, match="lease"):
                await write
        await store.release(lease)
        assert two.refs() == before and (await other.swap(stored, row(1), taken)).version == 2

    anyio.run(story)


@pytest.mark.parametrize("verb", ["load", "lease", "post", "swap", "renew"])
def test_a_remote_that_can_not_be_reached_is_no_empty_one(two: Two, verb: str) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        lease = await store.renew(lease, -1)
        away = two.bare.rename(two.folder / "away")
        calls: dict[str, Callable[[], Any]] = {
            "load": lambda: store.load("tidy"),
            "lease": lambda: store.lease("tidy", 60),
            "post": lambda: store.post("tidy", StopRequest(by="ana", at=1.0)),
            "swap": lambda: store.swap(stored, row(1), lease),
            "renew": lambda: store.renew(lease, 60),
        }
        with pytest.raises(Unavailable):
            await calls[verb]()
        await store.release(lease)  # runs out by itself
        away.rename(two.bare)
        found = await store.load("tidy")
        assert found is not None and found.version == 1 and found.inbox == ()

    anyio.run(story)


def test_a_renewal_is_missed_without_harm_as_long_as_the_lease_lasts(two: Two) -> None:
    async def story() -> None:
        store = two.store()
        _, lease = await two.begun(store)
        away = two.bare.rename(two.folder / "away")
        assert (await store.renew(lease, 60)).expires > time.time()
        away.rename(two.bare)
        assert (await store.renew(lease, 600)).expires > time.time() + 500

    anyio.run(story)


def test_a_write_whose_answer_was_lost_is_written_once(two: Two) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        hook = two.bare / "hooks/post-receive"
        hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
        hook.chmod(0o755)
        stored = await store.swap(stored, row(1), lease)
        number = await store.post("tidy", StopRequest(by="ana", at=1.0))
        stored = await store.swap(stored, row(2), lease)
        hook.unlink()
        again = await two.store("other").load("tidy")
        assert again is not None and again.version == stored.version == 3
        assert [post.id for post in again.inbox] == [number]
        assert await two.store("other").verify(stored.run) == []

    anyio.run(story)


# ---- others ----------------------------------------------------------------------------------------------------
def test_two_machines_of_one_name_are_not_taken_for_one(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(owner, "boot", lambda: "another boot")
            _, lease = await two.begun(two.store("other"))
        assert lease.owner.host == owner.me().host
        with pytest.raises(Busy, match=lease.id):
            await two.store().lease("tidy", 60)
        assert await two.store().holder("tidy") is not None
        with monkeypatch.context() as patch:
            patch.setattr(owner, "boot", lambda: "another boot")
            await two.store("other").renew(lease, -1)
        assert (await two.store().lease("tidy", 60)).epoch == lease.epoch + 1, "its time is up"

    anyio.run(story)


def test_a_worktree_that_is_shared_is_left_to_an_owner_of_another_host(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        left: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(owner, "boot", lambda: "another boot")
            theirs = await two.store().lease("tidy", -1)
        with pytest.raises(Busy):
            await two.store().lease("tidy", 60)  # a caller that can't leave the worktree
        await two.store("other", leave=left.append).release(
            await two.store("other", leave=left.append).lease("tidy", 60)
        )
        assert left == [], "another clone shares nothing"
        with monkeypatch.context() as patch:
            patch.setattr(owner, "boot", lambda: "another boot")
            theirs = await two.store().lease("tidy", -1)
        await two.store(leave=left.append).lease("tidy", 60)
        assert left == [theirs.epoch]

    anyio.run(story)


def test_what_somebody_pushed_is_noticed_and_never_overwritten(two: Two) -> None:
    async def story() -> None:
        arrived: list[tuple[str, str | None]] = []

        async def arrive(tip: str, key: str | None) -> None:
            arrived.append((tip, key))

        store = two.store(arrive=arrive)
        stored, lease = await two.begun(store)
        await store.release(lease)
        lease = await store.lease("tidy", 60)
        assert arrived == [(two.base, None)]
        theirs = two.commit("by hand")
        git(two.root, "push", "-q", "origin", f"{theirs}:{WORK}")
        with pytest.raises(Moved):
            await store.load("tidy")
        with pytest.raises(Moved):
            await store.swap(stored.model_copy(update={"head": two.commit("ours")}), row(1), lease)
        assert two.refs()[WORK] == theirs
        stored = await store.swap(stored, row(1), lease)
        assert two.refs()[WORK] == theirs, "a write that moves no branch leaves it alone"
        await store.release(lease)
        lease = await store.lease("tidy", 60)
        assert arrived[-1] == (theirs, None) and await store.load("tidy") == stored
        ours = two.commit("ours", theirs)
        await store.swap(stored.model_copy(update={"head": ours}), row(2), lease)
        assert two.refs()[WORK] == ours

    anyio.run(story)


def test_a_new_run_keeps_the_tip_of_the_last_one(two: Two) -> None:
    async def story() -> None:
        store = two.store()
        stored, lease = await two.begun(store)
        tip = two.commit()
        await store.swap(stored.model_copy(update={"head": tip}), row(1), lease)
        await store.swap(record(2, two.base), row(0), lease)
        assert two.refs()[WORK] == two.base and two.refs()["refs/skill-state/tidy/run-1"] == tip

    anyio.run(story)


def test_a_copy_that_is_gone_costs_nothing_but_a_fetch(two: Two) -> None:
    async def story() -> None:
        stored, lease = await two.begun(two.store(), 3)
        shutil.rmtree(two.root / ".agent-runtime")
        assert await two.store().load("tidy") == stored
        assert (await two.store().swap(stored, row(3), lease)).version == 4

    anyio.run(story)
