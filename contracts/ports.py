"""The ports: what a part may ask of another. Implementations are found by entry point or handed over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from contracts.actions import ActionCall, ActionResult, ActionSpec, Probed
from contracts.authorities import Authority
from contracts.base import JsonObject
from contracts.dialects import Dialect
from contracts.forge_words import Heard, Place
from contracts.queue import Entry, PostBody
from contracts.ranges import Hunk
from contracts.readings import Printed, Reading
from contracts.recall import Recalled
from contracts.record import AuditRow, RunRecord, Staged
from contracts.reply import AgentProfile, AgentReply, Prompt
from contracts.repository import GitReader
from contracts.text import clean


# ---- agents ----------------------------------------------------------------------------------------------
class Agent(Protocol):
    """One coding agent. `ask` starts one fresh process and never raises for what that process does: every
    failure is a class of AgentReply. `preflight` launches nothing: it raises ConfigError for what would make
    every launch fail (binary, credential), and returns what the user should know. `dialect` is the form it
    answers in. `close` ends a process that waits for a next prompt; it may be asked again."""

    profile: AgentProfile
    dialect: Dialect

    def preflight(self) -> list[str]: ...
    async def ask(self, prompt: Prompt) -> AgentReply: ...
    async def close(self) -> None: ...


@runtime_checkable
class Configured(Protocol):
    """An Agent that can judge its settings by themselves. `configured` raises ConfigError for what they can't mean for
    an agent of its kind, whatever is installed and set on this machine, and returns what the user should know; it looks
    at nothing but the settings. The agent's `preflight` begins with it."""

    def configured(self) -> list[str]: ...


# ---- actions ---------------------------------------------------------------------------------------------
class Action(Protocol):
    """One tool. `run` never raises for what the model asked: that is a failed ActionResult. `probe` says
    whether the deed of this key was already done; it changes nothing. `lasting` says whether this call, ended
    midway, may leave something done outside the worktree."""

    spec: ActionSpec

    def lasting(self, call: ActionCall) -> bool: ...
    async def run(self, call: ActionCall) -> ActionResult: ...
    async def probe(self, call: ActionCall) -> Probed: ...


class Actions(Protocol):
    """The tools of a task by name, and what recovery needs: `reset` puts the worktree back to a commit (a
    half-done deed is kept under a ref), `find` the commit that already holds the deed of a key."""

    def __getitem__(self, tool: str) -> Action: ...
    async def reset(self, head: str, keep_as: str) -> str | None: ...
    async def find(self, key: str) -> str | None: ...


# ---- reconcilers -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Ask:
    """What a reconciler may know of the run: its base and head commit, the step, `now` (UTC seconds), the
    `floor` of each check, what each check `printed` last and at the `start`, the `view` of the state: name ->
    {path, from, to}, the commits `since` which changes matter (an approval rests on files as they were then), the
    `deed` whose evidence is read, where it is one, where the word stands that a yes rests on (`via`, see Entry.via),
    and since when (UTC seconds) each authority `stood` for what is asked of it without a break; None where nothing was
    read before (a run is being opened)."""

    base: str
    head: str
    step: int
    now: float
    floor: Mapping[str, int] = field(default_factory=dict)
    view: Mapping[str, JsonObject] = field(default_factory=dict)
    printed: Mapping[str, Printed] = field(default_factory=dict)
    start: Mapping[str, Printed] = field(default_factory=dict)
    since: tuple[str, ...] = ()
    deed: Staged | None = None
    via: str = ""
    stood: Mapping[str, float] | None = None


class Reconciler(Protocol):
    """One reader of the world. `when` are the moments at which `refresh` calls it. `read` may raise
    Temporary or Permanent: refresh turns that into an `unknown` reading."""

    name: str
    when: tuple[str, ...]

    async def read(self, ask: Ask) -> Reading: ...


class Voices(Protocol):
    """Hears what people say on a forge of what waits for them at `now` (UTC seconds); None where there is no thread for
    it. Raises Temporary, Permanent."""

    async def hear(self, entries: Sequence[Entry], now: float) -> Heard | None: ...


class Board(Protocol):
    """Puts what waits for people where they read it. Says why it could not; empty when it did."""

    async def put(self, entry: Entry, place: Place, run: str) -> str: ...


@dataclass(frozen=True)
class Given:
    """What an authority's reconciler is made with, where its class has a `given`.

    name, authority   as the task has them. base: `workspace.base`, the branch that the task starts from.
    environ           the controller's own environment, for a token; never a child's.
    runner, cwd, env  for one that runs a command: boxed as the authority asks, where, with which environment.
    clear             takes secrets out of a text: what comes from outside is passed through it.
    branch            the run's own branch. keep: puts bytes among the artifacts, redacted; their id.
    git               what may be read of the worktree's repository.
    """

    name: str
    authority: Authority
    base: str
    environ: Mapping[str, str]
    runner: Runner
    cwd: Path
    env: Mapping[str, str]
    clear: Callable[[str], str] = str
    branch: str = ""
    keep: Callable[[bytes], str] | None = None
    git: GitReader | None = None


