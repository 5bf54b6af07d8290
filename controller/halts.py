"""halts: what lifts a halt that stands, and whether the newest run can only stay as it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from contracts.outcomes import EDITED, Outcome
from contracts.record import RunRecord
from contracts.task import Task
from controller.commit import USD
from controller.confirm import timely
from controller.gate import MOVED


def lifting(record: RunRecord, task: Task, *, retry: bool, now: float) -> str:
    """What lifts the halt of `record`, in words; empty where nothing does. A wait is over by itself."""
    halt = record.halt
    if halt is None or record.finished or halt.cause in EDITED:
        return ""
    match halt.outcome:
        case Outcome.budget_exhausted if _limit(task, halt.limit) > halt.value:
            return f"budgets.{halt.limit} was raised to {_limit(task, halt.limit):g}"
        case Outcome.blocked if halt.limit and _limit(task, halt.limit) > halt.value:
            return f"the boundary {halt.limit} was raised to {_limit(task, halt.limit):g}"
        case Outcome.failed | Outcome.stuck if retry:
            return f"{halt.outcome} lifted by --retry"
        case Outcome.blocked if retry and not any(entry.status == "open" for entry in record.queue):
            return "blocked lifted by --retry"
        case Outcome.blocked if _open(record, halt.entry) and not _open(timely(record, now), halt.entry):
            return f"nobody decided on {halt.entry} in time"
        case Outcome.interrupted | Outcome.terminated | Outcome.config_error | Outcome.internal_error:
            return f"{halt.outcome} lifted by running again"
    return ""


def stands(record: RunRecord, task: Task, digests: Mapping[str, str], now: float) -> bool:
    """Whether a call without any option leaves `record` as it is, whatever the world says: it is finished and not to be
    repeated, or halted by what only time, a person or an edit lifts, and none of them has."""
    halt = record.halt
    if halt is None or not record.closed(now):
        return False
    if record.finished:
        return True
    if halt.outcome is Outcome.waiting:
        return True
    same = all(record.digests.get(name, each) == each for name, each in digests.items())
    return same and halt.cause not in (*EDITED, MOVED) and not lifting(record, task, retry=False, now=now)


def _open(record: RunRecord, entry: str) -> bool:
    return any(each.id == entry for each in record.queue)


def _limit(task: Task, name: str) -> float:
    value = task.approvals.usd_per_step if name == USD else getattr(task.budgets, name, None)
    return float("inf") if value is None else float(value)
