"""commit: the one verb that writes. First the tree (a commit with trailers, or the undo, its tree kept), then
the store: record and audit row in one transaction."""

from __future__ import annotations

import time

from contracts.base import canonical, digest
from contracts.charter import Charter
from contracts.deeds import DEEDS
from contracts.outcomes import Outcome
from contracts.ranges import follow
from contracts.record import DAY, Halt, Reserve, RunRecord
from contracts.reply import Prompt, Usage
from contracts.verdicts import Asks, Change, Gated, Proven, Refuted, Reserved, Verified
from controller import audit
from controller.advance import Tree, advance
from controller.drifting import blocked
from controller.rig import Fence

DIFF_BYTES = 16 * 1024
USD = "usd_per_step"  # the limit of approvals.boundaries
REPLY_TOKENS = 4_000  # reserved for the answer of a launch
REPLY_USD_MICRO = 250_000  # reserved for a launch of unknown price: a quarter of a dollar


async def commit(record: RunRecord, change: Change, fence: Fence) -> RunRecord:
    """`record` moved on by `change`, durable when it returns. Raises Lost when another controller was faster:
    nothing of this change is then in the store; NoRoom before a launch on a full disk."""
    began = time.monotonic()
    if isinstance(change, Reserved) and change.reserve:
        fence.room()  # before the spend: what it brings must find a place
    tree = await _tree(record, change, fence) if isinstance(change, Verified) else Tree(head=record.head)
    digests = _artifacts(change, fence)
    after, row = advance(record, change, tree, digests, wall=fence.lap(), now=fence.clock())
    if row is not None and row.step == after.step:  # else it is of a launch that an earlier call lost
        row = row.model_copy(update={"durations": _rounded({**row.durations, **fence.took})})
    consumed = [post.id for post in audit.consumed(record, after)]
    stored = await fence.store.swap(after, row, fence.lease, consumed)
    fence.took["commit"] = fence.took.get("commit", 0.0) + time.monotonic() - began
    return stored


def _rounded(took: dict[str, float]) -> dict[str, float]:
    """Seconds to the tenth of a millisecond. `commit` is what the earlier writes of the step took."""
    return {verb: round(seconds, 4) for verb, seconds in took.items()}


def reserve(record: RunRecord, prompt: Prompt, task: Charter) -> Reserved:
    """What the launch may cost, to be written before it; or the halt when a budget does not reach for it."""
    budgets, spent = task.task.budgets, record.spent
    if held := blocked(record):
        return Reserved(halt=held)
    if stuck := _stuck(record, budgets.rejections):
        return Reserved(halt=stuck)
    requests = task.requests
    usage = Usage(
        input=round(prompt.bytes / record.ratio) * requests,
        output=REPLY_TOKENS * requests,
        usd_micro=_price(record, prompt, task, requests),
    )
    tokens = (usage.input or 0) + (usage.output or 0)
    limits = [
        ("steps", spent.launches + 1, budgets.steps),
        ("tokens", spent.tokens + tokens, budgets.tokens),
        ("wall", spent.wall, budgets.wall),
    ]
    if budgets.usd is not None:  # of unknown price: what was reported so far still counts
        limits.append(("usd", (spent.usd_micro + (usage.usd_micro or 0)) / 1e6, budgets.usd))
    if budgets.usd_per_day is not None:
        today = (spent.today(prompt.at) + (usage.usd_micro or 0)) / 1e6
        if today > budgets.usd_per_day:
            return Reserved(halt=_tomorrow(record, prompt.at, budgets.usd_per_day))
    most = task.task.approvals.usd_per_step
    if most is not None and (cost := (usage.usd_micro or 0) / 1e6) > most:
        say = f"the next step may cost ${cost:.2f}; more than ${most:g} needs a person: raise approvals.boundaries"
        halt = Halt(outcome=Outcome.blocked, cause=USD, say=say, limit=USD, value=most, step=record.step)
        return Reserved(halt=halt)
    for name, needed, limit in limits:
        if needed > limit:
            say = f"budgets.{name} is used up ({_used(name, record)} of {limit:g}): raise it in the task to go on"
            halt = Halt(
                outcome=Outcome.budget_exhausted,
                cause=name,
                say=say,
                limit=name,
                value=float(limit),
                step=record.step,
            )
            return Reserved(halt=halt)
    return Reserved(
        reserve=Reserve(
            step=record.step + 1,
            usage=usage,
            prompt_digest=digest(prompt.text),
            prompt_bytes=prompt.bytes,
            at=0.0,
        ),
        prompt=prompt.text,
    )


