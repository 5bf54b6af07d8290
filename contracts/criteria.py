"""From each success criterion to the evidence that would prove it. Pure.

Only a check proves. A criterion names its checks in `proof`; one without is proved by the check of its own id, or of
the id of what it superseded, if there is one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from contracts.intent import IntentContract, Item, lineage

SECTION = "success_criteria"
LOCKED = "locked"


@dataclass(frozen=True)
class Criterion:
    """`name` is its id or number, `proof` the checks that prove it (empty: nothing can), `unknown` names that are no
    checks of the task."""

    name: str
    item: Item
    proof: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    @property
    def locked(self) -> bool:
        return self.item.change_policy == LOCKED

    def __str__(self) -> str:
        return f"[{self.name}] {self.item.value}"


def criteria(intent: IntentContract, checks: Collection[str]) -> tuple[Criterion, ...]:
    """The criteria in force, each with its evidence among `checks`."""
    found = []
    for number, item in enumerate(intent.shown(SECTION), start=1):
        ids = (each.id for each in lineage(intent.success_criteria, item))
        own = next(((id,) for id in ids if id is not None and id in checks), ())
        proof = tuple(name for name in item.proof if name in checks) or own
        unknown = tuple(name for name in item.proof if name not in checks)
        found.append(Criterion(item.id or str(number), item, proof, unknown))
    return tuple(found)


def unproven(intent: IntentContract, checks: Collection[str]) -> tuple[Criterion, ...]:
    """The criteria that no check proves."""
    return tuple(each for each in criteria(intent, checks) if not each.proof)
