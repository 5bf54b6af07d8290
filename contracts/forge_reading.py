"""What is read of a forge and a remote so that the run may act there: its branch, its pull request, what caps count."""

from __future__ import annotations

from typing import Literal

from contracts.base import Frozen
from contracts.text import line

NAME = "forge"  # of the reading, among the authorities


class Request(Frozen):
    """A pull request (GitLab: merge request) of the run's branch.

    head, base  the commit that it stands at, the branch that it is for
    body        digest of its description, marks left out; keys, run: those of its marks
    opened      UTC seconds. merged: the commit that it was merged as
    """

    number: int
    state: Literal["open", "merged", "closed"]
    draft: bool = False
    title: str
    head: str
    base: str
    url: str = ""
    body: str = ""
    keys: tuple[str, ...] = ()
    run: str = ""
    opened: float = 0.0
    merged: str = ""

    @property
    def said(self) -> str:
        """One line, without its title."""
        state = "draft" if self.state == "open" and self.draft else self.state
        return f"pull request {self.number} {state} at {self.head[:12]} into {self.base}"


class CiRun(Frozen):
    """What can be run again: a workflow run or a pipeline of the run's commit. `attempt` counts from 1; a newer one of
    the same `flow` replaces it."""

    id: int
    name: str
    flow: str = ""
    attempt: int = 1
    failed: bool = False
    over: bool = True


class Seen(Frozen):
    """What the forge shows of the deed whose evidence is read. `found`: the deed is there."""

    key: str
    found: bool
    say: str = ""


class Said(Frozen):
    """A word of a person that a yes rests on: where it stands (`Entry.via`), and whether it still stands there."""

    via: str
    holds: bool


class ForgeReading(Frozen):
    """The run's branch on the remote, and what stands around it. `sha` is the run's own commit.

    tip      where the remote's branch stands; None: it is not there
    holds    whether the run's commit holds what stands there: a push loses nothing
    foreign  commits there that the run does not have, newest first, `AUTHOR: SUBJECT`, of `others` in all
    request  the pull request of the branch: an open one, else the newest
    opened   how many pull requests of ours are open; recent: when those of the last hour were opened; None: not read
    opens    when (UTC seconds) the task's schedule allows deeds again; None: it does now
    free     whether the caps, and the schedule, allow another pull request
    runs     what CI ran for the commit, where it may be run again
    deed     the evidence, where it was asked for
    word     the word that an approved entry rests on, where it was said on the forge
    """

    kind: Literal["forge"] = "forge"
    name: str = NAME
    provider: str
    place: str
    branch: str
    base: str
    sha: str
    tip: str | None = None
    holds: bool = True
    foreign: tuple[str, ...] = ()
    others: int = 0
    request: Request | None = None
    opened: int | None = None
    recent: tuple[float, ...] | None = None
    opens: float | None = None
    free: bool = False
    runs: tuple[CiRun, ...] = ()
    deed: Seen | None = None
    word: Said | None = None
    took: float = 0.0

    @property
    def head(self) -> str:
        """One line in our own words."""
        return line(f"{self.name}: {self.place}; branch {self.branch} {self.pushed}", 400)

    @property
    def pushed(self) -> str:
        if self.tip is None:
            return "is not on the remote"
        if self.tip == self.sha:
            return f"is pushed, at {self.tip[:12]}"
        if self.holds:
            return f"is pushed up to {self.tip[:12]}; what came after is not"
        return f"stands at {self.tip[:12]} on the remote, with commits of others that are not yours"

    @property
    def text(self) -> str:
        """What people wrote is in it."""
        rows = [f"not yours: {each}" for each in self.foreign]
        rows += [f"… and {self.others - len(self.foreign)} more"] if self.others > len(self.foreign) else []
        if self.request is not None:
            rows.append(line(f"{self.request.said}: {self.request.title} {self.request.url}", 400))
        return "\n".join(rows)
