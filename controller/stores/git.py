"""The record, its audit chain, inbox and lease on refs of a Git remote (`git_layout` says where): each write is one
atomic push with leases. That is the compare-and-swap, and needs nothing but the repository.

Every write of the lease's holder moves the lease's ref, too, so whoever has lost it can't write: its push would move
that ref from where it no longer is. The run's branch goes along in the same push when the record's head moves.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from contracts.errors import Busy, ConfigError, Lost, Moved, Unavailable
from contracts.ports import Artifacts, Lease, Owner
from contracts.queue import Post, PostBody
from contracts.record import AuditRow, RunRecord
from contracts.refs import Draft, Refs
from contracts.text import line
from controller.stores import document, git_branch
from controller.stores import git_layout as at
from controller.stores.git_found import Found, damaged
from controller.stores.git_layout import Held
from controller.stores.git_outputs import Packed, output, packed
from controller.stores.git_writing import Desk, Plan
from controller.stores.mirror import lined
from controller.stores.owner import here, known

T = TypeVar("T")
Arrive = Callable[[str, str | None], Awaitable[None]]


class GitStore:
    """`refs` are those of the remote. `evict(pid, started)` ends an owner of this machine and what it left running;
    `leave(epoch)` leaves the worktree to an owner that shares it and can't be ended; `arrive(tip, key)` brings the
    branch of this clone to `tip`, where the step of `key` may be committed already. `shelf`: the outputs of this
    clone. A caller that takes no lease needs none of them. `trusting`: what stands on the remote is taken as it is."""

    def __init__(
        self,
        refs: Refs,
        *,
        evict: Callable[[int, str], Sequence[str]] | None = None,
        leave: Callable[[int], None] | None = None,
        arrive: Arrive | None = None,
        shelf: Artifacts | None = None,
        trusting: bool = False,
    ) -> None:
        self.refs, self._evict, self._leave, self._arrive, self._shelf = refs, evict, leave, arrive, shelf
        self._desk = Desk(refs, trusting)
        self._arrived: dict[str, str] = {}  # where the branch stood on the remote when we brought it here

    # ---- reading ------------------------------------------------------------------------------------------
    async def load(self, run: str) -> RunRecord | None:
        """See Store. With the lease in hand, Moved where somebody pushed onto the run's branch since."""
        task = run.partition("@")[0]
        found = await _thread(partial(self._desk.look, task))
        record = found.of(run)
        if record is None:
            return None
        stored = document.loaded(record, found.posts)
        if record.number != found.runs[0] or record.finished:
            return stored
        standing = await _thread(partial(git_branch.standing, found, record))
        if stored.staged is not None:
            if standing.theirs and task in self._arrived:
                self._arrived[task] = ""  # brought here again once this step is over
            staged = stored.staged.model_copy(update={"overtaken": standing.theirs})
            return stored.model_copy(update={"staged": staged})
        if standing.theirs and self._arrived.get(task, standing.tip) != standing.tip:
            raise Moved(
                f"somebody pushed onto the branch of {record.run}: it is brought here", hint="run again"
            )
        return stored

    async def standing(self, task: str) -> tuple[RunRecord | None, tuple[Post, ...], Held | None]:
        """The record of the newest run as it is stored, the words that wait for it, and the lease."""
        found = await _thread(partial(self._desk.look, task))
        return await _thread(lambda: found.newest), found.posts, found.held

    async def runs(self, task: str) -> list[tuple[str, int, str | None]]:
        """(run id, version, outcome) of every run of a task, newest first."""

        def read() -> list[tuple[str, int, str | None]]:
            found = self._desk.look(task)
            records = [record for number in found.runs if (record := found.record(number)) is not None]
            return [
                (each.run, each.version, str(each.outcome) if each.finished else None) for each in records
            ]

        return await _thread(read)

    async def log(self, run: str) -> AsyncIterator[tuple[int, str, str, AuditRow]]:
        task = run.partition("@")[0]
        found = await _thread(partial(self._desk.look, task))
        record = found.of(run)
        for seq, prev, hash, row in await _thread(lambda: list(found.rows(record.number) if record else ())):
            try:
                yield seq, prev, hash, AuditRow.model_validate_json(row)
            except ValidationError as error:
                raise damaged(self.refs, task, f"audit row {seq} can't be read") from error

    async def verify(self, run: str) -> list[str]:
        """What is wrong with the audit chain of a run; empty when it holds."""

        def read() -> list[str]:
            found = self._desk.look(run.partition("@")[0])
            record = found.of(run)
            return document.faults(found.rows(record.number), record) if record else []

        return await _thread(read)

    def output(self, task: str, id: str) -> bytes:
        """An output of a task by its id. Blocks. Raises KeyError, Gone where it is known why; Unavailable."""
        return output(self._desk.known.get(task) or self._desk.look(task), id)

    async def tasks(self) -> list[str]:
        """Every task whose record this clone has seen: what others keep on the remote is theirs."""
        found = (at.task_of(ref) for ref in await _thread(self.refs.noted))
        return sorted({task for task in found if task is not None})

    async def holder(self, task: str) -> Lease | None:
        """The lease of a task whose owner is, as far as can be known, still alive."""
        held = (await _thread(partial(self._desk.look, task))).held
        if held is None or not held.owner.pid:
            return None
        lives = known(held.owner)
        if lives is False or (lives is None and held.expires < time.time()):
            return None
        return held.lease(task)

    async def first(self, name: str, value: str, *, anew: bool = False) -> str:
        """See contracts.refs.Refs: what this clone was told first."""
        return await _thread(lambda: self.refs.first(name, value, anew=anew))

    def close(self) -> None:
        """Nothing is open between two calls."""

    # ---- writing ------------------------------------------------------------------------------------------
    async def swap(
        self, record: RunRecord, row: AuditRow | None, lease: Lease, consumed: Sequence[int] = ()
    ) -> RunRecord:
        after, data, new = document.following(record, row)

        def plan(found: Found) -> Plan:
            held = found.fenced(lease)
            there = found.record(record.number)
            if (there.version if there else 0) != record.version or (there and there.run != record.run):
                raise Lost(f"run {record.run} was changed by another controller")
            files: dict[str, bytes | None] = {at.record_path(record.number): data}
            if new is not None:
                files[at.row_path(record.number, new[0])] = lined(new)
            taken = found.consumed.and_(tuple(consumed))
            if taken != found.consumed:
                files[at.CONSUMED] = taken.document()
            if found.layout < at.LAYOUT or at.FORMAT not in found.files:
                files[at.FORMAT] = b"%d\n" % at.LAYOUT
            outputs = Packed()
            if self._shelf is not None:
                texts = (data, new[3] if new else b"")
                outputs = packed(found, self._shelf, record.number, record.step, texts)
            before = found.stands.get(at.RECORD)
            left = tuple(post for post in found.posts if post.id not in taken)
            files |= outputs.files
            draft = Draft(_said(after, row), files, before, None if outputs.cut else before)
            renewed = replace(held, expires=time.time() + held.seconds)
            return Plan(
                {at.RECORD: draft, at.LEASE: _leased(found.task, renewed)},
                git_branch.moves(found, after),
                {"held": renewed, "consumed": taken, "posts": left, "layout": at.LAYOUT},
                after,
            )

        await _thread(partial(self._desk.write, record.task, plan))
        kept = tuple(post for post in record.inbox if post.id not in consumed)
        return after.model_copy(update={"inbox": kept})

    # ---- recovery -----------------------------------------------------------------------------------------
    async def found(self, task: str) -> tuple[Found, list[Found]]:
        """What is on the remote; and the records that are left: what the lease names, what this clone saw last, what
        stands there."""

        def look() -> tuple[Found, list[Found]]:
            seen, now = self.refs.seen(at.prefix(task) + at.RECORD), self._desk.look(task)
            left = dict.fromkeys((now.named, seen, now.stands.get(at.RECORD)))
            return now, [Found.of_commit(self.refs, task, commit) for commit in left if commit]

        return await _thread(look)

    async def restore(
        self, lease: Lease, commit: str, moves: Mapping[str, str], number: int | None = None, rows: int = 0
    ) -> None:
        """The record ref to a commit that this clone has, and what else `moves`; with `number` without the record of
        that run, and with no more than its first `rows` rows."""

        def plan(found: Found) -> Plan:
            held = found.fenced(lease)
            drafts = {at.LEASE: _leased(lease.task, held)}
            if number is None:
                return Plan(drafts, {at.RECORD: commit, **moves})
            files = at.of_run(self.refs.listed(commit), number, rows)
            message = f"the record of run {number} is to be rebuilt"
            drafts[at.RECORD] = Draft(message, dict.fromkeys(files), commit, commit)
            return Plan(drafts, moves)

        await _thread(partial(self._desk.write, lease.task, plan))
        self._desk.known.pop(lease.task, None)

    async def post(self, task: str, body: PostBody) -> int:
        """See Store. It moves the inbox alone: people and the run never wait for one another."""
        said, given = document.body.dump_json(body), [0]

        def plan(found: Found) -> Plan:
            given[0] = found.given + 1
            before = found.stands.get(at.INBOX)
            old = self.refs.listed(before) if before else {}
            gone = {path: None for path in old if (id := at.post_of(path)) and id in found.consumed}
            files = {at.post_path(given[0]): said, at.LAST: b"%d\n" % given[0], **gone}
            draft = Draft(f"{body.kind} by {body.by}", files, before, before)
            return Plan({at.INBOX: draft}, then={"given": given[0]})

        await _thread(partial(self._desk.write, task, plan))
        self._desk.known.pop(task, None)
        return given[0]

    # ---- the lease ----------------------------------------------------------------------------------------
    async def lease(self, task: str, seconds: float) -> Lease:
        """See Store. Before it is ours nothing is changed here; then the branch is brought to where it stands on the
        remote."""
        owner = here()
        await _thread(partial(self._cleared, task, owner))
        taken: list[Held] = []

        def plan(found: Found) -> Plan:
            if not self._desk.trusting and found.newest is not None:
                git_branch.standing(found, found.newest)
            other = found.held
            if other is not None and self._keeps_out(other, owner):
                raise Busy(
                    f"task {task!r} is being worked on by pid {other.owner.pid} on {other.owner.host} "
                    f"(lease {other.id})",
                    hint="wait for it, or `controller stop`",
                )
            epoch = (other.epoch if other else 0) + 1
            expires = time.time() + seconds
            taken[:] = [Held(uuid.uuid4().hex[:12], epoch, owner, expires, seconds, self.refs.place)]
            return _holding(task, taken[0])

        await _thread(partial(self._desk.write, task, plan))
        lease = taken[0].lease(task)
        try:
            await self._brought(task)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.release(lease)
            raise
        return lease

    def _keeps_out(self, held: Held, taker: Owner) -> bool:
        """Whether the owner of a lease has the task to itself. One that can't be asked has it until its time is up,
        and for ever where it shares a worktree that can't be left to it."""
        lives = known(held.owner)
        if not held.owner.pid or held.owner == taker or lives is False:
            return False
        shared = held.place == self.refs.place and self._leave is None
        return bool(lives) or held.expires > time.time() or shared

    def _cleared(self, task: str, taker: Owner) -> None:
        """See SqliteStore: an owner of this machine whose time is up is ended, and so is what a dead one left
        running; to another one that shares the worktree it is left."""
        held = self._desk.look(task).held
        if held is None or not held.owner.pid or held.owner == taker:
            return
        lives, over = known(held.owner), held.expires <= time.time()
        if lives is None:
            if over and self._leave and held.place == self.refs.place:
                self._leave(held.epoch)
        elif (not lives or over) and self._evict:
            self._evict(held.owner.pid, held.owner.started)

    async def _brought(self, task: str) -> None:
        if self._arrive is None:
            return
        found = await _thread(partial(self._desk.last, task))
        record = found.newest
        if record is None:
            return
        standing = await _thread(partial(git_branch.standing, found, record))
        await self._arrive(standing.tip, record.staged.key if record.staged else None)
        self._arrived[task] = standing.tip

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """See Store. A remote that can't be reached is asked again the next time, as long as the lease lasts."""
        until = self._until(lease)

        def plan(found: Found) -> Plan:
            held = found.fenced(lease)
            return _holding(lease.task, replace(held, expires=time.time() + seconds, seconds=seconds))

        try:
            await _thread(partial(self._desk.write, lease.task, plan))
        except Unavailable:
            if until <= time.time():
                raise
            return replace(lease, expires=until)
        return replace(lease, expires=self._until(lease))

    def _until(self, lease: Lease) -> float:
        """When it runs out, as far as this process knows."""
        found = self._desk.known.get(lease.task)
        return found.held.expires if found and found.held and found.held.id == lease.id else lease.expires

    async def release(self, lease: Lease) -> None:
        """See Store. Nothing happens when it is no longer ours; where the remote can't be reached it runs out."""

        def plan(found: Found) -> Plan | None:
            if found.held is None or found.held.id != lease.id:
                return None
            gone = replace(found.held.owner, pid=0, started="")
            return _holding(lease.task, replace(found.held, owner=gone, expires=0.0))

        self._arrived.pop(lease.task, None)
        with suppress(Unavailable):
            await _thread(partial(self._desk.write, lease.task, plan))

    async def unlock(self, task: str, id: str) -> Owner:
        """See Store."""
        owners: list[Owner] = []

        def plan(found: Found) -> Plan:
            held = found.held
            if held is None or not held.owner.pid or held.id != id:
                raise ConfigError(f"task {task!r} has no lease {id!r}", hint="`controller status` names it")
            if known(held.owner):
                raise Busy(
                    f"pid {held.owner.pid} holds the lease and lives", hint="`controller stop --now` ends it"
                )
            owners[:] = [held.owner]
            if known(held.owner) is None and self._leave and held.place == self.refs.place:
                self._leave(held.epoch)
            gone = replace(held.owner, pid=0, started="")
            return _holding(task, replace(held, id="", epoch=held.epoch + 1, expires=0.0, owner=gone))

        await _thread(partial(self._desk.write, task, plan))
        return owners[0]


def _holding(task: str, held: Held) -> Plan:
    """The write of a lease alone."""
    return Plan({at.LEASE: _leased(task, held)}, then={"held": held})


def _leased(task: str, held: Held) -> Draft:
    who = f"{held.owner.host}, pid {held.owner.pid}" if held.owner.pid else "nobody"
    return Draft(f"{task}: {who}", {at.HELD: held.document()})


def _said(after: RunRecord, row: AuditRow | None) -> str:
    """The message of a record commit, for people who look at the ref."""
    if row is None:
        what = (
            f"step {after.step}: {'staged ' + after.staged.tool if after.staged else 'a launch is reserved'}"
        )
    else:
        result = row.tool_result if row.kind == "step" else row.validator_result or row.extra.get("what")
        tool = row.action.get("tool", "") if isinstance(row.action, dict) else ""
        kind = "" if tool and row.kind == "step" else row.kind
        parts = (f"step {row.step}:", kind, tool, result, row.outcome)
        what = " ".join(str(part) for part in parts if part)
    trailers = f"Skill-State-Run: {after.run}\nSkill-State-Version: {after.version}"
    return f"{line(what, 200)}\n\n{trailers}\n"


async def _thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