# ---- store -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Owner:
    """Who holds a lease: host, boot id, pid, its start time (clock ticks or epoch), process group."""

    host: str
    boot: str
    pid: int
    started: str
    pgid: int


@dataclass(frozen=True)
class Lease:
    """A lease on a task. `epoch` grows with every taking: the fence of every write. Times UTC seconds."""

    task: str
    id: str
    epoch: int
    owner: Owner
    expires: float


class Store(Protocol):
    """Where records live. Each write is one transaction.

    load     a run by its id (`task@base#n`) or the newest run of a task by its name, its inbox folded in, a
             staged transition marked `resumed`; None when there is none. Raises Unavailable for a damaged
             or newer store.
    swap     compare-and-swap on `version` (0 creates) and the lease's epoch; appends `row` to the audit
             chain and removes the posts `consumed` in the same transaction; returns the stored record.
             Raises Lost.
    post     puts a person's word into the task's inbox; never changes the version.
    log      the audit rows of a run, oldest first: (seq, prev_hash, hash, row).
    lease    takes the task's lease or raises Busy naming the owner. On the same host an owner whose lease is
             over is ended first, and so is what a dead one left running; one of another host can't be, and its
             worktree is left to it. renew prolongs it or raises Lost.
    unlock   takes the lease with exactly this id away from its owner, who can't write any more. Raises
             ConfigError when the task has no such lease, Busy when the owner lives on this host.
    """

    async def load(self, run: str) -> RunRecord | None: ...
    async def swap(
        self, record: RunRecord, row: AuditRow | None, lease: Lease, consumed: Sequence[int] = ()
    ) -> RunRecord: ...
    async def post(self, task: str, body: PostBody) -> int: ...
    def log(self, run: str) -> AsyncIterator[tuple[int, str, str, AuditRow]]: ...
    async def lease(self, task: str, seconds: float) -> Lease: ...
    async def renew(self, lease: Lease, seconds: float) -> Lease: ...
    async def release(self, lease: Lease) -> None: ...
    async def unlock(self, task: str, id: str) -> Owner: ...


class Ledger(Store, Protocol):
    """A store as people's commands ask it.

    runs    (run id, version, outcome where it is a closing one) of every run of a task, newest first.
    verify  what is wrong with the audit chain of a run; empty when it holds.
    holder  the lease of a task whose owner is, as far as can be known, still alive.
    tasks   the tasks that are known in this folder.
    close   ends what is open.
    """

    async def runs(self, task: str) -> list[tuple[str, int, str | None]]: ...
    async def verify(self, run: str) -> list[str]: ...
    async def holder(self, task: str) -> Lease | None: ...
    async def tasks(self) -> list[str]: ...
    def close(self) -> None: ...


class Gone(KeyError):
    """An artifact that is known to be not there; `why` says where it is, or what became of it."""

    def __init__(self, id: str, why: str) -> None:
        super().__init__(id)
        self.why = why


class Artifacts(Protocol):
    """Full outputs, redacted and content-addressed. `put` returns the id (16 hex digits); durable when it
    returns. `keep` is for what the next `Store.swap` names: durable together with that. `get` raises KeyError, Gone
    where it is known why."""

    def put(self, data: bytes) -> str: ...
    def keep(self, data: bytes) -> str: ...
    def get(self, id: str) -> bytes: ...


class Memory(Protocol):
    """The past of the run at work. `recall` finds `limit` (1-10) pieces of the given kinds (none: of all) that
    hold the words of `query`, which may be any text. Raises Unavailable when it can't be searched."""

    async def recall(self, query: str, kinds: Sequence[str] = (), limit: int = 10) -> Recalled: ...


# ---- workspace -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Opened:
    """The worktree: `root` exists, `head` is its branch's tip; `dirty` when it differs from HEAD: a half-done
    step, or somebody else's changes (looked at when it is first opened; later the readings tell)."""

    root: Path
    branch: str
    base: str
    head: str
    dirty: bool = False
    created: bool = False
    setup: bool = False
    notices: tuple[str, ...] = ()


