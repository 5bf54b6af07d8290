"""edited: a task that was changed since the last call. What the run is judged by is for a person to confirm: the checks
and the rules of the state's fields by `--retry`, what the user wants by `--accept-new-intent` alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.base import JsonObject
from contracts.charter import Charter
from contracts.intent import IntentContract, in_force
from contracts.intent_edits import ItemEdit, alike, item_edits, lost
from contracts.outcomes import EDITED, Outcome
from contracts.record import AuditRow, Halt, RunRecord
from contracts.text import cut
from contracts.verdicts import Allow, Decided
from controller.commit import commit
from controller.confirm import finishing
from controller.drifting import without_questions
from controller.history import contracted
from controller.rig import Fence, Rig

JUDGES = ("checks", "rules")
SHOWN = 1400  # bytes of an edit in what is said of it


@dataclass(frozen=True)
class Edited:
    """The intent as it stands in the task now, against what was in force. `edits` is None when that is not kept.
    `harmless`: the same is in force as before. `dropped` are approved changes of this run that it does not have."""

    contract: IntentContract
    edits: tuple[ItemEdit, ...] | None
    dropped: tuple[ItemEdit, ...] = ()

    @property
    def harmless(self) -> bool:
        return self.edits == ()

    def row(self) -> JsonObject:
        """For the audit: the contract from here on, old values as superseded by the new, and what is dropped."""
        return {
            "contract": self.contract.document(),
            "intent": None,
            "edits": None if self.edits is None else [edit.row() for edit in self.edits],
            "dropped": [edit.row() for edit in self.dropped],
        }

    def say(self) -> str:
        """What a person must know to accept it."""
        if self.edits is None:
            return "the intent was edited (what it was is not kept)"
        told = "; ".join(", ".join(edit.lines()) for edit in self.edits)
        say = f"the intent was edited: {cut(told, SHOWN)}"
        if self.dropped:
            what = "; ".join(", ".join(edit.lines()) for edit in self.dropped)
            say += (
                f". It drops what was approved in this run: {cut(what, SHOWN // 2)} "
                "(`controller intent write` puts that into the file)"
            )
        return say


def edited(record: RunRecord, contract: IntentContract, rows: Iterable[AuditRow]) -> Edited:
    """What `contract`, which the task has now, makes of the intent in force in `record`."""
    base = contracted(rows)
    if base is None:
        return Edited(contract, None)
    amended = record.staged.intent if record.staged and record.staged.intent else record.intent
    before = in_force(amended, base)
    if alike(before, contract):
        return Edited(contract, ())
    return Edited(contract, item_edits(before, contract), lost(base, before, contract))


async def same_task(
    record: RunRecord, rig: Rig, fence: Fence, *, retry: bool, accept: bool, by: str
) -> RunRecord:
    """The record, its task's digests taken over and said; or halted until a person confirms what was edited."""
    now = rig.task.digests
    if record.state_version != rig.task.schema.version:  # another version is a migration, and says so itself
        now = {name: each for name, each in now.items() if name not in ("schema", "rules")}
    changed = [name for name in now if record.digests.get(name, now[name]) != now[name]]
    waiting = record.halt is not None and record.halt.cause in EDITED
    if record.finished or not (changed or waiting):
        return record
    what = f"the task was edited since the last call: {', '.join(changed) or 'and is as it was again'}"
    intent = None
    if "intent" in changed:
        rows = [row async for *_, row in rig.store.log(record.run)]
        intent = edited(record, rig.task.intent, rows)
    judged = [name for name in JUDGES if name in changed]
    asked = intent if intent is not None and not intent.harmless else None
    if (judged and not retry) or (asked and not accept):  # said whole: one call takes all of it
        halt = _halt(record, what, judged, asked)
        record = record.model_copy(
            update={"queue": tuple(each for each in record.queue if each.kind != "plan")}
        )
        return await commit(record, Decided(what=what, by=by, halt=halt, at=fence.now), fence)
    fence.watch.note(what)
    digests = {name: now[name] for name in changed}
    extra: JsonObject = {"digests": digests}
    if intent is not None:
        what += "; the same is in force as before" if intent.harmless else "; the new intent is accepted"
        fence.watch.note(intent.say() if not intent.harmless else "the intent says what was in force already")
        extra |= intent.row()
        record = _without_changes(record)
        if not intent.harmless:  # what they want was looked at as a whole
            record = without_questions(record.model_copy(update={"refused": ()}))
            record = _asked_anew(record, rig.task, fence.now)
    left = None if waiting else record.halt
    told = Decided(what=what, by=by, halt=left, at=fence.now, digests=digests, extra=extra)
    return await commit(record, told, fence)


def _without_changes(record: RunRecord) -> RunRecord:
    """The record to which the contract in the task applies as it is there."""
    staged = record.staged
    if staged is not None and staged.intent is not None:
        staged = staged.model_copy(update={"intent": None})
    return record.model_copy(update={"intent": None, "staged": staged})


def _asked_anew(record: RunRecord, task: Charter, now: float) -> RunRecord:
    """The record whose half-done `finish` asks what the new intent leaves to a person."""
    if record.staged is None:
        return record
    verdict = finishing(record, Allow(staged=record.staged), now, None, task)
    return record.model_copy(update={"staged": verdict.staged}) if isinstance(verdict, Allow) else record


def _halt(record: RunRecord, what: str, judged: list[str], intent: Edited | None) -> Halt:
    cause = "intent_edited" if not judged else "task_and_intent_edited" if intent else "task_edited"
    flags = " ".join(EDITED[cause])
    look = [f"look at the {' and the '.join(judged)}"] if judged else []
    say = "; ".join([what, *([intent.say()] if intent else []), *look])
    say += f"; `controller run {flags}` takes {'them' if judged else 'it'} as {'they are' if judged else 'it is'}"
    return Halt(outcome=Outcome.blocked, cause=cause, say=say, step=record.step)
