"""The store of a task, with what it needs of this machine and of the repository, and the outputs beside it."""

from __future__ import annotations

import re
from collections.abc import Callable

from contracts.base import digest
from contracts.errors import ConfigError
from contracts.ports import Artifacts, Ledger
from contracts.state import StateSchema
from contracts.task import Task
from controller.installed import found
from controller.places import Places
from controller.stores.artifacts import FileArtifacts
from controller.stores.git import GitStore
from controller.stores.git_outputs import SharedArtifacts
from controller.stores.sqlite import SqliteStore
from controller.taskfile import LoadedTask
from tool_adapters.eviction import evict
from tool_adapters.remote_refs import GitRemote
from tool_adapters.workspace import WorktreeWorkspace

ORIGIN = "origin"
Redact = Callable[[bytes], bytes]


def open_store(
    loaded: LoadedTask, workspace: WorktreeWorkspace | None = None, *, create: bool = True
) -> Ledger:
    """The task's store. Whoever takes its lease to work gives the `workspace`: the run's branch is brought there.
    Raises ConfigError for an unknown store or remote."""
    places, kind = Places.of(loaded), found("stores", loaded.task.store.use)
    if kind is not GitStore:
        made: Ledger = kind(places.runtime / "state.db", create=create, evict=evict, leave=places.home.leave)
        return made
    remote, name = remote_of(loaded), loaded.task.name

    async def arrive(tip: str, key: str | None) -> None:
        if workspace is not None:
            remote.bring(tip)
            await workspace.arrive(tip, key, f"{name}/left")

    shelf = FileArtifacts(places.runtime / "artifacts")
    return GitStore(remote, evict=evict, leave=places.home.leave, arrive=arrive, shelf=shelf)


def remote_of(loaded: LoadedTask) -> GitRemote:
    """The remote that keeps the task's record, and its copy here."""
    places, name = Places.of(loaded), loaded.task.store.remote or ORIGIN
    return GitRemote(places.repo, places.runtime / "remotes" / f"{_folder(name)}.git", name)


def stores_of(loaded: LoadedTask) -> list[Ledger]:
    """Every store that tasks of this folder were kept in: its file, and the remotes of which there is a copy."""
    places, stores = Places.of(loaded), list[Ledger]()
    file = places.runtime / "state.db"
    if file.exists():
        stores.append(SqliteStore(file, create=False, evict=evict, leave=places.home.leave))
    for copy in sorted((places.runtime / "remotes").glob("*.git")):
        name = (copy / "remote").read_text()
        stores.append(GitStore(GitRemote(places.repo, copy, name), evict=evict, leave=places.home.leave))
    return stores


def _folder(name: str) -> str:
    """A folder's name for a remote: its own where it is a plain one."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f"other-{digest(name)[:12]}"


def artifacts_of(loaded: LoadedTask, store: Ledger, redact: Redact | None = None) -> Artifacts:
    """The outputs of the task's runs: those of this clone, and those that its store brought along."""
    carried = store.carried if isinstance(store, SqliteStore) else None
    files = FileArtifacts(Places.of(loaded).runtime / "artifacts", redact, carried)
    return SharedArtifacts(files, store, loaded.task.name) if isinstance(store, GitStore) else files


def refuse_secrets(task: Task, schema: StateSchema) -> None:
    """Raises ConfigError for a state with secrets that would be pushed to where others read them."""
    if schema.secrets and task.store.use == "git":
        fields = ", ".join("/" + "/".join(path) for path in sorted(schema.secrets))
        raise ConfigError(
            f"the state has secret fields ({fields}), and `store: {{use: git}}` pushes the whole state to the remote",
            hint="leave them out of the state, or keep the record with `store: {use: sqlite}`",
        )
