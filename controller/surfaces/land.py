"""`land`: a completed run's work onto a branch of the user's repository."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from contracts.charter import Charter
from contracts.errors import ConfigError, Permanent
from contracts.outcomes import CLOSING, Outcome
from contracts.record import AuditRow, RunRecord
from contracts.text import standing
from controller.assemble import charter
from controller.history import committed
from controller.places import Places
from controller.surfaces.changes import diffstat, repository
from controller.surfaces.locate import load, newest, open_existing, rows, wait_for
from controller.surfaces.words import command, plain, plural
from tool_adapters import landing
from tool_adapters.git import ReadOnlyRepo

SUBJECT = 72  # columns
LEDGER = "decision_ledger"  # the field of the state that holds decisions and why
RUN = "Skill-State-Run"
RETRIED = (Outcome.stuck, Outcome.failed)  # what only `run --retry` goes on from


def land(
    task: Path | None,
    *,
    how: Literal["squash", "ff", "merge"],
    onto: str | None,
    message: str | None,
    dry_run: bool,
) -> int:
    """Move `onto` (default: workspace.base) forward to hold the run's work: one commit, its own commits (`ff`), or one
    commit merged onto a branch that went on (`merge`). `dry_run` prints the message and the files. Raises ConfigError
    for a run that is not completed, Permanent where the branch went on, and what `landing.land` raises."""
    loaded = load(task)
    store = open_existing(loaded)
    record = wait_for(lambda: newest(store, loaded.task.name))
    places, target = Places.of(loaded), onto or loaded.task.workspace.base
    settled(record, task)
    repo = repository(loaded, record)
    tip = repo.rev(f"refs/heads/{record.branch}")
    if tip != record.head:
        raise ConfigError(
            f"{record.branch} is at {(tip or 'nothing')[:12]}, the checks were read at {record.head[:12]}",
            hint="somebody else changed the branch: merge by hand, or put it back",
        )
    if landed(repo, record, target):
        raise ConfigError(f"{target} holds the work of {record.run} already: nothing to land")
    beyond = _beyond(repo, record, target)
    if beyond and how == "squash":
        raise Permanent(
            f"{target} has gone on since the run began, to {beyond[:12]}: what a merge makes was seen by no check",
            hint=f"`{command('land', task, '--merge')}` merges all the same; `run --new` begins there",
        )
    kept = wait_for(lambda: rows(store, record.run))
    said = message or _message(record, charter(loaded), [row for *_, row in kept])
    if beyond and how == "merge":
        said += f"\n\nMerged onto {beyond[:12]}; no check has seen the result."
    text = f"{said}\n\n{RUN}: {record.run}"
    if dry_run:
        print(
            plain(
                "\n".join(
                    [
                        text if how != "ff" else f"the commits of {record.branch}",
                        "",
                        diffstat(repo, record.base, record.head),
                    ]
                )
            )
        )
        return 0
    author = loaded.task.workspace.author
    mode: Literal["squash", "ff"] = "ff" if how == "ff" else "squash"
    moved = landing.land(places.repo, record.branch, target, mode, text, author=author)
    where = f", checked out in {moved.checkout}" if moved.checkout else ""
    print(
        f"{moved.onto}: {moved.old[:12]} → {moved.new[:12]}, {plural(len(moved.files), 'file')} changed{where}"
    )
    return 0


def _beyond(repo: ReadOnlyRepo, record: RunRecord, target: str) -> str:
    """Where `target` stands when it is not where the checks were read from; empty when it is."""
    there = repo.rev(f"refs/heads/{target}")
    return there if there and repo.merge_base(there, record.head) != there else ""


def landed(repo: ReadOnlyRepo, record: RunRecord, target: str) -> bool:
    """Whether branch `target` holds the run's work already, as one commit or as the run's own."""
    there = repo.rev(f"refs/heads/{target}")
    return there is not None and repo.find(record.base, there, RUN, record.run) is not None


def settled(record: RunRecord, task: Path | None) -> None:
    """Raises ConfigError for a run whose work is not to be landed: unfinished, or without a change."""
    if record.outcome not in CLOSING:
        state = str(record.outcome) if record.outcome else "not finished"
        raise ConfigError(
            f"run {record.run} is {state}: its checks are not proven",
            hint=f"`{command('run', task, *(('--retry',) if record.outcome in RETRIED else ()))}` goes on with it",
        )
    if record.head == record.base:
        raise ConfigError(f"run {record.run} changed nothing: there is nothing to land")


def _message(record: RunRecord, law: Charter, kept: Sequence[AuditRow]) -> str:
    """The goal's first line as subject, the agent's own summary, what was decided and why, what the checks said
    at this revision, and who made the steps."""
    subject = law.intent.goal.strip().partition("\n")[0]
    whole = (
        wrapped(law.intent.goal.strip())
        if subject != law.intent.goal.strip() or len(subject) > SUBJECT
        else ""
    )
    if len(subject) > SUBJECT:
        subject = subject[: SUBJECT - 1].rstrip() + "…"
    summary = wrapped(record.halt.say.strip()) if record.halt else ""
    inside = any(path[:1] == (LEDGER,) and rule.sensitivity for path, rule in law.schema.fields.items())
    ledger = None if inside else record.state.get(LEDGER)
    decided = [f"{key}: {_said(value)}" for key, value in ledger.items()] if isinstance(ledger, dict) else []
    checks = [
        f"{name} ({check.role}): {standing(check.passed, check.why)}{': ' if check.why else ''}{check.why}"
        for name, check in record.checks.items()
    ]
    made = Counter(
        f"{row.agent} {row.model or ''}".strip()
        for row in kept
        if row.agent and (row.kind == "step" or committed(row))
    )
    steps = ", ".join(f"{plural(count, 'step')} by {agent}" for agent, count in made.most_common())
    parts = [
        subject,
        whole,
        summary,
        _listed("Decisions:", decided),
        _listed(f"Checks at {record.head[:12]}:", checks),
        wrapped(f"{steps}.") if steps else "",
    ]
    return "\n\n".join(part for part in parts if part)


def wrapped(text: str) -> str:
    """Paragraphs of at most 72 columns; what is longer than that without a space stays whole."""
    return "\n".join(
        textwrap.fill(line, SUBJECT, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def _listed(title: str, items: Sequence[str]) -> str:
    """A title and its items, each a paragraph of its own; empty without items."""
    form = partial(
        textwrap.fill,
        width=SUBJECT,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join([title, *(form(" ".join(item.split())) for item in items)]) if items else ""


def _said(value: object) -> str:
    """A decision as its schema has it: a sentence, or an object of a few words each."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {each}" for name, each in value.items())
    return str(value)
