"""A field more for the state, which a person agreed to in the run: the record is carried over to the version of the
schema that has it, and back with `state migrate`. No other migration happens without being asked for."""

from __future__ import annotations

from contracts.ports import Store
from controller.migrate import migrate
from controller.schema_chain import agreed_to, chain_of, grown_folder
from controller.taskfile import LoadedTask


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


def put_aside(loaded: LoadedTask, to: int) -> list[str]:
    """The files of agreed versions above `to`, renamed so that they are used no more."""
    gone = [
        path
        for path in sorted(grown_folder(loaded).glob("*.json"))
        if any(
            path.name.startswith((f"{n:04d}-", f"state.schema.v{n}.")) for n in agreed_to(loaded) if n > to
        )
    ]
    for path in gone:
        path.rename(path.with_name(f"{path.name}.undone"))
    return [path.name for path in gone]
