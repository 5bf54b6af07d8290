"""audit: the row of a step's end or of a decision. Pure; `advance` says when one is written."""

from __future__ import annotations

from typing import Any

from contracts.base import canonical
from contracts.record import AuditKind, AuditRow, LaunchFacts, RunRecord
from contracts.text import line
from contracts.verdicts import Gated, Reject, Verified


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


def people(record: RunRecord) -> tuple[str, ...]:
    return tuple(f"{post.body.kind} by {post.body.by}" for post in record.inbox)


def part(transition: dict[str, Any] | None, key: str) -> Any:
    return transition.get(key) if isinstance(transition, dict) else None


def size(value: Any) -> int | None:
    return None if value is None else len(canonical(value))
