"""What the reconcilers read of the world. A reading is data: source, revision, time; never a deed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from contracts.base import Frozen
from contracts.ci import CiCheck, CiState
from contracts.deployed import DeploymentReading
from contracts.documents import DocumentsReading
from contracts.forge_reading import NAME as FORGE
from contracts.forge_reading import ForgeReading
from contracts.telemetry import ValueReading


class TestCounts(Frozen):
    """What a test runner printed about itself; `failures` are names of failed tests, at most 20. `marks` are 8 hex
    digits of each name, at most 400: what a later run is compared with."""

    __test__ = False

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()
    runner: str = ""
    marks: tuple[str, ...] = ()


class Problems(Frozen):
    """What compilers and linters complained of. `codes`: rule -> how often, most frequent first, at most 12.
    `marks`: 8 hex digits of each complaint's file, rule and message (not its line), at most 400."""

    errors: int = 0
    warnings: int = 0
    files: int = 0
    codes: dict[str, int] = {}
    marks: tuple[str, ...] = ()


class Printed(Frozen):
    """What a command printed, as the next run of it is compared with. `step` is the one since which it prints
    the same (0: the run's opening); `digest` of the text with times stripped, empty when it is not known whole."""

    step: int
    exit: int | None = None
    digest: str = ""
    counts: TestCounts | None = None
    problems: Problems | None = None


class GitReading(Frozen):
    """The worktree and its branch. Paths are relative to the worktree, POSIX.

    dirty  path -> sha256 of the content (symlink: of its target), None where the file is gone, for everything
           that differs from HEAD, untracked files included, ignored ones not.
    tree   digest of HEAD and `dirty`: changes with every content change; no object is written for it.
    diff   pointer to the diff so far, `base..head`.
    links  dirty or tracked symlinks, path -> target (capped at 1,000).
    secrets dirty path -> what looks like a secret in it and is not in HEAD's version; never the value.
    changed earlier commit -> what differs between it and HEAD, for the commits that `Ask.since` names.
    unfit  dirty path -> why it may not be committed whatever the scope: a link out of the worktree, a huge file.
    config digest of the repository's configuration, attributes and hooks: what could make a git run code.
    """

    kind: Literal["git"] = "git"
    repository: str
    remote: str | None = None
    branch: str
    base: str
    head: str
    ahead: int = 0
    behind: int = 0
    staged: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    dirty: dict[str, str | None] = {}
    tree: str
    diff: str = ""
    tags: tuple[str, ...] = ()
    version: str | None = None
    links: dict[str, str] = {}
    secrets: dict[str, str] = {}
    changed: dict[str, tuple[str, ...]] = {}
    unfit: dict[str, str] = {}
    config: str = ""
    problem: str | None = None
    took: float = 0.0


class CommandReading(Frozen):
    """An authority that is a command. `count` and `lines` only with `worklist: true`. Times in seconds."""

    kind: Literal["command"] = "command"
    name: str
    ok: bool
    exit: int | None
    timed_out: bool = False
    text: str = ""
    total: int = 0
    artifact: str | None = None
    worklist: bool = False
    count: int | None = None
    counts: TestCounts | None = None
    digest: str = ""
    took: float = 0.0


class CheckReading(Frozen):
    """A check that was run now, on tree `tree`. `why` is one line: what made it pass or fail. One that rests on an
    authority and is not decided yet has `not_before`: when (UTC seconds) it may be, without anybody's doing."""

    kind: Literal["check"] = "check"
    name: str
    role: Literal["goal", "guard"]
    passed: bool
    why: str
    exit: int | None
    timed_out: bool = False
    counts: TestCounts | None = None
    coverage: float | None = None
    text: str = ""
    total: int = 0
    artifact: str | None = None
    printed: Printed | None = None
    pins_broken: tuple[str, ...] = ()
    tree: str = ""
    not_before: float | None = None
    took: float = 0.0


