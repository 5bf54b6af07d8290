"""rebuild: a run's record from nothing but its audit chain. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from contracts.errors import Unavailable
from contracts.outcomes import Outcome
from contracts.record import AuditRow, Halt, RunRecord
from contracts.veil import VEIL, texts
from controller.history import agreed, forbidden, intended, opening, spent, versions
from controller.stores.mirror import Row

LOST = (
    "the last observation (the agent has to look again)",
    "answers and questions that were open",
    "the charge of a launch that had no verdict yet",
)


@dataclass(frozen=True)
class Recovered:
    """record: the run as it is stored now. how: what became of it, {} for its id. kept: where the damaged files are.
    lost: what could not be rebuilt."""

    record: RunRecord
    kept: tuple[Path, ...]
    lost: tuple[str, ...]
    how: str = "rebuilt {} from its audit"


def rebuilt(run: str, rows: list[Row], head: str | None) -> tuple[RunRecord, tuple[str, ...]]:
    """(the record that the rows give, what is lost). `head` is the tip of the run's branch, when it is there. Raises
    Unavailable."""
    parsed = [AuditRow.model_validate_json(row) for _, _, _, row in rows]
    start = opening(parsed)
    if start is None:
        raise Unavailable(
            f"the chain of run {run} does not begin with its opening: the state can't be rebuilt"
        )
    states = list(versions(parsed))
    lost = list(LOST)
    lost += [f"the state of step {each.step} does not match its digest" for each in states if not each.sound]
    if any(VEIL.fullmatch(text) for _, text in texts(states[-1].state)):
        lost.append("the values of secret fields, which are never written into the audit: set them again")
    last = parsed[-1]
    told = next((row.commit for row in reversed(parsed) if row.commit), start.head)
    if head is not None and head != told:
        lost.append(
            f"the state of the branch's last commits: it is at {head[:12]}, the rows end at {told[:12]}"
        )
    halt = None
    if last.outcome == Outcome.completed:
        halt = Halt(outcome=Outcome.completed, cause="all checks are green", step=last.step)
    return (
        start.model_copy(
            update={
                "state": states[-1].state,
                "state_version": states[-1].number,
                "ages": states[-1].ages,
                "confirmed": states[-1].confirmed,
                "intent": intended(parsed),
                "refused": forbidden(parsed),
                "digests": start.digests | agreed(parsed),
                "step": max(row.step for row in parsed),
                "head": head or told or start.head,
                "spent": spent(parsed),
                "halt": halt,
                "version": 0,
                "rows": rows[-1][0],
                "chain": rows[-1][2],
            }
        ),
        tuple(lost),
    )
