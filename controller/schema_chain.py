"""Reads the versions of the state's schema: the one that is used, the older and newer ones that are kept beside it in
`migrations/`, and what leads from one to the next. Fields that people agreed to in a run are versions of their own,
kept in `.agent-runtime/schema/TASK` in the same two forms of files; below `undone` there are those that a person took
back, a folder for each time, with the schema to which it went back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from contracts.base import canonical
from contracts.errors import ConfigError
from contracts.migrations import Migration
from contracts.schema_refs import BadSchema
from contracts.state import VERSION, StateSchema
from contracts.versions import Chain
from controller.contract_folder import STATE_SCHEMA, contract_of, folder_of, json_object
from controller.taskfile import LoadedTask

MIGRATIONS = "migrations"
GROWN, UNDONE = Path(".agent-runtime/schema"), "undone"
MAX_FILES = 200
KEPT = re.compile(r"state\.schema\.v([1-9][0-9]{0,3})\.json")
STEP = re.compile(r"([0-9]{4})-[a-z0-9][a-z0-9-]{0,60}\.json")


def version_in(name: str) -> int:
    """The version that a file of a schema, or of a migration to it, is of by its name; 0 for any other file."""
    named = KEPT.fullmatch(name) or STEP.fullmatch(name)
    return int(named[1]) if named else 0


def grown_folder(loaded: LoadedTask) -> Path:
    """Where the fields that people agreed to in the task's runs are kept."""
    return loaded.base_dir.resolve() / GROWN / loaded.task.name


def current_schema(loaded: LoadedTask) -> StateSchema:
    """The schema that the task's runs use: its own, with the fields that were agreed to. Raises ConfigError,
    BadSchema."""
    contract = contract_of(loaded)
    found = StateSchema(contract.state_schema) if contract.state_schema else StateSchema.builtin("coding")
    found.initial()
    grown = {schema.version: (path, schema) for path, schema in _kept(_grown_files(loaded))}
    if contract.state_schema and found.version in grown:
        path, kept = grown[found.version]
        if canonical(kept.source) != canonical(found.source):
            raise ConfigError(
                f"{STATE_SCHEMA} and {path.name} both say that they are version {found.version} and differ; a run goes "
                f"on with what was made of the latter",
                where=str(path),
                hint=f"give yours the next {VERSION}, {max(grown) + 1}, and write a migration from {max(grown)}",
            )
    while found.version + 1 in grown:
        found = grown[found.version + 1][1]
    return found


def agreed_to(loaded: LoadedTask) -> frozenset[int]:
    """The versions that only add what a person agreed to in a run: they may be migrated to without being asked."""
    return frozenset(int(named[1]) for path in _grown_files(loaded) if (named := STEP.fullmatch(path.name)))


def schemas_of(loaded: LoadedTask, current: StateSchema) -> dict[int, StateSchema]:
    """Every version that is at hand, `current` among them, in order, also those that can be brought back. Raises
    ConfigError, BadSchema."""
    found = {current.version: current}
    for _, schema in _kept([*_files(loaded), *_grown_files(loaded)]):
        found.setdefault(schema.version, schema)
    for each in undone(loaded, current):
        found.setdefault(each.schema.version, each.schema)
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Undone:
    """A version that was agreed to and taken back: its schema, and the file of its migration."""

    schema: StateSchema
    migration: Path


def undone(loaded: LoadedTask, current: StateSchema) -> Iterator[Undone]:
    """What can be brought back on top of `current`, version by version: where several were made of the same schema, the
    one that was taken back last. Raises ConfigError, BadSchema."""
    top, folders = current, undone_folders(loaded)
    while (found := next((each for folder in folders for each in _above(folder, top)), None)) is not None:
        yield found
        top = found.schema


def undone_folders(loaded: LoadedTask) -> list[Path]:
    """The newest first."""
    folders = (grown_folder(loaded) / UNDONE).glob("*")
    return sorted(
        (path for path in folders if path.name.isdigit()), key=lambda path: int(path.name), reverse=True
    )


def taken_back(loaded: LoadedTask) -> tuple[StateSchema, ...]:
    """Every schema of which a state of the task's runs may once have been, and that is in use no more."""
    return tuple(schema for folder in undone_folders(loaded) for _, schema in _kept(_listed(folder)))


