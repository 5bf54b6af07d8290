"""A remote, two clones of it, and stores opened in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contracts.ports import Lease
from contracts.record import RunRecord
from controller.stores.git import GitStore
from tests.controller.store_suite import record, row
from tests.tool_adapters.repositories import git, repository
from tool_adapters.remote_refs import GitRemote

RECORD, WORK = "refs/skill-state/tidy/record", "refs/skill-state/tidy/work"
LEASE = "refs/skill-state/tidy/lease"


def remote(folder: Path) -> Path:
    """A repository with a bare remote beside it, which has its branch."""
    root = repository(folder / "repo")
    git(folder, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(root, "remote", "add", "origin", str(folder / "remote.git"))
    git(root, "push", "-q", "origin", "main")
    return root


class Two:
    """A remote and two clones of it, in which stores are opened."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.bare = folder, remote(folder), folder / "remote.git"
        git(folder, "clone", "-q", str(self.bare), "other")
        self.base = git(self.root, "rev-parse", "HEAD")

    def store(self, clone: str = "repo", **more: Any) -> GitStore:
        root = self.folder / clone
        return GitStore(GitRemote(root, root / ".agent-runtime/remotes/origin.git", "origin"), **more)

    def refs(self) -> dict[str, str]:
        lines = git(self.bare, "for-each-ref", "--format=%(refname) %(objectname)", "refs/skill-state")
        return dict(line.split(" ") for line in lines.splitlines())

    async def begun(self, store: GitStore, steps: int = 1) -> tuple[RunRecord, Lease]:
        lease = await store.lease("tidy", 60)
        stored = await store.swap(record(1, self.base), row(0), lease)
        for step in range(1, steps):
            stored = await store.swap(stored, row(step), lease)
        return stored, lease

    def commit(self, name: str = "work", parent: str = "") -> str:
        """A commit in the first clone, on no branch."""
        tree = git(self.root, "rev-parse", f"{self.base}^{{tree}}")
        return git(self.root, "commit-tree", tree, "-p", parent or self.base, "-m", name)
