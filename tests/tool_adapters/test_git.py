from __future__ import annotations

import os
from pathlib import Path

import pytest

from contracts.errors import ConfigError, Lost, Temporary
from contracts.repository import Hit
from tests.tool_adapters.repositories import git, repository, write
from tool_adapters.git import GitFailed, ReadOnlyRepo, Repo

ME = "step maker <steps@example.org>"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


# ---- reading ----------------------------------------------------------------------------------------------
def test_status_tells_staged_unstaged_untracked_and_leaves_ignored_out(root: Path) -> None:
    write(root, {"a.txt": "changed\n", 'new/ü "x".txt': "n", "x.log": "ignored", "staged.txt": "s"})
    git(root, "add", "staged.txt")
    (root / "src/b.txt").unlink()
    status = Repo(root).status()
    assert (status.branch, status.head) == ("main", head(root))
    assert status.staged == ("staged.txt",)
    assert status.unstaged == ("a.txt", "src/b.txt")
    assert status.untracked == ('new/ü "x".txt',)
    assert status.dirty == ("a.txt", 'new/ü "x".txt', "src/b.txt", "staged.txt")


def test_status_of_detached_unborn_and_unmerged(root: Path, tmp_path: Path) -> None:
    git(root, "switch", "-q", "--detach")
    assert Repo(root).status().branch is None
    git(root, "switch", "-q", "main")
    git(root, "switch", "-q", "-c", "other")
    write(root, {"a.txt": "theirs\n"})
    git(root, "commit", "-qam", "theirs")
    git(root, "switch", "-q", "main")
    write(root, {"a.txt": "ours\n"})
    git(root, "commit", "-qam", "ours")
    git(root, "merge", "other", check=False)
    repo = Repo(root)
    assert repo.status().unmerged == ("a.txt",)
    assert repo.operation() == "merge"
    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q")
    assert Repo(unborn).status().head is None


def test_status_writes_nothing(root: Path) -> None:
    os.utime(root / "a.txt", (1, 1))
    before = {p: p.stat().st_mtime_ns for p in (root / ".git").rglob("*") if p.is_file()}
    Repo(root).status()
    assert before == {p: p.stat().st_mtime_ns for p in (root / ".git").rglob("*") if p.is_file()}


def test_rev_needs_no_process_for_a_branch(root: Path) -> None:
    repo = Repo(root)
    assert repo.rev("main") == head(root)
    git(root, "pack-refs", "--all")
    assert repo.rev("main") == head(root)
    assert repo.processes == 0
    git(root, "tag", "-a", "v1", "-m", "x")
    assert repo.rev("v1") == repo.rev("HEAD") == repo.rev(head(root)[:10]) == head(root)
    assert repo.rev("no-such") is None and repo.rev("--all") is None


