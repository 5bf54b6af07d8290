"""`state show|history|diff|export`: Σ now, and as it was after each committed step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from contracts.base import JsonObject, canonical, digest
from contracts.errors import ConfigError
from contracts.record import RunRecord
from controller.assemble import charter
from controller.history import versions
from controller.surfaces.locate import load, newest, open_existing, rows, wait_for
from controller.surfaces.words import clock, plain
from controller.taskfile import LoadedTask


def show(task: Path | None, run: str | None, as_json: bool) -> int:
    """Print Σ as it is: a line a field, or one JSON object."""
    loaded, record = _found(task, run)
    state = charter(loaded).schema.ordered(record.state)
    if as_json:
        print(orjson.dumps(state).decode())
    else:
        for name, value in state.items():
            print(plain(f"{name}: {orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()}"))
    return 0


def history(task: Path | None, run: str | None, as_json: bool) -> int:
    """Print each committed step's patch of Σ."""
    loaded, record = _found(task, run)
    for step, at, patch, state in _versions(loaded, record):
        if step == 0:
            continue
        if as_json:
            print(
                orjson.dumps(
                    {"step": step, "at": at, "state_patch": patch, "state_bytes": len(canonical(state))}
                ).decode()
            )
        elif patch:
            print(plain(f"step {step:<3} {clock(at)}  {orjson.dumps(patch).decode()}"))
    return 0


def diff(task: Path | None, run: str | None, old: int, new: int | None) -> int:
    """Print, field by field, what differs between Σ after step `old` and after step `new` (now when None)."""
    loaded, record = _found(task, run)
    versions = [(step, state) for step, _, _, state in _versions(loaded, record)]
    for step in (old, new):
        if step is not None and not 0 <= step <= record.step:
            raise ConfigError(f"run {record.run} has no step {step}", hint=f"0 to {record.step}")
    before, after = _at(versions, old), record.state if new is None else _at(versions, new)
    for path, one, other in _differences(before, after, ""):
        if one is not None:
            print(plain(f"- {path}: {orjson.dumps(one).decode()}"))
        if other is not None:
            print(plain(f"+ {path}: {orjson.dumps(other).decode()}"))
    return 0


def export(task: Path | None, run: str | None) -> int:
    """Print one JSON object: the state with its run, step, digest and schema."""
    loaded, record = _found(task, run)
    found = {
        "task": record.task,
        "run": record.run,
        "step": record.step,
        "base": record.base,
        "head": record.head,
        "state_version": record.state_version,
        "digest": digest(record.state),
        "schema": charter(loaded).schema.source,
        "state": record.state,
    }
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    return 0


def _found(task: Path | None, run: str | None) -> tuple[LoadedTask, RunRecord]:
    loaded = load(task)
    return loaded, wait_for(lambda: newest(open_existing(loaded), loaded.task.name, run))


def _versions(loaded: LoadedTask, record: RunRecord) -> Iterator[tuple[int, float, JsonObject, JsonObject]]:
    """(step, time, patch, Σ after it) from the beginning, rebuilt from the audit."""
    store = open_existing(loaded)
    found = wait_for(lambda: rows(store, record.run))
    for version in versions(row for _, _, _, row in found):
        yield version.step, version.at, version.patch, version.state


def _at(versions: list[tuple[int, JsonObject]], step: int) -> JsonObject:
    """Σ after the last committed step that is not later than `step`."""
    reached = [state for each, state in versions if each <= step]
    if not reached or step < 0:
        raise ConfigError(f"there is no step {step}")
    return reached[-1]


def _differences(old: object, new: object, path: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(name), new.get(name), f"{path}/{name}")
    elif old != new:
        yield path or "/", old, new
