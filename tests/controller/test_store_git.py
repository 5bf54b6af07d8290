"""Refs of a Git remote as a store: the suite of every store, and what only a remote can suffer."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.stores.git import GitStore
from tests.controller.store_suite import Make, StoreSuite
from tests.tool_adapters.repositories import git, repository
from tool_adapters.remote_refs import GitRemote


def remote(folder: Path) -> Path:
    """A repository with a bare remote beside it, which has its branch."""
    root = repository(folder / "repo")
    git(folder, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(root, "remote", "add", "origin", str(folder / "remote.git"))
    git(root, "push", "-q", "origin", "main")
    return root


class TestGit(StoreSuite):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        self.root = remote(tmp_path)
        self.base = git(self.root, "rev-parse", "HEAD")
        return lambda: GitStore(GitRemote(self.root, self.root / ".agent-runtime/remote.git", "origin"))

    def holder(self) -> str:
        return (
            "import anyio, sys, pathlib\n"
            "from controller.stores.git import GitStore\n"
            "from tool_adapters.remote_refs import GitRemote\n"
            f"root = pathlib.Path({str(self.root)!r})\n"
            "refs = GitRemote(root, root / '.agent-runtime/remote.git', 'origin')\n"
            "anyio.run(GitStore(refs).lease, 'tidy', 60)\n"
            "print('held', flush=True)\nsys.stdin.read()\n"
        )


class TestGitFromClones(TestGit):
    """The same, each opening from a clone of its own that knows nothing yet."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        self.root = remote(tmp_path)
        self.base = git(self.root, "rev-parse", "HEAD")
        clones = iter(range(1000))

        def fresh() -> GitStore:
            name = f"clone-{next(clones)}"
            git(tmp_path, "clone", "-q", str(tmp_path / "remote.git"), name)
            return GitStore(GitRemote(tmp_path / name, tmp_path / name / "copy.git", "origin"))

        return fresh
