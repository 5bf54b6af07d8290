"""What was found of a task on its remote: read once, carried on by each own write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from contracts.errors import Lost, Unavailable
from contracts.ports import Lease
from contracts.queue import Post
from contracts.record import RunRecord
from contracts.refs import Refs
from controller.stores import document
from controller.stores import git_layout as at
from controller.stores.git_layout import Consumed, Held, Output
from controller.stores.mirror import Row, sound, unlined


@dataclass(frozen=True)
class Found:
    """`stands` are the commits of the task's refs by their short names, `files` (path -> size) those of its record
    commit of that `layout`, `named` the commit that the lease's names as the record, `posts` the words in the inbox
    that were not taken in yet, `given` the highest id of any. A lease that can't be read is as none; `unread`: why the
    record commit can't be, which has no files then."""

    refs: Refs
    task: str
    stands: Mapping[str, str]
    files: Mapping[str, int]
    layout: int
    held: Held | None
    named: str | None
    consumed: Consumed
    posts: tuple[Post, ...]
    given: int
    unread: str = ""
    _records: dict[int, RunRecord] = field(default_factory=dict)

    @classmethod
    def read(cls, refs: Refs, task: str, known: Found | None = None) -> Found:
        """Asks the remote; `known` is what was found last, and is found again where nothing moved. Raises
        Unavailable."""
        prefix = at.prefix(task)
        stands = {ref.removeprefix(prefix): oid for ref, oid in refs.fetch(prefix).items()}
        return known if known is not None and known.stands == stands else cls._parsed(refs, task, stands)

    @classmethod
    def of_commit(cls, refs: Refs, task: str, record: str) -> Found:
        """What stood in a record commit that the copy has, without lease, branch and inbox."""
        return cls._parsed(refs, task, {at.RECORD: record})

    @classmethod
    def _parsed(cls, refs: Refs, task: str, stands: Mapping[str, str]) -> Found:
        record, inbox, lease = (stands.get(name) for name in (at.RECORD, at.INBOX, at.LEASE))
        files = refs.listed(record) if record else {}
        words = [path for path in refs.listed(inbox) if at.post_of(path) is not None] if inbox else []
        wanted = [f"{record}:{at.FORMAT}", f"{record}:{at.CONSUMED}"] if record else []
        wanted += [f"{lease}:{at.HELD}", lease] if lease else []
        wanted += [f"{inbox}:{path}" for path in (at.LAST, *words)] if inbox else []
        data = dict(zip(wanted, refs.read(wanted), strict=True))
        held, named = _held(data.get(f"{lease}:{at.HELD}")), at.parent_of(data.get(lease or ""))
        layout, consumed, unread = at.LAYOUT, Consumed(), ""
        try:
            layout = _layout(refs, data.get(f"{record}:{at.FORMAT}"))
            consumed = Consumed.parsed(data.get(f"{record}:{at.CONSUMED}"))
        except ValueError as error:
            files, unread = {}, f"something in it can't be read: {error}"
        words = [at.LAST, *words] if inbox else []
        last, posts = _said(refs, task, inbox, {path: data[f"{inbox}:{path}"] for path in words})
        fresh = tuple(post for post in posts if post.id not in consumed)
        given = max(last, consumed.last)
        return cls(refs, task, stands, files, layout, held, named, consumed, fresh, given, unread)

    def after(
        self, stands: Mapping[str, str], files: Mapping[str, int], record: RunRecord | None, **more: Any
    ) -> Found:
        """As it is after an own write, of `record` if any."""
        records = {record.number: record} if record else self._records
        return replace(self, stands=stands, files=files, _records=records, **more)

    @property
    def unnamed(self) -> bool:
        """Whether a lease should name the record, and none does."""
        return at.RECORD in self.stands and self.named is None and self.layout > 1

    @cached_property
    def fault(self) -> str:
        """Why what stands where the record should is none, as far as its files tell; empty where it may be one."""
        newest = at.newest(self.files)
        if self.unread or at.RECORD not in self.stands:
            return self.unread
        if newest is None:
            return "no run is in it"
        return "" if newest in self.runs else f"the record of run {newest} is missing"

    # ---- runs ---------------------------------------------------------------------------------------------
    @cached_property
    def runs(self) -> list[int]:
        """The numbers of the runs, newest first."""
        return at.numbers(self.files)

    @property
    def newest(self) -> RunRecord | None:
        """The record of the newest run. Raises Unavailable."""
        return self.record(self.runs[0]) if self.runs else None

    @property
    def readable(self) -> RunRecord | None:
        """The same; None for one that can't be read, too."""
        try:
            return self.newest
        except Unavailable:
            return None

    def record(self, number: int) -> RunRecord | None:
        """The record of a run as it is stored; None when there is none. Raises Unavailable."""
        if number not in self.runs:
            return None
        if number not in self._records:
            (data,) = self.refs.read([f"{self.stands[at.RECORD]}:{at.record_path(number)}"])
            self._records[number] = document.parsed(
                data or b"", lambda what: damaged(self.refs, self.task, what)
            )
        return self._records[number]

    def of(self, run: str) -> RunRecord | None:
        """The record of a run by its id, or the newest one."""
        if "@" not in run:
            return self.newest
        number = at.number_of(run)
        record = self.record(number) if number is not None else None
        return record if record is not None and record.run == run else None

    def rows(self, number: int, most: int | None = None) -> Iterator[Row]:
        """The audit rows of a run, oldest first. Raises Unavailable for one that is no row."""
        folder = at.record_path(number).replace("record.json", "audit/")
        paths = sorted(path for path in self.files if path.startswith(folder))[:most]
        for path, data in zip(
            paths, self.refs.read([f"{self.stands[at.RECORD]}:{path}" for path in paths]), strict=True
        ):
            try:
                yield unlined(data or b"")
            except ValueError as error:
                raise damaged(self.refs, self.task, f"{path} is no audit row") from error

    @cached_property
    def sound(self) -> list[Row]:
        """The audit rows of the newest run, as far as its chain holds."""
        rows: list[Row] = []
        newest = at.newest(self.files)
        with suppress(Unavailable):
            for row in self.rows(newest) if newest is not None else ():
                rows.append(row)
        return sound(rows)

    @property
    def whole(self) -> bool:
        """Whether the record of the newest run can be read and its audit holds."""
        record = None if self.fault else self.readable
        return (
            record is not None and len(self.sound) == record.rows and not document.faults(self.sound, record)
        )

    def goes_on_from(self, before: RunRecord) -> bool:
        """Whether this is what became of a record that stood here earlier: its audit chain is a beginning of ours."""
        now = self.record(before.number)
        if now is None or now.run != before.run or now.version < before.version:
            return False
        if not before.rows:
            return True
        path = at.row_path(before.number, before.rows)
        (data,) = self.refs.read([f"{self.stands[at.RECORD]}:{path}"])
        try:
            return unlined(data or b"")[2] == before.chain
        except ValueError:
            return False

    # ---- the lease ----------------------------------------------------------------------------------------
    def fenced(self, lease: Lease) -> Held:
        """The lease as it stands, which must be this one. Raises Lost."""
        if self.held is None or (self.held.id, self.held.epoch) != (lease.id, lease.epoch):
            raise Lost(f"the lease of task {lease.task!r} was taken by another controller")
        return self.held

    # ---- outputs ------------------------------------------------------------------------------------------
    @cached_property
    def outputs(self) -> dict[str, Output]:
        """Every output by its id, those that were left out included."""
        made = (Output.at(path, size) for path, size in self.files.items() if "/artifacts/" in path)
        return {each.id: each for each in made if each is not None}

    def contents(self, paths: Sequence[str]) -> list[bytes | None]:
        """The bytes of files of the record commit."""
        return self.refs.read([f"{self.stands[at.RECORD]}:{path}" for path in paths])


