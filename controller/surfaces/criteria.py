"""`validate --criteria`: from each success criterion to what would prove it, and how that stands now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from contracts.charter import Charter
from contracts.criteria import Criterion, criteria, unproven
from contracts.intent import in_force
from contracts.record import RunRecord
from controller.assemble import charter
from controller.contract_folder import contract_of
from controller.surfaces.locate import kept, load, wait_for
from controller.surfaces.words import colour, plain
from controller.taskfile import LoadedTask

NOT_PROVABLE = 3


@dataclass(frozen=True)
class Evidence:
    """A check that proves a criterion: `now` is green, red, of a guard that was accepted as red `red, no worse`, or
    unknown with `why`; `step` is that of the reading."""

    check: str
    now: str
    why: str
    step: int | None = None


@dataclass(frozen=True)
class Standing:
    """A criterion with its evidence. `stands`: proven, not proven, unknown, or not provable."""

    name: str
    value: str
    locked: bool
    stands: str
    evidence: tuple[Evidence, ...]


def show(task: Path | None, as_json: bool) -> int:
    """Print the walk. 0; 3 when nothing can prove some criterion."""
    loaded = load(task)
    law, record = charter(loaded), _record(loaded)
    found = standing(law, record)
    good = all(each.evidence for each in found)
    if as_json:
        told = {
            "run": record.run if record else None,
            "criteria": [asdict(each) for each in found],
            "good": good,
        }
        print(orjson.dumps(told).decode())
    else:
        print(plain("\n".join(_lines(found))))
    return 0 if good else NOT_PROVABLE


def standing(law: Charter, record: RunRecord | None) -> list[Standing]:
    """Each criterion in force, with how its evidence stood when it was last read."""
    intent = in_force(record.intent if record else None, law.intent)
    return [_standing(each, record) for each in criteria(intent, law.checks)]


def warnings(loaded: LoadedTask) -> Iterator[str]:
    """What `validate` says of criteria that nothing proves."""
    intent = contract_of(loaded).intent
    for each in unproven(intent, [check.name for check in loaded.task.checks]) if intent else ():
        asked = "; it is locked, so a person is asked when the run finishes" if each.locked else ""
        yield f"no check proves success criterion {each}: name its checks in `proof`{asked}"


def _record(loaded: LoadedTask) -> RunRecord | None:
    store = kept(loaded)
    return wait_for(lambda: store.load(loaded.task.name)) if store is not None else None


def _standing(criterion: Criterion, record: RunRecord | None) -> Standing:
    evidence = tuple(_evidence(name, record) for name in criterion.proof)
    seen = {each.now for each in evidence}
    stands = (
        "not provable"
        if not seen
        else "proven"
        if seen == {"green"}
        else "unknown"
        if seen <= {"green", "unknown"}
        else "not proven"
    )
    return Standing(criterion.name, criterion.item.value, criterion.locked, stands, evidence)


def _evidence(name: str, record: RunRecord | None) -> Evidence:
    check = record.checks.get(name) if record else None
    if check is None:
        return Evidence(
            name, "unknown", "not read: there is no run yet" if record is None else "not read in this run"
        )
    return Evidence(name, colour(check.passed, check.why), check.why, check.step)


def _lines(found: list[Standing]) -> Iterator[str]:
    if not found:
        yield "no success criteria are written: the checks alone say when it is done"
    for each in found:
        yield f"{each.stands:<13} [{each.name}] {' '.join(each.value.split())}" + (
            " (locked)" if each.locked else ""
        )
        for one in each.evidence:
            read = "" if one.step is None else f", read at step {one.step}"
            yield f"{'':<13}   check {one.check}: {one.now}{read}: {one.why}"
        if not each.evidence:
            who = "a person is asked when the run finishes" if each.locked else "the outcome says so"
            yield f"{'':<13}   no check proves it: name its checks in `proof`; as it is, {who}"