def test_position_counts_once_and_follows_commits(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "link")
    git(root, "tag", "v1")
    git(root, "tag", "-a", "v2", "-m", "annotated")
    base, repo = head(root), Repo(root)
    first = repo.position(base, base)
    assert (first.ahead, first.behind, first.tags, first.links) == (0, 0, ("v1", "v2"), {"link": "a.txt"})
    counted = repo.processes
    assert repo.position(base, base) == first
    assert repo.processes == counted
    write(root, {"c.txt": "c"})
    (root / "link").unlink()
    (root / "other").symlink_to("src")
    new = repo.commit(["c.txt", "link", "other"], "step", parent=base, author=ME)
    counted = repo.processes
    then = repo.position(base, new)
    assert (then.ahead, then.behind, then.tags, then.links) == (1, 0, (), {"other": "src"})
    assert repo.processes == counted + 1
    git(root, "tag", "v3")
    assert repo.position(base, new).tags == ("v3",)
    assert Repo(root).position(base, new).ahead == 1
    git(root, "switch", "-q", "-c", "side", base)
    write(root, {"d.txt": "d"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "side")
    assert (repo.position(new, head(root)).ahead, repo.position(new, head(root)).behind) == (1, 1)


def test_position_names_overlooked_paths(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "a.txt")
    git(root, "update-index", "--skip-worktree", "src/b.txt")
    assert Repo(root).position(head(root), head(root)).overlooked == ("a.txt", "src/b.txt")


def test_files_are_tracked_and_untracked_without_ignored_and_gone(root: Path) -> None:
    write(root, {"new.txt": "", "x.log": ""})
    (root / "a.txt").unlink()
    assert Repo(root).files() == (".gitignore", "new.txt", "src/b.txt")
    assert Repo(root).ignored(["x.log", "new.txt", "src/b.txt"]) == {"x.log"}
    assert Repo(root).ignored([]) == frozenset()


def test_grep_takes_dashes_globs_and_limits(root: Path) -> None:
    write(root, {"new.txt": "-e --open-files-in-pager=x\nword\n", "src/b.txt": "word two\nsword\n" * 3})
    (root / "bin").write_bytes(b"\0word")
    repo = Repo(root)
    hits, more = repo.grep("--open-files-in-pager=x")
    assert (hits, more) == ((Hit("new.txt", 1, "-e --open-files-in-pager=x"),), False)
    assert len(repo.grep("word", word=True)[0]) == 4
    assert len(repo.grep("word")[0]) == 7
    assert {hit.path for hit in repo.grep("WORD", ignore_case=True, globs=["src"])[0]} == {"src/b.txt"}
    assert {hit.path for hit in repo.grep("word", globs=["*.txt"])[0]} == {"new.txt"}
    assert repo.grep("w.rd two", regex=True)[0][0].line == 1
    assert repo.grep("word", limit=2) == (repo.grep("word")[0][:2], True)
    assert repo.grep("nowhere") == ((), False)
    with pytest.raises(GitFailed):
        repo.grep("(", regex=True)


def test_diff_is_bounded_and_counted(root: Path) -> None:
    base = head(root)
    write(root, {"a.txt": "line\n" * 5000, "src/b.txt": "two\nthree\n"})
    repo = Repo(root)
    data, total = repo.diff(base, limit=100)
    assert len(data) == 100 < total
    new = repo.commit(["a.txt", "src/b.txt"], "x", parent=base, author=ME)
    data, total = repo.diff(base, new, globs=["src/**"])
    assert data.startswith(b"diff --git a/src/b.txt b/src/b.txt") and len(data) == total
    assert [(s.path, s.added, s.removed) for s in repo.diffstat(base, new)] == [
        ("a.txt", 5000, 1),
        ("src/b.txt", 1, 0),
    ]
    assert repo.changed(base) == ("a.txt", "src/b.txt") and repo.changed(base, ["src"]) == ("src/b.txt",)


def test_show_find_and_merge_base(root: Path) -> None:
    repo, base = Repo(root), head(root)
    assert repo.show(base, "a.txt") == b"one\n"
    assert repo.show(base, "no") is None and repo.show("f" * 40, "a.txt") is None
    write(root, {"a.txt": "1"})
    one = repo.commit(["a.txt"], "s1\n\nSkill-State-Key: k1\n", parent=base, author=ME)
    write(root, {"a.txt": "2"})
    text = "s2\n\nSkill-State-Step: 2\nSkill-State-Key: k2\n"
    two = repo.commit(["a.txt"], text, parent=one, author=ME)
    assert repo.find(base, two, "Skill-State-Key", "k1") == one
    assert repo.find(base, two, "Skill-State-Key", "k2") == two
    assert repo.find(base, two, "Skill-State-Key", "k") is None
    assert repo.find(two, two, "Skill-State-Key", "k2") is None
    assert repo.merge_base(base, two) == base


def test_remote_shows_no_credentials(root: Path) -> None:
    assert Repo(root).remote() is None
    git(root, "remote", "add", "origin", "https://user:tok3n@example.org/x.git")
    assert Repo(root).remote() == "https://example.org/x.git"


def test_reader_cannot_write(root: Path) -> None:
    repo = Repo(root)
    reader = repo.reader()
    assert type(reader) is ReadOnlyRepo
    assert not hasattr(reader, "commit") and not hasattr(reader, "update_ref")
    reader.status()
    assert repo.processes == reader.processes > 0


def test_not_a_repository_and_foreign_owner(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a Git repository"):
        Repo(tmp_path).status()
    if os.getuid() == 0:
        for path in (root, *root.rglob("*")):
            os.chown(path, 65534, 65534, follow_symlinks=False)
        assert Repo(root).status().head


# ---- writing ----------------------------------------------------------------------------------------------
def test_commit_holds_exactly_the_paths_and_the_index_follows(root: Path) -> None:
    write(root, {"a.txt": "changed", "new.txt": "n", "stray.txt": "s", "x.log": "forced"})
    (root / "src/b.txt").unlink()
    (root / "src/b.txt").mkdir()
    write(root, {"src/b.txt/inner": "file became folder"})
    repo, base = Repo(root), head(root)
    paths = ["a.txt", "new.txt", "src/b.txt", "src/b.txt/inner", "x.log"]
    new = repo.commit(paths, "step 1: ü\n\nSkill-State-Step: 1\n", parent=base, author=ME)
    assert head(root) == new
    shown = git(root, "-c", "core.quotePath=false", "show", "--name-status", "--format=%an %ae %cn %B", new)
    assert shown.splitlines()[0] == "step maker steps@example.org step maker step 1: ü"
    assert set(shown.splitlines()[-5:]) == {
        "M\ta.txt",
        "A\tnew.txt",
        "D\tsrc/b.txt",
        "A\tsrc/b.txt/inner",
        "A\tx.log",
    }
    assert git(root, "status", "--porcelain") == "?? stray.txt"


def test_commit_leaves_out_what_somebody_staged(root: Path) -> None:
    write(root, {"a.txt": "mine", "staged.txt": "not mine"})
    git(root, "add", "staged.txt")
    base = head(root)
    new = Repo(root).commit(["a.txt"], "s", parent=base, author=ME)
    assert git(root, "diff", "--name-only", base, new) == "a.txt"
    assert git(root, "status", "--porcelain") == "?? staged.txt"


def test_commit_without_a_difference_is_none(root: Path) -> None:
    base = head(root)
    assert Repo(root).commit(["a.txt"], "s", parent=base, author=ME) == base
    assert head(root) == base


def test_commit_is_lost_when_the_branch_moved(root: Path) -> None:
    base = head(root)
    git(root, "commit", "-q", "--allow-empty", "-m", "somebody else")
    theirs = head(root)
    write(root, {"a.txt": "mine"})
    with pytest.raises(Lost):
        Repo(root).commit(["a.txt"], "s", parent=base, author=ME)
    assert head(root) == theirs


def test_update_ref_compares(root: Path) -> None:
    repo, base = Repo(root), head(root)
    repo.update_ref("refs/skill-state/x", base, "", "made")
    with pytest.raises(Lost):
        repo.update_ref("refs/skill-state/x", base, "", "made again")
    repo.update_ref("refs/skill-state/x", None, base, "gone")
    assert git(root, "for-each-ref", "refs/skill-state") == ""


def test_a_held_lock_is_temporary(root: Path) -> None:
    (root / ".git/index.lock").touch()
    write(root, {"a.txt": "mine"})
    with pytest.raises(Temporary, match=r"index\.lock"):
        Repo(root).commit(["a.txt"], "s", parent=head(root), author=ME)


def test_an_edit_costs_five_processes_and_a_look_one(root: Path) -> None:
    repo, base = Repo(root), head(root)
    repo.status()
    before = repo.processes
    repo.status()
    assert repo.processes == before + 1
    write(root, {"a.txt": "mine"})
    repo.commit(["a.txt"], "s", parent=base, author=ME)
    assert repo.processes == before + 6


def test_the_callers_git_variables_do_not_reach_git(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository(tmp_path / "other", {"z": "z"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    write(root, {"a.txt": "mine"})
    base = git(root, "rev-parse", "HEAD")
    repo = Repo(root)
    assert repo.status().unstaged == ("a.txt",)
    new = repo.commit(["a.txt"], "s", parent=base, author=ME)
    assert git(root, "rev-parse", "main") == new
    assert b"mine" in repo.diff(base, new)[0]
