"""migrate: the state of an unfinished run carried over to another version of its schema, and back. Nothing is written
unless the whole way holds: then once, under the lease, with an audit row from which the state can be rebuilt."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

from contracts.base import JsonObject, canonical, digest
from contracts.errors import ConfigError, Unavailable
from contracts.forget import aged
from contracts.merge import difference
from contracts.migrations import BadMigration
from contracts.ports import Store
from contracts.queue import StopRequest
from contracts.record import AuditRow, RunRecord
from contracts.state import StateSchema
from contracts.veil import veiled
from contracts.versions import Chain, Leg, fingerprint, moved
from controller import audit
from controller.schema_chain import version_in

LEASE_SECONDS = 60.0


@dataclass(frozen=True)
class Plan:
    """From the state of `record`, valid under `old`, to `state`, valid under `schema`. No legs: it is there already."""

    record: RunRecord
    old: StateSchema
    legs: tuple[Leg, ...]
    state: JsonObject
    schema: StateSchema

    @property
    def shown(self) -> tuple[JsonObject, JsonObject]:
        """The state before and after, less what is never shown."""
        return veiled(self.record.state, self.old.secrets), veiled(self.state, self.schema.secrets)


def planned(record: RunRecord, chain: Chain, to: int, most: int) -> Plan:
    """The way from the record's version to `to`, tried out on its state, which may take `most` bytes at the end.
    Raises ConfigError when it can't or may not be gone, Unavailable when the contract does not know the version."""
    if record.finished:
        raise ConfigError(
            f"run {record.run} is finished: its state stays as it is",
            hint="the next run begins with the new schema",
        )
    if record.staged is not None:
        raise ConfigError(
            f"step {record.staged.step} of run {record.run} is half done: its state can't be changed under it",
            hint="`controller run` finishes the step, without a new launch, and ends; then migrate",
        )
    if record.confirmed is not None:
        raise ConfigError(
            f"the state of run {record.run} holds what is desired and not confirmed: {_named(record)}",
            hint="`controller state show` shows it; migrate when it is confirmed or given up",
        )
    if record.state_version not in chain.schemas:
        raise Unavailable(
            f"the state of run {record.run} is of version {record.state_version}; the contract folder does not know it",
            hint="put the newer contract folder back, or migrations/state.schema.v"
            f"{record.state_version}.json with its migration",
        )
    if to not in chain.schemas:
        raise ConfigError(
            f"there is no schema of version {to}",
            hint=f"there are {', '.join(map(str, sorted(chain.schemas)))}",
        )
    legs, state = chain.way(record.state_version, to) if to != record.state_version else [], record.state
    for leg in legs:
        try:
            state = moved(state, leg, chain.schemas[leg.source], chain.schemas[leg.to])
        except BadMigration as error:
            raise BadMigration(
                f"the state can't be brought from version {leg.source} to {leg.to}: {error.message}",
                where=leg.origin,
                hint="nothing was changed",
            ) from None
    if legs and (size := len(canonical(state))) > most:
        raise BadMigration(
            f"the state would have {size:,} bytes, limits.state is {most:,}", hint="nothing was changed"
        )
    return Plan(record, chain.schemas[record.state_version], tuple(legs), state, chain.schemas[to])


def _named(record: RunRecord) -> str:
    return ", ".join(cast(JsonObject, difference(record.state, record.confirmed)))


def written(plan: Plan, by: str, now: float) -> tuple[RunRecord, AuditRow]:
    """The next record and the row that says how it came about."""
    record, to, (_, shown) = plan.record, plan.schema.version, plan.shown
    changes = cast(JsonObject, difference(record.state, plan.state))
    digests = {"schema": digest(plan.schema.source), "rules": plan.schema.governance()}
    after = record.model_copy(
        update={
            "state": plan.state,
            "state_version": to,
            "grown": {name: text for name, text in record.grown.items() if version_in(name) <= to},
            "ages": aged(record.ages, record.state, plan.state, changes, record.spent.steps),
            "digests": record.digests | digests,
        }
    )
    what = f"state migrated from version {record.state_version} to {to}"
    row = audit.row(
        "migration",
        after,
        now,
        state_bytes=audit.size(plan.state),
        digests={"state": digest(shown)},
        human_events=(*record.said, *audit.people(record), f"{what} by {by}"),
        extra={
            "what": what,
            "from": record.state_version,
            "to": to,
            "legs": [
                {
                    "file": leg.origin,
                    "from": leg.source,
                    "to": leg.to,
                    "ops": fingerprint(leg),
                    "why": leg.migration.why,
                }
                for leg in plan.legs
            ],
            "digests": digests,
            "state": shown,
        }
        | audit.refused(after),
    )
    return after, row


async def migrate(
    store: Store,
    task: str,
    chain: Chain,
    to: int,
    *,
    most: int,
    by: str,
    dry_run: bool,
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Plan:
    """Bring the newest run of `task` to version `to`; with `dry_run` only find out what would come of it. What `around`
    makes holds while it is written. Raises ConfigError, Unavailable, Busy; nothing is changed then."""
    if dry_run:
        return planned(await _record(store, task), chain, to, most)
    lease = await store.lease(task, LEASE_SECONDS)
    try:
        plan = planned(await _record(store, task), chain, to, most)
        if plan.legs:
            after, row = written(plan, by, time.time())
            # A person's wish to stop is for the run that is at work; all other words are folded into the record.
            taken = [post.id for post in plan.record.inbox if not isinstance(post.body, StopRequest)]
            with around():
                await store.swap(after, row, lease, taken)
        return plan
    finally:
        await store.release(lease)


async def _record(store: Store, task: str) -> RunRecord:
    record = await store.load(task)
    if record is None:
        raise ConfigError(f"task {task!r} has no run yet", hint="the first one begins with the newest schema")
    verify = getattr(store, "verify", None)
    if verify and (wrong := await verify(record.run)):
        raise Unavailable(
            f"the audit of run {record.run} is damaged: {wrong[0]}", hint="controller log --verify"
        )
    return record
