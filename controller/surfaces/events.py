"""From the run record to what is told of it."""

from __future__ import annotations

import re
from pathlib import Path

from contracts.charter import Charter
from contracts.events import Costs, Ended, Event, GoalChange, Result, StepEnded
from contracts.outcomes import EDITED, EXIT_CODES, Outcome
from contracts.queue import DID_NOT, HAPPENED
from contracts.record import Halt, RunRecord
from controller.surfaces.words import clock, colour, command, duration, left, money, plural


def step_ended(before: RunRecord | None, after: RunRecord, took: float, known: bool) -> StepEnded:
    """What one call of the step did, from the record before and after it."""
    goals = [check.passed for check in after.checks.values() if check.role == "goal"]
    result, tool, say, layer, code = _result(before, after)
    moved = before is not None and after.head != before.head
    return StepEnded(
        run=after.run,
        step=after.step,
        result=result,
        tool=tool,
        say=say,
        layer=layer,
        code=code,
        commit=after.head if moved or (before is None and after.head != after.base) else None,
        goals_green=sum(goals),
        goals=len(goals),
        left=after.progress.counts,
        most=after.progress.most,
        took=round(took, 3),
        costs=costs(after, known),
    )


def _result(before: RunRecord | None, after: RunRecord) -> tuple[Result, str, str, str, str]:
    """(result, tool, sentence, layer, code)."""
    seen, wrong = after.observation, after.correction
    new = before is None or before.observation != seen
    if seen is not None and seen.step == after.step and new and seen.failed:
        return "refuted", seen.tool, seen.head, "evidence", seen.failed
    if seen is not None and seen.step == after.step and new:
        return "committed", seen.tool, seen.head, "", ""
    if wrong is not None and wrong.step == after.step and (before is None or before.correction != wrong):
        refuted = wrong.layer in ("evidence", "checks")
        return "refuted" if refuted else "rejected", "", wrong.say, wrong.layer, wrong.code
    if after.halt is not None:
        return "halted", "", after.halt.say, "", after.halt.cause
    if after.staged is not None:
        return "staged", after.staged.tool, "", "", ""
    return "nothing", "", "", "", ""


def step_line(told: StepEnded) -> str:
    """The same as one line for a person."""
    parts = [f"step {told.step:<3} {told.tool or told.result:<12}"]
    if told.result == "committed":
        parts.append(f"committed {told.commit[:10]}" if told.commit else "ok")
    elif told.code:
        parts.append(f"{told.result} ({told.code}): {_first(told.say)}")
    parts.append(f"{duration(told.took)}")
    if told.goals:
        parts.append(f"goals {told.goals_green}/{told.goals}")
    parts += [f"{name}: {left(count, told.most.get(name, count))}" for name, count in told.left.items()]
    if told.costs.tokens:
        parts.append(f"{told.costs.tokens:,} tokens")
    if told.costs.usd_micro:
        parts.append(money(told.costs.usd_micro, told.costs.estimated))
    return "  ".join(parts)


def _first(text: str, limit: int = 160) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def costs(record: RunRecord, known: bool) -> Costs:
    """What the run has used up; `known` whether its agent's money is known."""
    spent = record.spent
    return Costs(
        launches=spent.launches,
        tokens=spent.tokens,
        usd_micro=spent.usd_micro if known or spent.usd_micro else None,
        estimated=spent.estimated,
        wall=round(spent.wall, 1),
    )


def ended(
    record: RunRecord,
    outcome: Outcome | None,
    law: Charter,
    path: Path,
    diffstat: str,
    halt: Halt | None = None,
) -> Ended:
    """How a call ended that worked on `record`; `halt` where that is not the record's own."""
    if halt is None and record.halt and record.halt.outcome is outcome:
        halt = record.halt
    return Ended(
        outcome=outcome,
        exit=EXIT_CODES[outcome] if outcome else 0,
        task=record.task,
        run=record.run,
        step=record.step,
        committed=record.spent.steps,
        cause=halt.cause if halt else "",
        say=halt.say if halt else "",
        not_before=halt.not_before if halt else None,
        checks={
            name: GoalChange(role=check.role, start=check.baseline, now=check.passed, why=check.why)
            for name, check in record.checks.items()
        },
        branch=record.branch,
        base=record.base,
        head=record.head,
        pull_request=record.pull_request,
        diffstat=diffstat,
        costs=costs(record, law.price_known),
        agent=law.agent.name,
        next=following(record, outcome, path),
    )


def following(record: RunRecord, outcome: Outcome | None, path: Path) -> str:
    """The command that goes on from here."""
    match outcome:
        case Outcome.completed:
            return command("land", path) if record.head != record.base else ""
        case Outcome.nothing_to_do:
            return ""
        case Outcome.blocked:
            waiting = [entry for entry in record.queue if entry.status == "open"]
            more = () if path.resolve() == Path("task.yaml").resolve() else ("--task", str(path))
            if record.halt is not None and record.halt.cause in EDITED:
                return command("run", path, *EDITED[record.halt.cause])
            if not waiting:
                return command("run", path, "--retry")
            first = waiting[0]
            if first.kind not in ("ask", "unknown"):
                return command("approvals", None, "show", first.id, *more)
            text = f"{HAPPENED}|{DID_NOT}" if first.kind == "unknown" else "TEXT"
            return command("answer", None, first.id, text, *more)
        case Outcome.failed | Outcome.stuck:
            return command("run", path, "--retry")
        case _:
            return command("run", path)


def ending(told: Ended) -> str:
    """How a call ended, for a person."""
    name = str(told.outcome).replace("_", " ") if told.outcome else "paused"
    lines = [f"{name}: {told.say or told.cause}" if told.say or told.cause else name]
    if told.not_before:
        lines.append(f"  not before {clock(told.not_before)}")
    for check, change in told.checks.items():
        lines.append(
            f"  {change.role:<6} {check}: {colour(change.start)} → {colour(change.now, change.why)}"
            + _why(change)
        )
    if told.run:
        lines.append(
            f"  branch {told.branch} at {told.head[:12]}, {plural(told.committed, 'committed step')}"
        )
    lines += [f"  {line}" for line in told.diffstat.splitlines()]
    if told.run:
        about = "about " if told.costs.estimated else ""
        price = money(told.costs.usd_micro or 0, told.costs.estimated)
        lines.append(
            f"  spent  {plural(told.costs.launches, 'agent process')}, "
            f"{about}{told.costs.tokens:,} tokens, {price}, {duration(told.costs.wall)}"
        )
    if told.next:
        lines.append(f"  next   {told.next}")
    return "\n".join(lines)


def _why(change: GoalChange) -> str:
    return "" if change.now or not change.why else f" ({_first(change.why, 100)})"


def json_line(event: Event) -> str:
    """An event as a line of JSON in which no CI's log finds a command."""
    return re.sub(r"##(?=\w*\[)", r"#\\u0023", event.model_dump_json())


def failed_line(outcome: Outcome, said: str, code: int) -> str:
    """The last JSON line of a call that ended by an exception."""
    return json_line(Ended(outcome=outcome, exit=code, say=said))
