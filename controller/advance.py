"""advance: the next record and its audit row, from a change. Pure: every rule of what a step does to the record
stands here once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contracts.base import JsonObject
from contracts.drift import DRIFT, noticed
from contracts.merge import Path
from contracts.outcomes import Outcome
from contracts.queue import DID_NOT, HAPPENED, Entry
from contracts.record import (
    AuditRow,
    CheckState,
    Correction,
    Halt,
    LaunchFacts,
    Observation,
    RunRecord,
    Staged,
)
from contracts.reply_rules import retried
from contracts.text import cut
from contracts.verdicts import (
    Allow,
    Asks,
    Change,
    Confirm,
    Decided,
    Defer,
    Gated,
    Pending,
    Proven,
    Refuted,
    Reject,
    Reserved,
    Stop,
    Unknown,
    Verified,
)
from controller import audit, charge, modes
from controller.confirm import park, timely
from controller.standstill import latest, moved, repeated

NOT_COUNTED = ("policy.stale",)  # not the model's fault
PER_STEP = ("prompt", "reply", "readings", "evidence")
RATIO_SHARE = 0.3  # weight of the newest bytes-per-token measurement


@dataclass(frozen=True)
class Tree:
    """What became of the worktree: its head, the step's commit, the ref of an undone tree, the step's diff, and
    the patch that keeps the views of Σ on their lines."""

    head: str
    commit: str | None = None
    undone: str | None = None
    diff: str = ""
    views: JsonObject = field(default_factory=dict)


def advance(
    record: RunRecord, change: Change, tree: Tree, digests: dict[str, str], *, wall: float, now: float
) -> tuple[RunRecord, AuditRow | None]:
    """(the next record, the audit row of a write that ends a step or records a decision). `wall` seconds are
    added to the time spent."""
    spent = record.spent.model_copy(update={"wall": record.spent.wall + wall})
    kept, lost = record.digests, audit.lost(record, now)
    if isinstance(change, Reserved) or (isinstance(change, Gated) and change.entry is not None):
        # A step begins: what was kept of the last one is no part of it.
        kept = {name: each for name, each in kept.items() if name not in PER_STEP}
    record = record.model_copy(update={"spent": spent, "digests": kept | digests})
    match change:
        case Reserved():
            after, row = _reserved(record, change, lost, now)
        case Gated():
            after, row = _stopped(record, *_gated(record, change, now))
            row = lost if row is None and change.launch is None else row
        case Verified():
            after, row = _stopped(record, *_verified(record, change, tree, now))
        case Decided():
            after, row = _decided(record, change, now)
    return audit.heard(record, after, row)


# ---- reserve ----------------------------------------------------------------------------------------------
def _reserved(
    record: RunRecord, change: Reserved, lost: AuditRow | None, now: float
) -> tuple[RunRecord, AuditRow | None]:
    halt = asked_to_stop(record) or change.halt
    if halt is not None:
        return _halted(record, halt, audit.row("halt", record, now))
    record, reserve = timely(record, now), change.reserve
    assert reserve is not None, "a reserve or a halt"
    spent = charge.lost(record, now)
    return (
        record.model_copy(
            update={
                "step": reserve.step,
                "reserve": reserve.model_copy(update={"at": now}),
                "spent": spent.model_copy(update={"launches": spent.launches + 1}),
                "halt": None,
            }
        ),
        lost,
    )


# ---- the verdict ------------------------------------------------------------------------------------------
def _gated(record: RunRecord, change: Gated, now: float) -> tuple[RunRecord, AuditRow | None]:
    update: dict[str, Any] = {"reserve": None, "halt": None}
    if change.launch is not None:
        update["spent"] = charge.onto(record.spent, change.launch.charged, change.launch.estimated, now)
        update["ratio"] = _ratio(record, change.launch)
    else:
        update["step"] = record.step + 1  # an approved entry taken up is a step of its own
        update["spent"] = charge.lost(record, now)
    held = isinstance(change.verdict, Defer) or getattr(change.verdict, "cause", "") == DRIFT
    if change.entry is not None and not held:
        update["queue"] = tuple(entry for entry in record.queue if entry.id != change.entry)
    before = record
    record = record.model_copy(update=update)
    verdict, lost = change.verdict, before.reserve if change.launch is None else None
    row = audit.row(
        "reply",
        record,
        now,
        validator_result=audit.result(change),
        extra=({"entry": change.entry} if change.entry else {}) | ({"lost": lost.step} if lost else {}),
        retry_count=before.rejections,
        **audit.launched(change.launch),
        **audit.unanswered(before, change),
        state_patch=audit.part(change.transition, "state_patch"),
        action=audit.part(change.transition, "action"),
        patch_bytes=audit.size(audit.part(change.transition, "state_patch")),
        digests=before.digests,
        durations=change.took,
    )
    match verdict:
        case Allow():
            return _allowed(record, change, verdict.staged, row)
        case Reject():
            return _rejected(record, verdict.layer, verdict.code, verdict.say, verdict.excerpt, row)
        case Confirm():
            return _parked(record, verdict, row)
        case Defer():
            due = verdict.not_before
            halt = _halt(record, Outcome.waiting, verdict.cause, verdict.say, not_before=due)
            failures = record.failures + (retried(verdict.cause))
            return _halted(record.model_copy(update={"failures": failures}), halt, row)
        case Stop():
            halt = _halt(record, verdict.outcome, verdict.cause, verdict.say, entry=verdict.entry)
            return _halted(record, halt, row)


def _allowed(
    record: RunRecord, change: Gated, staged: Staged, row: AuditRow
) -> tuple[RunRecord, AuditRow | None]:
    """The transition is staged, unless it repeats what led nowhere."""
    launch = change.launch.model_copy(update={"took": change.took}) if change.launch else None
    staged = staged.model_copy(update={"launch": launch})
    progress, halt = repeated(record, staged, change.counts)
    if halt:
        record = record.model_copy(update={"progress": progress, "halt": halt})
        return record, row.model_copy(update={"outcome": str(halt.outcome)})
    record = record.model_copy(update={"staged": staged, "failures": 0, "progress": progress})
    return modes.taken(record, row)


def _rejected(
    record: RunRecord, layer: str, code: str, say: str, excerpt: str, row: AuditRow
) -> tuple[RunRecord, AuditRow]:
    """Σ and O stay; one correction replaces the older; too many in a row is the end."""
    rejections = record.rejections + (code not in NOT_COUNTED)
    correction = Correction(
        step=record.step, layer=layer, code=code, say=say[:2000], excerpt=cut(excerpt, 1200)
    )
    record = record.model_copy(
        update={"correction": correction, "rejections": rejections, "failures": 0, "staged": None}
    )
    return record, row.model_copy(update={"extra": row.extra | {"layer": layer, "say": correction.say}})


def _parked(
    record: RunRecord, verdict: Confirm, row: AuditRow, secrets: tuple[Path, ...] = ()
) -> tuple[RunRecord, AuditRow]:
    record, halt = park(record, verdict)
    row = row.model_copy(update={"extra": row.extra | audit.parked(verdict.entry, row, secrets)})
    return _halted(record, halt, row) if halt else (record, row)


def _halt(record: RunRecord, outcome: Outcome, cause: str, say: str, **more: Any) -> Halt:
    """Why the run ends at the step at hand."""
    return Halt(outcome=outcome, cause=cause, say=say, step=record.step, **more)


def _halted(record: RunRecord, halt: Halt, row: AuditRow) -> tuple[RunRecord, AuditRow]:
    return (
        record.model_copy(update={"halt": halt}),
        row.model_copy(
            update={
                "outcome": str(halt.outcome),
                "extra": row.extra | audit.halted(record, halt),
            }
        ),
    )


# ---- the evidence -----------------------------------------------------------------------------------------
def _verified(
    record: RunRecord, change: Verified, tree: Tree, now: float
) -> tuple[RunRecord, AuditRow | None]:
    staged = record.staged
    assert staged is not None, "evidence without a staged transition"
    checks, delta = _checks(record, change)
    kept = audit.outputs(change)
    row = audit.row(
        "step",
        record,
        now,
        validator_result="allow",
        tool_result=change.tool_result,
        retry_count=record.rejections,
        **audit.launched(staged.launch),
        **audit.patched(staged),
        action=staged.transition.get("action"),
        digests=record.digests,
        action_fingerprint=staged.fingerprint,
        repeated_of=record.step - record.progress.repeats if record.progress.repeats else None,
        score_delta=delta,
        stale_pointers=staged.stale,
        durations={**(staged.launch.took if staged.launch else {}), **change.took},
        commit=tree.commit,
        undone=tree.undone,
        human_events=(f"answer {staged.entry}",) if staged.entry else (),
        extra=({"entry": staged.entry} if staged.entry else {})
        | ({"outputs": kept} if kept else {})
        | audit.drifted(record),
    )
    queue = tuple(entry for entry in record.queue if entry.kind != "unknown")
    printed = latest(record.printed, change.printed)
    url = (change.after.pull_request if change.after else "") or record.pull_request
    update: dict[str, Any] = {"checks": checks, "printed": printed, "head": tree.head, "queue": queue}
    record = record.model_copy(update=update | {"pull_request": url, "halt": None})
    if staged.outside and change.after is not None:  # what our own deed changed is no drift
        record = record.model_copy(update={"outside": noticed(record.outside, change.after, record.step)[0]})
    match change.evidence:
        case Proven():
            return _proven(record, staged, change, tree, row)
        case Refuted() as refuted:
            row = row.model_copy(update={"tool_result": refuted.code})
            layer = "checks" if staged.tool == "finish" else "evidence"
            counted = record.rejections + (staged.tool == "finish")
            if observation := modes.failed(staged, refuted):
                return _observed(record.model_copy(update={"rejections": counted}), observation, row)
            record = record.model_copy(update={"rejections": counted - 1})
            return _rejected(record, layer, refuted.code, refuted.say, refuted.excerpt, row)
        case Pending() as pending:
            due = pending.not_before
            halt = _halt(record, Outcome.waiting, staged.tool, pending.say, not_before=due)
            return record.model_copy(update={"halt": halt}), None
        case Asks(entry=entry):
            record, row = (
                record.model_copy(update={"staged": None}),
                row.model_copy(update={"tool_result": "asked"}),
            )
            return _parked(record, Confirm(entry=entry), row, staged.secrets)
        case Unknown() as unknown:
            return _unknown(record, staged, unknown, row, now)


def _unknown(
    record: RunRecord, staged: Staged, unknown: Unknown, row: AuditRow, now: float
) -> tuple[RunRecord, AuditRow]:
    """The transition stays staged; a person looks and says whether it happened."""
    entry = Entry(
        id=f"u{staged.step}",
        kind="unknown",
        step=staged.step,
        transition=staged.transition,
        why=unknown.say,
        opened=now,
    ).sealed(staged.secrets)
    say = f"{unknown.say} (look, then: controller answer {entry.id} {HAPPENED}, or {DID_NOT})"
    halt = _halt(record, Outcome.blocked, "unknown", say)
    staged = staged.model_copy(update={"ruling": None, "launch": None})  # told and charged by this row
    record = record.model_copy(update={"queue": (*record.queue, entry), "staged": staged})
    return _halted(record, halt, row.model_copy(update={"tool_result": "unknown"}))


def _proven(
    record: RunRecord, staged: Staged, change: Verified, tree: Tree, row: AuditRow
) -> tuple[RunRecord, AuditRow]:
    """Evidence holds: O is replaced, the correction is gone, and Σ is what the mode makes of it."""
    observation = change.observation
    if observation is not None:
        more = {"diff": tree.diff or observation.diff, "forgot": staged.forgotten.say}
        observation = observation.model_copy(update=more)
    record, row = modes.shown(record, staged, tree.views, row)
    record, row = _observed(record, observation, row)
    progress = moved(record.progress, record.step, change.moved)
    grown = record.grown | staged.files
    record = record.model_copy(update={"rejections": 0, "progress": progress, "grown": grown})
    if not change.finished:
        return record, row
    halt = _halt(record, Outcome.completed, "all checks are green", audit.summed_up(staged))
    return _halted(record, halt, row)


def _observed(
    record: RunRecord, observation: Observation | None, row: AuditRow
) -> tuple[RunRecord, AuditRow]:
    """The step is over, and O what came of it."""
    over = {"observation": observation, "correction": None, "staged": None, "failures": 0, "drift": ()}
    size = audit.size(observation.model_dump()) if observation else 0
    return record.model_copy(update=over), row.model_copy(update={"observation_bytes": size})


def _checks(record: RunRecord, change: Verified) -> tuple[dict[str, CheckState], dict[str, int] | None]:
    if not change.checks:
        return record.checks, None
    after, delta = dict(record.checks), {"goal": 0, "guard": 0}
    for reading in change.checks:
        old = after.get(reading.name)
        delta[reading.role] += int(reading.passed) - int(old.passed if old else False)
        after[reading.name] = CheckState(
            role=reading.role,
            baseline=old.baseline if old else reading.passed,
            baseline_counts=old.baseline_counts if old else reading.counts,
            baseline_coverage=old.baseline_coverage if old else reading.coverage,
            start=old.start if old else None,
            passed=reading.passed,
            why=reading.why[:300],
            counts=reading.counts,
            step=record.step,
            tree=reading.tree,
            noticed=old.noticed if old else None,
        )
    return after, delta


# ---- decisions --------------------------------------------------------------------------------------------
def _decided(record: RunRecord, change: Decided, now: float) -> tuple[RunRecord, AuditRow | None]:
    """A halt set or lifted from outside a step. Lifting gives the counters a fresh start."""
    update: dict[str, Any] = {"halt": change.halt, "digests": record.digests | change.digests}
    if change.halt is None:
        update |= {"rejections": 0, "failures": 0, "correction": record.correction}
        update["progress"] = record.progress.model_copy(update={"repeats": 0, "last_step": record.step})
    after = record.model_copy(update=update)
    row = audit.row(
        "opened" if record.version == 0 else "decision",
        after,
        now,
        outcome=str(change.halt.outcome) if change.halt else None,
        human_events=(f"{change.what} by {change.by}",) if change.by else (),
        extra={"what": change.what, **change.extra},
    )
    return after, row


def _stopped(before: RunRecord, record: RunRecord, row: AuditRow | None) -> tuple[RunRecord, AuditRow | None]:
    """A person's wish to stop takes effect where a step ends, or before the next launch."""
    halt = asked_to_stop(before)
    if row is None or record.halt is not None or record.staged is not None or halt is None:
        return record, row
    return _halted(record, halt, row)


def asked_to_stop(record: RunRecord) -> Halt | None:
    """The halt that a person wishes; None where nobody does."""
    if record.stop is None:
        return None
    why = f", {record.stop.why.strip()[:300]}" if record.stop.why.strip() else ""
    say = f"stopped by {record.stop.by}{why}: `controller run` goes on"
    return _halt(record, Outcome.interrupted, "stop", say)


def _ratio(record: RunRecord, launch: LaunchFacts) -> float:
    """Bytes per token, learned from what the agent reported; never below 1 and never above 8."""
    if not launch.usage.input or not launch.prompt_bytes:
        return record.ratio
    measured = min(8.0, max(1.0, launch.prompt_bytes / launch.usage.input))
    return round(record.ratio * (1 - RATIO_SHARE) + measured * RATIO_SHARE, 4)
