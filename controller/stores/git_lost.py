"""A record on a remote that is not what it was: how it is noticed, and which of those that are left is to go on.

Each write moves record and lease together, so the record is exactly the commit that the lease names; and it is what
became of the one that this clone saw last. Whatever is not so was not done by a controller.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.errors import Unavailable
from contracts.record import RunRecord
from controller.stores import git_layout as at
from controller.stores.git_found import Found, damaged


def refuse_lost(found: Found, seen: str | None) -> None:
    """Raises Unavailable where what stands on the remote can't be what became of what this clone had `seen` there
    before it looked, or is not what the lease names; or where the record is gone and anything else of it is not:
    nothing starts afresh by itself. Notes what is there as seen."""
    refs, ref = found.refs, at.prefix(found.task) + at.RECORD
    now = found.stands.get(at.RECORD)
    if now is None:
        _refuse_gone(found, seen)
        return
    if seen is not None and (before := _lost(found, seen)) is not None:
        raise _put_back(found, "this clone saw", before)
    if found.fault:
        raise damaged(refs, found.task, found.fault)
    if found.unnamed:
        raise Unavailable(
            f"the lease of task {found.task!r} on the remote is gone, or names no record: nothing tells whether the "
            "record was put back",
            where=refs.address,
            hint="see with `git log` of the record's ref that it is the newest; `controller state recover` takes it",
        )
    if found.named is not None and found.named != now:
        raise _not_named(found, Found.of_commit(refs, found.task, found.named).readable)
    if refs.seen(ref) == seen:  # else another process of this clone has seen more by now
        refs.saw(ref, now)


def _refuse_gone(found: Found, seen: str | None) -> None:
    refs, task, work = found.refs, at.prefix(found.task), found.stands.get(at.WORK)
    named = Found.of_commit(refs, found.task, found.named).files if found.named else {}
    if seen is not None or at.newest(named) is not None:
        raise Unavailable(
            f"the record of task {found.task!r} is gone from the remote: "
            + ("this clone saw it there" if seen else "its lease names it"),
            where=refs.address,
            hint="`controller state recover` puts it back; docs/stores.md says how to begin afresh",
        )
    if work is None and (found.held is not None or at.LEASE not in found.stands):
        return
    left = f"its branch is there, {task}{at.WORK}" if work else f"{task}{at.LEASE} is no lease"
    raise Unavailable(
        f"the record of task {found.task!r} is gone from the remote, and nothing there names it: {left}",
        where=refs.address,
        hint=afresh(found),
    )


def afresh(found: Found) -> str:
    """What is left to do where no record is to be had here: in words, with the command that begins afresh."""
    address, task, work = found.refs.address, at.prefix(found.task), found.stands.get(at.WORK)
    names = (at.RECORD, at.WORK, at.LEASE, at.INBOX)
    gone = " ".join(f":{task}{name}" for name in names if name in found.stands)
    told = "`controller state recover` in a clone that saw it puts it back; where there is none, begin afresh"
    if work is None:
        return f"{told}: git push {address} {gone}"
    keeps = f"git fetch {address} {task}{at.WORK} && git push {address} {work}:{task}{at.was(work)}"
    return f"{told}, which keeps the branch's commits: {keeps} {gone}"


def _put_back(found: Found, witness: str, before: RunRecord) -> Unavailable:
    return Unavailable(
        f"the record of task {found.task!r} on the remote was put back, or is another one: {witness} "
        f"version {before.version} of {before.run} at step {before.step}",
        where=found.refs.address,
        hint="`controller state recover` puts that back; docs/stores.md says how to take what is there",
    )


def _not_named(found: Found, named: RunRecord | None) -> Unavailable:
    """`named` is the record that the lease names, None where that is none."""
    if named is not None and not _ahead(found, named):
        return _put_back(found, "its lease names", named)
    refs, ref, lease = found.refs, at.prefix(found.task) + at.RECORD, at.prefix(found.task) + at.LEASE
    what = f"version {named.version} of {named.run}" if named else "what is no record"
    hint = "where it is the run's own, as `git log` of the record's ref tells, `controller state recover` takes it"
    if named is not None:
        back = f"git push --force {refs.address} {found.named}:{ref}"
        hint += f"; to put the other back instead: git fetch {refs.address} {lease} && {back}"
    return Unavailable(
        f"the lease of task {found.task!r} on the remote was put back, or somebody set the record: it names {what}, "
        "and not the record that is there",
        where=refs.address,
        hint=hint,
    )


def _ahead(found: Found, named: RunRecord) -> bool:
    """Whether what is there is newer than the record `named`, and became of it. Raises Unavailable."""
    now = found.newest
    newer = now is not None and (now.number, now.version) > (named.number, named.version)
    return newer and found.goes_on_from(named)


def _lost(found: Found, seen: str) -> RunRecord | None:
    """The newest record in `seen`, which stood on the remote, where what stands there now is not what became of it.
    Commits on top of it are taken for that: a recovery makes some."""
    now = found.stands[at.RECORD]
    if seen == now or found.refs.contains(seen, now):
        return None
    before = Found.of_commit(found.refs, found.task, seen).readable
    return None if before is not None and found.goes_on_from(before) else before


def best(kept: Sequence[Found], named: str | None) -> Found | None:
    """Which of the records that are left is to go on: the one that knows most, of those that know as much one that
    is whole, then the first. One whose work is not to be had gives way to the one that the lease names, where that
    has its own. None where none holds anything of a run."""
    usable = [each for each in kept if each.sound]
    chosen = max(usable, key=_worth, default=None)  # the first of the largest
    if chosen is None or _in_reach(chosen):
        return chosen
    return next((each for each in usable if each.stands[at.RECORD] == named and _in_reach(each)), chosen)


def _in_reach(found: Found) -> bool:
    """Whether the run can go on from its last commit. Raises Unavailable."""
    record = found.readable if found.whole else None
    return record is not None and (record.finished or found.refs.have(record.head))


def _worth(found: Found) -> tuple[int, int, bool, int]:
    record = found.readable if found.whole else None
    return at.newest(found.files) or 0, len(found.sound), found.whole, record.version if record else 0


def beyond(kept: Sequence[Found], chosen: Found) -> dict[str, str]:
    """What is left and is not part of `chosen`: a ref for each, so that nothing is lost."""
    aside: dict[str, str] = {}
    for each in kept:
        commit, record = each.stands[at.RECORD], each.readable
        within = each.refs.contains(commit, chosen.stands[at.RECORD])
        if each.files and not within and (record is None or not chosen.goes_on_from(record)):
            aside[at.was(commit)] = commit
    return aside
