"""`state show|history|diff|export`: Σ now, and as it was after each committed step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from contracts.base import JsonObject, canonical, digest
from contracts.errors import ConfigError
from contracts.record import RunRecord
from contracts.veil import veiled
from controller.assemble import charter
from controller.history import Version, versions
from controller.modes import unconfirmed
from controller.surfaces.grown import brought
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
        if behind := unconfirmed(record, ()):
            print(plain(f"not confirmed: {orjson.dumps(behind, option=orjson.OPT_INDENT_2).decode()}"))
    return 0


def history(task: Path | None, run: str | None, as_json: bool) -> int:
    """Print each committed step's patch of Σ."""
    loaded, record = _found(task, run)
    for version in _versions(loaded, record):
        if version.row.kind == "opened":
            continue
        moved = version.row.kind == "migration"
        if as_json:
            told = {
                "step": version.step,
                "at": version.at,
                "state_patch": version.patch,
                "state_bytes": len(canonical(version.state)),
            }
            print(orjson.dumps(told | ({"migrated_to": version.number} if moved else {})).decode())
        elif version.patch or moved:
            how = f"migrated to version {version.number}  " if moved else ""
            print(
                plain(
                    f"step {version.step:<3} {clock(version.at)}  {how}{orjson.dumps(version.patch).decode()}"
                )
            )
    return 0


def diff(task: Path | None, run: str | None, old: int, new: int | None) -> int:
    """Print, field by field, what differs between Σ after step `old` and after step `new` (now when None)."""
    loaded, record = _found(task, run)
    versions = [(version.step, version.state) for version in _versions(loaded, record)]
    for step in (old, new):
        if step is not None and not 0 <= step <= record.step:
            raise ConfigError(f"run {record.run} has no step {step}", hint=f"0 to {record.step}")
    before, after = _at(versions, old), record.state if new is None else _at(versions, new)
    for path, one, other in differences(before, after, ""):
        if one is not None:
            print(plain(f"- {path}: {orjson.dumps(one).decode()}"))
        if other is not None:
            print(plain(f"+ {path}: {orjson.dumps(other).decode()}"))
    return 0


def export(task: Path | None, run: str | None) -> int:
    """Print one JSON object: the state with its run, step, digest and schema."""
    loaded, record = _found(task, run)
    law = charter(loaded)
    schema = law.schema_of(record.state_version, record.digests.get("schema")) or law.schema
    found = {
        "task": record.task,
        "run": record.run,
        "step": record.step,
        "base": record.base,
        "head": record.head,
        "state_version": record.state_version,
        "digest": digest(record.state),
        "schema": schema.source,
        "state": record.state,
    } | ({"not_confirmed": behind} if (behind := unconfirmed(record, ())) else {})
    print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    return 0


def _found(task: Path | None, run: str | None) -> tuple[LoadedTask, RunRecord]:
    """The task, and its run with a state that may be shown."""
    loaded = brought(load(task))
    record, law = wait_for(lambda: newest(open_existing(loaded), loaded.task.name, run)), charter(loaded)
    schema = law.schema_of(record.state_version, record.digests.get("schema")) or law.schema
    told = {"state": veiled(record.state, schema.secrets)}
    if record.confirmed is not None:
        told["confirmed"] = veiled(record.confirmed, schema.secrets)
    return loaded, record.model_copy(update=told)


def _versions(loaded: LoadedTask, record: RunRecord) -> Iterator[Version]:
    """Σ from the beginning on, rebuilt from the audit."""
    store = open_existing(loaded)
    found = wait_for(lambda: rows(store, record.run))
    yield from versions(row for _, _, _, row in found)


def _at(versions: list[tuple[int, JsonObject]], step: int) -> JsonObject:
    """Σ after the last committed step that is not later than `step`."""
    reached = [state for each, state in versions if each <= step]
    if not reached or step < 0:
        raise ConfigError(f"there is no step {step}")
    return reached[-1]


def differences(old: object, new: object, path: str) -> Iterator[tuple[str, object, object]]:
    """(path, old value, new value) of each field that differs; None where there is none."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name), new.get(name), f"{path}/{name}")
    elif old != new:
        yield path or "/", old, new
