"""audit: the row of a step's end or of a decision. Pure; `advance` says when one is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contracts.base import JsonObject, canonical
from contracts.drift import DRIFT
from contracts.merge import Path
from contracts.queue import Decision, Entry, Post, PostBody, StopRequest, Withdraw
from contracts.record import AuditKind, AuditRow, Halt, LaunchFacts, RunRecord, Staged
from contracts.reply import LOST
from contracts.text import line
from contracts.veil import veiled
from contracts.verdicts import Gated, Reject, Verified

MAX_SAID = 32  # lines kept for the next row


def row(kind: AuditKind, record: RunRecord, now: float, **more: Any) -> AuditRow:
    return AuditRow(kind=kind, at=now, step=record.step, step_id=f"{record.run}/{record.step}", **more)


def launched(launch: LaunchFacts | None) -> dict[str, Any]:
    if launch is None:
        return {}
    return {
        "prompt_tokens": launch.usage.input,
        "completion_tokens": launch.usage.output,
        "prompt_chars": launch.prompt_bytes,
        "usage": launch.usage,
        "charged": launch.charged,
        "estimated": launch.estimated,
        "agent": launch.agent.name,
        "model": launch.agent.model,
        "credential": launch.agent.credential,
    }


def lost(record: RunRecord, now: float) -> AuditRow | None:
    """The row of a launch of an earlier call that has no recorded reply; it is written with whatever comes next."""
    reserve, prompt = record.reserve, record.digests.get("prompt")
    if reserve is None:
        return None
    return AuditRow(
        kind="reply",
        at=now,
        step=reserve.step,
        step_id=f"{record.run}/{reserve.step}",
        validator_result=LOST,
        prompt_chars=reserve.prompt_bytes,
        charged=reserve.usage,
        estimated=True,
        digests={"prompt": prompt} if prompt else {},
    )


def unanswered(record: RunRecord, change: Gated) -> dict[str, Any]:
    """Of a verdict on an approved entry: the charge of a launch of an earlier call that has no recorded reply."""
    if change.launch is not None or record.reserve is None:
        return {}
    return {"charged": record.reserve.usage, "estimated": True}


def result(change: Gated) -> str:
    verdict = change.verdict
    return verdict.code if isinstance(verdict, Reject) else verdict.kind


def outputs(change: Verified) -> dict[str, str]:
    """The full outputs of a step that were kept: what each is, by its artifact. Of a refuted step those of the
    checks."""
    if change.observation is not None:
        kept = [(block.artifact, block.title) for block in change.observation.blocks]
    else:
        kept = [(check.artifact, f"check {check.name}") for check in change.checks]
    return {id: line(title, 120) for id, title in kept if id}


def patched(staged: Staged) -> dict[str, Any]:
    """The patch of a staged transition as it may be read, and its size; nothing where it stands in the row that said
    that it became Σ."""
    if staged.mode != "staged":
        return {}
    patch = staged.transition.get("state_patch")
    shown = veiled(patch, staged.secrets) if isinstance(patch, dict) else patch
    return {"state_patch": shown, "patch_bytes": size(patch)}


def became(staged: Staged, views: JsonObject, points: JsonObject) -> JsonObject:
    """What made the new state beside the patch: what the controller let go of, what it wrote of the authorities and the
    evidence, how it moved the views, and what a person agreed to change."""
    gone = staged.forgotten
    forgot = {"forgot": gone.patch, "evicted": gone.values} if gone.patch else {}
    changed = {name: each for name in ("changed", "intent") if (each := getattr(staged, name)) is not None}
    more = {name: each for name in ("superseded", "unproven", "reported") if (each := getattr(staged, name))}
    return forgot | changed | more | beside(views, points)


def beside(views: JsonObject, points: JsonObject) -> JsonObject:
    """What the controller itself does to the state once evidence holds."""
    return ({"views": views} if views else {}) | ({"points": points} if points else {})


def summed_up(staged: Staged) -> str:
    """What a run that is completed says: the agent's summary, and which success criteria no check proved."""
    say = str(staged.args.get("summary", ""))[:2000]
    left = line("; ".join(staged.unproven), 600)
    return f"{say} (not provable by a check: {left})" if left else say


def heard(before: RunRecord, after: RunRecord, row: AuditRow | None) -> tuple[RunRecord, AuditRow | None]:
    """What people said goes into the row that is written with it; without a row it is kept for the next one."""
    said = (*after.said, *(_said(post.body) for post in consumed(before, after)))
    if row is None:
        return after.model_copy(update={"said": said[-MAX_SAID:]}), None
    extra = row.extra | refused(after)
    if before.queue or after.queue or before.inbox or "entry" in extra:
        extra = extra | {"waiting": [entry.id for entry in after.queue]}
    return after.model_copy(update={"said": ()}), row.model_copy(
        update={"human_events": said + row.human_events, "extra": extra}
    )


def refused(record: RunRecord) -> JsonObject:
    """What people said no to and may not be proposed again, for every row of the run: by the entries that it was."""
    return {"refused": [each.entry for each in record.refused]} if record.refused else {}


def consumed(before: RunRecord, after: RunRecord) -> tuple[Post, ...]:
    """The words that a write takes in: all, but a wish to stop waits until the step is over."""
    over = after.staged is None or after.halt is not None
    return tuple(post for post in before.inbox if over or not isinstance(post.body, StopRequest))


def people(record: RunRecord) -> tuple[str, ...]:
    """What people said in the inbox, one line each."""
    return tuple(_said(post.body) for post in record.inbox)


def _said(body: PostBody) -> str:
    match body:
        case Decision(entry=entry, yes=yes, by=by, why=why):
            return f"{'approve' if yes else 'reject'} {entry} by {by}" + (
                f": {line(why, 200)}" if why else ""
            )
        case Withdraw(id=id, by=by):
            return f"withdraw {id} by {by}"
        case _:
            return f"{body.kind} by {body.by}"


def parked(entry: Entry, row: AuditRow, secrets: Iterable[Path]) -> JsonObject:
    """What was put before a person: all of it but the transition, where that is in the row already."""
    told = entry.model_dump(mode="json", exclude={"transition"}, exclude_defaults=True)
    if row.state_patch is None:
        shown = veiled(entry.transition["state_patch"], secrets)
        told["transition"] = entry.transition | {"state_patch": shown}
    return {"parked": told}


def halted(record: RunRecord, halt: Halt) -> JsonObject:
    """Why the run halts, until when where that is known, and the controller's own question with all that answering it
    needs."""
    told: JsonObject = {"cause": halt.cause, "say": halt.say}
    if halt.not_before is not None:
        told["not_before"] = halt.not_before
    entry = next((each for each in record.queue if halt.cause == DRIFT and each.id == halt.entry), None)
    return told if entry is None else told | {"parked": entry.model_dump(mode="json", exclude_defaults=True)}


def drifted(record: RunRecord) -> JsonObject:
    """What changed outside before this step."""
    return {"drift": [each.what for each in record.drift]} if record.drift else {}


def part(transition: dict[str, Any] | None, key: str) -> Any:
    return transition.get(key) if isinstance(transition, dict) else None


def size(value: Any) -> int | None:
    return None if value is None else len(canonical(value))