class CiReading(Frozen):
    """What continuous integration says of commit `sha`, by the tables of contracts.ci.

    checks     what decides first, at most 60 of `total`; `flaky` names those that failed and then passed on it.
    missing    required checks that have not appeared. why: our own words, nothing of the outside.
    note       the provider's words where it could not be read, or where the pull request stands; one line.
    not_before UTC seconds: when it may say something else by itself. None: not before somebody does something.
    read       False: it could not be read, so this is nothing that it says.
    """

    kind: Literal["ci"] = "ci"
    name: str
    provider: str
    sha: str
    state: CiState
    why: str
    note: str = ""
    checks: tuple[CiCheck, ...] = ()
    total: int = 0
    missing: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    not_before: float | None = None
    read: bool = True
    took: float = 0.0

    @property
    def said(self) -> str:
        """One line of ours."""
        return f"{self.provider} says {self.state} of {self.sha[:12]}: {self.why}"

    def passes(self, head: str) -> bool:
        """Whether it is positive evidence for that commit."""
        return self.state == "passed" and self.sha == head

    @property
    def text(self) -> str:
        """What is known of each check, a line each, what decides first. Words from outside are in it."""
        lines = [f"missing: {name}" for name in self.missing]
        lines += [f"flaky, failed and then passed on this commit: {name}" for name in self.flaky]
        lines += [check.said for check in self.checks]
        more = self.total - len(self.checks)
        return "\n".join([self.note, *lines] if self.note else lines) + (
            f"\n… and {more} more" if more else ""
        )


class ViewPiece(Frozen):
    """One view: lines `first`–`last` of the `total` lines of `path`, numbered, or the `problem` with it. `inside` names
    the headers that the range stands in, `notes` what the rows alone do not tell of the file."""

    path: str
    first: int
    last: int
    total: int = 0
    text: str = ""
    problem: str = ""
    inside: str = ""
    notes: str = ""


class ViewReading(Frozen):
    """The file ranges that the state asks for, as they are now, by their name in the state."""

    kind: Literal["view"] = "view"
    name: str = "view"
    pieces: dict[str, ViewPiece] = {}
    took: float = 0.0


class UnknownReading(Frozen):
    """An authority that could not be read. Never a pass, never a failure."""

    kind: Literal["unknown"] = "unknown"
    name: str
    why: str
    took: float = 0.0


Reading = Annotated[
    GitReading
    | CommandReading
    | CheckReading
    | CiReading
    | DocumentsReading
    | ForgeReading
    | DeploymentReading
    | ValueReading
    | ViewReading
    | UnknownReading,
    Field(discriminator="kind"),
]


AFTER_CHECKS = "git after checks"  # the name of the git reading that follows checks


class Readings(Frozen):
    """One refresh. `at` is UTC seconds since the epoch, `took` the seconds of the whole refresh."""

    at: float
    took: float = 0.0
    items: dict[str, Reading] = {}

    @property
    def git(self) -> GitReading | None:
        found = self.items.get("git")
        return found if isinstance(found, GitReading) else None

    @property
    def tip(self) -> str | None:
        """Where the run's branch was when it was read last; None when it was not read."""
        found = self.items.get(AFTER_CHECKS, self.git)
        return found.head if isinstance(found, GitReading) else None

    @property
    def counts(self) -> dict[str, int]:
        """How many items are left, by worklist."""
        counted = (CommandReading, DocumentsReading)
        return {
            name: item.count
            for name, item in self.items.items()
            if isinstance(item, counted) and item.worklist and item.count is not None
        }

    @property
    def pull_request(self) -> str:
        """The address of the pull request of the run's branch; empty where none is read."""
        found = self.items.get(FORGE)
        return found.request.url if isinstance(found, ForgeReading) and found.request else ""

    @property
    def checks(self) -> dict[str, CheckReading]:
        return {name: item for name, item in self.items.items() if isinstance(item, CheckReading)}


def check_id(name: str) -> str:
    """What names a check among what was printed last."""
    return f"check {name}"


class Need(Frozen):
    """What a refresh must read: everything with one of the moments `when`, and what is named."""

    when: tuple[Literal["step", "edit", "finish"], ...] = ()
    names: tuple[str, ...] = ()


STEP = Need(when=("step",))
EVERYTHING = Need(when=("step", "edit", "finish"))
