"""A schema that changes in the middle of a run: the state is carried to its next version and, later, back, by what
`controller state migrate` calls, on the real store; the episode goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from contracts.dialects import compile_dialect
from contracts.migrations import Migration
from contracts.state import VERSION, StateSchema
from contracts.versions import Chain
from controller.claim import release
from controller.migrate import migrate
from controller.rig import Rig
from tests.bench.report import say
from tests.bench.skillexec.books import Shelves
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.episode import Outcome
from tests.bench.skillexec.figures import judged
from tests.bench.skillexec.ours import Answering, Events, begun, rig_of, scratch, steps
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.warehouse import SEEDS, Warehouse, events

MOVE = {
    "from": 1,
    "to": 2,
    "why": "shelves are called shelves, and each entry can hold more than an item",
    "forward": [{"op": "move", "from": "/inventory", "path": "/shelves"}],
    "back": [{"op": "move", "from": "/shelves", "path": "/inventory"}],
}


def versions() -> Chain:
    """The warehouse's schema, its next version with the field renamed, and the migration between them."""
    one = StateSchema.builtin("warehouse")
    source = deepcopy(one.source) | {VERSION: 2, "required": ["shelves"]}
    source["properties"]["shelves"] = source["properties"].pop("inventory")
    two = StateSchema(source)
    return Chain(
        two, {1: one, 2: two}, {2: ("0002-shelves.json", Migration.model_validate_json(json.dumps(MOVE)))}
    )


class Renamed(Perfect):
    """Reads a state whose field is called `shelves`, and writes it so."""

    def reply(self, prompt: str) -> str:
        shown = re.sub(r"^shelves: ", "inventory: ", prompt, flags=re.MULTILINE)
        said = json.loads(super().reply(shown))
        if (patch := said["state_patch"].pop("inventory", None)) is not None:
            said["state_patch"]["shelves"] = patch
        return json.dumps(said)


def under(rig: Rig, schema: StateSchema, around: Events) -> Rig:
    """The same run by another version of the schema, with the reader that it needs."""
    reader = Perfect(Shelves) if schema.version == 1 else Renamed(Shelves)
    dialect = compile_dialect("merge", schema, rig.task.specs)
    law = replace(rig.task, schema=schema, dialect=dialect)
    return replace(rig, task=law, agent=Answering(law, reader, around), lease=None)


async def played(rig: Rig, around: Events) -> tuple[Outcome, list[str], int]:
    """An episode in three parts: version 1, 2, and 1 again. What is wrong with the audit, and the entries that were
    carried over."""
    chain, length = versions(), len(around.world.events)
    rig.task = replace(rig.task, schemas=chain.schemas)
    outcome, run = Outcome(around.world, around.turns), await begun(rig, around)
    carried = 0
    try:
        for version, until in ((1, length // 3), (2, 2 * length // 3), (1, length)):
            await release(rig)
            plan = await migrate(
                rig.store, rig.task.task.name, chain, version, most=24 * 1024, by="bench", dry_run=False
            )
            carried += sum(len(held) for held in plan.state.values()) if plan.legs else 0
            rig = under(rig, chain.schemas[version], around)
            await steps(run, rig, around, outcome, until)
    finally:
        await release(rig)
    return outcome, await rig.store.verify(run), carried


def migrated(length: int = 60, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """The score of an episode whose schema is migrated twice, entries that were carried, and faults of the audit."""
    cell, faults, carried = [], 0, 0
    for seed in seeds:
        with scratch() as folder:
            rig, around = rig_of(
                Path(folder) / "run", Warehouse(events(seed, length)), Perfect(), WAREHOUSE, layout="paper"
            )
            outcome, wrong, entries = anyio.run(played, rig, around)
        cell.append(outcome)
        faults += len(wrong)
        carried += entries
    found = {
        "ours, migrated twice": judged(cell),
        "ours, entries carried over": carried,
        "ours, faults of the audit": faults,
    }
    say(f"migration: {found}")
    return found
