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
        if not refs.have(record.head):
            raise _out_of_reach(found, record)
        return Standing(record.head, False)
    if tip == record.head:
        return Standing(tip, False)
    if not refs.contains(record.head, tip):
        raise Unavailable(
            f"the branch of {record.run} stands at {tip[:12]} on the remote and does not hold the run's work, "
            f"{record.head[:12]}",
            where=refs.address,
            hint="`controller state recover` sets it to the run's work, and keeps what is there under another ref",
        )
    keys = {key for key in refs.trailers(record.head, tip, KEY) if key}
    known = {record.staged.key} if record.staged else set[str]()
    if keys - known:
        aside = f"{tip}:{at.prefix(found.task)}{at.was(tip)}"
        raise Unavailable(
            f"the branch of {record.run} holds steps that its record does not know: the record was put back",
            where=refs.address,
            hint="`controller state recover` in the clone that made them puts the newer record back; where there is "
            f"none, go on without them, which keeps them: git fetch {refs.address} {ref} && "
            f"git push --force {refs.address} {aside} {record.head}:{ref}; then call again",
        )
    return Standing(tip, not keys)


def mended(found: Found, record: RunRecord) -> dict[str, str]:
    """The refs to move so that the branch holds the work of `record`, what stands there kept where it is something
    else. Raises Unavailable where that can't be: the work is not to be had, or there is more than the record knows."""
    refs, tip = found.refs, found.stands.get(at.WORK)
    if tip is not None and refs.contains(record.head, tip):
        if not record.finished:
            standing(found, record)
        return {}
    if record.finished and tip is not None and not refs.contains(tip, record.head):
        return {}  # nothing goes on from it
    if not refs.have(record.head):
        if record.finished:
            return {}
        raise _out_of_reach(found, record)
    behind = tip is None or refs.contains(tip, record.head)
    return {at.WORK: record.head} | ({} if tip is None or behind else {at.was(tip): tip})


def _out_of_reach(found: Found, record: RunRecord) -> Unavailable:
    address, ref = found.refs.address, at.prefix(found.task) + at.WORK
    tip = found.stands.get(at.WORK)
    where = f"stands at {tip[:12]}" if tip else "is gone"
    return Unavailable(
        f"the branch of {record.run} {where} on the remote, and neither the remote nor this clone has its work, "
        f"{record.head[:12]}",
        where=address,
        hint=f"from a clone that has it: git push --force {address} {record.head}:{ref}; where none has it, it is "
        "lost: docs/stores.md says how to begin afresh",
    )


def moves(found: Found, after: RunRecord) -> dict[str, str]:
    """The refs that move with a write of the record `after`: the branch, when its head is another one. Raises Moved
    where somebody pushed meanwhile: what they pushed is never overwritten."""
    refs, tip = found.refs, found.stands.get(at.WORK)
    if after.head == tip or (found.runs and after.number < found.runs[0]):
        return {}
    if tip is None:
        return {at.WORK: after.head} if refs.have(after.head) else {}
    if refs.contains(tip, after.head):
        return {at.WORK: after.head}
    if after.version == 1 and found.runs:  # a new run begins at the base: what the last one left is kept
        return {at.WORK: after.head, f"run-{found.runs[0]}": tip}
    if refs.contains(after.head, tip):
        return {}  # they are ahead: taken over when the run is opened next
    raise Moved(
        f"somebody pushed onto the branch of {after.run} meanwhile: it is brought here", hint="run again"
    )
