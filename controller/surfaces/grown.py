"""A field more for the state, which a person agreed to in the run: the record is carried over to the version of the
schema that has it. With `state migrate` it is taken back, and brought back. No other migration happens without being
asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import orjson

from contracts.errors import Unavailable
from contracts.ports import Store
from contracts.record import RunRecord
from contracts.state import StateSchema
from contracts.versions import Chain
from controller.migrate import migrate
from controller.schema_chain import (
    STEP,
    UNDONE,
    agreed_to,
    chain_of,
    current_schema,
    grown_folder,
    undone,
    undone_folders,
)
from controller.surfaces.locate import open_existing, wait_for
from controller.taskfile import LoadedTask
from tool_adapters.durable import replace


def put_down(loaded: LoadedTask, record: RunRecord | None) -> bool:
    """Whether files of what was agreed to were written from the record, since this clone had not all of them: another
    one of the repository made them. The migrations come last. Raises Unavailable when the disk refuses."""
    home, grown = grown_folder(loaded), record.grown if record is not None else {}
    missing = [name for name in grown if not (home / name).exists()]
    try:
        for name in sorted(missing, key=lambda each: bool(STEP.fullmatch(each))):
            home.mkdir(parents=True, exist_ok=True)
            replace(home / name, grown[name].encode())
    except OSError as error:
        raise Unavailable(f"can't write the schema: {error.strerror}", where=str(home)) from error
    return bool(missing)


def brought(loaded: LoadedTask) -> LoadedTask:
    """The task, its folder with what was agreed to in whichever clone: for a command that reads the schema. Raises
    Unavailable where the remote that keeps the record can't be read."""
    if loaded.task.store.use == "git":
        store = open_existing(loaded)
        put_down(loaded, wait_for(lambda: store.load(loaded.task.name)))
    return loaded


async def taken_over(loaded: LoadedTask, store: Store, by: str) -> str:
    """What was carried over, in words; empty when nothing is to be: the record is at that version already, finished,
    or in the middle of a step. Raises what `migrate` does; nothing is changed then."""
    agreed, record = agreed_to(loaded), await store.load(loaded.task.name)
    if not agreed or record is None or record.finished or record.staged is not None:
        return ""
    chain = chain_of(loaded)
    to = chain.current.version
    missing = set(range(record.state_version + 1, to + 1))
    if not missing or not missing <= agreed:
        return ""
    name, most = loaded.task.name, loaded.task.limits.state
    plan = await migrate(store, name, chain, to, most=most, by=by, dry_run=False)
    added = "; ".join(leg.migration.why for leg in plan.legs)
    return f"the state's schema is of version {to} now, with what was agreed to: {added}"


@contextmanager
def at_version(loaded: LoadedTask, chain: Chain, to: int) -> Iterator[None]:
    """The files of what was agreed to, as version `to` has them: what is above it is taken back, what was taken back is
    brought back up to it. When the body raises they are as they were. Raises Unavailable when the disk refuses."""
    _settle(loaded, chain, to)
    try:
        yield
    except BaseException:
        _settle(loaded, chain, chain.current.version)
        raise


def _settle(loaded: LoadedTask, chain: Chain, to: int) -> None:
    current, home = current_schema(loaded), grown_folder(loaded)
    try:
        if gone := sorted((n for n in agreed_to(loaded) if n > to), reverse=True):
            _take_back(home, chain, gone, undone_folders(loaded))
        elif to > current.version:
            for each in takewhile(lambda one: one.schema.version <= to, undone(loaded, current)):
                _keep(home / _named(each.schema), each.schema)
                _move(each.migration, home)
    except OSError as error:
        raise Unavailable(f"can't write the schema: {error.strerror}", where=str(home)) from error


def _take_back(home: Path, chain: Chain, gone: list[int], folders: list[Path]) -> None:
    """The versions `gone`, newest first, into a folder of their own, with the one below them. Wherever it dies every
    version can be read in one place or the other: the schemas are copied first, the migrations follow."""
    folder = home / UNDONE / str(int(folders[0].name) + 1 if folders else 1)
    folder.mkdir(parents=True)
    for version in (gone[-1] - 1, *gone):
        _keep(folder / _named(chain.schemas[version]), chain.schemas[version])
    for version in gone:
        for path in home.glob(f"{version:04d}-*.json"):
            _move(path, folder)
        (home / _named(chain.schemas[version])).unlink(missing_ok=True)


def _named(schema: StateSchema) -> str:
    return f"state.schema.v{schema.version}.json"


def _move(path: Path, folder: Path) -> None:
    path.replace(folder / path.name)


def _keep(path: Path, schema: StateSchema) -> None:
    replace(path, orjson.dumps(schema.source, option=orjson.OPT_INDENT_2) + b"\n")
