"""replay: the whole run again from what was kept, without an agent and without an action: Σ is rebuilt from the
audit, and every kept reply is gated again on the readings that it was gated on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import orjson

from contracts.base import digest
from contracts.charter import Charter
from contracts.fields import leads
from contracts.intent_edits import alike
from contracts.ports import Artifacts
from contracts.readings import Readings
from contracts.record import AuditRow, RunRecord
from contracts.state import StateSchema
from contracts.veil import VEIL, texts
from contracts.verdicts import Reject
from controller.confirm import stale
from controller.gate import judge
from controller.history import Version, committed, contracted, opening, queued, refused, versions, waited

# Verdicts that may rest on values of secret fields: on what they are, and on whether two of them differ.
RESTS = ("schema.state", "schema.full", "invariants.state_size")
CLASHES = ("confirm", "stop", "intent.conflict", "policy.approval_moved")
SCHEMA = ("schema", "rules")  # the digests of the state's schema and of who may write its fields


@dataclass(frozen=True)
class Replayed:
    """steps: committed steps whose Σ was rebuilt byte for byte. gated: replies judged again with the verdict of
    then. wrong: what did not come out the same. skipped: what could not be judged again, and why. unseen: what no reply
    was judged by, since it looks at values that are kept nowhere."""

    steps: int
    gated: int
    wrong: tuple[str, ...]
    skipped: tuple[str, ...]
    unseen: tuple[str, ...] = ()


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
    record, steps, gated, skipped, unseen = start, 0, 0, list[str](), dict[str, None]()
    for row in rows:
        if (contract := contracted([row])) is not None:
            law = replace(law, intent=contract)
        record = _before(record, row)
        if _judges(row):
            schema = law.schema_of(record.state_version, record.digests.get("schema"))
            unseen |= dict.fromkeys(schema.for_shown()[1] if schema else ())
            found = _gated(row, record, law, schema, artifacts)
            if found == "":
                gated += 1
            elif found.startswith("skipped"):
                skipped.append(f"step {row.step}: {found.removeprefix('skipped: ')}")
            else:
                wrong.append(f"step {row.step}: {found}")
        version = states.get(id(row)) if row.kind != "opened" else None
        record = _after(record, row, version)
        if version is not None and not version.sound:
            wrong.append(f"step {row.step}: the rebuilt state is not the one that was stored")
        elif version is not None:
            steps += committed(row)
    why = "looks at secret fields, whose values are kept nowhere: no reply was held against it"
    return Replayed(
        steps, gated, tuple(wrong), tuple(skipped), tuple(f"invariant {name} {why}" for name in unseen)
    )


def _judges(row: AuditRow) -> bool:
    """Whether a row has a verdict on a reply: that of the evidence has it where no other row does."""
    if row.kind == "step" and row.state_patch is None:
        return False
    return row.action is not None or row.state_patch is not None


def _before(record: RunRecord, row: AuditRow) -> RunRecord:
    """The record when the verdict of `row` was given, from that after the row before it."""
    no = refused(record.refused, record.queue, row)
    return record.model_copy(update={"queue": waited(record.queue, row), "refused": no})


def _after(record: RunRecord, row: AuditRow, version: Version | None) -> RunRecord:
    """The record after `row`, which made `version` of the state."""
    update = {
        "queue": queued(record.queue, row),
        "intent": row.extra.get("intent", record.intent),
        "digests": record.digests | row.extra.get("digests", {}),
    }
    if version is not None:
        steps = record.spent.steps + committed(row)
        update |= {
            "state": version.state,
            "state_version": version.number,
            "ages": version.ages,
            "confirmed": version.confirmed,
            "spent": record.spent.model_copy(update={"steps": steps}),
        }
    return record.model_copy(update=update)


def _gated(
    row: AuditRow, record: RunRecord, law: Charter, schema: StateSchema | None, artifacts: Artifacts
) -> str:
    """Empty when the verdict came out as it was; else what is different, or `skipped: …`."""
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
    shown, blind = schema.for_shown()
    law = replace(law, schema=shown, planning=planned)
    moved = stale(entry, record, fresh, law) if entry is not None else None
    verdict = moved or judge(at, seen, fresh, transition, law, entry)
    said = verdict.code if isinstance(verdict, Reject) else verdict.kind
    then = row.validator_result or ""
    if said != then and then.endswith(".secret"):
        return "skipped: it was refused for a secret, which was redacted before it was kept"
    if said != then and _resting(schema, blind) & {said, then} and _veiled(record.state, row.state_patch):
        return f"skipped: it was {then} for values of secret fields, which are kept nowhere"
    return "" if said == then else f"the gate says {said} now, it said {then}"


def _resting(schema: StateSchema, blind: tuple[str, ...]) -> set[str]:
    """The verdicts that may rest on the values of secret fields."""
    asks = any(leads(path, place) for path in schema.asking() for place in schema.secrets)
    return {*RESTS, *(CLASHES if asks else ()), *(f"invariants.{name}" for name in blind)}


def _veiled(*states: object) -> bool:
    """Whether a stand-in is in one of them."""
    return any(VEIL.fullmatch(text) for each in states for _, text in texts(each))


def _then(law: Charter, start: RunRecord) -> dict[str, str]:
    """The digests of the task with the schema that the run began with, as far as it is at hand."""
    schema = law.schema_of(start.state_version, start.digests.get("schema"))
    if schema is None:
        return {name: each for name, each in law.digests.items() if name not in SCHEMA}
    return law.digests | dict(zip(SCHEMA, (digest(schema.source), schema.governance()), strict=True))
