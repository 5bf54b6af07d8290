"""From the words of a command line to the task, its store and its newest run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

import anyio

from contracts.errors import ConfigError
from contracts.ports import Ledger
from contracts.record import AuditRow, RunRecord
from controller.places import Places
from controller.record_store import open_store
from controller.taskfile import LoadedTask, read_task

T = TypeVar("T")
TASK_FILE = "task.yaml"
KNOWN = ("sqlite", "git")

Row = tuple[int, str, str, AuditRow]


def task_path(given: Path | None) -> Path:
    """The task file that is meant: `given`, the task.yaml in it when it is a folder, or ./task.yaml."""
    path = given or Path(TASK_FILE)
    return path / TASK_FILE if path.is_dir() else path


def load(given: Path | None) -> LoadedTask:
    """The task, its names held against what is installed. Raises ConfigError."""
    installed = {
        group: frozenset(point.name for point in entry_points(group=f"skill_state.{group}"))
        for group in ("actions", "agents")
    }
    if not installed["agents"]:
        raise ConfigError(
            "the parts of the controller are not installed",
            hint="run scripts/install, or `pip install` the project",
        )
    return read_task(task_path(given), actions=installed["actions"], agents=installed["agents"])


def open_existing(loaded: LoadedTask) -> Ledger:
    """The store, only if it is there already: a query makes nothing but a copy of what a remote keeps. Raises
    ConfigError, Unavailable."""
    if loaded.task.store.use not in KNOWN:
        raise ConfigError(f"this command can't read a store of kind {loaded.task.store.use!r}")
    return open_store(loaded, create=False)


def kept(loaded: LoadedTask) -> Ledger | None:
    """The same; None where it is known without asking that there is no store yet."""
    local = loaded.task.store.use == "sqlite"
    if local and not (Places.of(loaded).runtime / "state.db").exists():
        return None
    return open_existing(loaded)


async def newest(store: Ledger, task: str, run: str | None = None) -> RunRecord:
    """The run `run`, `#N` or the newest one of `task`. Raises ConfigError when there is none."""
    if run and "@" not in run:
        number = run.removeprefix("#")
        named = [each for each, _, _ in await store.runs(task) if each.endswith(f"#{number}")]
        if not named:
            raise ConfigError(f"task {task!r} has no run {run!r}", hint=f"known: {await _known(store, task)}")
        run = named[0]
    record = await store.load(run or task)
    if record is None:
        hint = f"known: {await _known(store, task)}" if run else "`controller run` opens one"
        raise ConfigError(f"task {task!r} has no run {run or 'yet'}", hint=hint)
    return record


async def _known(store: Ledger, task: str) -> str:
    return ", ".join(each for each, _, _ in await store.runs(task)) or "none"


async def rows(store: Ledger, run: str) -> list[Row]:
    """The audit rows of a run, oldest first."""
    return [row async for row in store.log(run)]


def wait_for(work: Callable[[], Awaitable[T]]) -> T:
    """Run something asynchronous to its end."""
    return anyio.run(work)
