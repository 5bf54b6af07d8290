"""What a call tells GitHub Actions: the job's summary, annotations, and the step's outputs. Whatever comes from outside
(an agent, a program, a file's name) is text there and nothing else."""

from __future__ import annotations

import html
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from contracts.events import Ended, StepEnded
from contracts.outcomes import CLOSING, EXIT_CODES, Outcome
from contracts.text import clean, line
from controller.surfaces.words import colour, duration, money, plain, plural

SUMMARY = 1024 * 1024  # bytes that GitHub takes of a step's summary
ANNOTATIONS = 10  # of each kind in a step
MESSAGE, TITLE = 2000, 120  # bytes
CHECKS, FILES = 200, 8 * 1024  # rows of checks, bytes of the list of changed files
NOTICED = (Outcome.waiting, Outcome.busy, Outcome.interrupted, Outcome.terminated, None, *CLOSING)


# ---- outputs --------------------------------------------------------------------------------------------------
def outputs(ended: Ended, report: Path | None) -> dict[str, str]:
    """The outputs of the step by name. `exit-code` is the outcome's own, whatever the process's was."""
    usd = ended.costs.usd_micro
    return {
        "outcome": str(ended.outcome or "paused"),
        "exit-code": str(EXIT_CODES[ended.outcome] if ended.outcome else 0),
        "run": ended.run or "",
        "steps": str(ended.step),
        "cost-usd": "" if usd is None else f"{usd / 1e6:.6f}",
        "revision": ended.head,
        "branch": ended.branch,
        "pr-url": ended.pull_request,
        "not-before": _utc(ended.not_before),
        "report-path": str(report.resolve()) if report else "",
    }


def env_file(values: Mapping[str, str]) -> str:
    """Values as GitHub reads them from $GITHUB_OUTPUT; the end of each is marked by a word that none can foresee."""
    told = []
    for name, value in values.items():
        end = f"end-{secrets.token_hex(16)}"
        told.append(f"{name}<<{end}\n{clean(value)}\n{end}\n")
    return "".join(told)


def _utc(at: float | None) -> str:
    try:
        return "" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):  # of a record that kept what an agent made up
        return ""


# ---- annotations ----------------------------------------------------------------------------------------------
def annotated(ended: Ended, steps: Sequence[StepEnded]) -> list[str]:
    """Workflow commands, a line each: how the call ended, the red checks of a run that is over, refused replies. At
    most ten of a kind; the last one says how many more there are."""
    title = f"{ended.task or 'controller'}: {str(ended.outcome or 'paused').replace('_', ' ')}"
    said = "\n".join(each for each in (ended.say, f"next: {ended.next}" if ended.next else "") if each)
    over = ended.outcome not in (*NOTICED, Outcome.blocked)
    level = "error" if over else "warning" if ended.outcome is Outcome.blocked else "notice"
    red = [
        f"{check.role} {name}: {check.why}" for name, check in ended.checks.items() if over and not check.now
    ]
    refused = [
        f"step {step.step}: {step.result} ({step.code}): {step.say}"
        for step in steps
        if step.result in ("rejected", "refuted")
    ]
    told: dict[str, list[tuple[str, str]]] = {"error": [], "warning": [], "notice": []}
    told[level].append((title, said or title))
    told["error"] += [(f"{ended.task}: a check is red", each) for each in red]
    told["warning"] += [(f"{ended.task}: a reply came to nothing", each) for each in refused]
    return [_command(kind, *each) for kind, all in told.items() for each in _few(all)]


def _few(all: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if len(all) <= ANNOTATIONS:
        return all
    more = len(all) - ANNOTATIONS + 1
    return [*all[: ANNOTATIONS - 1], (all[-1][0], f"and {more} more: see the job's summary")]


def _command(kind: str, title: str, message: str) -> str:
    shown = line(title, TITLE)
    for char, escape in (("%", "%25"), (":", "%3A"), (",", "%2C")):
        shown = shown.replace(char, escape)
    text = "\n".join(line(row, MESSAGE) for row in plain(message).splitlines()[:20])
    return f"::{kind} title={shown}::{text.replace('%', '%25').replace(chr(10), '%0A')}"


# ---- summary --------------------------------------------------------------------------------------------------
def summary(ended: Ended, steps: Sequence[StepEnded], room: int = SUMMARY) -> str:
    """The call as Markdown in at most `room` bytes. All that comes from outside stands, escaped, inside blocks of HTML,
    which Markdown does not look into. Where room is short the earlier steps are left out; empty when nothing fits."""
    name = str(ended.outcome or "paused").replace("_", " ")
    head = [
        f"## {ended.task or 'controller'}: {name}\n",
        f"<p>{_safe(ended.say or ended.cause or name, 2000)}</p>\n",
    ]
    if ended.not_before is not None:
        head.append(f"<p>not before {_utc(ended.not_before)}</p>\n")
    if ended.checks:
        rows = (
            (check, change.role, colour(change.start), colour(change.now, change.why), change.why)
            for check, change in list(ended.checks.items())[:CHECKS]
        )
        head.append(_table(("check", "role", "at the start", "now", "why"), map(_row, rows)))
    foot = list(_foot(ended))
    left = room - _size(head) - _size(foot)
    if left < 0:
        return ""
    return "\n".join([*head, *_steps(steps, left), *foot])


def _foot(ended: Ended) -> Iterator[str]:
    if ended.diffstat:
        yield f"<pre>{html.escape(clean(ended.diffstat)[:FILES])}</pre>\n"
    if ended.run:
        spent = [
            plural(ended.costs.launches, "agent process"),
            f"{ended.costs.tokens:,} tokens",
            money(ended.costs.usd_micro or 0, ended.costs.estimated),
            duration(ended.costs.wall),
        ]
        where = f"run <code>{_safe(ended.run)}</code>, branch <code>{_safe(ended.branch)}</code>"
        yield f"<p>{where} at <code>{_safe(ended.head[:12])}</code>; {', '.join(spent)}</p>\n"
    if ended.next:
        yield f"<p>next: <code>{_safe(ended.next)}</code></p>\n"


def _steps(steps: Sequence[StepEnded], room: int) -> list[str]:
    """The steps of the call, as many of the last ones as there is room for."""
    rows: list[str] = []
    left = room - 1024  # for what stands around them
    for step in reversed(steps):
        said = f"{step.result} ({step.code}): {step.say}" if step.code else step.say
        commit = (step.commit or "")[:12]
        row = _row((str(step.step), step.tool or step.result, said, commit, duration(step.took)))
        left -= len(row.encode()) + 1
        if left < 0:
            break
        rows.append(row)
    if not rows:
        return []
    missing = f", the last {len(rows)}" if len(rows) < len(steps) else ""
    table = _table(("step", "action", "what came of it", "commit", "took"), reversed(rows))
    return [
        f"<details><summary>{plural(len(steps), 'step')}{missing}</summary>\n{table.rstrip()}\n</details>\n"
    ]


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    """Without an empty line inside: there the block of HTML would end."""
    top = "".join(f"<th>{head}</th>" for head in heads)
    return "\n".join(["<table>", f"<tr>{top}</tr>", *rows, "</table>", ""])


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in cells)}</tr>"


def _safe(text: str, limit: int = 500) -> str:
    """Any text as one line that HTML shows as it is."""
    return html.escape(line(text, limit))


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode()) + 1 for part in parts)
