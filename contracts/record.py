"""The run record: everything that a run knows between steps. One JSON document, one version number."""

from __future__ import annotations

from typing import Any, Literal

from contracts.actions import Block
from contracts.approvals import Boundary
from contracts.base import Frozen, JsonObject
from contracts.drift import DRIFT, Drift, Learned, Mark
from contracts.forget import Ages, Forgotten
from contracts.outcomes import CLOSING, EDITED, Outcome
from contracts.paths import PathPolicy
from contracts.queue import (
    DID_NOT,
    HAPPENED,
    Entry,
    Post,
    Refusal,
    StopRequest,
    UserNote,
    decided,
    noted,
    refusals,
)
from contracts.readings import Need, Printed, TestCounts
from contracts.reply import AgentProfile, Usage

CommitMode = Literal["staged", "optimistic", "dual"]

FORMAT = 2
DAY = 86_400
MAX_PRINTED = 48


class Observation(Frozen):
    """What came of the last committed action. `step` and `tool` name it; `diff` is the step's own diff, `forgot` a
    line on what the state let go of in it. `failed` is the code of an action that did not do what it was to do, in
    the mode that goes on all the same."""

    step: int
    tool: str
    head: str
    blocks: tuple[Block, ...] = ()
    diff: str = ""
    forgot: str = ""
    failed: str = ""


class Correction(Frozen):
    """Why the last reply did not become a committed step. At most 2 KB when rendered."""

    step: int
    layer: str
    code: str
    say: str
    excerpt: str = ""


class LaunchFacts(Frozen):
    """What is known of the launch behind a reply; goes into the audit. Digests are hex sha256."""

    agent: AgentProfile
    prompt_digest: str = ""
    prompt_bytes: int = 0
    usage: Usage = Usage()
    charged: Usage = Usage()
    estimated: bool = False
    took: dict[str, float] = {}


class Before(Frozen):
    """The world as the gate saw it: what recovery and verification compare with. `dirty` are paths that
    differed from HEAD before the deed (left behind by a reading): not the action's work. `files` are those that the
    action names for writing, detours and links followed. `basis` is what else it rests on, by name."""

    head: str
    tree: str
    dirty: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    basis: dict[str, str] = {}


class Staged(Frozen):
    """A transition that was allowed and may be executed: the candidate state, the action, how it is proven.

    `intent` is the contract as an approved change leaves it, `changed` the merge patch of a locked field,
    `files` what an approved change of the state's schema writes.
    `policy` says which files the action may change, `boundaries` what nobody has said yes to.
    `resumed` is set by `Store.load`: this one was staged by an earlier call, which may have died anywhere in the
    deed; so is `overtaken`: others have put commits on the branch since, and none of them is this one's. `ruling` is
    what a person said of a deed of which nothing else can tell: HAPPENED or DID_NOT. `printed` is what the commands
    in it printed last.
    `rests` are the marks of what it rests on of the outside, as it was when it was allowed (contracts.marks).
    `deadline` (UTC seconds) is when evidence that is still to come is waited for no longer.
    `outside`: it has an effect beyond the worktree, so what its authorities say next is no drift.
    `learned` is of the entries that it sets. `reported` is what the controller itself writes into its fields of the
    state, from what the authorities say; `points` are those where the pointer to the evidence goes.
    `stale` are the places of the state that did not hold any more when it was asked for.
    `superseded` are the facts that it replaces by what another source says; `unproven` the success criteria that no
    check proves, where it is a `finish`, and `asks` the question that is left of them for a person once evidence holds.
    `forgotten` is what the candidate let go of; `secrets` are the fields of it whose values are never shown.
    `mode` says when the candidate becomes Σ; in `dual` `held` is what is confirmed meanwhile, and `proven` what is
    when evidence holds."""

    run: str = ""
    step: int
    transition: JsonObject
    candidate: JsonObject
    tool: str
    args: JsonObject
    key: str
    fingerprint: str
    proof: Need
    before: Before
    policy: PathPolicy = PathPolicy()
    boundaries: tuple[Boundary, ...] = ()
    resumed: bool = False
    overtaken: bool = False
    launch: LaunchFacts | None = None
    entry: str | None = None
    answer: str | None = None
    intent: JsonObject | None = None
    changed: JsonObject | None = None
    ruling: str | None = None
    deadline: float | None = None
    printed: dict[str, Printed] = {}
    forgotten: Forgotten = Forgotten()
    files: dict[str, str] = {}
    rests: dict[str, str] = {}
    outside: bool = False
    learned: dict[str, Learned] = {}
    reported: JsonObject = {}
    points: tuple[tuple[str, ...], ...] = ()
    stale: tuple[str, ...] = ()
    superseded: JsonObject = {}
    unproven: tuple[str, ...] = ()
    asks: Entry | None = None
    secrets: tuple[tuple[str, ...], ...] = ()
    mode: CommitMode = "staged"
    held: JsonObject | None = None
    proven: JsonObject | None = None


