"""From the words of a command line to the task, its store and its newest run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

import anyio

from contracts.errors import ConfigError
from contracts.record import AuditRow, RunRecord
from controller.places import Places
from controller.stores.sqlite import SqliteStore
from controller.taskfile import LoadedTask, read_task

T = TypeVar("T")
TASK_FILE = "task.yaml"

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


def open_existing(loaded: LoadedTask) -> SqliteStore:
    """The store, only if it is there already: a query makes nothing. Raises ConfigError, Unavailable."""
    if loaded.task.store.use != "sqlite":
        raise ConfigError(f"this command can't read a store of kind {loaded.task.store.use!r}")
    places = Places.of(loaded)
    return SqliteStore(places.runtime / "state.db", create=False, leave=places.home.leave)


async def newest(store: SqliteStore, task: str, run: str | None = None) -> RunRecord:
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


async def _known(store: SqliteStore, task: str) -> str:
    return ", ".join(each for each, _, _ in await store.runs(task)) or "none"


async def rows(store: SqliteStore, run: str) -> list[Row]:
    """The audit rows of a run, oldest first."""
    return [row async for row in store.log(run)]


def wait_for(work: Callable[[], Awaitable[T]]) -> T:
    """Run something asynchronous to its end."""
    return anyio.run(work)