def _above(folder: Path, top: StateSchema) -> Iterator[Undone]:
    """The version after `top` as it stands in `folder`, if it was made of it there."""
    files = _listed(folder)
    schemas = {schema.version: schema for _, schema in _kept(files)}
    base, after = schemas.get(top.version), schemas.get(top.version + 1)
    steps = {int(named[1]): path for path in files if (named := STEP.fullmatch(path.name))}
    step = steps.get(top.version + 1)
    if base is None or after is None or step is None:
        return
    if canonical(base.source) == canonical(top.source):
        yield Undone(after, step)


def chain_of(loaded: LoadedTask) -> Chain:
    """The schemas with the migrations between them. Raises ConfigError, BadSchema for a file that can't be used."""
    current = current_schema(loaded)
    migrations: dict[int, tuple[str, Migration]] = {}
    for path in [*_files(loaded), *_grown_files(loaded)]:
        named = STEP.fullmatch(path.name)
        if named is None:
            continue
        migration = _migration(path)
        if migration == migrations.get(migration.to, ("", None))[1]:
            continue  # one that was agreed to, and taken into the contract folder since
        if migration.to != int(named[1]):
            raise ConfigError(
                f"it leads to version {migration.to}, the file's name says {int(named[1])}", where=str(path)
            )
        if migration.to in migrations:
            other = migrations[migration.to][0]
            raise ConfigError(f"{other} leads to version {migration.to} already", where=str(path))
        migrations[migration.to] = (f"{MIGRATIONS}/{path.name}", migration)
    for each in undone(loaded, current):
        back = (f"{UNDONE}/{each.migration.name}", _migration(each.migration))
        migrations.setdefault(each.schema.version, back)
    return Chain(current, schemas_of(loaded, current), migrations)


def drifted(loaded: LoadedTask, current: StateSchema) -> Iterator[str]:
    """The schema in use against the copy of it that is kept under its own number: one of them was edited."""
    for path in _files(loaded):
        named = KEPT.fullmatch(path.name)
        if (
            named
            and int(named[1]) == current.version
            and canonical(json_object(path)) != canonical(current.source)
        ):
            yield (
                f"{STATE_SCHEMA} and {MIGRATIONS}/{path.name} both say that they are version {current.version} and "
                f"differ: give the newer one the next {VERSION} and write a migration"
            )


def _files(loaded: LoadedTask) -> list[Path]:
    folder = folder_of(loaded)
    return [] if folder is None else _listed(folder / MIGRATIONS)


def _grown_files(loaded: LoadedTask) -> list[Path]:
    """Those of whole versions: the migration is written last."""
    files = _listed(grown_folder(loaded))
    last = max((int(named[1]) for path in files if (named := STEP.fullmatch(path.name))), default=0)
    return [path for path in files if (named := KEPT.fullmatch(path.name)) is None or int(named[1]) <= last]


def _kept(files: Iterable[Path]) -> Iterator[tuple[Path, StateSchema]]:
    for path in files:
        named = KEPT.fullmatch(path.name)
        if named is None:
            continue
        try:
            schema = StateSchema(json_object(path))
            schema.initial()
        except BadSchema as error:
            raise BadSchema([f"{MIGRATIONS}/{path.name}: {one}" for one in error.problems]) from None
        if schema.version != int(named[1]):
            raise ConfigError(
                f"{VERSION} is {schema.version}, the file's name says {named[1]}", where=str(path)
            )
        yield path, schema


def _listed(folder: Path) -> list[Path]:
    """Raises ConfigError for a JSON file of which nobody could tell what it is."""
    if not folder.is_dir():
        return []
    found = sorted(folder.glob("*.json"))
    if len(found) > MAX_FILES:
        raise ConfigError(f"more than {MAX_FILES} files", where=str(folder))
    for path in found:
        if not (KEPT.fullmatch(path.name) or STEP.fullmatch(path.name)):
            raise ConfigError(
                "this is neither a migration nor an older schema",
                where=str(path),
                hint="they are named 0002-what-it-does.json and state.schema.v1.json",
            )
    return found


def _migration(path: Path) -> Migration:
    try:
        return Migration.model_validate_json(orjson.dumps(json_object(path)))
    except TypeError as error:  # an integer beyond 64 bits
        raise ConfigError(f"this JSON can't be read: {error}", where=str(path)) from None
    except ValidationError as error:
        said = [
            f"{'.'.join(str(step) for step in detail['loc']) or 'the migration'}: {detail['msg']}"
            for detail in error.errors(include_url=False)
        ]
        raise ConfigError("\n".join(said[:10]), where=str(path)) from None