class Reserve(Frozen):
    """A launch that was begun: what is charged if no reply is ever recorded."""

    step: int
    usage: Usage
    prompt_digest: str
    prompt_bytes: int
    at: float


class Spend(Frozen):
    """What the run has used up. `estimated` is True as soon as one charge was a reserve. `day` is the UTC day
    (days since the epoch) of the last charge and `day_usd_micro` what that day cost, over all runs of the task."""

    steps: int = 0
    launches: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    usd_micro: int = 0
    wall: float = 0.0
    estimated: bool = False
    day: int = 0
    day_usd_micro: int = 0

    def today(self, now: float) -> int:
        """Micro-USD charged on the UTC day of `now`."""
        return self.day_usd_micro if self.day == int(now // DAY) else 0

    @property
    def tokens(self) -> int:
        return self.input + self.output


class CheckState(Frozen):
    """A check over the run: how it stood at the start, and when it was last read. `start` is what a guard that was
    red then, and accepted so, printed: it must not get worse. `baseline_coverage` is in percent, `tree` the commit
    at which it was read last."""

    role: Literal["goal", "guard"]
    baseline: bool
    baseline_counts: TestCounts | None = None
    baseline_coverage: float | None = None
    start: Printed | None = None
    passed: bool
    why: str = ""
    counts: TestCounts | None = None
    step: int = 0
    tree: str = ""
    noticed: bool | None = None


class Progress(Frozen):
    """What repetition and standstill are judged by. Collections are bounded, oldest out. `counts` are what the
    worklists said last, `most` the longest that each was in this run."""

    last_step: int = 0
    seen: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    most: dict[str, int] = {}
    fingerprint: str = ""
    repeats: int = 0


class Halt(Frozen):
    """Why the run does not go on. `say` tells a person what to do; `limit` names a used-up budget and its
    value, so that a higher one lifts it; `entry` what waits in the queue."""

    outcome: Outcome
    cause: str
    say: str = ""
    not_before: float | None = None
    limit: str = ""
    value: float = 0.0
    step: int = 0
    entry: str = ""


class Looked(Frozen):
    """Where the base was when the goals of a finished run were looked at there last, and whether all were green."""

    base: str
    green: bool


class RunRecord(Frozen):
    """The record `run` of task `task`. `version` is what compare-and-swap compares; `inbox` is folded in by
    `Store.load` and is no part of the stored document. `rows` and `chain` are the number of its audit rows and the
    hash of the last one: a row cut off the end is noticed. `printed` is what each command (`run NAME`) and check
    (`check NAME`) printed last, at most MAX_PRINTED, oldest out. `ages` are those of the entries of the state that
    may be let go of. `intent` is the user's contract as approved changes left it (None: as the task has it);
    `refused` the proposals that people said no to, `said` what they said since the last audit row. `confirmed` (mode
    `dual`) is as much of the state as evidence has shown, None where that is all of it. `pull_request` is the address
    of the run's own. `looked` is of a finished run that may be repeated. `left_out` are agents that are not asked:
    until when (UTC seconds; None: for the rest of the run). `outside` is the snapshot of what authorities said
    last, `drift` what of it changed and no committed step has seen yet (contracts.drift). `learned` says since when,
    and on what, an entry of the state is known, by its JSON pointer (contracts.freshness). `grown` are the files of the
    schema that people agreed to, by name: a clone that does not have them writes them."""

    format: int = FORMAT
    task: str
    run: str
    number: int = 1
    version: int = 0
    opened: float
    base: str
    branch: str
    head: str
    state: JsonObject
    state_version: int = 1
    grown: dict[str, str] = {}
    confirmed: JsonObject | None = None
    intent: JsonObject | None = None
    ages: Ages = {}
    step: int = 0
    observation: Observation | None = None
    correction: Correction | None = None
    staged: Staged | None = None
    reserve: Reserve | None = None
    queue: tuple[Entry, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: tuple[UserNote, ...] = ()
    spent: Spend = Spend()
    rejections: int = 0
    failures: int = 0
    progress: Progress = Progress()
    checks: dict[str, CheckState] = {}
    printed: dict[str, Printed] = {}
    halt: Halt | None = None
    pull_request: str = ""
    looked: Looked | None = None
    left_out: dict[str, float | None] = {}
    digests: dict[str, str] = {}
    rows: int = 0
    chain: str = ""
    ratio: float = 2.0
    said: tuple[str, ...] = ()
    outside: dict[str, Mark] = {}
    drift: tuple[Drift, ...] = ()
    learned: dict[str, Learned] = {}
    inbox: tuple[Post, ...] = ()

    @property
    def outcome(self) -> Outcome | None:
        return self.halt.outcome if self.halt else None

    @property
    def known(self) -> JsonObject:
        """As much of the state as evidence has shown."""
        return self.state if self.confirmed is None else self.confirmed

    @property
    def approved(self) -> Entry | None:
        """The oldest entry that a person said yes to: it takes the place of an agent's reply."""
        parked = (entry for entry in self.queue if entry.kind != "unknown")
        return next((entry for entry in parked if entry.status == "approved"), None)

    @property
    def finished(self) -> bool:
        return self.outcome in CLOSING

    def folded(self, inbox: tuple[Post, ...]) -> RunRecord:
        """The record with people's words taken in: an answer approves its `ask`, a yes its entry; a no removes it
        and becomes the correction; a note is shown. The version stays; the next write consumes the posts."""
        queue, staged, halt = decided(self.queue, inbox), self.staged, self.halt
        ruled = next(
            (entry for entry in queue if entry.kind == "unknown" and entry.status == "approved"), None
        )
        if staged is not None and ruled is not None and ruled.answer in (HAPPENED, DID_NOT):
            staged = staged.model_copy(update={"ruling": ruled.answer})
        refused = [entry for entry in queue if entry.status == "rejected"]
        correction = _refusal(refused[-1], self.step) if refused else self.correction
        if halt is not None and any(entry.id == halt.entry for entry in refused):
            halt = None
        return self.model_copy(
            update={
                "inbox": inbox,
                "queue": tuple(entry for entry in queue if entry.status != "rejected"),
                "refused": refusals(self.refused, refused, inbox),
                "notes": noted(self.notes, inbox),
                "staged": staged,
                "correction": correction,
                "halt": halt,
            }
        )

    @property
    def stop(self) -> StopRequest | None:
        """A person's wish that the run ends after the step at hand."""
        return next((post.body for post in self.inbox if isinstance(post.body, StopRequest)), None)

    def closed(self, now: float) -> bool:
        """Finished, or halted and the cause still stands at `now` (UTC epoch seconds)."""
        match self.halt:
            case None:
                return False
            case Halt(outcome=Outcome.waiting, not_before=float(due)):
                return now < due
            case Halt(outcome=Outcome.waiting):
                return False
            case Halt(cause=cause, entry=asked) if cause == DRIFT:  # another yes does not answer it
                return all(entry.id != asked or entry.status != "approved" for entry in self.queue)
            case Halt(outcome=Outcome.blocked, cause=cause):
                return cause in EDITED or (self.approved is None and not (self.staged and self.staged.ruling))
            case _:
                return True


def _refusal(entry: Entry, step: int) -> Correction:
    """What the agent is told of a person's no."""
    why = f": {entry.answer}" if entry.answer else ", and gave no reason"
    say = f"{entry.decider} said no to {entry.id} ({entry.why[:300]}){why[:900]}. Do without it."
    return Correction(step=step, layer="policy", code="queue.rejected", say=say)


AuditKind = Literal["opened", "step", "reply", "decision", "halt", "migration"]


class AuditRow(Frozen):
    """One row of the hash chain; `null` means not measured, which is not 0. Fields follow the paper's trace
    and the governance around it; `extra` holds what a kind adds (checks, decider, diff stat)."""

    kind: AuditKind
    at: float
    step_id: str
    step: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_chars: int | None = None
    state_bytes: int | None = None
    observation_bytes: int | None = None
    patch_bytes: int | None = None
    state_patch: Any = None
    action: Any = None
    digests: dict[str, str] = {}
    validator_result: str | None = None
    retry_count: int = 0
    tool_result: str | None = None
    score_delta: dict[str, int] | None = None
    action_fingerprint: str | None = None
    repeated_of: int | None = None
    stale_pointers: tuple[str, ...] = ()
    cas_conflicts: int = 0
    human_events: tuple[str, ...] = ()
    usage: Usage | None = None
    charged: Usage | None = None
    estimated: bool = False
    durations: dict[str, float] = {}
    agent: str | None = None
    model: str | None = None
    credential: str | None = None
    commit: str | None = None
    undone: str | None = None
    outcome: str | None = None
    extra: JsonObject = {}
