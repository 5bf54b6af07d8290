"""drifting: what changed outside since the last step, taken into the record before anything is asked of the agent; and
the question to a person where it concerns what they locked. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.base import JsonObject
from contracts.charter import Charter
from contracts.drift import ABSENT, DRIFT, Drift, merged, noticed
from contracts.intent import SECTIONS, IntentContract, Item, in_force
from contracts.marks import named, urls
from contracts.outcomes import Outcome
from contracts.queue import OUTSIDE, Entry
from contracts.readings import Readings
from contracts.record import Halt, RunRecord
from contracts.text import line

PREFIX = "o"
LOCKED = ("locked_requirements", "approval_boundaries")


def drifted(record: RunRecord, seen: Readings, task: Charter) -> RunRecord:
    """The record with the snapshot as `seen` leaves it and what changed since the last one. Where a locked requirement
    or a boundary rests on that, the run halts and a person is asked."""
    outside, new = noticed(record.outside, seen, record.step + 1)
    found = {"outside": outside, "drift": merged(record.drift, new)}
    record = record.model_copy(update=found)
    concerned = list(_concerned(new, seen, in_force(record.intent, task.intent)))
    return _asked(record, concerned, seen.at, task) if concerned else record


def blocked(record: RunRecord, entry: str | None = None) -> Halt | None:
    """The halt for what a person must look at before anything else; not for the answer (`entry`) itself."""
    halt = record.halt
    return halt if halt is not None and halt.cause == DRIFT and halt.entry != (entry or "none") else None


def without_questions(record: RunRecord) -> RunRecord:
    """The record as it is once a person looked at what they want as a whole."""
    queue = tuple(entry for entry in record.queue if not entry.id.startswith(PREFIX))
    halt = None if record.halt is not None and record.halt.cause == DRIFT else record.halt
    return record.model_copy(update={"queue": queue, "halt": halt})


def _concerned(
    drift: tuple[Drift, ...], seen: Readings, intent: IntentContract
) -> Iterator[tuple[Item, Drift]]:
    """What is locked, each with what changed of its source."""
    where = urls(seen)
    for section in SECTIONS:
        for item in intent.shown(section):
            if item.source and (section in LOCKED or item.change_policy == "locked"):
                yield from (
                    (item, each) for each in drift if named(item.source, each.name, where.get(each.name, ""))
                )


def _asked(record: RunRecord, concerned: list[tuple[Item, Drift]], now: float, task: Charter) -> RunRecord:
    told = "; ".join(
        line(f"{each.what}, and this rests on it: {item.line()}", 500) for item, each in concerned[:4]
    )
    why = f"{told}. Does it still hold as it stands?"
    how = "or edit the intent and `controller run --accept-new-intent`"
    halt = Halt(outcome=Outcome.blocked, cause=DRIFT, say="", step=record.step)
    if task.spec("ask") is None:
        say = line(f"{why} Look, then `controller run --retry` goes on, {how}", 1200)
        return record.model_copy(update={"halt": halt.model_copy(update={"say": say})})
    id = f"{PREFIX}{record.step}"
    action: JsonObject = {"tool": "ask", "args": {"question": line(why, 1000)}}
    entry = Entry(
        id=id,
        kind="ask",
        step=record.step,
        transition={"state_patch": {}, "action": action},
        why=why[:2000],
        basis={OUTSIDE + each.name: each.now for _, each in concerned if each.now != ABSENT},
        opened=now,
        who=task.task.approvals.who,
    ).sealed(task.schema.secrets)
    say = line(f"{why} (answer with: controller answer {id} TEXT, {how})", 1200)
    queue = (entry, *(each for each in record.queue if each.id != id))  # answered first
    return record.model_copy(
        update={"queue": queue, "halt": halt.model_copy(update={"say": say, "entry": id})}
    )