class Workspace(Protocol):
    """The run's own worktree and branch.

    open  makes, reuses or repairs it and runs the set-up when its inputs changed. Raises ConfigError with
          the reason where the repository can't be used, Moved where this worktree was left to another host's
          controller.
    keep  commits exactly `paths` on the branch with `trailers` (found again by `find`); returns the new head.
          The branch moves only if it still is at `expected`. An empty `paths` makes no commit.
    find  the commit whose trailer `Skill-State-Key` is `key`, between base and head, or None.
    diff  the unified diff between two commits, at most `limit` bytes, cut marks included.
    hunks which lines of `paths` changed between two commits, by path: what views are moved by.
    contains  whether `commit` is `tip` or one of its ancestors.
    base  where the base is now, without a look at the worktree. Raises ConfigError.
    visit the worktree at `commit`, off the branch and set up for it, until an `undo`.
    landed  whether the base, as it was when the worktree was opened, holds the work of a run: its commits, or one that
          names it.
    spoil makes one tracked file invalid for any language (a check must notice); `undo` puts it back.
    start_over  for a new run on the branch of an older one: its tip is kept under a ref, then branch and
          worktree stand at the base, set up for it. Returns that ref, or None when the branch stood there already.
    undo  puts branch and worktree back to `head`; `keep_as` names the ref under which the tree is kept first.
          Ignored files stay. The branch moves only if it still is at `seen` (absent: where this workspace left
          it); else Lost, and nothing was touched. Returns the kept ref, or None when there was nothing to undo.
    """

    async def open(self) -> Opened: ...
    async def keep(
        self, paths: Sequence[str], message: str, trailers: Mapping[str, str], expected: str
    ) -> str: ...
    async def find(self, key: str) -> str | None: ...
    async def diff(self, old: str, new: str, limit: int) -> str: ...
    async def hunks(self, old: str, new: str, paths: Sequence[str]) -> Mapping[str, Sequence[Hunk]]: ...
    async def contains(self, commit: str, tip: str) -> bool: ...
    async def base(self) -> str: ...
    async def visit(self, commit: str) -> None: ...
    async def landed(self, record: RunRecord) -> bool: ...
    async def spoil(self, path: str) -> None: ...
    async def start_over(self, keep_as: str) -> str | None: ...
    async def undo(self, head: str, keep_as: str | None = None, seen: str | None = None) -> str | None: ...


# ---- processes -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Captured:
    """One output stream: `data` is at most the cap (head and tail when cut), `total` the bytes written."""

    data: bytes = b""
    total: int = 0
    artifact: str | None = None

    @property
    def text(self) -> str:
        """Decoded with replacement, control codes (ANSI included) stripped."""
        return clean(self.data)


@dataclass(frozen=True)
class Ran:
    """A child that ended. `exit` is None when we ended it or it never started, 128 + N when it died of signal
    N by itself; `signal` the signal it died of; times in seconds; `survivors` are descendants that had to be
    ended after it.

    missing  the program that was not found. refused: one sentence why the start was refused (program missing
             or not executable, folder missing, argument list too long): the child never ran.
    settled  it had printed its answer (`Settle`) and did not exit: it was ended and the output holds.
    reports  the files that were asked for and that it wrote, redacted, path -> content.
    """

    exit: int | None
    out: Captured = Captured()
    err: Captured = Captured()
    signal: int | None = None
    timed_out: bool = False
    idle: bool = False
    flooded: bool = False
    missing: str = ""
    refused: str = ""
    settled: bool = False
    survivors: tuple[str, ...] = ()
    took: float = 0.0
    reports: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """It ran and ended by itself, in time."""
        return self.exit is not None


@dataclass(frozen=True)
class Settle:
    """For a child that prints its answer and may never exit: `done` looks at the standard output so far (a
    file) and says whether the answer is complete; `grace` seconds after that the child is ended."""

    done: Callable[[Path], bool]
    grace: float = 5.0


class Runner(Protocol):
    """Starts children: own session, stdin from bytes (closed after), outputs to capped files, deadline.

    argv      exec, never a shell; found on the child's PATH. A missing program gives Ran(missing=name).
    env       the whole environment: nothing is inherited.
    timeout   seconds of wall clock; idle: seconds without output (None: no limit).
    cap       bytes kept of each stream; beyond it head 30 % and tail 70 % are kept, `total` counts all.
    keep      put the (redacted) full output up to 16 MiB into the artifacts.
    settle    when the answer is known to be there although the child lives on.
    redact    False only for an agent's reply, whose bytes must not change before they are decoded; what is
              kept as an artifact is redacted in any case.
    reports   globs of files below `cwd` that are read after the run: those that this run wrote.

    A cancelled `run` ends the child and its descendants before it raises.
    """

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes = b"",
        timeout: float,
        idle: float | None = None,
        cap: int = 256 * 1024,
        keep: bool = False,
        settle: Settle | None = None,
        redact: bool = True,
        reports: Sequence[str] = (),
    ) -> Ran: ...
