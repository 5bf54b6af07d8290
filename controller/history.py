"""history: what the audit chain alone says of a run. Pure: rows in, states out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

import orjson

from contracts.base import JsonObject, canonical, digest
from contracts.forget import Ages, aged
from contracts.intent import IntentContract
from contracts.merge import difference, merge
from contracts.queue import Entry, Refusal
from contracts.record import AuditRow, RunRecord, Spend
from contracts.reply import LOST, Usage


@dataclass(frozen=True)
class Version:
    """Σ after one committed step or migration: `patch` made it, `row` says so. `sound` is whether the digests in the
    row are those of `state` and of what is `confirmed` of it: byte for byte what was stored then, less what is never
    shown. `number` is the version of its schema, `ages` are those of everything in it."""

    step: int
    at: float
    patch: JsonObject
    state: JsonObject
    row: AuditRow
    sound: bool = True
    number: int = 1
    ages: Ages = field(default_factory=dict)
    confirmed: JsonObject | None = None


def opening(rows: Iterable[AuditRow]) -> RunRecord | None:
    """The record as the run was opened, from its first row; None when that row is not there."""
    for row in rows:
        kept = row.extra.get("record") if row.kind == "opened" else None
        return RunRecord.model_validate_json(orjson.dumps(kept)) if isinstance(kept, dict) else None
    return None


def committed(row: AuditRow) -> bool:
    """Whether this row's patch became Σ: the row of the evidence, or in another mode than `staged` that of the
    verdict."""
    return row.kind in ("step", "reply") and "state" in row.digests and isinstance(row.state_patch, dict)


def known(
    confirmed: JsonObject | None, before: JsonObject, after: JsonObject, row: AuditRow
) -> JsonObject | None:
    """What is confirmed of Σ `after` the row where that is not all of it, from what was `before`."""
    if row.extra.get("mode") != "dual":
        return None
    found = merge(before if confirmed is None else confirmed, row.extra.get("confirmed", {}))
    return None if canonical(found) == canonical(after) else cast(JsonObject, found)


def became(state: JsonObject, row: AuditRow) -> JsonObject:
    """Σ after `row`, from Σ before it."""
    if row.kind == "opened":
        kept = row.extra.get("record")
        return cast(JsonObject, kept["state"]) if isinstance(kept, dict) else {}
    if row.kind == "migration":
        return cast(JsonObject, row.extra.get("state", state))
    if committed(row):
        state = cast(JsonObject, merge(state, row.state_patch))
    if forgot := row.extra.get("forgot"):  # what the controller let go of
        state = cast(JsonObject, merge(state, forgot))
    if changed := row.extra.get("changed"):  # what a person agreed to
        state = cast(JsonObject, merge(state, changed))
    for told in (
        "reported",
        "points",
    ):  # what the controller keeps at what authorities say, and at the evidence
        if found := row.extra.get(told):
            state = cast(JsonObject, merge(state, found))
    if moved := row.extra.get("views"):  # the controller kept the views on their lines
        state = cast(JsonObject, merge(state, {"view": moved}))
    return state


def versions(rows: Iterable[AuditRow]) -> Iterator[Version]:
    """Σ from the opening on, after each committed step and each migration, oldest first."""
    state: JsonObject = {}
    ages: Ages = {}
    confirmed: JsonObject | None = None
    number, steps = 1, 0
    for row in rows:
        before, state = state, became(state, row)
        if row.kind == "opened":
            kept = row.extra.get("record")
            kept = kept if isinstance(kept, dict) else {}
            number = kept.get("state_version", 1)
            ages = {name: (each[0], each[1]) for name, each in kept.get("ages", {}).items()}
            yield Version(step=0, at=row.at, patch={}, state=state, row=row, number=number, ages=ages)
        elif "state" in row.digests:
            number = row.extra.get("to", number) if row.kind == "migration" else number
            patch = row.state_patch if committed(row) else cast(JsonObject, difference(before, state))
            confirmed = known(confirmed, before, state, row)
            now = digest(state)
            sound = now == row.digests["state"]
            sound &= (now if confirmed is None else digest(confirmed)) == row.digests.get("confirmed", now)
            steps += committed(row)
            if committed(row) or row.kind == "migration":
                ages = aged(ages, before, state, patch, steps)
            yield Version(row.step, row.at, patch, state, row, sound, number, ages, confirmed)


def waited(queue: tuple[Entry, ...], row: AuditRow) -> tuple[Entry, ...]:
    """What waited for a person when the verdict of `row` was given, from what waited after the row before it: what they
    refused since, or left too long, was gone by then, and what the row took up was approved."""
    waiting, taken = row.extra.get("waiting"), row.extra.get("entry")
    if waiting is None:
        return queue
    left = (entry for entry in queue if entry.id == taken or entry.id in waiting)
    return tuple(
        entry.model_copy(update={"status": "approved"}) if entry.id == taken else entry for entry in left
    )


def refused(known: tuple[Refusal, ...], queue: tuple[Entry, ...], row: AuditRow) -> tuple[Refusal, ...]:
    """What people had said no to by `row`, from what they had before and what waited then. Only who said it is not
    known."""
    no = {each.id: Refusal(entry=each.id, proposes=each.proposes) for each in queue}
    no |= {each.entry: each for each in known}
    return tuple(no[id] for id in row.extra.get("refused", ()) if id in no)


def forbidden(rows: Iterable[AuditRow]) -> tuple[Refusal, ...]:
    """What people had said no to by the last row, and had not taken back."""
    no, queue = tuple[Refusal, ...](), tuple[Entry, ...]()
    for row in rows:
        no, queue = refused(no, queue, row), queued(queue, row)
    return no


def queued(queue: tuple[Entry, ...], row: AuditRow) -> tuple[Entry, ...]:
    """What waits for a person after `row`, from what waited before it. Only who decided is not known."""
    if (parked := row.extra.get("parked")) is not None:
        transition = {"state_patch": row.state_patch, "action": row.action}
        queue = (*queue, Entry.model_validate_json(orjson.dumps({"transition": transition} | parked)))
    waiting = row.extra.get("waiting")
    return queue if waiting is None else tuple(entry for entry in queue if entry.id in waiting)


def intended(rows: Iterable[AuditRow]) -> JsonObject | None:
    """The intent as the last approved change left it; None when none was changed."""
    found: JsonObject | None = None
    for row in rows:
        found = row.extra.get("intent", found)
    return found


def contracted(rows: Iterable[AuditRow]) -> IntentContract | None:
    """The contract as the task had it when the run was opened, or when an edit of it was last accepted; None when it
    is not kept."""
    found: JsonObject | None = None
    for row in rows:
        found = row.extra.get("contract", found)
    return None if found is None else IntentContract.model_validate(found)


def agreed(rows: Iterable[AuditRow]) -> dict[str, str]:
    """The digests of what was taken over since the opening: by migrations, and of edits of the task."""
    found: dict[str, str] = {}
    for row in rows:
        found |= row.extra.get("digests", {})
    return found


def lost(row: AuditRow) -> bool:
    """Whether this row charges a launch that no reply was recorded of."""
    return row.validator_result == LOST or "lost" in row.extra


def spent(rows: Iterable[AuditRow]) -> Spend:
    """What the rows say was spent: launches with their charges, committed steps, time. One that was killed before its
    verdict has its row with the next write; the last one may have none."""
    total = Spend()
    for row in rows:
        charged = row.charged or Usage()
        total = total.model_copy(
            update={
                "steps": total.steps + committed(row),
                "launches": total.launches + (row.agent is not None) + lost(row),
                "input": total.input + (charged.input or 0),
                "cached": total.cached + (charged.cached or 0),
                "output": total.output + (charged.output or 0),
                "usd_micro": total.usd_micro + (charged.usd_micro or 0),
                "wall": total.wall + row.durations.get("step", 0.0),
                "estimated": total.estimated or row.estimated,
            }
        )
    return total
