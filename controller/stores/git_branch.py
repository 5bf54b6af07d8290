"""The run's branch on a remote beside what the record says of it: what somebody else pushed, what was lost."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.errors import Moved, Unavailable
from contracts.record import RunRecord
from controller.stores import git_layout as at
from controller.stores.git_found import Found

KEY = "Skill-State-Key"


@dataclass(frozen=True)
class Standing:
    """The branch is at `tip`; `theirs`: by commits that no step of the run made."""

    tip: str
    theirs: bool


def standing(found: Found, record: RunRecord) -> Standing:
    """Where the branch of the newest run stands. Raises Unavailable where it does not hold the run's work, or holds
    steps that the record does not know."""
    refs, ref = found.refs, at.prefix(found.task) + at.WORK
    tip = found.stands.get(at.WORK)
    if tip is None:  # deleted by somebody: the record says where it was, and the next write puts it back
        if refs.read([record.head]) == [None]:
            raise Unavailable(
                f"the branch of {record.run} is gone from the remote, and this clone does not have its commits",
                where=refs.address,
                hint=f"from a clone that has them: git push {refs.address} {record.head}:{ref}",
            )
        return Standing(record.head, False)
    if tip == record.head:
        return Standing(tip, False)
    if not refs.contains(record.head, tip):
        raise Unavailable(
            f"the branch of {record.run} stands at {tip[:12]} on the remote and does not hold the run's work, "
            f"{record.head[:12]}",
            where=refs.address,
            hint=f"from a clone that has it: git push --force {refs.address} {record.head}:{ref}",
        )
    keys = {key for key in refs.trailers(record.head, tip, KEY) if key}
    known = {record.staged.key} if record.staged else set[str]()
    if keys - known:
        raise Unavailable(
            f"the branch of {record.run} holds steps that its record does not know: the record was put back",
            where=refs.address,
            hint="`controller state recover` in the clone that made them, or put the newer record back",
        )
    return Standing(tip, not keys)


def moves(found: Found, after: RunRecord) -> dict[str, str]:
    """The refs that move with a write of the record `after`: the branch, when its head is another one. Raises Moved
    where somebody pushed meanwhile: what they pushed is never overwritten."""
    refs, tip = found.refs, found.stands.get(at.WORK)
    if after.head == tip or (found.runs and after.number < found.runs[0]):
        return {}
    if tip is None or refs.contains(tip, after.head):
        return {at.WORK: after.head}
    if after.version == 1 and found.runs:  # a new run begins at the base: what the last one left is kept
        return {at.WORK: after.head, f"run-{found.runs[0]}": tip}
    if refs.contains(after.head, tip):
        return {}  # they are ahead: taken over when the run is opened next
    raise Moved(
        f"somebody pushed onto the branch of {after.run} meanwhile: it is brought here", hint="run again"
    )


def refuse_lost(found: Found, seen: str | None) -> None:
    """Raises Unavailable where what stands on the remote can't be what became of what this clone had `seen` there
    before it looked, or of what the lease names; or where the record is gone and the work is not: nothing starts
    afresh by itself. Notes what is there as seen."""
    refs, ref = found.refs, at.prefix(found.task) + at.RECORD
    now = found.stands.get(at.RECORD)
    if now is None:
        if seen is None and found.named is None and at.WORK not in found.stands:
            return
        left = f"its branch is there, {at.prefix(found.task)}{at.WORK}"
        what = "this clone saw it there" if seen else "its lease names it" if found.named else left
        raise Unavailable(
            f"the record of task {found.task!r} is gone from the remote: {what}",
            where=refs.address,
            hint="`controller state recover` puts it back, in a clone that saw it or where the lease names it; "
            "docs/stores.md says how to begin afresh",
        )
    for witness, commit in (("this clone saw", seen), ("its lease names", found.named)):
        if (before := lost(found, commit)) is not None:
            raise Unavailable(
                f"the record of task {found.task!r} on the remote was put back, or is another one: {witness} "
                f"version {before.version} of {before.run} at step {before.step}",
                where=refs.address,
                hint="`controller state recover` puts that back; docs/stores.md says how to take what is there",
            )
    if found.unnamed:
        raise Unavailable(
            f"the lease of task {found.task!r} on the remote is gone, or names no record: nothing tells whether the "
            "record was put back",
            where=refs.address,
            hint="see with `git log` of the record's ref that it is the newest; `controller state recover` takes it",
        )
    if refs.seen(ref) == seen:  # else another process of this clone has seen more by now
        refs.saw(ref, now)


def lost(found: Found, commit: str | None) -> RunRecord | None:
    """The newest record in `commit`, which stood on the remote, where what stands there now is not what became of it.
    Commits on top of one that this clone saw are taken for that (a recovery makes some); the one that the lease names
    was the last of all, so another commit of the same version is somebody else's."""
    now = found.stands[at.RECORD]
    if commit is None or commit == now or (commit != found.named and found.refs.contains(commit, now)):
        return None
    before = Found.of_commit(found.refs, found.task, commit).readable
    if before is None or not found.goes_on_from(before):
        return before
    after = found.record(before.number)
    return before if commit == found.named and after is not None and after.version == before.version else None


def stood(found: Found, seen: str | None) -> str | None:
    """The record commit to be put back: the newest that is known to have stood there and to be lost."""
    gone = [each for each in (seen, found.named) if each and _gone(found, each)]
    if len(gone) > 1 and not found.refs.contains(gone[0], gone[1]):
        gone.pop()  # this clone saw more
    return gone[-1] if gone else None


def _gone(found: Found, commit: str) -> bool:
    try:
        return at.RECORD not in found.stands or lost(found, commit) is not None
    except Unavailable:  # what stands there is damaged
        return True
