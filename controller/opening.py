"""opening: the run to work on. A new one with every check's baseline and the proof that guards see the worktree, or
the newest, caught up with what happened since: its branch, its task, a halt whose cause is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from contracts.charter import Charter
from contracts.errors import ConfigError, Temporary, Unavailable
from contracts.forget import carried
from contracts.outcomes import Outcome
from contracts.readings import EVERYTHING, CheckReading, Need, Readings, UnknownReading, check_id
from contracts.record import CheckState, Halt, Progress, RunRecord, Spend
from contracts.veil import veiled
from contracts.verdicts import Decided
from controller.again import again
from controller.claim import claim
from controller.commit import commit
from controller.deadline import Deadline
from controller.drifting import drifted
from controller.edited import same_task
from controller.gate import GIT_CONFIG, MOVED
from controller.halts import lifting
from controller.refresh import is_check, refresh
from controller.rig import Fence, Rig
from controller.stores.git import GitStore


@dataclass(frozen=True)
class Options:
    """new: open another run; one that is not finished is given up. retry: lift `failed`, `stuck` and `blocked`
    that no answer lifts. accept: take an edited intent as it is. limit: at most so many steps in this call (None: no
    limit). patience: seconds of a wait that the call sleeps through, also of one that it begins in. deadline: nothing
    is begun that can't be expected to end before it. swaps: the task's fallback agents may take over,
    those not that are `unusable` (name -> why) on this machine."""

    new: bool = False
    retry: bool = False
    accept: bool = False
    limit: int | None = None
    patience: float = 0.0
    deadline: Deadline | None = None
    swaps: bool = False
    unusable: Mapping[str, str] = field(default_factory=dict)
    by: str = ""


async def opened(rig: Rig, options: Options) -> RunRecord:
    """The run to work on: the newest one, its halt lifted where the cause is gone, or a new one."""
    name = rig.task.task.name
    found = await rig.store.load(name)
    if found is None or not found.finished or options.new:
        rig.room()
    async with claim(name, rig) as fence:
        record = await rig.store.load(name)
        if record is not None and options.new and not record.finished:
            await _given_up(record, rig, options, fence)
        if record is None or options.new or await _repeats(record, rig, fence, options):
            return await _begin(rig, fence, record, options)
        _fits(record, rig)
        if broken := await _chain(record, rig):
            raise Unavailable(
                f"the audit of run {record.run} is damaged: {broken}", hint="controller log --verify"
            )
        await _configured(record, rig)
        record = await _caught_up(record, options, fence)
        record = await same_task(
            record, rig, fence, retry=options.retry, accept=options.accept, by=options.by
        )
        if record.staged is None and fence.opened.dirty:
            kept = await fence.workspace.undo(fence.opened.head, f"{record.run}/found/{record.step}")
            fence.watch.note(f"the worktree held changes that no step made; kept as {kept}")
        return await _lifted(record, rig, options, fence)


async def _repeats(record: RunRecord, rig: Rig, fence: Fence, options: Options) -> bool:
    if not record.finished or rig.task.task.repeat == "never":
        return False
    if fence.opened.dirty:
        await fence.workspace.undo(fence.opened.head, f"{record.run}/found/{record.step}")
    return await again(record, rig, fence, options.by)


def same_version(record: RunRecord, law: Charter) -> None:
    """Nothing is asked of an agent while state and schema are of two versions; a step that is half done is finished
    first. Raises ConfigError with the command that mends it, Unavailable for a version that the contract does not
    know."""
    ours, wanted = record.state_version, law.schema.version
    if ours == wanted or record.staged is not None:
        return
    if ours not in law.schemas:
        raise Unavailable(
            f"the state of run {record.run} is of version {ours}; the contract folder knows {_listed(law.schemas)}",
            hint="put the newer contract folder back",
        )
    raise ConfigError(
        f"the state of run {record.run} is of version {ours}, its schema of version {wanted}",
        hint=f"`controller state migrate --to {wanted} --dry-run` shows the change, without --dry-run makes it",
    )


def _listed(versions: Iterable[int]) -> str:
    return "version " + ", ".join(map(str, versions))


def _fits(record: RunRecord, rig: Rig) -> None:
    """Raises ConfigError when the schema was edited, its version was not, and the state breaks it now."""
    if record.finished:
        return
    if record.confirmed is not None and rig.task.task.commit_mode != "dual":
        raise ConfigError(
            f"the state of run {record.run} holds what is desired and not confirmed",
            hint="write `commit_mode: dual` until it is; another mode could not tell them apart",
        )
    same_version(record, rig.task)
    if record.state_version != rig.task.schema.version:
        return
    for state in (record.state, *([record.staged.candidate] if record.staged else [])):
        if wrong := rig.task.schema.errors(state):
            raise ConfigError(
                f"the state of run {record.run} does not fit the schema any more: {wrong[0]}",
                hint="put the schema back; one under which old states are no longer valid needs the next x-version and "
                "a migration",
            )


async def _chain(record: RunRecord, rig: Rig) -> str:
    """What is wrong with the audit of an unfinished run; empty when it holds."""
    verify = getattr(rig.store, "verify", None)
    wrong = await verify(record.run) if verify and not record.finished else []
    return "; ".join(wrong[:3])


async def _caught_up(record: RunRecord, options: Options, fence: Fence) -> RunRecord:
    """With the branch where it stands now. Commits on top of the run's work are taken over and said; a branch
    that lost the run's work is for a person."""
    tip = fence.opened.head
    if record.staged is not None or record.finished or tip == record.head:
        return record
    if not await fence.workspace.contains(record.head, tip):
        raise ConfigError(
            f"branch {record.branch} stands at {tip[:12]} and does not hold the run's work, {record.head[:12]}",
            hint=f"`git branch -f {record.branch} {record.head[:12]}` with the worktree removed brings it back; "
            "`controller run --new` begins anew",
        )
    what = f"the branch moved from {record.head[:12]} to {tip[:12]} by somebody else's commits: taken over"
    fence.watch.note(what)
    halt = None if record.halt and record.halt.cause == MOVED else record.halt
    moved = record.model_copy(update={"head": tip})
    return await commit(moved, Decided(what=what, by=options.by, halt=halt, at=fence.now), fence)


