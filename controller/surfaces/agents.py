"""`agents list` and `agents test`: which agents could make a step here, and whether each still does what its adapter
stands on."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import orjson

from contracts.agents import AgentConfig
from contracts.base import JsonObject
from contracts.errors import ConfigError
from controller.conformance.cases import cases_of
from controller.conformance.known import Known
from controller.conformance.live import most_usd, run_live, tokens
from controller.conformance.subject import Subject
from controller.conformance.suite import PATIENCE, Report, Row, run_suite
from controller.installed import found
from controller.surfaces.locate import load, task_path
from controller.surfaces.words import plain
from controller.taskfile import LoadedTask
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.process import ProcessRunner


@dataclass(frozen=True)
class Listed:
    """One agent as it could be used here. `known`: the versions that the adapter was measured on; `why` it can't be
    used, empty when it can."""

    name: str
    kind: str
    binary: str | None
    version: str
    known: list[str]
    dialect: str
    credential: str
    usable: bool
    why: str = ""
    notices: tuple[str, ...] = ()


def listed(task: Path | None, as_json: bool) -> int:
    """0 when the agents that the task names (without a task: any) can be used, else 3."""
    loaded = _loaded(task)
    with tempfile.TemporaryDirectory(prefix="controller-agents-") as scratch:
        rows = [_look(subject, Path(scratch)) for subject in _subjects(loaded)]
    needed = {loaded.task.agent.use, *loaded.task.agent.fallback} if loaded else set()
    good = all(row.usable for row in rows if row.name in needed) if needed else any(r.usable for r in rows)
    if as_json:
        print(orjson.dumps({"agents": [asdict(row) for row in rows], "good": good}).decode())
    else:
        print(plain("\n".join(line for row in rows for line in _line(row))))
    return 0 if good else 3


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
    loaded = _loaded(task)
    subject = _subject(loaded, name, cli.absolute() if cli else None)
    if live:
        return _live(subject, as_json)
    names = [case.name for case in cases_of(subject)]
    if unknown := [case for case in only if case not in names]:
        raise ConfigError(f"there is no case {unknown[0]!r}", hint=f"cases: {', '.join(names)}")

    def told(row: Row) -> None:
        if not as_json:
            print(plain("\n".join(_row(row))), flush=True)

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


# ---- which agents -------------------------------------------------------------------------------------------
def _loaded(task: Path | None) -> LoadedTask | None:
    """The task, where one is named or lies here."""
    return load(task) if task is not None or task_path(task).exists() else None


def _subjects(loaded: LoadedTask | None) -> Iterator[Subject]:
    if loaded is None:
        names = sorted(point.name for point in entry_points(group="skill_state.agents"))
    else:
        choice = loaded.task.agent
        names = list(dict.fromkeys([choice.use, *choice.fallback, *loaded.task.agents]))
    for name in names:
        yield _subject(loaded, name)


def _subject(loaded: LoadedTask | None, name: str, cli: Path | None = None) -> Subject:
    config = AgentConfig(kind=name) if loaded is None else loaded.task.agent_config(name)
    kind: Any = found("agents", config.kind or name)
    return Subject(name, kind, config, loaded.base_dir if loaded else Path.cwd(), cli)


def _look(subject: Subject, scratch: Path) -> Listed:
    """What can be known without a launch."""
    kind, notices, why, version, credential = subject.kind, list[str](), "", "", subject.config.auth
    try:
        agent = kind(
            AgentSettings(
                name=subject.name,
                config=subject.config,
                dialect=subject.dialect,
                runner=ProcessRunner(scratch / "spool"),
                home=scratch / "home",
                cwd=scratch / "empty",
                environ=os.environ,
                base_dir=subject.base_dir,
                worktree=scratch,
            )
        )
        credential = agent.profile.credential
        try:
            notices = agent.preflight()
        finally:
            version = agent.profile.version
    except ConfigError as error:
        why = str(error)
    return Listed(
        name=subject.name,
        kind=kind.kind,
        binary=_binary(subject),
        version=version,
        known=list(Known.of(kind).versions),
        dialect=kind.dialect_kind,
        credential=credential,
        usable=not why,
        why=why,
        notices=tuple(notices),
    )


def _binary(subject: Subject) -> str | None:
    named = subject.config.options.get("cli") or next(iter(subject.config.run or ()), None)
    if named is not None:
        path = subject.base_dir / Path(str(named)).expanduser()
        return str(path) if path.is_file() else shutil.which(str(named))
    program = getattr(subject.kind, "program", None)
    return shutil.which(program) if program else None


# ---- what is said -------------------------------------------------------------------------------------------
def _line(row: Listed) -> Iterator[str]:
    known = f", known {', '.join(row.known)}" if row.known else ""
    where = f" at {row.binary}" if row.binary else ""
    yield (
        f"{row.name:<12} {'usable' if row.usable else 'not usable':<11} kind {row.kind} "
        f"{row.version or '(version unknown)'}{where}{known}; {row.dialect} dialect; credential: {row.credential}"
    )
    if row.why:
        yield f"{'':<12} {row.why}"
    yield from (f"{'':<12} notice: {notice}" for notice in row.notices)


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
    against = (
        f"held against what is known of {report.known}" if report.known else "nothing is known of it yet"
    )
    return f"{report.agent} (kind {report.kind}) {report.version or 'of unknown version'}, {against}: {told}"
