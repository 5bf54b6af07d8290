"""history: what the audit chain alone says of a run. Pure: rows in, states out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import orjson

from contracts.base import JsonObject, digest
from contracts.merge import merge
from contracts.record import AuditRow, RunRecord, Spend
from contracts.reply import Usage


@dataclass(frozen=True)
class Version:
    """Σ after one committed step: `patch` made it, `row` says so. `sound` is whether the digest in the row is
    that of `state`: byte for byte the state that was stored then."""

    step: int
    at: float
    patch: JsonObject
    state: JsonObject
    row: AuditRow
    sound: bool = True


def opening(rows: Iterable[AuditRow]) -> RunRecord | None:
    """The record as the run was opened, from its first row; None when that row is not there."""
    for row in rows:
        kept = row.extra.get("record") if row.kind == "opened" else None
        return RunRecord.model_validate_json(orjson.dumps(kept)) if isinstance(kept, dict) else None
    return None


def committed(row: AuditRow) -> bool:
    """Whether this row's patch became Σ."""
    return row.kind == "step" and "state" in row.digests and isinstance(row.state_patch, dict)


def became(state: JsonObject, row: AuditRow) -> JsonObject:
    """Σ after `row`, from Σ before it."""
    if row.kind == "opened":
        kept = row.extra.get("record")
        return cast(JsonObject, kept["state"]) if isinstance(kept, dict) else {}
    if not committed(row):
        return state
    state = cast(JsonObject, merge(state, row.state_patch))
    if moved := row.extra.get("views"):  # the controller kept the views on their lines
        state = cast(JsonObject, merge(state, {"view": moved}))
    return state


def versions(rows: Iterable[AuditRow]) -> Iterator[Version]:
    """Σ from the opening on, after each committed step, oldest first."""
    state: JsonObject = {}
    for row in rows:
        state = became(state, row)
        if row.kind == "opened":
            yield Version(step=0, at=row.at, patch={}, state=state, row=row)
        elif committed(row):
            yield Version(
                row.step, row.at, row.state_patch, state, row, digest(state) == row.digests["state"]
            )


def spent(rows: Iterable[AuditRow]) -> Spend:
    """What the rows say was spent: launches with their charges, committed steps, time. A launch without a row
    (killed before its verdict) is not in it."""
    total = Spend()
    for row in rows:
        charged = row.charged or Usage()
        total = total.model_copy(
            update={
                "steps": total.steps + committed(row),
                "launches": total.launches + (row.agent is not None),
                "input": total.input + (charged.input or 0),
                "cached": total.cached + (charged.cached or 0),
                "output": total.output + (charged.output or 0),
                "usd_micro": total.usd_micro + (charged.usd_micro or 0),
                "wall": total.wall + row.durations.get("step", 0.0),
                "estimated": total.estimated or row.estimated,
            }
        )
    return total