async def _given_up(record: RunRecord, rig: Rig, options: Options, fence: Fence) -> None:
    """An unfinished run that `--new` leaves behind: said and written down. `start_over` keeps its branch."""
    if fence.opened.dirty:
        await fence.workspace.undo(fence.opened.head, f"{record.run}/found/{record.step}")
    rig.watch.note(f"run {record.run} is given up unfinished at step {record.step}")
    say = "given up for a new run (--new)"
    halt = Halt(outcome=Outcome.failed, cause="given up", say=say, step=record.step)
    record = record.model_copy(update={"staged": None, "reserve": None})
    await commit(record, Decided(what="given up", by=options.by, halt=halt, at=fence.now), fence)


async def _lifted(record: RunRecord, rig: Rig, options: Options, fence: Fence) -> RunRecord:
    """Without the halt whose cause is gone."""
    what = lifting(record, rig.task.task, retry=options.retry, now=fence.now)
    if record.halt is None or not what:
        return record
    digests = {}
    if record.halt.cause == GIT_CONFIG:
        found = await _configured(record, rig, anew=True)
        digests = {GIT_CONFIG: found} if found else {}
    if options.retry:
        record = record.model_copy(update={"left_out": {}})
    return await commit(record, Decided(what=what, by=options.by, at=fence.now, digests=digests), fence)


async def _configured(record: RunRecord, rig: Rig, *, anew: bool = False) -> str:
    """The digest of the repository's configuration as it is. Each clone has one of its own, and a CI job's another one
    each time; so where a run goes from clone to clone it is the clone that knows what it began with."""
    remote = isinstance(rig.store, GitStore)
    if record.finished or not (remote or anew):
        return ""
    git = (await refresh(record, rig.readers, need=Need(names=("git",)))).git
    if git is not None and isinstance(rig.store, GitStore):
        known = await rig.store.first(f"{GIT_CONFIG} {record.run}", git.config, anew=anew)
        rig.task = replace(rig.task, config=known)
    return git.config if git is not None else ""


