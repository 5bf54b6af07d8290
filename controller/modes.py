"""modes: when what a step's patch says becomes Σ (`commit_mode`), and all that differs by it. Pure.

staged      when evidence holds. Otherwise Σ and O stay as they were
optimistic  when the gate allows the step, before its action is carried out (Algorithm 1 of the paper). Nothing
            takes it back; O is always consumed, a failure is the next one
dual        as with optimistic, and beside it is kept what evidence has shown of it: `confirmed` catches up with a
            step's patch when evidence holds, and stays behind when it does not. O stays as with staged

A step that was allowed carries its mode: a task that is edited meanwhile does not change what is half done."""

from __future__ import annotations

import re
from typing import Any, cast

from contracts.actions import Block
from contracts.base import JsonObject, canonical, digest
from contracts.charter import Charter
from contracts.drift import Learned
from contracts.forget import Forgotten, forget
from contracts.merge import both, difference, merge, nested, value_at
from contracts.queue import UserNote
from contracts.record import AuditRow, CommitMode, Observation, RunRecord, Staged
from contracts.schema_refs import path_of
from contracts.veil import veiled
from contracts.verdicts import Refuted
from controller import audit

SAID: dict[CommitMode, str] = {
    "staged": "",
    "optimistic": "In this task the state_patch of every reply that is allowed becomes the state at once, whether its\n"
    "action succeeds or fails. A failure is told in the next observation and takes nothing back: mend the state\n"
    "yourself.",
    "dual": "In this task the state_patch of every reply that is allowed is desired at once, and confirmed when its\n"
    "action succeeds. Where the two differ, `not confirmed` below the state is the merge patch that makes of it what\n"
    "is confirmed. To confirm an entry set it again together with an action that succeeds; to give it up set it back.",
}
VIEW = "view"  # what is to be shown: no claim about anything


# ---- allowed ----------------------------------------------------------------------------------------------
def claimed(
    record: RunRecord,
    patch: JsonObject,
    gone: Forgotten,
    candidate: JsonObject,
    changed: JsonObject | None,
    task: Charter,
) -> dict[str, Any]:
    """What a staged transition holds of its mode. What is confirmed is a valid state at any time: a patch that is none
    on what is confirmed (it speaks of an entry that never was) leaves that as it is, proven or not."""
    mode = task.task.commit_mode
    if mode != "dual":
        return {"mode": mode}

    def fitting(before: JsonObject, after: JsonObject) -> JsonObject:
        after = {name: each for name, each in after.items() if name != VIEW}
        after |= {VIEW: candidate[VIEW]} if VIEW in candidate else {}
        wrong = task.schema.errors(after) or task.schema.broken(before, after)
        return before if wrong or len(canonical(after)) > task.task.limits.state else after

    held = fitting(record.known, cast(JsonObject, merge(record.known, gone.patch)))
    if record.confirmed is None:
        return {"mode": mode, "held": held, "proven": candidate}
    after, _ = forget(task.schema, held, patch, record.ages, record.spent.steps + 1)
    return {
        "mode": mode,
        "held": held,
        "proven": fitting(held, cast(JsonObject, merge(after, changed or {}))),
    }


def taken(record: RunRecord, row: AuditRow) -> tuple[RunRecord, AuditRow | None]:
    """The record of a step that was just allowed, and the row that says what became Σ with it: none when that waits
    for the evidence. `row` is that of the verdict."""
    staged = record.staged
    if staged is None or staged.mode == "staged":
        return record, None
    steps = record.spent.steps + 1
    after = record.model_copy(
        update={
            **_became(record, staged, staged.candidate),
            "confirmed": _behind(staged.held, staged.candidate),
            "spent": record.spent.model_copy(update={"steps": steps}),
            "staged": staged.model_copy(update={"launch": None}),  # told and charged by this row
        }
    )
    return after, _told(record, after, staged, row, audit.became(staged, {}, {}))


