"""`clean`: what finished and forgotten tasks left, listed and removed; and what it would free."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import orjson

from contracts.errors import Busy, ControllerError, NoRoom, Unavailable
from contracts.ports import Lease, Ledger
from controller.places import Places
from controller.record_store import stores_of
from controller.rig import LEASE_SECONDS
from controller.surfaces.locate import load, wait_for
from controller.surfaces.words import plain, size
from controller.taskfile import LoadedTask
from tool_adapters.cleaning import DAY, Left, Survey, TaskLeft, remove

KEEP_RUNS = 3
FULL = 1024 * 1024  # bytes: with less than this SQLite may not even read
LOOSE = ("spool", "traceback", "half-written file")
_NAME = re.compile(r"""^name:[ \t]+(["']?)([a-z0-9-]{1,40})\1[ \t]*(?:#.*)?$""", re.MULTILINE)


def clean(task: Path | None, *, dry_run: bool, keep_runs: int, as_json: bool) -> int:
    """List what was left, remove what nothing is lost with, and say what stays and why. Raises Busy while a
    task of this folder is at work (a dry run looks all the same)."""
    loaded = load(task)
    found = wait_for(lambda: _cleaned(loaded, dry_run, keep_runs))
    if as_json:
        gone, kept = ([_told(each) for each in found if each.remove is wanted] for wanted in (True, False))
        freed = sum(each.size for each in found if each.remove)
        print(orjson.dumps({"dry_run": dry_run, "removed": gone, "kept": kept, "freed": freed}).decode())
    else:
        print(plain(_text(found, dry_run)))
    return 0


async def _cleaned(loaded: LoadedTask, dry_run: bool, keep_runs: int) -> list[Left]:
    places = Places.of(loaded)
    if not places.runtime.is_dir():
        return []
    first: list[Left] = []
    for attempt in (1, 2):
        stores = stores_of(loaded)
        try:
            async with _alone([] if dry_run else stores):
                found = first + await survey(loaded, stores, keep_runs)
                return found if dry_run else await _removed(found, places.repo)
        except Unavailable:
            full = shutil.disk_usage(places.runtime).free < FULL
            if attempt == 2 or dry_run or not full:
                raise
            # Not even the store can be read on a disk without a byte: what nobody can need goes first.
            look = Survey(places.runtime, places.repo, (), None, keep_runs, time.time())
            first = await _removed(
                [left for left in look() if left.remove and left.kind in LOOSE], places.repo
            )
    return first


async def _removed(found: list[Left], repo: Path) -> list[Left]:
    """The same, as it came out."""

    def work() -> list[Left]:
        told = [(each, remove(each, repo) if each.remove else "") for each in found]
        return [replace(each, remove=False, why=wrong) if wrong else each for each, wrong in told]

    return await anyio.to_thread.run_sync(work)


@asynccontextmanager
async def _alone(stores: Sequence[Ledger]) -> AsyncIterator[None]:
    """While it lasts nobody else can work on a task of these stores. Raises Busy when somebody does."""
    tasks = [(store, name) for store in stores for name in await store.tasks()]
    for store, name in tasks:
        if (holder := await store.holder(name)) is not None:
            owner = holder.owner
            raise Busy(
                f"task {name!r} is being worked on by pid {owner.pid} on {owner.host} (lease {holder.id})",
                hint="clean when it has ended; `--dry-run` looks meanwhile",
            )
    leases: list[tuple[Ledger, Lease]] = []
    with suppress(Unavailable):  # on a full disk no lease can be written: nobody else can begin there either
        for store, name in tasks:
            leases.append((store, await store.lease(name, LEASE_SECONDS)))

    async def renew() -> None:
        while True:
            await anyio.sleep(LEASE_SECONDS / 3)
            for store, lease in leases:
                await store.renew(lease, LEASE_SECONDS)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(renew)
            yield
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            for store, lease in leases:
                await store.release(lease)


# ---- what there is ----------------------------------------------------------------------------------------
async def survey(loaded: LoadedTask, stores: Sequence[Ledger], keep_runs: int) -> list[Left]:
    """Everything that was left in the runtime folder of `loaded`. Changes nothing. Raises ControllerError."""
    places, tasks = Places.of(loaded), list[TaskLeft]()
    roots: list[bytes] | None = None
    if stores:
        configured = names(places.base) | {loaded.task.name}
        roots = []
        for store in stores:
            there = [left for name in await store.tasks() if (left := await _task(store, name, configured))]
            roots += [root for task in there for root in await _texts(store, task.name, keep_runs)]
            tasks += there
    look = Survey(places.runtime, places.repo, tasks, roots, keep_runs, time.time())
    return await anyio.to_thread.run_sync(look)


async def freeable(loaded: LoadedTask) -> int | None:
    """Bytes that `clean` would free; None when that can't be told."""
    try:
        return sum(each.size for each in await survey(loaded, stores_of(loaded), KEEP_RUNS) if each.remove)
    except (ControllerError, OSError):
        return None


async def with_remedy(error: NoRoom, loaded: LoadedTask) -> NoRoom:
    """The same, saying what `clean` would free."""
    bytes_ = await freeable(loaded)
    if bytes_ is None:
        return error
    would = (
        f"`controller clean` would free {size(bytes_)}" if bytes_ else "`controller clean` would free nothing"
    )
    return NoRoom(error.message, where=error.where, hint=f"free space; {would}")


def names(folder: Path) -> set[str]:
    """The tasks whose files stand in a folder, those with mistakes in them included."""
    found: set[str] = set()
    for path in [*folder.glob("*.yaml"), *folder.glob("*.yml")]:
        try:
            found |= {match[2] for match in _NAME.finditer(path.read_text("utf-8")[:65536])}
        except (OSError, ValueError):
            continue
    return found


async def _task(store: Ledger, name: str, configured: set[str]) -> TaskLeft | None:
    record = await store.load(name)
    if record is None:
        return None
    return TaskLeft(
        name=name,
        run=record.run,
        branch=record.branch,
        base=record.base,
        head=record.head,
        state=str(record.outcome) if record.outcome else "not finished",
        done=record.finished or name not in configured,
        configured=name in configured,
    )


async def _texts(store: Ledger, name: str, keep_runs: int) -> list[bytes]:
    """Everything that is stored of the newest runs of a task."""
    texts = []
    for run, _, _ in (await store.runs(name))[:keep_runs]:
        if (record := await store.load(run)) is not None:
            texts.append(record.model_dump_json().encode())
        texts += [row.model_dump_json().encode() async for _, _, _, row in store.log(run)]
    return texts


# ---- what is said -----------------------------------------------------------------------------------------
def _told(left: Left) -> dict[str, object]:
    return {
        "kind": left.kind,
        "what": left.what,
        "why": left.why,
        "size": left.size,
        "age": None if left.age is None else round(left.age),
        "holds": left.holds,
    }


def _text(found: list[Left], dry_run: bool) -> str:
    verbs = {True: "would remove" if dry_run else "removed", False: "kept"}
    lines = []
    for left in sorted(found, key=lambda each: not each.remove):
        age = f", {left.age / DAY:.0f} days old" if left.age is not None else ""
        holds = f", holds {left.holds}" if left.holds else ""
        many = (
            f" ({size(left.size)}{age}{holds})" if left.kind != "ref" else f" ({(age + holds).lstrip(', ')})"
        )
        lines.append(f"{verbs[left.remove]} {left.kind} {left.what}{many}: {left.why}")
    freed = sum(left.size for left in found if left.remove)
    gone = [left for left in found if left.remove]
    lines.append(f"{'would free' if dry_run else 'freed'} {size(freed)}" if gone else "nothing to remove")
    return "\n".join(lines)
