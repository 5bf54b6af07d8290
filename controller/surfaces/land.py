"""`land`: a completed run's work onto a branch of the user's repository."""

from __future__ import annotations

from pathlib import Path

from contracts.charter import Charter
from contracts.errors import ConfigError
from contracts.outcomes import CLOSING
from contracts.record import RunRecord
from controller.assemble import Places, charter
from controller.surfaces.changes import repository
from controller.surfaces.locate import load, newest, open_existing, wait_for
from controller.surfaces.words import command, plural
from tool_adapters import landing

SUBJECT = 72
RUN = "Skill-State-Run"


def land(task: Path | None, *, squash: bool, ff: bool, onto: str | None, message: str | None) -> int:
    """Move `onto` (default: workspace.base) forward to hold the run's work; one commit unless `ff`. Raises
    ConfigError for a run that is not completed, and what `landing.land` raises."""
    if squash and ff:
        raise ConfigError("--squash and --ff exclude each other")
    loaded = load(task)
    record = wait_for(lambda: newest(open_existing(loaded), loaded.task.name))
    places, target = Places.of(loaded), onto or loaded.task.workspace.base
    settled(record, task)
    repo = repository(loaded)
    tip = repo.rev(f"refs/heads/{record.branch}")
    if tip != record.head:
        raise ConfigError(
            f"{record.branch} is at {(tip or 'nothing')[:12]}, the checks were read at {record.head[:12]}",
            hint="somebody else changed the branch: merge by hand, or put it back",
        )
    if (there := repo.rev(f"refs/heads/{target}")) and repo.find(record.base, there, RUN, record.run):
        raise ConfigError(f"{target} holds the work of {record.run} already: nothing to land")
    text = f"{message or _message(record, charter(loaded))}\n\n{RUN}: {record.run}"
    author = loaded.task.workspace.author
    landed = landing.land(places.repo, record.branch, target, "ff" if ff else "squash", text, author=author)
    where = f", checked out in {landed.checkout}" if landed.checkout else ""
    print(
        f"{landed.onto}: {landed.old[:12]} → {landed.new[:12]}, {plural(len(landed.files), 'file')} changed{where}"
    )
    return 0


def settled(record: RunRecord, task: Path | None) -> None:
    """Raises ConfigError for a run whose work is not to be landed: unfinished, or without a change."""
    if record.outcome not in CLOSING:
        state = str(record.outcome) if record.outcome else "not finished"
        raise ConfigError(
            f"run {record.run} is {state}: its checks are not proven",
            hint=f"`{command('run', task)}` goes on with it",
        )
    if record.head == record.base:
        raise ConfigError(f"run {record.run} changed nothing: there is nothing to land")


def _message(record: RunRecord, law: Charter) -> str:
    """The goal's first line as subject, then the agent's own summary."""
    subject = law.intent.goal.strip().partition("\n")[0]
    if len(subject) > SUBJECT:
        subject = subject[: SUBJECT - 1].rstrip() + "…"
    summary = record.halt.say.strip() if record.halt else ""
    return "\n\n".join(part for part in (subject, summary) if part)
