"""`agents list`: which agents could make a step here."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import orjson

from contracts.agents import AgentConfig
from contracts.errors import ConfigError
from contracts.ports import Agent
from controller.assemble import charter
from controller.candidate import Candidate, unlaunched
from controller.conformance.known import Known
from controller.conformance.subject import Subject
from controller.installed import found
from controller.surfaces.locate import load, task_path
from controller.surfaces.words import plain
from controller.taskfile import LoadedTask


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
    loaded = loaded_of(task)
    with tempfile.TemporaryDirectory(prefix="controller-agents-") as scratch:
        rows = [_look(loaded, name, Path(scratch)) for name in names_of(loaded)]
    needed = set(loaded.task.agent.chain) if loaded else set()
    good = all(row.usable for row in rows if row.name in needed) if needed else any(r.usable for r in rows)
    if as_json:
        print(orjson.dumps({"agents": [asdict(row) for row in rows], "good": good}).decode())
    else:
        print(plain("\n".join(line for row in rows for line in _line(row))))
    return 0 if good else 3


# ---- which agents -------------------------------------------------------------------------------------------
def loaded_of(task: Path | None) -> LoadedTask | None:
    """The task, where one is named or lies here."""
    return load(task) if task is not None or task_path(task).exists() else None


def names_of(loaded: LoadedTask | None) -> list[str]:
    """The agents of a task, the ones that it uses first; without a task all installed kinds."""
    if loaded is None:
        return sorted(point.name for point in entry_points(group="skill_state.agents"))
    return list(dict.fromkeys([*loaded.task.agent.chain, *loaded.task.agents]))


def subject_of(loaded: LoadedTask | None, name: str, cli: Path | None = None) -> Subject:
    """An agent of the task, or an installed kind with its defaults. Raises ConfigError."""
    config = AgentConfig(kind=name) if loaded is None else loaded.task.agent_config(name)
    kind: Any = found("agents", config.kind or name)
    return Subject(name, kind, config, loaded.base_dir if loaded else Path.cwd(), cli)


def _look(loaded: LoadedTask | None, name: str, scratch: Path) -> Listed:
    """What can be known without a launch."""
    try:
        subject = subject_of(loaded, name)
    except ConfigError as error:  # one that can't be loaded must not hide the others
        return Listed(name, name, None, "", [], "", "", False, str(error))
    kind, notices, why, version = subject.kind, list[str](), "", ""
    credential: str = subject.config.auth
    try:
        agent, preflight = _made(loaded, subject, scratch)
        credential = agent.profile.credential
        try:
            notices = preflight()
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


def _made(
    loaded: LoadedTask | None, subject: Subject, scratch: Path
) -> tuple[Agent, Callable[[], list[str]]]:
    """An agent of the task, or of its kind's defaults, and what says whether it could be launched."""
    if loaded is not None:
        made = Candidate.of(loaded, charter(loaded, subject.name), scratch)
        return made.agent, made.preflight
    agent = unlaunched(
        subject.kind,
        scratch,
        name=subject.name,
        config=subject.config,
        dialect=subject.dialect,
        base_dir=subject.base_dir,
    )
    return agent, agent.preflight


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
    how = f"; {row.dialect} dialect; credential: {row.credential}" if row.dialect else ""
    version = f" {row.version or '(version unknown)'}" if row.binary and (row.version or row.known) else ""
    usable = "usable" if row.usable else "not usable"
    yield f"{row.name:<18} {usable:<11} kind {row.kind}{version}{where}{known}{how}"
    if row.why:
        yield f"{'':<18} {row.why}"
    yield from (f"{'':<18} notice: {notice}" for notice in row.notices)