async def _begin(rig: Rig, fence: Fence, last: RunRecord | None, options: Options) -> RunRecord:
    """A new run after `last`: every check's baseline, the proof that guards see the worktree, and
    `nothing_to_do`. What the day cost so far is taken over."""
    law, at, number = rig.task, fence.opened, last.number + 1 if last else 1
    behind = last is None and at.head != at.base and await fence.workspace.contains(at.head, at.base)
    if last is None and at.head != at.base and not behind:
        if not options.new:
            raise Unavailable(
                f"there is no record of the run whose work is on branch {at.branch}",
                hint="`controller state recover` rebuilds it; `run --new` begins at the base and keeps the old tip",
            )
        number = 2  # `start_over` keeps what is there
    if at.dirty:
        kept = await fence.workspace.undo(at.head, f"{law.task.name}/found/{number}")
        rig.watch.note(f"the worktree held changes that no step made; kept as {kept}")
    if (number > 1 or behind) and (
        kept := await fence.workspace.start_over(f"{law.task.name}/run-{number - 1}")
    ):
        rig.watch.note(f"the branch starts again at the base; its earlier tip is kept as {kept}")
    record = _first(rig, fence, last, number, at.base if number > 1 or behind else at.head)
    for notice in (*at.notices, *limits(rig)):
        rig.watch.note(notice)
    rig.watch.note("reading every check as it is now")
    readings = await refresh(record, rig.readers, need=EVERYTHING)
    await fence.workspace.undo(record.head, seen=readings.tip)
    record = drifted(record, readings, law)
    states = baseline(rig, readings)
    proofs = await prove(record, rig, fence, states)
    states = {name: state.model_copy(update={"noticed": proofs.get(name)}) for name, state in states.items()}
    digests = record.digests | ({GIT_CONFIG: readings.git.config} if readings.git else {})
    printed = {check_id(name): each.printed for name, each in readings.checks.items() if each.printed}
    record = record.model_copy(
        update={"checks": states, "printed": printed, "digests": digests, "progress": Progress()}
    )
    halt = None
    if all(state.passed for state in states.values() if state.role == "goal"):
        say = "every goal is green already"
        halt = Halt(outcome=Outcome.nothing_to_do, cause="goals are green", say=say)
    decided = Decided(
        what="run opened",
        halt=halt,
        at=fence.now,
        extra={
            "base": at.base,
            "contract": law.intent.document(),
            "record": record.model_dump(mode="json", exclude={"inbox"})
            | {"state": veiled(record.state, law.schema.secrets)},
            "checks": {name: state.passed for name, state in states.items()},
            "agent": law.agent.name,
            "credential": law.agent.credential,
            "sandbox": rig.sandbox,
        },
    )
    await _configured(record, rig, anew=True)
    return await commit(record, decided, fence)


def _first(rig: Rig, fence: Fence, last: RunRecord | None, number: int, head: str) -> RunRecord:
    """The record that a run begins with: of `last` what its schema keeps for the task, and what the day cost."""
    law, at = rig.task, fence.opened
    record = RunRecord(
        task=law.task.name,
        run=f"{law.task.name}@{at.base[:12]}#{number}",
        number=number,
        opened=fence.now,
        base=at.base,
        branch=at.branch,
        head=head,
        state=law.schema.initial(),
        state_version=law.schema.version,
        digests=dict(law.digests),
    )
    if last is None:
        return record
    state, ages, lost = carried(law.schema, last.known, last.ages, last.spent.steps)
    if lost:
        rig.watch.note(f"not taken over from the last run, since it no longer fits: {', '.join(lost)}")
    day = Spend(day=last.spent.day, day_usd_micro=last.spent.day_usd_micro)
    return record.model_copy(update={"state": state, "grown": last.grown, "ages": ages, "spent": day})


