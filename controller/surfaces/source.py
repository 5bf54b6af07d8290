"""`explain --source`: what the source of a fact, of an intent item, or a pointer itself, names."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.errors import ConfigError, ControllerError
from contracts.intent import SECTIONS, IntentContract, in_force
from contracts.pointers import FORMS, Pointer, pointer_of
from contracts.ports import Artifacts, Gone, Ledger
from contracts.record import AuditRow, RunRecord
from contracts.redact import Redactor
from contracts.text import clean, cut, standing
from contracts.veil import veiled
from controller.assemble import charter
from controller.history import contracted
from controller.record_store import artifacts_of
from controller.surfaces.changes import repository
from controller.surfaces.explain import DIFF_BYTES
from controller.surfaces.locate import load, newest, open_existing, rows, wait_for
from controller.surfaces.words import clock, plain
from controller.taskfile import LoadedTask

SHOWN = 32 * 1024  # bytes
GONE = 3
NAMED = ("source", "evidence")  # the fields of an entry that say where it comes from


@dataclass(frozen=True)
class Found:
    """What a pointer names. `there`: it could be looked up; else `text` says why not."""

    kind: str
    text: str
    there: bool = True


def source(task: Path | None, of: str, run: str | None, as_json: bool) -> int:
    """Print what `of` names: a pointer, a place in the state (`/facts/port`, `/facts/port/source`) or an item of the
    intent (`/intent/constraints/2`). 0; 3 when nothing is there (any more). Raises ConfigError."""
    loaded = load(task)
    store = open_existing(loaded)
    record = wait_for(lambda: newest(store, loaded.task.name, run))
    said, value = _named(of, loaded, store, record) if of.startswith("/") else (of, None)
    pointer = pointer_of(said)
    found = (
        Found("words", f"this is no pointer but words; a pointer is {FORMS}", there=False)
        if pointer is None
        else _looked_up(pointer, loaded, store, record)
    )
    text = cut(clean(Redactor().redact_text(found.text)), SHOWN)
    if as_json:
        told = {"of": of, "value": value, "source": said} | asdict(found) | {"text": text}
        print(orjson.dumps(told).decode())
    else:
        head = [] if value is None else [f"{of}: {orjson.dumps(value).decode()}"]
        print(
            plain(
                "\n".join([*head, f"source {said}", *(f"  {line}" for line in text.rstrip("\n").split("\n"))])
            )
        )
    return 0 if found.there else GONE


# ---- from a place to its source ---------------------------------------------------------------------------
def _named(of: str, loaded: LoadedTask, store: Ledger, record: RunRecord) -> tuple[str, object]:
    """(the source, what it is the source of)."""
    path = [part.replace("~1", "/").replace("~0", "~") for part in of.split("/")[1:]]
    if path[0] == "intent":
        return _item(of, path[1:], loaded, store, record)
    node: object = veiled(record.state, charter(loaded).schema.secrets)
    above: object = None
    for part in path[1:] if path[0] == "state" else path:
        above, node = node, node.get(part) if isinstance(node, dict) else None
    if isinstance(node, dict):
        said = next((node[name] for name in NAMED if name in node), None)
        value: object = node
    else:
        said, value = node, above if path[-1] in NAMED else node
    if not isinstance(said, str):
        raise ConfigError(f"the state of run {record.run} has nothing at {of} that says where it comes from")
    return said, value


def _item(
    of: str, path: list[str], loaded: LoadedTask, store: Ledger, record: RunRecord
) -> tuple[str, object]:
    kept = [row for *_, row in wait_for(lambda: rows(store, record.run))]
    base: IntentContract = contracted(kept) or charter(loaded).intent
    intent = in_force(record.intent, base)
    if len(path) != 2 or path[0] not in SECTIONS:
        raise ConfigError(f"{of} names no item", hint="/intent/SECTION/ITEM, by its id or its number")
    items = intent.shown(path[0])
    item = next((each for n, each in enumerate(items, start=1) if path[1] in (each.id, str(n))), None)
    if item is None or item.source is None:
        raise ConfigError(f"the intent has {'no item' if item is None else 'no source'} at {of}")
    return item.source, item.value


# ---- from a source to what is there -----------------------------------------------------------------------
def _looked_up(pointer: Pointer, loaded: LoadedTask, store: Ledger, record: RunRecord) -> Found:
    match pointer.kind:
        case "issue" | "url":
            return Found(pointer.kind, f"{pointer.name} (outside: it is not fetched)")
        case "artifact":
            return _artifact(pointer, artifacts_of(loaded, store))
        case "check":
            return _check(pointer, record)
        case "step":
            return _step(pointer, loaded, store, record)
        case "commit" | "file":
            return _of_git(pointer, loaded, record)


def _artifact(pointer: Pointer, artifacts: Artifacts) -> Found:
    try:
        data = artifacts.get(pointer.name)
    except Gone as gone:
        return Found("artifact", f"artifact {pointer.name} is not here: {gone.why}", False)
    except (KeyError, OSError):
        return Found(
            "artifact", f"artifact {pointer.name} is gone: `clean` keeps those of the newest runs", False
        )
    return _lines("artifact", data, pointer)


def _check(pointer: Pointer, record: RunRecord) -> Found:
    check = record.checks.get(pointer.name)
    if check is None:
        return Found("check", f"run {record.run} has no check {pointer.name!r}", False)
    colour = standing(check.passed, check.why)
    return Found("check", f"{check.role} {pointer.name}: {colour}, read at step {check.step}: {check.why}")


def _of_git(pointer: Pointer, loaded: LoadedTask, record: RunRecord) -> Found:
    sha = pointer.commit or pointer.name
    try:
        repo = repository(loaded, record)
        if repo.rev(sha) is None:
            return Found(pointer.kind, f"commit {sha} is gone from the repository", False)
        if pointer.kind == "commit":
            base = (
                f"{sha}^" if repo.rev(f"{sha}^") else "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
            )  # the empty tree
            data, _ = repo.diff(base, sha, limit=DIFF_BYTES)
            return Found("commit", data.decode("utf-8", "replace") or "(it changes no file)")
        found = repo.show(sha, pointer.name)
    except ControllerError as error:
        return Found(pointer.kind, f"it can't be read: {error}", False)
    if found is None:
        return Found("file", f"commit {sha} has no file {pointer.name}", False)
    return _lines("file", found, pointer)


def _lines(kind: str, data: bytes, pointer: Pointer) -> Found:
    text = data.decode("utf-8", "replace").split("\n")
    total = len(text) - (text[-1] == "")
    first, last = pointer.first or 1, min(pointer.last or total, total)
    if first > total:
        return Found(kind, f"it has {total:,} lines, and {first:,} is none of them", False)
    return Found(kind, "\n".join(f"{number:>5} {text[number - 1]}" for number in range(first, last + 1)))


def _step(pointer: Pointer, loaded: LoadedTask, store: Ledger, record: RunRecord) -> Found:
    run, wanted = pointer.run or record.run, int(pointer.name)
    kept = wait_for(lambda: rows(store, run))
    found = [row for *_, row in kept if row.step == wanted and row.kind != "opened"]
    if not found:
        return Found(
            "step", f"run {run} has no step {wanted}" if kept else f"run {run} is not in the store", False
        )
    return Found("step", "\n".join(line for row in found for line in _row(row)))


def _row(row: AuditRow) -> list[str]:
    lines = [f"{row.kind} of step {row.step} at {clock(row.at)}"]
    told: JsonObject = {
        "state_patch": row.state_patch,
        "action": row.action,
        "changed": row.extra.get("edits"),
    }
    lines += [f"{name}: {orjson.dumps(each).decode()}" for name, each in told.items() if each is not None]
    lines += [f"evidence: {row.tool_result}"] if row.tool_result else []
    lines += [f"commit:{row.commit}"] if row.commit else []
    lines += [f"person: {word}" for word in row.human_events]
    lines += [f"artifact:{id}: {title}" for id, title in row.extra.get("outputs", {}).items()]
    return lines