# ---- verified ---------------------------------------------------------------------------------------------
def shown(record: RunRecord, staged: Staged, views: JsonObject, row: AuditRow) -> tuple[RunRecord, AuditRow]:
    """Σ after a step whose evidence holds, and its row. `views` keeps the views on their lines; where the schema has a
    place for it, Σ points at the readings that the step was judged by."""
    points = _points(record, staged)
    moved = both({VIEW: views} if views else {}, points)
    state = cast(JsonObject, merge(staged.candidate, moved))
    if staged.mode == "staged":
        steps = record.spent.model_copy(update={"steps": record.spent.steps + 1})
        after = record.model_copy(update=_became(record, staged, state) | {"spent": steps})
        return after, _told(record, after, staged, row, audit.became(staged, views, points))
    proven = None if staged.proven is None else cast(JsonObject, merge(staged.proven, moved))
    after = record.model_copy(update={"state": state, "confirmed": _behind(proven, state)})
    return after, _told(record, after, staged, row, audit.beside(views, points))


def failed(staged: Staged, refuted: Refuted) -> Observation | None:
    """What the next step sees of an action that failed, in the mode in which it goes on all the same."""
    if staged.mode != "optimistic":
        return None
    blocks = (Block(title="what failed", text=refuted.excerpt),) if refuted.excerpt else ()
    head = f"failed ({refuted.code}): {refuted.say}"
    return Observation(step=staged.step, tool=staged.tool, head=head, blocks=blocks, failed=refuted.code)


def unconfirmed(record: RunRecord, secrets: tuple[tuple[str, ...], ...]) -> JsonObject:
    """The merge patch that makes of the state what is confirmed of it; empty when that is all."""
    if record.confirmed is None:
        return {}
    return cast(JsonObject, difference(veiled(record.state, secrets), veiled(record.confirmed, secrets)))


def _became(record: RunRecord, staged: Staged, state: JsonObject) -> dict[str, Any]:
    return {
        "state": state,
        "ages": staged.forgotten.ages,
        "intent": staged.intent or record.intent,
        "refused": () if staged.intent else record.refused,
        "notes": _left(record, staged.candidate),
        "learned": _learned(record, staged, state),
    }


def _learned(record: RunRecord, staged: Staged, state: JsonObject) -> dict[str, Learned]:
    """Since when, and on what, each entry that is still there is known."""
    after = {**record.learned, **staged.learned}
    return {place: each for place, each in after.items() if value_at(state, path_of(place)) is not None}


def _points(record: RunRecord, staged: Staged) -> JsonObject:
    """The patch that points at the evidence of the step, else at the readings that it was gated by."""
    kept = record.digests.get("evidence") or record.digests.get("readings")
    patch: JsonObject = {}
    for path in staged.points if kept else ():
        if len(path) == 1 or value_at(staged.candidate, path[:-1]) is not None:
            patch = cast(JsonObject, both(patch, nested(path, f"artifact:{kept}")))
    return patch


def _behind(confirmed: JsonObject | None, state: JsonObject) -> JsonObject | None:
    return None if confirmed is None or canonical(confirmed) == canonical(state) else confirmed


def _told(before: RunRecord, after: RunRecord, staged: Staged, row: AuditRow, extra: JsonObject) -> AuditRow:
    """The row with what made the new state, and what it is known by."""
    digests = {"state": digest(veiled(after.state, staged.secrets))}
    if staged.mode != "staged":
        extra = extra | {"mode": staged.mode}
    if staged.mode == "dual":
        known = veiled(after.known, staged.secrets)
        digests["confirmed"] = digest(known)
        extra = extra | {"confirmed": difference(veiled(before.known, staged.secrets), known)}
    told = {
        "extra": row.extra | extra,
        "state_bytes": audit.size(after.state),
        "digests": row.digests | digests,
    }
    return row.model_copy(update=told)


def _left(record: RunRecord, state: JsonObject) -> tuple[UserNote, ...]:
    """The notes that the state does not name yet."""
    if not record.notes:
        return ()
    words = set(re.findall(r"user-note-\d+", canonical(state).decode()))
    return tuple(note for note in record.notes if note.id not in words)
