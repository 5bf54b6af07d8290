"""standstill: the same thing again, or nothing moving at all. Pure."""

from __future__ import annotations

import re

from contracts.base import JsonObject, digest
from contracts.feedback import normalised
from contracts.outcomes import Outcome
from contracts.readings import Printed
from contracts.record import MAX_PRINTED, Halt, Observation, Progress, RunRecord, Staged

STUCK_REPEATS = 6  # the same action, observation and state so many times in a row
STUCK_IDLE = 20  # steps without any progress
SEEN = 256  # progress marks that are remembered
_ARTIFACT = re.compile(r"artifact:[0-9a-f]+")


def repeated(record: RunRecord, staged: Staged, counts: dict[str, int]) -> tuple[Progress, Halt | None]:
    """Progress with the worklists' counts and the repetition taken in, and `stuck` where that is the end."""
    progress = record.progress
    same = staged.fingerprint == progress.fingerprint and staged.tool != "wait"
    repeats = progress.repeats + 1 if same else 0
    if staged.tool == "wait":  # no step without progress: there is none to make meanwhile
        progress = progress.model_copy(update={"last_step": progress.last_step + 1})
    progress = moved(progress, record.step, tuple(f"{name} {n}" for name, n in counts.items()))
    most = {name: max(count, progress.most.get(name, 0)) for name, count in counts.items()}
    progress = progress.model_copy(
        update={"fingerprint": staged.fingerprint, "repeats": repeats, "counts": counts, "most": most}
    )
    say = ""
    if repeats + 1 >= STUCK_REPEATS:
        say = f"the same action was asked for {repeats + 1} times in a row and brought nothing new"
    elif record.step - progress.last_step >= STUCK_IDLE:
        say = f"no file, check or worklist moved for {record.step - progress.last_step} steps"
    if not say or staged.tool in ("finish", "wait"):
        return progress, None
    say = f"{say}: see `controller explain {record.step}`, change the task, then `controller run --retry`"
    return progress, Halt(outcome=Outcome.stuck, cause="no progress", say=say, step=record.step)


def latest(before: dict[str, Printed], now: dict[str, Printed]) -> dict[str, Printed]:
    """What was printed last: the newest at the end, the oldest out."""
    kept = [(id, each) for id, each in before.items() if id not in now]
    return dict([*kept, *now.items()][-MAX_PRINTED:])


def moved(progress: Progress, step: int, marks: tuple[str, ...]) -> Progress:
    new = [mark for mark in (digest(mark)[:16] for mark in marks) if mark not in progress.seen]
    if not new:
        return progress
    return progress.model_copy(update={"seen": (*progress.seen, *new)[-SEEN:], "last_step": step})


def fingerprint(action: JsonObject, observation: Observation | None, state: JsonObject) -> str:
    """What a repetition is known by: the action, what it was an answer to, and the state it leaves. Times, and the
    names of outputs that differ in nothing else, make no difference."""
    seen: list[object] = []
    if observation is not None:
        texts = [
            observation.head,
            *(text for block in observation.blocks for text in (block.title, block.text)),
        ]
        seen = [observation.tool, observation.diff, *(_ARTIFACT.sub("", normalised(text)) for text in texts)]
    return digest([action, seen, state])[:16]
