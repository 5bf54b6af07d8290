"""A record and its audit row as the bytes that every store keeps, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import orjson
from pydantic import TypeAdapter, ValidationError

from contracts.errors import Unavailable
from contracts.queue import Post, PostBody
from contracts.record import FORMAT, AuditRow, RunRecord
from controller.stores.mirror import GENESIS, Row, chain

body: TypeAdapter[PostBody] = TypeAdapter(PostBody)
Damaged = Callable[[str], Unavailable]


def following(record: RunRecord, row: AuditRow | None) -> tuple[RunRecord, bytes, Row | None]:
    """The record as it is after a write: one version on, its chain ending with `row`; that as a document; the row."""
    after = record.model_copy(update={"version": record.version + 1, "inbox": ()})
    new: Row | None = None
    if row is not None:
        entry, prev = row.model_dump_json(exclude_defaults=True).encode(), record.chain or GENESIS
        new = (record.rows + 1, prev, chain(prev, entry), entry)
        after = after.model_copy(update={"rows": new[0], "chain": new[2]})
    kept = after.model_dump_json(exclude={"inbox", "format"}, exclude_defaults=True).encode()
    # The format is said although it is the default: an older version must know.
    return after, b'{"format":%d,' % FORMAT + kept.removeprefix(b"{"), new


def parsed(data: bytes, damaged: Damaged) -> RunRecord:
    """The record in a document. Raises Unavailable for one of a newer version, and what `damaged` makes."""
    try:
        found = orjson.loads(data).get("format", 1)
    except (ValueError, AttributeError) as error:
        raise damaged("the record is no JSON object") from error
    if found > FORMAT:
        raise Unavailable(f"the record has format {found}, this version reads up to {FORMAT}", hint="upgrade")
    try:
        return RunRecord.model_validate_json(data)
    except ValidationError as error:
        raise damaged(f"the record has another shape: {error.errors()[0]['msg']}") from error


def loaded(record: RunRecord, posts: Iterable[Post]) -> RunRecord:
    """A stored record as `Store.load` gives it."""
    if record.staged is not None:
        staged = record.staged.model_copy(update={"resumed": True})
        record = record.model_copy(update={"staged": staged})
    return record.folded(tuple(posts))


def faults(rows: Iterable[Row], record: RunRecord | None) -> list[str]:
    """What is wrong with the audit chain of a run, and with what its record says of it; empty when it holds."""
    wrong, prev, expected = [], GENESIS, 1
    for seq, before, hash, row in rows:
        if seq != expected:
            wrong.append(f"row {expected} is missing")
        if before != prev:
            wrong.append(f"row {seq} does not follow row {seq - 1}")
        if not isinstance(row, bytes) or chain(before, row) != hash:
            wrong.append(f"row {seq} was changed after it was written")
        prev, expected = hash, seq + 1
    if record is not None and (record.rows, record.chain or GENESIS) != (expected - 1, prev):
        wrong.append(f"the record names {record.rows} rows, the chain ends at {expected - 1}")
    return wrong
