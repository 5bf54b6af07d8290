"""`diff`: what a run has changed."""

from __future__ import annotations

import sys
from pathlib import Path

from contracts.errors import ConfigError
from contracts.record import RunRecord
from controller.places import Places
from controller.record_store import remote_of
from controller.surfaces.locate import load, newest, open_existing, wait_for
from controller.surfaces.words import plural
from controller.taskfile import LoadedTask
from tool_adapters.git import ReadOnlyRepo, Repo
from tool_adapters.gitdir import GitDir

SHOWN = 12
DIFF_BYTES = 64 * 1024 * 1024


def repository(loaded: LoadedTask, record: RunRecord | None = None) -> ReadOnlyRepo:
    """The user's repository around the task, for reading. The work of `record` is in it, fetched where another clone
    did it: the run's branch is made there, or brought forward when nothing has it checked out. Raises ConfigError,
    Unavailable."""
    repo = Places.of(loaded).repo
    place = GitDir.around(repo)
    if place is None:
        raise ConfigError("not a Git repository", where=str(repo))
    if record is not None and loaded.task.store.use == "git":
        remote_of(loaded).bring(record.head, record.branch)
    return Repo(place.root or place.own).reader()


def diffstat(repo: ReadOnlyRepo, old: str, new: str, limit: int = SHOWN) -> str:
    """Files with lines added and removed, at most `limit` of them, and the sum; empty when nothing differs.
    Raises ControllerError."""
    if old == new:
        return ""
    files = repo.diffstat(old, new)
    if not files:
        return ""
    width = max(len(file.path) for file in files[:limit])
    lines = [
        f"{file.path:<{width}}  " + ("binary" if file.added is None else f"+{file.added} -{file.removed}")
        for file in files[:limit]
    ]
    if len(files) > limit:
        lines.append(f"… and {len(files) - limit} more")
    added, removed = sum(file.added or 0 for file in files), sum(file.removed or 0 for file in files)
    return "\n".join([*lines, f"{plural(len(files), 'file')} changed, +{added} -{removed}"])


def diff(task: Path | None, run: str | None, stat: bool) -> int:
    """Print what the run's branch changes against its base."""
    loaded = load(task)
    record = wait_for(lambda: newest(open_existing(loaded), loaded.task.name, run))
    repo = repository(loaded, record)
    if stat:
        print(diffstat(repo, record.base, record.head, limit=10_000) or "nothing changed")
        return 0
    data, total = repo.diff(record.base, record.head, limit=DIFF_BYTES)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    if total > len(data):
        print(f"controller: cut {total - len(data):,} of {total:,} bytes", file=sys.stderr)
    return 0
