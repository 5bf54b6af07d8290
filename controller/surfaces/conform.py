"""`agents test`: whether an installed agent still does what its adapter stands on, and what changed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.errors import ConfigError
from contracts.outcomes import Outcome
from controller.conformance.cases import cases_of
from controller.conformance.known import Known
from controller.conformance.live import most_usd, run_live, tokens
from controller.conformance.subject import Subject
from controller.conformance.suite import PATIENCE, Report, Row, run_suite
from controller.interrupt import interrupted
from controller.surfaces.agents import loaded_of, subject_of
from controller.surfaces.words import plain


def tested(
    name: str,
    task: Path | None,
    *,
    live: bool,
    only: list[str],
    cli: Path | None,
    record: Path | None,
    as_json: bool,
) -> int:
    """0 when every case is good, 3 when something changed or is bad. Raises ConfigError when it can't be started."""
    loaded = loaded_of(task)
    subject = subject_of(loaded, name, cli.absolute() if cli else None)
    if live:
        return _live(subject, as_json)
    names = [case.name for case in cases_of(subject)]
    if unknown := [case for case in only if case not in names]:
        raise ConfigError(f"there is no case {unknown[0]!r}", hint=f"cases: {', '.join(names)}")

    def told(row: Row) -> None:
        if not as_json:
            print(plain("\n".join(_row(row))), flush=True)

    with _terminable():
        report = run_suite(subject, only=only, told=told)
    if record is not None:
        known = Known.read(record.read_bytes()) if record.exists() else Known()
        known.write(record, report.version, report.mode, report.facts)
    print(orjson.dumps(asdict(report) | {"good": report.good}).decode() if as_json else _sum(report))
    return 0 if report.good else 3


def _live(subject: Subject, as_json: bool) -> int:
    read, written = tokens(subject)
    usd = most_usd(subject)
    cost = f"${usd:.4f} by the task's price" if usd is not None else "no price is set: see your vendor's"
    pays = subject.config.auth
    print(
        f"one launch of {subject.name} for real, paid by {pays}: at most about {read:,} tokens in and {written:,} out, "
        f"{cost}",
        file=sys.stderr,
    )
    with _terminable():
        row = run_live(subject, os.environ, min(PATIENCE, subject.config.timeout))
    if as_json:
        print(
            orjson.dumps(
                {"agent": subject.name, "rows": [asdict(row)], "good": row.verdict == "good"}
            ).decode()
        )
    else:
        print(plain("\n".join([*_row(row), *(f"           {k}: {v}" for k, v in (row.seen or {}).items())])))
    return 0 if row.verdict == "good" else 3


@contextmanager
def _terminable() -> Iterator[None]:
    """TERM and HUP end it as INT does: no agent lives on, and no folder stays."""
    heard: list[int] = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)
        signal.raise_signal(signal.SIGINT)

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, hear) for number in numbers}
    before[signal.SIGINT] = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's `&` ignores it
    try:
        yield
    except KeyboardInterrupt:
        if heard:
            raise interrupted(Outcome.terminated, "ended before it was done") from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- what is said -------------------------------------------------------------------------------------------
def _row(row: Row) -> Iterator[str]:
    yield f"{row.verdict:<8} {row.case:<17} {row.about}"
    for why in row.why:
        told = _change(why, row.expected or {}, row.seen or {}) if row.verdict == "changed" else why
        yield f"{'':<8}   {told}"


def _change(fact: str, expected: JsonObject, seen: JsonObject) -> str:
    known, now = expected.get(fact), seen.get(fact)
    if not isinstance(known, list) or not isinstance(now, list):
        return f"{fact}: known {known}, seen {now}"
    new, gone = [each for each in now if each not in known], [each for each in known if each not in now]
    parts = [f"{word} {', '.join(map(str, each))}" for word, each in (("new", new), ("gone", gone)) if each]
    return f"{fact}: {'; '.join(parts)}"


def _sum(report: Report) -> str:
    verdicts = [row.verdict for row in report.rows]
    told = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    known = "nothing is known of it yet"
    if report.known is not None:
        known = f"held against what is known of {report.known or 'it'}"
    line = f"{report.agent} (kind {report.kind}) {report.version or 'of unknown version'}, {known}: {told}"
    if report.version or not report.known:
        return line
    return (
        f"{line}\nIts version is unknown: it lies in no npm package, and its name is no version. To hold it against "
        f"its own, test it inside its package (--cli PACKAGE/…), or name the copy by it, such as {report.known}."
    )
