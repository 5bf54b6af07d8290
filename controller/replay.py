"""replay: the whole run again from what was kept, without an agent and without an action: Σ is rebuilt from the
audit, and every kept reply is gated again on the readings that it was gated on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import orjson

from contracts.base import digest
from contracts.charter import Charter
from contracts.intent_edits import alike
from contracts.ports import Artifacts
from contracts.readings import Readings
from contracts.record import AuditRow, RunRecord
from contracts.verdicts import Reject
from controller.confirm import stale
from controller.gate import judge
from controller.history import Version, committed, contracted, opening, queued, refused, versions, waited

SCHEMA = ("schema", "rules")  # the digests of the state's schema and of who may write its fields


@dataclass(frozen=True)
class Replayed:
    """steps: committed steps whose Σ was rebuilt byte for byte. gated: replies judged again with the verdict of
    then. wrong: what did not come out the same. skipped: what could not be judged again, and why."""

    steps: int
    gated: int
    wrong: tuple[str, ...]
    skipped: tuple[str, ...]


def replay(rows: Iterable[AuditRow], law: Charter, artifacts: Artifacts, to: int | None = None) -> Replayed:
    """Replay a run up to step `to`. Raises nothing: what can't be replayed is said."""
    rows = [row for row in rows if to is None or row.step <= to]
    start = opening(rows)
    if start is None:
        return Replayed(0, 0, ("the chain does not begin with the opening of the run",), ())
    told = contracted(rows)
    wrong = [
        f"the task's {name} is another one now"
        for name, now in _then(law, start).items()
        if (name != "intent" or told is None) and start.digests.get(name, now) != now
    ]
    if told is not None and not alike(told, law.intent):
        wrong.append("the task's intent is another one now")
    states = {id(version.row): version for version in versions(rows)}
    record, steps, gated, skipped = start, 0, 0, []
    for row in rows:
        if (contract := contracted([row])) is not None:
            law = replace(law, intent=contract)
        no = refused(record.refused, record.queue, row)
        record = record.model_copy(update={"queue": waited(record.queue, row), "refused": no})
        judged = row.kind != "step" or row.state_patch is not None  # else in the row of its verdict
        if judged and (row.action is not None or row.state_patch is not None):
            found = _gated(row, record, law, artifacts)
            if found == "":
                gated += 1
            elif found.startswith("skipped"):
                skipped.append(f"step {row.step}: {found.removeprefix('skipped: ')}")
            else:
                wrong.append(f"step {row.step}: {found}")
        update = {"queue": queued(record.queue, row), "intent": row.extra.get("intent", record.intent)}
        record = record.model_copy(
            update={**update, "digests": record.digests | row.extra.get("digests", {})}
        )
        version: Version | None = states.get(id(row))
        if version is not None and row.kind != "opened":
            steps += version.sound and committed(row)
            if not version.sound:
                wrong.append(f"step {row.step}: the rebuilt state is not the one that was stored")
            done = record.spent.model_copy(update={"steps": record.spent.steps + committed(row)})
            then = {"state": version.state, "state_version": version.number, "ages": version.ages}
            then["confirmed"] = version.confirmed
            record = record.model_copy(update={**then, "spent": done})
    return Replayed(steps, gated, tuple(wrong), tuple(skipped))


def _gated(row: AuditRow, record: RunRecord, law: Charter, artifacts: Artifacts) -> str:
    """Empty when the verdict came out as it was; else what is different, or `skipped: …`."""
    schema = law.schema_of(record.state_version, record.digests.get("schema"))
    if schema is None:
        return f"skipped: the schema of version {record.state_version} is not kept"
    kept = row.digests.get("readings")
    if kept is None:
        return "skipped: its readings were not kept"
    try:
        readings = orjson.loads(artifacts.get(kept))
        seen, fresh = (
            Readings.model_validate_json(orjson.dumps(readings[name])) for name in ("seen", "fresh")
        )
    except (KeyError, ValueError):
        return "skipped: its readings can't be read any more"
    transition = {"state_patch": row.state_patch, "action": row.action}
    at = record.model_copy(update={"step": row.step})
    entry = next((each for each in record.queue if each.id == row.extra.get("entry")), None)
    planned = row.extra.get("parked", {}).get("kind") == "plan"
    law = replace(law, schema=schema, planning=planned)
    moved = stale(entry, record, fresh, law) if entry is not None else None
    verdict = moved or judge(at, seen, fresh, transition, law, entry)
    said = verdict.code if isinstance(verdict, Reject) else verdict.kind
    then = row.validator_result or ""
    if said != then and then.endswith(".secret"):
        return "skipped: it was refused for a secret, which was redacted before it was kept"
    return "" if said == then else f"the gate says {said} now, it said {then}"


def _then(law: Charter, start: RunRecord) -> dict[str, str]:
    """The digests of the task with the schema that the run began with, as far as it is at hand."""
    schema = law.schema_of(start.state_version, start.digests.get("schema"))
    if schema is None:
        return {name: each for name, each in law.digests.items() if name not in SCHEMA}
    return law.digests | dict(zip(SCHEMA, (digest(schema.source), schema.governance()), strict=True))
