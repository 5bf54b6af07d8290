"""What every store must do. Subclass `StoreSuite` with a fixture `make` that opens the same store again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import anyio
import pytest

from contracts.errors import Busy, ConfigError, Lost
from contracts.outcomes import Outcome
from contracts.ports import Lease, Store
from contracts.queue import Answer, Entry, StopRequest
from contracts.readings import Need
from contracts.record import AuditRow, Before, Halt, RunRecord, Staged

Make = Callable[[], Store]


def record(number: int = 1, base: str = "a" * 40, **more: object) -> RunRecord:
    values = {
        "task": "tidy",
        "run": f"tidy@{base[:12]}#{number}",
        "number": number,
        "opened": 1.0,
        "base": base,
        "branch": "skill-state/tidy",
        "head": base,
        "state": {"notes": {"a": "ü\u0000"}},
    }
    return RunRecord.model_validate(values | more)


def row(step: int) -> AuditRow:
    return AuditRow(kind="step", at=2.0, step_id=f"tidy/{step}", step=step, state_patch={"n": step})


async def rows(store: Store, run: str) -> list[tuple[int, str, str, AuditRow]]:
    return [each async for each in store.log(run)]


class StoreSuite:
    base = "a" * 40  # a commit, where the store wants one that is there

    def record(self, number: int = 1, **more: object) -> RunRecord:
        return record(number, self.base, **more)

    async def create(self, store: Store) -> tuple[RunRecord, Lease]:
        lease = await store.lease("tidy", 60)
        return await store.swap(self.record(), row(0), lease), lease

    def test_an_empty_store_has_no_run(self, make: Make) -> None:
        assert anyio.run(make().load, "tidy") is None

    def test_what_was_stored_is_loaded_by_task_and_by_run(self, make: Make) -> None:
        async def story() -> None:
            stored, _ = await self.create(make())
            again = make()
            assert await again.load("tidy") == stored
            assert await again.load(stored.run) == stored
            assert stored.version == 1
            assert await again.load("other") is None

        anyio.run(story)

    def test_the_newest_run_of_a_task_is_loaded(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            first, lease = await self.create(store)
            second = await store.swap(self.record(2), row(0), lease)
            loaded, old = await store.load("tidy"), await store.load(first.run)
            assert loaded == second and old == first

        anyio.run(story)

    def test_of_two_writers_of_one_version_one_loses_and_leaves_nothing(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            stored, lease = await self.create(store)
            await store.swap(stored.model_copy(update={"step": 1}), row(1), lease)
            with pytest.raises(Lost):
                await store.swap(stored.model_copy(update={"step": 9}), row(9), lease)
            after = await store.load("tidy")
            assert after is not None and (after.step, after.version) == (1, 2)
            assert [each.step for _, _, _, each in await rows(store, stored.run)] == [0, 1]

        anyio.run(story)

    def test_two_creators_of_one_run_make_one(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            _, lease = await self.create(store)
            with pytest.raises(Lost):
                await store.swap(self.record(), None, lease)

        anyio.run(story)

    def test_the_audit_chain_links_every_row(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            stored, lease = await self.create(store)
            for step in range(1, 4):
                stored = await store.swap(stored, row(step), lease)
            chain = await rows(store, stored.run)
            assert [seq for seq, *_ in chain] == [1, 2, 3, 4]
            assert all(after[1] == before[2] for before, after in pairwise(chain))
            assert chain[2][3].state_patch == {"n": 2}

        anyio.run(story)

    def test_a_write_without_a_row_adds_none(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            stored, lease = await self.create(store)
            stored = await store.swap(stored, None, lease)
            assert stored.version == 2 and len(await rows(store, stored.run)) == 1

        anyio.run(story)

    def test_a_lost_lease_writes_nothing(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            stored, lease = await self.create(store)
            taken = await make().lease("tidy", 60)  # same owner, so it may; the epoch moves on
            assert taken.epoch > lease.epoch
            with pytest.raises(Lost):
                await store.swap(stored, row(1), lease)
            with pytest.raises(Lost):
                await store.renew(lease, 60)
            assert (await store.swap(stored, row(1), taken)).version == 2

        anyio.run(story)

    def test_a_post_changes_no_version_and_is_consumed_once(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            entry = Entry(id="q1", kind="ask", step=1, transition={}, why="?", opened=1.0)
            halt = Halt(outcome=Outcome.blocked, cause="ask")
            lease = await store.lease("tidy", 60)
            await store.swap(self.record(queue=(entry,), halt=halt), row(0), lease)
            await make().post("tidy", Answer(entry="q1", text="yes", by="ana", at=2.0))
            loaded = await store.load("tidy")
            assert loaded is not None and loaded.version == 1
            assert loaded.approved is not None and loaded.approved.answer == "yes"
            assert not loaded.closed(9.0)
            await store.swap(loaded, None, lease, [post.id for post in loaded.inbox])
            after = await store.load("tidy")
            assert after is not None and after.inbox == ()
            assert after.approved is not None, "the answer is part of the record now"

        anyio.run(story)

    def test_a_post_that_came_after_the_load_stays(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            stored, lease = await self.create(store)
            await make().post("tidy", StopRequest(by="ana", at=2.0))
            await store.swap(stored, row(1), lease, [post.id for post in stored.inbox])
            loaded = await store.load("tidy")
            assert loaded is not None and loaded.stop is not None

        anyio.run(story)

    def test_a_staged_transition_is_marked_resumed(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            staged = Staged(
                step=1,
                transition={},
                candidate={},
                tool="run",
                args={},
                key="k",
                fingerprint="f",
                proof=Need(),
                before=Before(head="", tree=""),
            )
            lease = await store.lease("tidy", 60)
            stored = await store.swap(self.record(staged=staged), None, lease)
            assert stored.staged is not None and not stored.staged.resumed
            loaded = await store.load("tidy")
            assert loaded is not None and loaded.staged is not None and loaded.staged.resumed

        anyio.run(story)

    def test_a_lease_is_refused_while_another_process_lives_and_free_when_it_is_gone(
        self, make: Make
    ) -> None:
        async def story() -> None:
            store = make()
            held = await store.lease("tidy", 60)
            await store.release(held)
            child = subprocess.Popen(
                [sys.executable, "-c", self.holder()], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
            )  # fmt: skip
            try:
                assert child.stdout is not None and child.stdin is not None
                assert child.stdout.readline().strip() == "held"
                with pytest.raises(Busy) as busy:
                    await store.lease("tidy", 60)
                assert str(child.pid) in str(busy.value)
            finally:
                child.kill()
                child.wait()
            assert (await store.lease("tidy", 60)).epoch > held.epoch + 1

        anyio.run(story)

    def test_a_lease_of_another_host_is_taken_away_by_its_id_alone(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def story() -> None:
            store = make()
            with monkeypatch.context() as patch:
                patch.setattr(socket, "gethostname", lambda: "elsewhere")
                stored, theirs = await self.create(store)
            with pytest.raises(Busy, match=theirs.id):
                await store.lease("tidy", 60)
            for wrong in ("", theirs.id[:-1], "000000000000"):
                with pytest.raises(ConfigError):
                    await store.unlock("tidy", wrong)
            assert (await store.unlock("tidy", theirs.id)).host == "elsewhere"
            for write in (store.renew(theirs, 60), store.swap(stored, row(1), theirs)):
                with pytest.raises(Lost):
                    await write
            await store.release(theirs)
            with pytest.raises(ConfigError):
                await store.unlock("tidy", theirs.id)
            mine = await store.lease("tidy", 60)
            assert mine.epoch > theirs.epoch
            assert (await store.swap(stored, row(1), mine)).version == 2

        anyio.run(story)

    def test_the_lease_of_a_living_owner_is_not_taken_away(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            stored, lease = await self.create(store)
            with pytest.raises(Busy, match=str(os.getpid())):
                await make().unlock("tidy", lease.id)
            assert (await store.swap(stored, row(1), lease)).version == 2

        anyio.run(story)

    def test_a_lease_is_renewed_by_its_owner_and_given_up_once(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            _, lease = await self.create(store)
            longer = await store.renew(lease, 600)
            assert longer.expires > lease.expires + 500 and longer.epoch == lease.epoch
            await store.release(longer)
            await store.release(longer)
            other = await make().lease("tidy", 60)
            assert other.epoch > lease.epoch and other.id != lease.id
            await store.release(lease)
            assert (await store.swap(await self.loaded(store), None, other)).version == 2

        anyio.run(story)

    def test_a_word_has_a_number_that_no_other_word_ever_has(self, make: Make) -> None:
        async def story() -> None:
            store, given = make(), list[int]()
            stored, lease = await self.create(store)
            for turn in range(3):
                given += [await make().post("tidy", StopRequest(by=f"ana {turn}", at=2.0)) for _ in range(2)]
                loaded = await self.loaded(store)
                assert [post.id for post in loaded.inbox] == given[-len(loaded.inbox) :]
                stored = await store.swap(loaded, None, lease, given[: 1 + 2 * turn])
            assert given == sorted(set(given))
            left = await self.loaded(store)
            assert [post.id for post in left.inbox] == given[-1:] and left.version == stored.version

        anyio.run(story)

    def test_people_who_speak_at_once_are_all_heard_and_stop_no_write(self, make: Make) -> None:
        async def story() -> None:
            store, given = make(), list[int]()
            stored, lease = await self.create(store)

            async def speak(name: str) -> None:
                given.append(await make().post("tidy", StopRequest(by=name, at=2.0)))

            async def work() -> None:
                nonlocal stored
                for step in range(3):
                    stored = await store.swap(stored, row(step), lease)

            async with anyio.create_task_group() as group:
                for name in ("ana", "bo", "cleo"):
                    group.start_soon(speak, name)
                group.start_soon(work)
            loaded = await self.loaded(store)
            assert {post.body.by for post in loaded.inbox} == {"ana", "bo", "cleo"}
            assert sorted(post.id for post in loaded.inbox) == sorted(given) and loaded.version == 4

        anyio.run(story)

    def test_what_an_older_run_became_is_kept(self, make: Make) -> None:
        async def story() -> None:
            store = make()
            first, lease = await self.create(store)
            second = await store.swap(self.record(2), row(0), lease)
            first = await store.swap(first, row(7), lease)
            assert [each.step for *_, each in await rows(store, first.run)] == [0, 7]
            assert len(await rows(store, second.run)) == 1 and await store.load("tidy") == second
            assert await make().load(first.run) == first
            assert await store.load("tidy@" + "b" * 12 + "#1") is None, "another run of that number"

        anyio.run(story)

    async def loaded(self, store: Store) -> RunRecord:
        found = await store.load("tidy")
        assert found is not None
        return found

    def holder(self) -> str:
        """A program that takes the lease of `tidy`, prints `held` and waits."""
        raise NotImplementedError
