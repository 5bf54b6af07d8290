"""`state recover`, `replay` and `unlock`: what puts a damaged store right, proves a run, and frees its lease."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import orjson

from contracts.errors import Busy, ControllerError, Unavailable
from contracts.record import RunRecord
from contracts.veil import veiled
from controller.assemble import charter
from controller.history import versions
from controller.places import Places
from controller.rebuild import LOST, Recovered
from controller.record_store import artifacts_of, remote_of
from controller.recover import recover
from controller.replay import replay
from controller.restore import restore
from controller.stores.git import GitStore
from controller.stores.sqlite import SqliteStore
from controller.surfaces.changes import repository
from controller.surfaces.grown import brought
from controller.surfaces.locate import load, newest, open_existing, rows, wait_for
from controller.surfaces.words import command, plain, plural
from controller.taskfile import LoadedTask
from tool_adapters.eviction import evict


def recovered(task: Path | None, as_json: bool) -> int:
    """Rebuild a damaged store from its audit. 0; 3 when something is lost beside what no audit holds. Raises
    ConfigError when the store is whole, Unavailable when there is nothing to rebuild from, Busy when somebody
    works with it."""
    loaded = load(task)
    found = _put_back(loaded) if loaded.task.store.use == "git" else _of_file(loaded)
    beyond = [line for line in found.lost if line not in LOST]
    if as_json:
        told = {
            "run": found.record.run,
            "step": found.record.step,
            "head": found.record.head,
            "kept": [str(each) for each in found.kept],
            "lost": list(found.lost),
            "whole": not beyond,
        }
        print(orjson.dumps(told).decode())
    else:
        print(plain(_text(found, task)))
    return 3 if beyond else 0


def _of_file(loaded: LoadedTask) -> Recovered:
    path, name = Places.of(loaded).runtime / "state.db", loaded.task.name
    _refuse_busy(path, name)
    return wait_for(lambda: recover(path, name, _tip(loaded)))


def _put_back(loaded: LoadedTask) -> Recovered:
    store = GitStore(remote_of(loaded), evict=evict, leave=Places.of(loaded).home.leave, trusting=True)
    return wait_for(lambda: restore(store, loaded.task.name))


def refuse_lost(loaded: LoadedTask) -> None:
    """Raises Unavailable when the store is gone although the audit of a run is there: nothing starts afresh by
    itself."""
    runtime, name = Places.of(loaded).runtime, loaded.task.name
    if loaded.task.store.use != "sqlite":
        return  # the store itself knows
    if (runtime / "state.db").exists() or not list((runtime / "audit").glob(f"{name}@*.jsonl")):
        return
    raise Unavailable(
        "the store is gone, the audit of its runs is still there",
        where=str(runtime / "state.db"),
        hint="`controller state recover` rebuilds it; to begin afresh, move the folder `audit` beside it away",
    )


def _refuse_busy(path: Path, name: str) -> None:
    """As far as the damaged store can still tell. Raises Busy."""
    try:
        holder = wait_for(lambda: SqliteStore(path, create=False).holder(name))
    except Busy:
        raise
    except ControllerError:
        return
    if holder is not None:
        raise Busy(f"pid {holder.owner.pid} on {holder.owner.host} works with this store", where=str(path))


def _tip(loaded: LoadedTask) -> str | None:
    try:
        return repository(loaded).rev(f"refs/heads/{loaded.task.branch}")
    except ControllerError:
        return None


def _text(found: Recovered, task: Path | None) -> str:
    record = found.record
    lines = [
        f"{found.how.format(record.run)}: {_where(record)}",
        *(f"kept the damaged file as {path}" for path in found.kept),
        *(f"lost: {line}" for line in found.lost),
        f"next: {command('run', task)}",
    ]
    return "\n".join(lines)


def _where(record: RunRecord) -> str:
    spent = record.spent
    return f"step {record.step}, {plural(spent.steps, 'committed step')}, head {record.head[:12]}"


def replayed(task: Path | None, run: str | None, to: int | None, as_json: bool) -> int:
    """Rebuild the state of a run and gate its replies again, without agent or action. 0 when all comes out as it
    was, 3 when something does not. Raises ConfigError for an unknown run."""
    loaded = brought(load(task))
    store = open_existing(loaded)
    record = wait_for(lambda: newest(store, loaded.task.name, run))
    kept = wait_for(lambda: rows(store, record.run))
    law = charter(loaded)
    found = replay((row for *_, row in kept), law, artifacts_of(loaded, store), to)
    wrong = list(found.wrong)
    whole = to is None or to >= record.step
    states = [version.state for version in versions(row for *_, row in kept)]
    schema = law.schema_of(record.state_version, record.digests.get("schema")) or law.schema
    if whole and not wrong and states and states[-1] != veiled(record.state, schema.secrets):
        wrong.append("the state in the store is not the one that the audit gives")
    if as_json:
        print(orjson.dumps({"run": record.run, **asdict(found), "wrong": wrong, "same": not wrong}).decode())
        return 3 if wrong else 0
    steps = f"{plural(found.steps, 'state')} rebuilt byte for byte"
    print(
        f"{record.run}: {steps}, {found.gated:,} of {found.gated + len(found.skipped):,} replies gated alike"
    )
    for line in (*found.unseen, *found.skipped, *wrong):
        print(plain(f"{'differs' if line in wrong else 'not replayed'}: {line}"))
    return 3 if wrong else 0


def unlock(task: Path | None, id: str) -> int:
    """Take the lease `id` away from an owner that is gone. Raises ConfigError for another id, Busy for an owner
    of this host that lives."""
    loaded = load(task)
    store, name = open_existing(loaded), loaded.task.name
    owner = wait_for(lambda: store.unlock(name, id))
    print(
        f"took lease {id} from pid {owner.pid} on {owner.host}: it can't write any more; "
        f"`{command('run', task)}` goes on"
    )
    return 0
