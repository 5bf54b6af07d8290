"""The versions of a state schema, and the way from one to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.base import JsonObject, canonical, digest
from contracts.merge import Path
from contracts.migrations import BadMigration, Migration, migrated
from contracts.schema_refs import pointer
from contracts.state import StateSchema
from contracts.state_samples import samples
from contracts.veil import hidden, veiled


@dataclass(frozen=True)
class Leg:
    """One migration in one direction. `origin` names the file it stands in."""

    migration: Migration
    forward: bool
    origin: str = ""

    @property
    def source(self) -> int:
        return self.migration.source if self.forward else self.migration.to

    @property
    def to(self) -> int:
        return self.migration.to if self.forward else self.migration.source


@dataclass(frozen=True)
class Chain:
    """What the contract knows of its versions. `schemas` by version, `current` among them; `migrations` by the
    version that they lead to, with the name of their file."""

    current: StateSchema
    schemas: Mapping[int, StateSchema]
    migrations: Mapping[int, tuple[str, Migration]] = field(default_factory=dict)

    def way(self, source: int, to: int) -> list[Leg]:
        """The legs from one version to another. Raises BadMigration where one is missing."""
        forward = to > source
        needed = range(source + 1, to + 1) if forward else range(source, to, -1)
        for version in needed:
            if version not in self.migrations:
                raise BadMigration(
                    f"no migration leads from version {version - 1} to {version}",
                    hint=f"write migrations/{version:04d}-WHAT.json",
                )
        for version in {source, to, *needed}:
            if version not in self.schemas:
                raise BadMigration(
                    f"the schema of version {version} is not kept",
                    hint=f"put it into migrations/state.schema.v{version}.json",
                )
        return [Leg(self.migrations[each][1], forward, self.migrations[each][0]) for each in needed]

    def one_way(self) -> list[str]:
        """Migrations that can't be taken back from every state: there is one of the new version, made from its
        schema, for which `back` fails."""
        found = []
        for version, (name, migration) in sorted(self.migrations.items()):
            old, new = self.schemas.get(version - 1), self.schemas.get(version)
            if old is None or new is None:
                continue
            for state in samples(new):
                try:
                    moved(state, Leg(migration, False), new, old)
                except BadMigration as error:
                    said = f"{error.message}: from such a state there is no way back"
                    found.append(f"{name}: a state of version {version}: {said}")
                    break
        return found

    def problems(self) -> list[str]:
        """What is wrong with any migration, each tried on states of its old version, there and back."""
        found: list[str] = []
        for version, (name, migration) in sorted(self.migrations.items()):
            old, new = self.schemas.get(version - 1), self.schemas.get(version)
            for known, number in ((old, version - 1), (new, version)):
                if known is None:
                    found.append(
                        f"{name}: the schema of version {number} is not kept: put it into "
                        f"migrations/state.schema.v{number}.json"
                    )
            if old and new:
                found += [f"{name}: {line}" for line in tried(migration, old, new)]
        versions = sorted({*self.schemas, *self.migrations})
        for version in range(versions[0] + 1, versions[-1] + 1):
            if version not in self.migrations:
                found.append(
                    f"no migration leads from version {version - 1} to {version}: the chain has a hole"
                )
        return found


def trials(migration: Migration, old: StateSchema) -> list[tuple[str, JsonObject]]:
    """States of the old version to try it on, each with what it is."""
    named = [(f"sample {number}", state) for number, state in enumerate(migration.samples, start=1)]
    made = [(f"made state {number}", state) for number, state in enumerate(samples(old), start=1)]
    return [*named, ("the first state", old.initial()), *made]


def tried(migration: Migration, old: StateSchema, new: StateSchema) -> list[str]:
    """What goes wrong with it on `trials`; empty when all goes well. At most 8 sentences."""
    found: list[str] = []
    for name, state in trials(migration, old):
        if errors := old.errors(state):
            found.append(f"{name} is no state of version {migration.source}: {errors[0]}")
            continue
        try:
            moved(state, Leg(migration, True), old, new)
        except BadMigration as error:
            found.append(f"{name}: {error.message}")
    return found[:8]


def moved(state: JsonObject, leg: Leg, old: StateSchema, new: StateSchema) -> JsonObject:
    """`state`, which is valid under `old`, carried over one leg. Raises BadMigration when an operation fails, the
    result breaks `new` or shows what is secret in `old`, or the way back does not end at `state` although nothing is
    said to be lost."""
    after = migrated(state, leg.migration.ops(leg.forward))
    if errors := new.errors(after) or new.broken(None, after):
        raise BadMigration(f"the result is no state of version {leg.to}: {errors[0]}")
    bare, was = (canonical(veiled(each, by.secrets)).decode() for each, by in ((after, new), (state, old)))
    if any(value in bare and value not in was for value in hidden(state, old.secrets)):
        raise BadMigration(f"what is secret in version {leg.source} could be read in version {leg.to}")
    if not leg.forward:
        return after
    try:
        again = migrated(after, leg.migration.back)
    except BadMigration as error:
        raise BadMigration(f"back from version {leg.to}: {error.message}") from None
    if errors := old.errors(again):
        raise BadMigration(f"back, the result is no state of version {leg.source}: {errors[0]}")
    if not leg.migration.lossy and canonical(again) != canonical(state):
        place = _differs(state, again, ())
        raise BadMigration(f"back, {place} is not what it was; if that is meant, say in `lossy` what is lost")
    return after


def _differs(one: Any, other: Any, at: Path) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            if key not in one or key not in other or canonical(one[key]) != canonical(other[key]):
                return _differs(one.get(key), other.get(key), (*at, key))
    return pointer(at)


def fingerprint(leg: Leg) -> str:
    """Digest of the operations of a leg."""
    return digest([op.model_dump(mode="json", by_alias=True) for op in leg.migration.ops(leg.forward)])
