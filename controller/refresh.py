"""refresh: read the authorities that are needed now. What can't be read is `unknown`; nothing is raised."""

from __future__ import annotations

import time

import anyio

from contracts.base import JsonObject
from contracts.drift import standing
from contracts.errors import ControllerError
from contracts.freshness import file_commits
from contracts.marks import HOLDS
from contracts.ports import Ask, Reconciler
from contracts.readings import AFTER_CHECKS, Need, Reading, Readings, UnknownReading
from contracts.record import RunRecord


async def refresh(record: RunRecord, readers: tuple[Reconciler, ...], need: Need) -> Readings:
    """The readings that `need` names, or whose moment it names. `git` and other authorities are read at the
    same time; checks one after the other, since they share the worktree; then `git` again (as
    `git after checks`), since a check may leave files behind."""
    began, at = time.monotonic(), time.time()
    wanted = [reader for reader in readers if reader.name in need.names or set(reader.when) & set(need.when)]
    ask = Ask(
        base=record.base,
        head=record.head,
        step=record.step,
        now=at,
        floor=_floor(record),
        view=views(record.state),
        printed=record.printed,
        start={name: check.start for name, check in record.checks.items() if check.start is not None},
        since=_since(record),
        deed=record.staged,
        via=record.approved.via if record.approved else "",
        stood=standing(record.outside, HOLDS) if record.version else None,
    )
    items: dict[str, Reading] = {}

    async def read(reader: Reconciler) -> None:
        items[reader.name] = await _read(reader, ask)

    async with anyio.create_task_group() as group:
        for reader in wanted:
            if not is_check(reader):
                group.start_soon(read, reader)
    checks = [reader for reader in wanted if is_check(reader)]
    for reader in checks:
        await read(reader)
    if checks:
        for reader in readers:
            if reader.name == "git":
                items[AFTER_CHECKS] = await _read(reader, ask)
    ordered = {reader.name: items[reader.name] for reader in wanted} | {
        name: item for name, item in items.items() if name == AFTER_CHECKS
    }
    return Readings(at=at, took=time.monotonic() - began, items=ordered)


def views(state: JsonObject) -> dict[str, JsonObject]:
    """The state's views that name a path and a range."""
    found = state.get("view")
    if not isinstance(found, dict):
        return {}
    return {
        name: view
        for name, view in found.items()
        if isinstance(view, dict) and isinstance(view.get("path"), str) and {"from", "to"} <= view.keys()
    }


def is_check(reader: Reconciler) -> bool:
    """Whether this reader is a check of the task."""
    return getattr(reader, "role", None) in ("goal", "guard")


async def _read(reader: Reconciler, ask: Ask) -> Reading:
    began = time.monotonic()
    try:
        return await reader.read(ask)
    except (ControllerError, OSError) as error:
        return UnknownReading(name=reader.name, why=str(error)[:500], took=time.monotonic() - began)


def _since(record: RunRecord) -> tuple[str, ...]:
    """The commits since which changes matter: what a person approved, and what the state cites, rests on files."""
    approved = record.approved.commits if record.approved else set()
    return tuple(sorted({*approved, *file_commits(record.state)}))


def _floor(record: RunRecord) -> dict[str, int]:
    """What each check had at the start: tests passed (at least), skipped and failed (at most), `coverage` in tenths
    of a percent; `accepted` for a guard that was red and that the task takes so: it must not get worse."""
    floor: dict[str, int] = {}
    for name, check in record.checks.items():
        if check.role == "guard" and not check.baseline:
            floor[f"{name}.accepted"] = 1
        if check.baseline_counts and (check.baseline or check.role == "guard"):
            floor[f"{name}.passed"] = check.baseline_counts.passed
            floor[f"{name}.skipped"] = check.baseline_counts.skipped
            floor[f"{name}.failed"] = check.baseline_counts.failed + check.baseline_counts.errors
        if check.baseline_coverage is not None and (check.baseline or check.role == "guard"):
            floor[f"{name}.coverage"] = int(check.baseline_coverage * 10)
    return floor