def _tomorrow(record: RunRecord, now: float, limit: float) -> Halt:
    """The day's money is used up: the next UTC day brings more."""
    say = f"budgets.usd_per_day is used up (${record.spent.today(now) / 1e6:.2f} of ${limit:g} today)"
    due = (now // DAY + 1) * DAY
    return Halt(outcome=Outcome.waiting, cause="usd_per_day", say=say, not_before=due, step=record.step)


def _stuck(record: RunRecord, limit: int) -> Halt | None:
    """The halt when rejections in a row have reached `limit`."""
    if record.rejections < limit:
        return None
    last, seen = record.correction, record.observation
    code, why = (last.code, f"{last.code}: {last.say}") if last else ("rejections", seen.head if seen else "")
    say = f"{record.rejections} replies in a row came to nothing; the last: {why[:340]}"
    return Halt(outcome=Outcome.stuck, cause=code, say=say, step=record.step)


def _price(record: RunRecord, prompt: Prompt, task: Charter, requests: int) -> int:
    """Micro-USD: from the task's price, else twice the mean of this run's launches, else a quarter dollar."""
    if not task.price_known:
        return 0
    if task.price is not None:
        return requests * round(prompt.bound * task.price.input + REPLY_TOKENS * task.price.output)
    if record.spent.launches and not record.spent.estimated:
        return max(1, 2 * record.spent.usd_micro // record.spent.launches)
    return requests * REPLY_USD_MICRO


def _used(name: str, record: RunRecord) -> str:
    spent = record.spent
    return {
        "steps": f"{spent.launches}",
        "tokens": f"{spent.tokens:,}",
        "wall": f"{spent.wall:.0f} s",
        "usd": f"{spent.usd_micro / 1e6:.2f}",
    }[name]


async def _tree(record: RunRecord, change: Verified, fence: Fence) -> Tree:
    """The worktree as the evidence says: kept as a commit, or undone with its tree kept."""
    staged, workspace = record.staged, fence.workspace
    assert staged is not None, "evidence without a staged transition"
    match change.evidence:
        case Proven() | Asks():
            head = change.committed or staged.before.head or record.head
            if change.keep:
                head = await workspace.keep(
                    change.keep,
                    f"step {staged.step}: {change.summary}"[:120],
                    {
                        "Skill-State-Run": record.run,
                        "Skill-State-Step": str(staged.step),
                        "Skill-State-Key": staged.key,
                    },
                    staged.before.head,
                )
            kept = None
            if change.strays:
                # What was there before the deed is somebody else's: kept under a ref. What the deed left is not.
                others = bool(staged.before.dirty) or staged.tool in DEEDS
                foreign = f"{record.run}/found/{staged.step}" if others else None
                kept = await workspace.undo(head, foreign, seen=head)
                if kept:
                    fence.watch.note(f"the worktree held changes that no step made; kept as {kept}")
            old = staged.before.head
            diff = await workspace.diff(old, head, DIFF_BYTES) if change.keep else ""
            shown = staged.candidate.get("view")
            opened = {str(view.get("path")) for view in shown.values()} if isinstance(shown, dict) else set()
            seen = sorted(opened.intersection(change.keep))
            moved = follow(shown, await workspace.hunks(old, head, seen)) if seen and shown else {}
            commit = head if change.keep else None
            return Tree(head=head, commit=commit, undone=kept, diff=diff, views=moved)
        case Refuted():
            kept = None
            if change.dirty:
                kept = await workspace.undo(
                    staged.before.head or record.head,
                    f"{record.run}/undone/{staged.step}",
                    change.after.tip if change.after else None,
                )
            return Tree(head=record.head, undone=kept)
        case _:
            return Tree(head=record.head)


def _artifacts(change: Change, fence: Fence) -> dict[str, str]:
    """Prompt, reply, and the readings that were judged by, kept with the row that names them."""
    put = fence.artifacts.keep
    kept: dict[str, str] = {}
    match change:
        case Reserved(prompt=prompt) if prompt:
            kept["prompt"] = put(prompt.encode("utf-8", "surrogatepass"))
        case Gated():
            if change.reply_text:
                kept["reply"] = put(change.reply_text.encode("utf-8", "surrogatepass"))
            readings = {"seen": change.seen, "fresh": change.fresh}
            kept["readings"] = put(
                canonical({name: each.model_dump(mode="json") for name, each in readings.items() if each})
            )
        case Verified(after=after) if after is not None:
            kept["evidence"] = put(canonical(after.model_dump(mode="json")))
    return kept
