from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import ConfigError
from contracts.ports import Ask
from contracts.readings import GitReading
from reconcilers.git import GitReconciler
from tests.tool_adapters.repositories import git, repository, write
from tool_adapters.git import Repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"a.txt": "one\n", "src/b.txt": "two\n", ".gitignore": "*.log\n"})


def read(reader: GitReconciler, base: str) -> GitReading:
    return anyio.run(reader.read, Ask(base=base, head=base, step=1, now=0.0))


def make(root: Path, **more: Any) -> tuple[GitReconciler, Repo, str]:
    repo = Repo(root)
    return GitReconciler(repo.reader(), **more), repo, git(root, "rev-parse", "HEAD")


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_clean_then_every_kind_of_change(root: Path) -> None:
    reader, _, base = make(root)
    clean = read(reader, base)
    assert (clean.branch, clean.head, clean.dirty, clean.problem) == ("main", base, {}, None)
    write(root, {"a.txt": "changed\n", "new.txt": "new\n", "x.log": "ignored"})
    (root / "src/b.txt").unlink()
    (root / "link").symlink_to("a.txt")
    git(root, "add", "new.txt")
    seen = read(reader, base)
    assert seen.dirty == {
        "a.txt": sha("changed\n"),
        "link": sha("a.txt"),
        "new.txt": sha("new\n"),
        "src/b.txt": None,
    }
    assert (seen.staged, seen.unstaged, seen.untracked) == (("new.txt",), ("a.txt", "src/b.txt"), ("link",))
    assert seen.links == {"link": "a.txt"} and seen.diff == f"{base}..{base}"


def test_tree_changes_with_every_content_change_and_back(root: Path) -> None:
    reader, _, base = make(root)
    trees = [read(reader, base).tree]

    def step() -> None:
        trees.append(read(reader, base).tree)

    write(root, {"a.txt": "two\n"})
    step()
    before = (root / "a.txt").stat()
    write(root, {"a.txt": "TWO\n"})  # same size, time put back
    os.utime(root / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    step()
    write(root, {"n": ""})
    step()
    (root / "n").chmod(0o755)
    step()
    (root / "n").unlink()
    (root / "n").symlink_to("a.txt")
    step()
    assert len(set(trees)) == len(trees)
    (root / "n").unlink()
    write(root, {"a.txt": "one\n"})
    assert read(reader, base).tree == trees[0]


def test_no_object_is_written_and_at_most_two_processes_after_a_commit(root: Path) -> None:
    reader, repo, base = make(root)
    read(reader, base)
    write(root, {"a.txt": "changed\n", "new.txt": "new\n"})
    objects = sorted((root / ".git").rglob("*"))
    for _ in range(3):
        before = repo.processes
        read(reader, base)
        assert repo.processes == before + 1
    assert sorted((root / ".git").rglob("*")) == objects
    repo.commit(["a.txt"], "s", parent=base, author="a <a@b>")
    before = repo.processes
    assert read(reader, base).ahead == 1
    assert repo.processes <= before + 2


def test_version_tags_remote(root: Path) -> None:
    write(root, {"pyproject.toml": 'name = "x"\nversion = "1.2.3"\n'})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "v")
    git(root, "tag", "v1.2.3")
    git(root, "remote", "add", "origin", "https://u:p@example.org/x.git")
    reader, _, base = make(root, version_file=("pyproject.toml", r'^version = "(.+)"'))
    seen = read(reader, base)
    assert (seen.version, seen.tags, seen.remote) == ("1.2.3", ("v1.2.3",), "https://example.org/x.git")
    reader, _, _ = make(root, version_file=("no.toml", "x"))
    assert read(reader, base).version is None


def test_problems_are_named(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a.txt")
    repository(root / "nested", {"x": "x"})
    git(root, "bisect", "start")
    git(root, "switch", "-q", "--detach")
    reader, _, base = make(root)
    seen = read(reader, base)
    problem = seen.problem or ""
    assert "overlooks changes of a.txt" in problem and "bisect" in problem and "detached" in problem
    assert "nested" in problem and "nested/" in seen.dirty


def test_names_that_are_not_utf8_and_a_pipe(root: Path) -> None:
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff\n.txt"))).write_text("odd")
    os.mkfifo(root / "pipe")
    reader, _, base = make(root)
    seen = read(reader, base)
    assert seen.dirty["\\xff\n.txt"] == sha("odd")
    assert GitReading.model_validate_json(seen.model_dump_json()) == seen


def test_not_a_repository_raises(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read(GitReconciler(Repo(tmp_path).reader()), "x")