def baseline(rig: Rig, readings: Readings) -> dict[str, CheckState]:
    """How each check stands at the start. Raises ConfigError for a red guard that the task does not accept,
    Temporary for one that is not decided yet, Unavailable for a check that can't be read."""
    states: dict[str, CheckState] = {}
    for check in rig.task.task.checks:
        reading = readings.items.get(check.name)
        if not isinstance(reading, CheckReading):
            why = reading.why if isinstance(reading, UnknownReading) else "no reader has that name"
            raise Unavailable(f"check {check.name!r} can't be read: {why}")
        if check.role == "guard" and not reading.passed and reading.not_before is not None:
            raise Temporary(
                f"guard {check.name!r} is not decided yet: {reading.why}", hint="call again later"
            )
        if check.role == "guard" and not reading.passed and check.baseline != "accept":
            raise ConfigError(
                f"guard {check.name!r} is red before anything was changed: {reading.why}\n{reading.text[-1500:]}",
                hint="mend it, or write `baseline: accept`",
            )
        states[check.name] = CheckState(
            role=check.role,
            baseline=reading.passed,
            baseline_counts=reading.counts,
            baseline_coverage=reading.coverage,
            start=None if reading.passed or check.role == "goal" else reading.printed,
            passed=reading.passed,
            why=reading.why[:300],
            counts=reading.counts,
            tree=reading.tree,
        )
    return states


async def prove(record: RunRecord, rig: Rig, fence: Fence, states: dict[str, CheckState]) -> dict[str, bool]:
    """Each guard with a `must_notice` file is run again with that file made invalid: it must go red, or it
    does not look at the worktree at all. Raises ConfigError when it stays green."""
    noticed: dict[str, bool] = {}
    for check in rig.task.task.checks:
        if check.must_notice is None:
            if check.role == "guard" and check.authority is None:
                rig.watch.note(
                    f"guard {check.name!r} has no must_notice file: nothing proves that it sees the worktree"
                )
            continue
        if not states[check.name].passed:
            continue
        rig.watch.note(f"proving that {check.name!r} notices a broken {check.must_notice}")
        await fence.workspace.spoil(check.must_notice)
        broken = Readings(at=0.0)
        try:
            broken = await refresh(record, rig.readers, need=Need(names=(check.name,)))
        finally:
            with anyio.CancelScope(shield=True):
                await fence.workspace.undo(record.head, seen=broken.tip)
        reading = broken.items.get(check.name)
        noticed[check.name] = isinstance(reading, CheckReading) and not reading.passed
        if not noticed[check.name]:
            raise ConfigError(
                f"check {check.name!r} stays green with {check.must_notice} made invalid: it does not see the worktree",
                hint="an editable install or a path of another checkout? install it in workspace.setup",
            )
    return noticed


def limits(rig: Rig) -> tuple[str, ...]:
    """The budgets as they hold, defaults included; and what can't be enforced."""
    budgets, price = rig.task.task.budgets, rig.task.price_known
    money = "no limit in money" if budgets.usd is None else f"${budgets.usd:g}"
    told = f"budgets: {budgets.steps:,} steps, {budgets.tokens:,} tokens, {money}, {budgets.wall / 3600:g} h at work"
    if budgets.usd is None or price:
        return (told,)
    name = rig.task.agent.name
    return (
        told,
        f"the cost of agent {name!r} is not known (give its `price`): only steps, tokens and time are limited",
    )


def unopened(name: str, fence: Fence) -> RunRecord:
    """What checks are read with where no run was opened; never stored."""
    at = fence.opened
    return RunRecord(
        task=name,
        run=f"{name}@{at.base[:12]}#0",
        opened=fence.now,
        base=at.base,
        branch=at.branch,
        head=at.head,
        state={},
    )


async def read_checks(rig: Rig) -> tuple[RunRecord | None, Readings]:
    """Every check, now, in the worktree as it is; nothing is written but what the checks leave, which is put
    back."""
    name = rig.task.task.name
    async with claim(name, rig) as fence:
        record, at = await rig.store.load(name), fence.opened
        asked = record or unopened(name, fence)
        names = tuple(reader.name for reader in rig.readers if is_check(reader))
        readings = await refresh(asked, rig.readers, need=Need(names=names))
        if not at.dirty:
            await fence.workspace.undo(at.head, seen=readings.tip)
        return record, readings
