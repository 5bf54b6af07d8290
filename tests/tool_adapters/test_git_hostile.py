"""A repository that plants code wherever git is known to run some: none of it runs through our verbs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from tests.tool_adapters.git_vectors import VECTORS, Ground, Vector
from tests.tool_adapters.repositories import git, repository, write
from tool_adapters.git import Repo

ME = "step maker <steps@example.org>"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


def exercise(ground: Ground, base: str) -> None:
    """Everything that the controller asks git for within a repository, on the changes of a step."""
    repo = Repo(ground.root)
    ground.change()
    os.utime(repo.root / ".gitignore", (1, 1))
    repo.status()
    repo.position(base, base)
    repo.diff(base)
    repo.changed(base)
    repo.files()
    repo.grep("O")
    paths = ["a.txt", "src/b.txt", "free.md", ".gitattributes"]
    new = repo.commit(paths, "s", parent=base, author=ME)
    repo.diff(base, new)
    repo.diffstat(base, new)
    repo.find(base, new, "Skill-State-Key", "x")
    repo.show(new, "a.txt")
    run = repo.engine.run
    run("worktree", "add", "--no-track", "-b", "w", str(repo.root.parent / "w"), new)
    run("merge-tree", "--write-tree", "--no-messages", new, "other", ok=(1,))
    run("read-tree", "--reset", "-u", base)
    repo.update_ref("HEAD", base, new, "back")
    run("merge", "--ff-only", "--quiet", "--no-verify", new)
    run("reset", "--hard", "--quiet", base)


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_plain_git_runs_what_is_planted_and_ours_does_not(tmp_path: Path, vector: Vector) -> None:
    ground = Ground.made(tmp_path)
    vector.planted(ground)
    exercise(ground, head(ground.root))
    assert not ground.canary.exists()
    assert (tmp_path / "w/a.txt").read_text() == "ONE\n"
    ground.change()
    git(ground.root, *vector.fires.split(), check=False)
    assert ground.canary.exists(), "control: plain git runs it"


@pytest.mark.parametrize("where", ["config", "included"])
def test_a_driver_planted_after_opening_is_switched_off_too(tmp_path: Path, where: str) -> None:
    ground, included = Ground.made(tmp_path), tmp_path / "included"
    root, canary, script = ground.root, ground.canary, ground.script
    git(root, "config", "include.path", str(included))
    repo, base = Repo(root), head(root)
    repo.status()
    counted = repo.processes
    repo.status()
    assert repo.processes == counted + 1
    target = root / ".git/config" if where == "config" else included
    with target.open("a") as config:
        config.write(f'[filter "late"]\n\tclean = {script}\n')
    write(root, {".gitattributes": "* filter=late\n", "a.txt": "x\n"})
    repo.status()
    new = repo.commit(["a.txt", ".gitattributes"], "s", parent=base, author=ME)
    assert not canary.exists()
    git(root, "reset", "-q", "--mixed", base)
    git(root, "add", "-A")
    assert canary.exists() and new


def test_config_digest_changes_with_hooks_and_config(root: Path) -> None:
    repo = Repo(root)
    seen = [repo.config_digest()]
    git(root, "config", "core.x", "1")
    seen.append(repo.config_digest())
    (root / ".git/hooks").mkdir(exist_ok=True)
    (root / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    seen.append(repo.config_digest())
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("* filter=x\n")
    seen.append(repo.config_digest())
    assert len(set(seen)) == 4 and repo.config_digest() == seen[-1]


def test_a_driver_that_no_option_can_name_is_refused(root: Path) -> None:
    with (root / ".git/config").open("a") as config:
        config.write('[filter "a=b"]\n\tclean = false\n')
    with pytest.raises(ConfigError, match="a=b"):
        Repo(root).status()


def test_core_worktree_does_not_redirect(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(root, "config", "core.worktree", str(tmp_path / "elsewhere"))
    assert Repo(root).status().dirty == ()
