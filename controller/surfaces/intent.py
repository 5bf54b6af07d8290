"""`intent show` and `intent write`: the contract in force, who changed it in this run, and the way into its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.controls import exact
from contracts.errors import ConfigError, Unavailable
from contracts.intent import IntentContract, in_force
from contracts.intent_edits import alike, carried, item_edits
from contracts.record import AuditRow, RunRecord
from controller.assemble import charter
from controller.contract_folder import INTENT, folder_of, json_object
from controller.history import contracted
from controller.surfaces.locate import kept, load, rows, wait_for
from controller.surfaces.words import clock, command, plain
from controller.taskfile import LoadedTask
from tool_adapters.durable import replace


def show(task: Path | None, as_json: bool) -> int:
    """Print the contract in force, and what was changed in the newest run, by whom."""
    loaded = load(task)
    _, contract, record, audit = _in_force(loaded)
    changes, law = list(_changes(audit)), charter(loaded)
    waits = record is not None and not record.finished and record.digests["intent"] != law.digests["intent"]
    if as_json:
        told = {
            "run": record.run if record else None,
            "contract": contract.document(),
            "changes": changes,
            "edited": waits,
        }
        print(orjson.dumps(told).decode())
        return 0
    lines = contract.render().splitlines()
    for each in changes:
        why = f" ({each['why']})" if each["why"] else ""
        lines += ["", f"changed at step {each['step']}, {clock(each['at'])}, by {each['by']}{why}"]
        lines += [f"  {line}" for edit in each["edits"] for line in edit["lines"]]
    if waits:
        lines += [
            "",
            "the task's own intent was edited since: `controller run` says how, and waits for a person",
        ]
    print(plain(exact("\n".join(lines))))
    return 0


def write(task: Path | None, as_json: bool) -> int:
    """Put the contract in force into the contract folder, whole or not at all. Raises ConfigError where the intent
    stands in the task file itself."""
    loaded = load(task)
    folder = folder_of(loaded)
    if folder is None or loaded.task.goal is not None:
        raise ConfigError(
            "the intent stands in the task file, which is yours alone to write",
            where=str(loaded.path),
            hint=f"move it into .agent-contract/{INTENT} (`controller intent show --json` has it as `contract`) and "
            "write `contract: .agent-contract` in the place of `goal:` and its sections",
        )
    path = folder / INTENT
    before, law = json_object(path), charter(loaded).intent
    base, amended, record, _ = _in_force(loaded)
    contract, left = carried(base, amended, law)
    if left:
        told = "; ".join(", ".join(edit.lines()) for edit in left)
        raise ConfigError(
            f"the file was edited where changes were approved in run {record.run if record else ''}: {told}",
            where=str(path),
            hint="write there what shall hold",
        )
    changed = not alike(law, contract)
    if changed:
        kept = {"$schema": before["$schema"]} if "$schema" in before else {}
        _put(path, orjson.dumps(kept | contract.document(), option=orjson.OPT_INDENT_2) + b"\n")
    if as_json:
        print(orjson.dumps({"path": str(path), "changed": changed}).decode())
    elif changed:
        print(f"wrote {path}; it says what is in force: `{command('run', task)}` goes on with it")
    else:
        print(f"{path} says already what is in force")
    return 0


def _in_force(
    loaded: LoadedTask,
) -> tuple[IntentContract, IntentContract, RunRecord | None, list[AuditRow]]:
    """The contract of the newest run as its task had it, and with what was approved in it since; the run, its audit.
    An edit of the task that nobody accepted yet is not in force."""
    law = charter(loaded).intent
    store = kept(loaded)
    record = wait_for(lambda: store.load(loaded.task.name)) if store is not None else None
    if store is None or record is None:
        return law, law, None, []
    audit = [row for *_, row in wait_for(lambda: rows(store, record.run))]
    base = contracted(audit) or law
    return base, in_force(record.intent, base), record, audit


def _changes(kept: Iterable[AuditRow]) -> Iterator[JsonObject]:
    """What each row of the audit changed in the contract, oldest first."""
    now: IntentContract | None = None
    for row in kept:
        after = now
        if row.extra.get("contract") is not None:
            after = IntentContract.model_validate(row.extra["contract"])
        elif row.extra.get("intent") is not None:
            after = IntentContract.model_validate(row.extra["intent"])
        edits = item_edits(now, after) if now is not None and after is not None else ()
        if edits:
            by, why = _decider(row)
            told = [edit.row() | {"lines": edit.lines()} for edit in edits]
            yield {
                "step": row.step, "at": row.at, "by": by, "why": why, "entry": row.extra.get("entry"), "edits": told,
            }  # fmt: skip
        now = after


def _decider(row: AuditRow) -> tuple[str, str]:
    """Who agreed to it, and their reason."""
    entry = row.extra.get("entry")
    for said in row.human_events:
        head, _, rest = said.partition(" by ")
        if entry is None or head == f"approve {entry}":
            who, _, why = rest.partition(": ")
            return who or "unknown", why if entry else "an edit of the task, accepted"
    return "unknown", ""


def _put(path: Path, data: bytes) -> None:
    """Raises Unavailable when the disk refuses."""
    try:
        replace(path, data)
    except OSError as error:
        raise Unavailable(f"can't write the contract: {error.strerror}", where=str(path)) from error
