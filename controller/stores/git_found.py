"""What was found of a task on its remote: read once, carried on by each own write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from controller.stores.mirror import Row, unlined


@dataclass(frozen=True)
class Found:
    """`stands` are the commits of the task's refs by their short names, `files` (path -> size) those of its record
    commit of that `layout`, `named` the record commit that the lease's names, `posts` the words in the inbox that were
    not taken in yet, `given` the highest id of any."""

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
        try:
            layout = _layout(refs, data.get(f"{record}:{at.FORMAT}"))
            consumed = Consumed.parsed(data.get(f"{record}:{at.CONSUMED}"))
            last = int((data.get(f"{inbox}:{at.LAST}") or b"0").strip())
            said = ((at.post_of(path), data[f"{inbox}:{path}"]) for path in words)
            posts = tuple(
                Post(id=id, body=document.body.validate_json(body or b""))
                for id, body in said
                if id is not None and id not in consumed
            )
            held = Held.parsed(data[f"{lease}:{at.HELD}"]) if lease else None
            named = at.parent_of(data[lease]) if lease else None
        except ValueError as error:
            raise damaged(refs, task, f"something in it can't be read: {error}") from error
        given = max(last, consumed.last)
        return cls(refs, task, stands, files, layout, held, named, consumed, posts, given)

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
        hint="nothing was changed; `controller state recover` rebuilds it from its audit",
    )
