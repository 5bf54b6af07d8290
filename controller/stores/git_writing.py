"""Writing to the refs of a remote: a write is planned on what is known of a task, and planned anew where it moved."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from contracts.errors import ControllerError, Lost, Unavailable
from contracts.record import RunRecord
from contracts.refs import Draft, Move, Refs
from controller.stores import git_layout as at
from controller.stores import git_lost
from controller.stores.git_found import Found

TRIES = 12  # times that a write is planned anew because something moved
TORN = (0.2, 1.0)  # seconds before what does not fit is looked at again: a push may be seen half-way


@dataclass(frozen=True)
class Plan:
    """A write: commits to make, each for the ref of that short name, and other refs to move; what is known `then`, the
    record as it is stored among it. A lease among them is made to name the record that it is written with."""

    drafts: Mapping[str, Draft]
    moves: Mapping[str, str] = field(default_factory=dict)
    then: Mapping[str, object] = field(default_factory=dict)
    record: RunRecord | None = None


class Desk:
    """What this process knows of the tasks on a remote, and the only place where it writes. One at a time: a lease is
    renewed while a step is stored."""

    def __init__(self, refs: Refs, trusting: bool = False) -> None:
        self.refs, self.trusting = refs, trusting
        self.known: dict[str, Found] = {}
        self._guard = threading.RLock()

    def look(self, task: str) -> Found:
        """What stands on the remote now. Raises Unavailable where that can't be what became of what stood there."""
        with self._guard:
            pauses = iter(TORN)
            while True:
                seen = self.refs.seen(at.prefix(task) + at.RECORD)
                found = Found.read(self.refs, task, self.known.get(task))
                try:
                    if not self.trusting:
                        git_lost.refuse_lost(found, seen)
                except Unavailable:
                    if (pause := next(pauses, None)) is None:
                        raise
                    time.sleep(pause)
                    continue
                self.known[task] = found
                return found

    def last(self, task: str) -> Found:
        """What is known; looked at where nothing is."""
        with self._guard:
            return self.known.get(task) or self.look(task)

    def write(self, task: str, plan: Callable[[Found], Plan | None]) -> None:
        """Carries a plan out on what stands on the remote; made anew where that has moved. Raises what `plan` raises
        on a fresh look, Lost, Unavailable."""
        with self._guard:
            found = self.known.get(task)
            for attempt in range(TRIES):
                fresh = found is None
                found = found or self.look(task)
                try:
                    planned = plan(found)
                except ControllerError:
                    if fresh:
                        raise
                    found = None  # it may only be what we knew: look
                    continue
                if planned is None:
                    return
                self.known.pop(task)  # not known any more until the push says so
                try:
                    self.known[task] = self._pushed(found, planned)
                    return
                except Lost:
                    found = None
                    time.sleep(random.uniform(0, 0.05) * attempt)
        raise Lost(f"task {task!r} is being written to by others all the time", where=self.refs.address)

    def _pushed(self, found: Found, plan: Plan) -> Found:
        drafts, named = dict(plan.drafts), found.named
        if at.LEASE in drafts:
            beside: str | int | None = plan.moves.get(at.RECORD, named)
            lease = drafts.pop(at.LEASE)
            if at.RECORD in drafts:
                beside = list(drafts).index(at.RECORD)
            drafts[at.LEASE] = replace(lease, parent=beside)
        made = dict(zip(drafts, self.refs.make(list(drafts.values())), strict=True))
        new = {**plan.moves, **made}
        prefix = at.prefix(found.task)
        moves = [Move(prefix + name, found.stands.get(name, ""), oid) for name, oid in new.items()]
        self.refs.push(moves, brief=at.RECORD not in new)
        if at.RECORD in new:
            self.refs.saw(prefix + at.RECORD, new[at.RECORD])
        files = dict(found.files)
        for path, data in (plan.drafts[at.RECORD].files if at.RECORD in plan.drafts else {}).items():
            if data is None:
                files.pop(path, None)
            else:
                files[path] = len(data)
        more = {"named": new.get(at.RECORD, named), **plan.then}
        return found.after({**found.stands, **new}, files, plan.record, **more)
