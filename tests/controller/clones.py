"""A task whose record is kept on a remote, and clones in which it is worked on: each as a runner that keeps nothing."""

from __future__ import annotations

from pathlib import Path

import anyio

from contracts.record import AuditRow, RunRecord
from controller.record_store import open_store
from tests.controller.world import TASK, World, git, repository

ON_REMOTE = TASK + "store: {use: git, remote: origin}\n"


class Clone(World):
    """One clone with the task file in it."""

    def __init__(self, root: Path, task: str) -> None:
        self.root, self.file, self.agent = root, root / "task.yaml", None
        self.file.write_text(task)


class Remote:
    """A bare repository in `folder`, with the files of `world` on its branch `main`."""

    def __init__(self, folder: Path, *, task: str = ON_REMOTE, files: dict[str, str] | None = None) -> None:
        self.folder, self.bare, self.task = folder, folder / "remote.git", task
        seed = repository(folder / "seed", files, task).parent
        git(folder, "init", "-q", "--bare", "-b", "main", "remote.git")
        git(seed, "push", "-q", str(self.bare), "main")

    def clone(self, name: str, *words: str) -> Clone:
        git(self.folder, "clone", "-q", *words, f"file://{self.bare}", name)
        return Clone(self.folder / name, self.task)

    def refs(self) -> dict[str, str]:
        """Of the task, by their short names."""
        form = "--format=%(refname) %(objectname)"
        lines = git(self.bare, "for-each-ref", form, "refs/skill-state/tidy").splitlines()
        return {ref.rpartition("/")[2]: oid for ref, oid in (line.split(" ") for line in lines)}

    def log(self, ref: str = "work") -> list[str]:
        """The subjects of the commits beyond `main`, newest first."""
        name = f"refs/skill-state/tidy/{ref}"
        return git(self.bare, "log", "--format=%s", f"main..{name}").splitlines()

    def file(self, path: str) -> str:
        """A file as the branch on the remote has it."""
        return git(self.bare, "show", f"refs/skill-state/tidy/work:{path}")


def record(world: World) -> RunRecord:
    found = anyio.run(open_store(world.loaded).load, "tidy")
    assert found is not None
    return found


def rows(world: World, run: str) -> list[AuditRow]:
    async def read() -> list[AuditRow]:
        return [row async for *_, row in open_store(world.loaded).log(run)]

    return anyio.run(read)


def wrong(world: World, run: str) -> list[str]:
    return anyio.run(open_store(world.loaded).verify, run)
