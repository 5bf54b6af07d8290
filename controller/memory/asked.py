"""asked: the Memory port over a store's audit and the artifacts."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio.to_thread

from contracts.errors import ConfigError
from contracts.ports import Artifacts, Store
from contracts.recall import KINDS, MAX_RECALLED, Hit, Recalled
from contracts.record import AuditRow
from contracts.state import FieldRule
from controller.memory.entries import Past, Path
from controller.memory.index import Index
from controller.memory.words import words_of

Rows = Sequence[tuple[str, AuditRow]]  # hash and row, oldest first


@dataclass
class _Read:
    """What was read of a run so far: so many of its rows, the hash of the last of them."""

    past: Past
    index: Index
    rows: int = 0
    hash: str = ""

    def begins(self, rows: Rows) -> bool:
        """Whether `rows` go on where this ends: not those of another run, nor of an audit that was rebuilt."""
        return not self.rows or (len(rows) >= self.rows and rows[self.rows - 1][0] == self.hash)


class RunMemory:
    """The past of `task`'s runs. The first question reads the whole audit of the run, a later one what is new."""

    def __init__(
        self, task: str, store: Store, artifacts: Artifacts, fields: Mapping[Path, FieldRule]
    ) -> None:
        self._task, self._store, self._artifacts, self._fields = task, store, artifacts, fields
        self._lock = threading.Lock()
        self._read: _Read | None = None

    async def recall(
        self, query: str, kinds: Sequence[str] = (), limit: int = MAX_RECALLED, run: str | None = None
    ) -> Recalled:
        """See contracts.ports.Memory. `run` is a run's id, the newest of the task when absent."""
        record = await self._store.load(run or self._task)
        if record is None:
            raise ConfigError(f"task {self._task!r} has no run {run or 'yet'}")
        rows = [(hash, row) async for _, _, hash, row in self._store.log(record.run)]
        work = partial(self._answer, rows, query, kinds or KINDS, limit)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    def _answer(self, rows: Rows, query: str, kinds: Sequence[str], limit: int) -> Recalled:
        with self._lock:
            read = self._caught_up(rows)
            index = read.index
            words, found, all_words = words_of(query), None, True
            if words:
                found = index.find(words, kinds, limit, all_words=True)
                if not found.hits and len(words) > 1:
                    all_words, found = False, index.find(words, kinds, limit, all_words=False)
            answer = Recalled(
                hits=tuple(map(self._there, found.hits)) if found else (),
                words=words,
                all_words=all_words,
                found=found.places if found else 0,
                held={kind: count for kind, count in index.held().items() if kind in kinds},
                limits=_limits(read.past),
            )
            self._read = read
            return answer

    def _caught_up(self, rows: Rows) -> _Read:
        read = self._read
        if read is None or not read.begins(rows):
            read = _Read(Past(self._artifacts.get, self._fields), Index())
        self._read = None  # until there is an answer: what breaks off is never asked again
        for hash, row in rows[read.rows :]:
            read.index.add(read.past.take(row))
            read.rows, read.hash = read.rows + 1, hash
        return read

    def _there(self, hit: Hit) -> Hit:
        """The hit, saying it when the output that it stands in is gone by now."""
        if not hit.artifact:
            return hit
        try:
            self._artifacts.get(hit.artifact)
        except (KeyError, OSError):
            return replace(hit, gone=True)
        return hit


def _limits(past: Past) -> tuple[str, ...]:
    said = []
    if past.partly:
        said.append(f"{past.partly:,} long outputs are searched only in part: their beginning and end")
    if past.lost:
        steps = ", ".join(map(str, sorted(past.lost)[:12])) + (" …" if len(past.lost) > 12 else "")
        said.append(f"outputs that are no longer kept are not searched: steps {steps}")
    return tuple(said)
