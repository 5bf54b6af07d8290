"""`state migrate`: the state of the run carried over to another version of its schema."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import orjson

from contracts.errors import ConfigError
from controller.contract_folder import STATE_SCHEMA
from controller.migrate import Plan
from controller.migrate import migrate as carried
from controller.schema_chain import MIGRATIONS, agreed_to, chain_of, current_schema
from controller.surfaces.grown import at_version, brought
from controller.surfaces.locate import kept, load, wait_for
from controller.surfaces.state import differences
from controller.surfaces.who import who
from controller.surfaces.words import command, plain


def migrate(task: Path | None, to: int | None, *, dry_run: bool, as_json: bool) -> int:
    """Print what differs in the state. Raises ConfigError where it can't be, Unavailable for an unknown version,
    Busy while a controller is at work."""
    loaded = brought(load(task))
    store = kept(loaded)
    if store is None:
        raise ConfigError(f"task {loaded.task.name!r} has no run yet", hint="`controller run` opens one")
    chain = chain_of(loaded)
    wanted = chain.current.version if to is None else to
    most = loaded.task.limits.state
    agreed, around = agreed_to(loaded), partial(at_version, loaded, chain, wanted)
    plan = wait_for(
        lambda: carried(
            store, loaded.task.name, chain, wanted, most=most, by=who(), dry_run=dry_run, around=around
        )
    )
    if as_json:
        print(orjson.dumps(_told(plan, dry_run)).decode())
    else:
        print(plain("\n".join(_lines(plan, current_schema(loaded).version, agreed, dry_run, task))))
    return 0


def _told(plan: Plan, dry_run: bool) -> dict[str, object]:
    found = differences(*plan.shown, "")
    return {
        "run": plan.record.run,
        "from": plan.record.state_version,
        "to": plan.schema.version,
        "migrations": [leg.origin for leg in plan.legs],
        "diff": [{"path": path, "before": before, "after": after} for path, before, after in found],
        "dry_run": dry_run,
        "changed": bool(plan.legs) and not dry_run,
    }


def _lines(plan: Plan, current: int, agreed: frozenset[int], dry_run: bool, task: Path | None) -> list[str]:
    record, to = plan.record, plan.schema.version
    if not plan.legs:
        return [f"the state of {record.run} is of version {to} already"]
    lines = [f"{record.run}: state from version {record.state_version} to {to}"]
    for leg in plan.legs:
        lines.append(f"  {leg.source} -> {leg.to}: {leg.migration.why} ({leg.origin})")
    for path, before, after in differences(*plan.shown, ""):
        lines += [f"- {path}: {orjson.dumps(before).decode()}"] if before is not None else []
        lines += [f"+ {path}: {orjson.dumps(after).decode()}"] if after is not None else []
    for leg in plan.legs:
        if leg.migration.lossy:
            lines.append(f"{'not to be brought back' if leg.forward else 'lost'}: {leg.migration.lossy}")
    if aside := [leg.source for leg in plan.legs if not leg.forward and leg.source in agreed]:
        again = command("state migrate", task, "--to", str(max(aside)))
        lines.append(f"what was agreed to is kept: `{again}` brings it back, empty")
    if dry_run:
        return [*lines, "dry run: nothing was changed"]
    if to != current:
        kept = f"{MIGRATIONS}/state.schema.v{to}.json"
        return [*lines, f"next: put {kept} in the place of {STATE_SCHEMA}, then {command('run', task)}"]
    return [*lines, f"next: {command('run', task)}"]