def _held(data: bytes | None) -> Held | None:
    try:
        return Held.parsed(data)
    except ValueError:
        return None


def _said(
    refs: Refs, task: str, inbox: str | None, data: Mapping[str, bytes | None]
) -> tuple[int, tuple[Post, ...]]:
    """The highest id that the inbox gave, and the words in it, by its files. Raises Unavailable."""
    try:
        last = int((data.get(at.LAST) or b"0").strip())
        posts = [
            Post(id=id, body=document.body.validate_json(said or b""))
            for path, said in data.items()
            if (id := at.post_of(path)) is not None
        ]
    except ValueError as error:
        raise Unavailable(
            f"the words of people for task {task!r} on the remote can't be read: {error}",
            where=refs.address,
            hint=f"set {at.prefix(task)}{at.INBOX} back to an older commit of its own, or delete it: what no run took "
            "in is to be said again",
        ) from error
    return last, tuple(posts)


def _layout(refs: Refs, said: bytes | None) -> int:
    """Raises Unavailable for a layout of a newer version, ValueError for none."""
    layout = int((said or b"1").strip())
    if layout > at.LAYOUT:
        raise Unavailable(
            f"the record on the remote has layout {layout}, this version reads up to {at.LAYOUT}",
            where=refs.address,
            hint="upgrade",
        )
    return layout


def damaged(refs: Refs, task: str, what: str) -> Unavailable:
    return Unavailable(
        f"the record of task {task!r} on the remote is damaged: {what}",
        where=refs.address,
        hint="nothing was changed; `controller state recover` puts back what stood there, or rebuilds it",
    )
