from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from contracts.errors import ConfigError, Lost, Moved, Temporary
from tests.tool_adapters.repositories import git, repository, write
from tests.tool_adapters.worktrees import BRANCH, TRAILERS, do, make, opened, snapshot
from tool_adapters.git import Repo
from tool_adapters.worktree_home import Home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


# ---- making and reusing -------------------------------------------------------------------------------------
def test_open_makes_it_then_reuses_it_for_two_processes_at_most(root: Path) -> None:
    before = snapshot(root)
    workspace, at = opened(root)
    assert at.created and not at.dirty and at.base == at.head == git(root, "rev-parse", "main")
    assert (at.root / "src/b.txt").read_text() == "two\n"
    assert git(at.root, "branch", "--show-current") == BRANCH
    assert snapshot(root) == before, "the user's checkout is as it was, and .agent-runtime hides itself"
    fresh = make(root)
    again = do(fresh.open())
    assert (again.created, again.head, again.notices) == (False, at.head, ())
    assert fresh.work.processes <= 2
    spent = fresh.work.processes
    do(fresh.open())
    assert fresh.work.processes == spent
    assert workspace.path == again.root


def test_uncommitted_files_of_the_checkout_are_named_and_stay(root: Path) -> None:
    write(root, {"a.txt": "mine\n", "mine.txt": "m"})
    _, at = opened(root)
    assert any("a.txt" in notice and "mine.txt" in notice for notice in at.notices)
    assert (at.root / "a.txt").read_text() == "one\n"
    assert (root / "a.txt").read_text() == "mine\n"


def test_folder_deleted_by_hand_is_made_again_with_its_commits(root: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"a.txt": "kept\n"})
    head = do(workspace.keep(["a.txt"], "s", TRAILERS, at.head))
    shutil.rmtree(at.root)
    _, again = opened(root)
    assert again.created and again.head == head and again.base == at.base
    assert (again.root / "a.txt").read_text() == "kept\n"


def test_killed_during_creation_is_repaired(root: Path) -> None:
    _, at = opened(root)
    admin = root / ".git/worktrees/t"
    (admin / "locked").write_text("initializing")
    (admin / "index").unlink()
    (at.root / "src/b.txt").unlink()
    _, again = opened(root)
    assert again.created and (again.root / "src/b.txt").exists() and not again.dirty


def test_killed_after_the_branch_was_made(root: Path) -> None:
    git(root, "branch", BRANCH)
    assert opened(root)[1].created


def test_moved_repository_is_repaired(root: Path, tmp_path: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"a.txt": "half-done\n"})
    root.rename(tmp_path / "renamed")
    _, again = opened(tmp_path / "renamed")
    assert again.dirty and not again.created
    assert (again.root / "a.txt").read_text() == "half-done\n"
    assert git(again.root, "status", "--porcelain") == "M a.txt"
    assert workspace.path != again.root


def test_detached_or_switched_worktree_is_put_back_on_its_branch(root: Path) -> None:
    _, at = opened(root)
    git(at.root, "switch", "-q", "--detach")
    git(at.root, "commit", "-q", "--allow-empty", "-m", "astray")
    _, again = opened(root)
    assert again.head == at.head and git(again.root, "branch", "--show-current") == BRANCH
    assert any("put back" in notice for notice in again.notices)


def test_stale_lock_is_removed_a_young_one_respected(root: Path) -> None:
    opened(root)
    lock = root / ".git/worktrees/t/index.lock"
    lock.touch()
    with pytest.raises(Temporary):
        opened(root)
    os.utime(lock, (1, 1))
    _, at = opened(root)
    assert not lock.exists() and any("lock" in notice for notice in at.notices)


def test_a_linked_worktree_of_the_user_is_a_checkout_too(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "feature", str(tmp_path / "linked"))
    write(tmp_path / "linked", {"f.txt": "f"})
    git(tmp_path / "linked", "add", "-A")
    git(tmp_path / "linked", "commit", "-qm", "f")
    _, at = opened(tmp_path / "linked", base="feature")
    assert (at.root / "f.txt").exists()


# ---- what is refused, by name -------------------------------------------------------------------------------
def test_not_a_repository_bare_and_without_commits(tmp_path: Path, root: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(ConfigError, match="not a Git repository"):
        opened(tmp_path / "none")
    (tmp_path / "unborn").mkdir()
    git(tmp_path / "unborn", "init", "-q", "-b", "main")
    with pytest.raises(ConfigError, match="no commits"):
        opened(tmp_path / "unborn")
    git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    with pytest.raises(ConfigError, match="bare"):
        opened(tmp_path / "bare.git")


def conflict(root: Path) -> None:
    git(root, "switch", "-q", "-c", "other")
    write(root, {"a.txt": "theirs\n"})
    git(root, "commit", "-qam", "theirs")
    git(root, "switch", "-q", "main")
    write(root, {"a.txt": "ours\n"})
    git(root, "commit", "-qam", "ours")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("merge", ["merge", "other"]),
        ("rebase", ["rebase", "other"]),
        ("cherry-pick", ["cherry-pick", "other"]),
        ("revert", ["revert", "--no-edit", "HEAD~1"]),
        ("bisect", ["bisect", "start"]),
    ],
)
def test_operation_under_way_is_named_and_not_aborted(root: Path, name: str, command: list[str]) -> None:
    conflict(root)
    if name == "revert":
        write(root, {"a.txt": "third\n"})
        git(root, "commit", "-qam", "third")
    git(root, *command, check=False)
    before = snapshot(root)
    with pytest.raises(ConfigError, match=f"middle of a {name}"):
        opened(root)
    assert snapshot(root) == before
    git(root, name, "reset" if name == "bisect" else "--abort")
    assert opened(root)[1].created


def test_operation_in_the_worktree_itself_is_named(root: Path) -> None:
    conflict(root)
    _, at = opened(root)
    git(at.root, "merge", "other", check=False)
    with pytest.raises(ConfigError, match=r"worktree is in the middle of a merge"):
        opened(root)


def test_missing_base_shallow_base_and_remote_base(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'dev' is no branch.*on main"):
        opened(root, base="dev")
    first = git(root, "rev-parse", "HEAD")
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "shallow")
    with pytest.raises(ConfigError, match=r"shallow.*fetch-depth"):
        opened(tmp_path / "shallow", base=first)
    clone = tmp_path / "shallow"
    git(clone, "switch", "-q", "--detach")
    git(clone, "branch", "-q", "-D", "main")
    _, at = opened(clone)
    assert any("origin/main" in notice for notice in at.notices)


def test_branch_checked_out_elsewhere_and_folder_in_the_way(root: Path, tmp_path: Path) -> None:
    git(root, "switch", "-q", "-c", BRANCH)
    with pytest.raises(ConfigError, match="checked out in"):
        opened(root)
    git(root, "switch", "-q", "main")
    write(root, {".agent-runtime/work/t/precious.txt": "p"})
    with pytest.raises(ConfigError, match="in the way"):
        opened(root)
    assert (root / ".agent-runtime/work/t/precious.txt").exists()


# ---- keep ---------------------------------------------------------------------------------------------------
def test_keep_commits_with_trailers_and_is_found_again(root: Path) -> None:
    user = snapshot(root)
    workspace, at = opened(root)
    write(at.root, {"a.txt": "new\n", "n/new.txt": "n\n", "stray.txt": "s"})
    hook = root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    head = do(workspace.keep(["a.txt", "n/new.txt"], "step 1: edit", TRAILERS, at.head))
    body = git(root, "log", "-1", "--format=%an <%ae>|%cn|%s|%(trailers:only,unfold)", BRANCH)
    assert body.startswith(
        "skill-state <noreply@localhost>|skill-state|step 1: edit|Skill-State-Run: t@abc#1"
    )
    assert git(root, "rev-parse", BRANCH) == head
    assert git(at.root, "status", "--porcelain") == "?? stray.txt"
    assert do(workspace.find("k1")) == head and do(workspace.find("k2")) is None
    assert do(workspace.keep([], "nothing", TRAILERS, head)) == head
    assert "+new" in do(workspace.diff(at.head, head, 4000))
    assert snapshot(root) == user


def test_keep_is_lost_when_the_branch_is_elsewhere(root: Path) -> None:
    workspace, at = opened(root)
    git(at.root, "commit", "-q", "--allow-empty", "-m", "somebody")
    write(at.root, {"a.txt": "new\n"})
    with pytest.raises(Lost):
        do(workspace.keep(["a.txt"], "s", TRAILERS, at.head))


def test_diff_is_bounded(root: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"a.txt": "line\n" * 9000})
    head = do(workspace.keep(["a.txt"], "s", TRAILERS, at.head))
    shown = do(workspace.diff(at.head, head, 2000))
    assert len(shown.encode()) <= 2000 and shown.startswith("diff --git") and "cut" in shown


# ---- undo ---------------------------------------------------------------------------------------------------
def test_undo_keeps_the_tree_then_puts_everything_back(root: Path) -> None:
    user = snapshot(root)
    workspace, at = opened(root)
    write(at.root, {"a.txt": "bad\n", "deep/er/new.txt": "n\n", "x.log": "ignored\n", "staged.txt": "s\n"})
    (at.root / "src/b.txt").unlink()
    (at.root / "link").symlink_to("/etc/passwd")
    git(at.root, "add", "staged.txt")
    ref = do(workspace.undo(at.head, "t@abc#1/undone/3"))
    assert ref == "refs/skill-state/t@abc#1/undone/3"
    assert git(at.root, "status", "--porcelain") == ""
    assert (at.root / "a.txt").read_text() == "one\n" and (at.root / "src/b.txt").exists()
    assert not (at.root / "deep").exists() and not (at.root / "link").is_symlink()
    assert (at.root / "x.log").read_text() == "ignored\n"
    kept = git(root, "diff", "--name-status", at.head, ref).splitlines()
    assert kept == ["M\ta.txt", "A\tdeep/er/new.txt", "A\tlink", "D\tsrc/b.txt", "A\tstaged.txt"]
    assert git(root, "show", f"{ref}:deep/er/new.txt") == "n"
    assert snapshot(root) == user
    assert do(workspace.undo(at.head, "x")) is None
    write(at.root, {"a.txt": "again\n"})
    assert do(workspace.undo(at.head, "t@abc#1/undone/3")) == f"{ref}-2"


def test_undo_without_a_name_keeps_nothing(root: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"a.txt": "bad\n", "n": "n"})
    assert do(workspace.undo(at.head)) is None
    assert git(at.root, "status", "--porcelain") == "" and git(root, "for-each-ref", "refs/skill-state") == ""


def test_undo_leaves_ignored_files_even_when_gitignore_was_edited(root: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"x.log": "ignored\n", "venv.log/big": "b"})
    write(at.root, {".gitignore": "\n"})
    do(workspace.undo(at.head, "u"))
    assert (at.root / "x.log").exists() and (at.root / "venv.log/big").exists()
    assert git(at.root, "status", "--porcelain") == ""


def test_undo_of_file_turned_folder_and_folder_turned_file(root: Path) -> None:
    workspace, at = opened(root)
    (at.root / "a.txt").unlink()
    write(at.root, {"a.txt/inner": "i"})
    shutil.rmtree(at.root / "src")
    write(at.root, {"src": "file"})
    do(workspace.undo(at.head, "u"))
    assert git(at.root, "status", "--porcelain") == ""
    assert (at.root / "a.txt").read_text() == "one\n" and (at.root / "src/b.txt").exists()
    assert git(root, "show", "refs/skill-state/u:src") == "file"


def test_undo_of_commits_switches_and_a_conflicted_merge(root: Path) -> None:
    conflict(root)
    workspace, at = opened(root)
    git(at.root, "commit", "-q", "--allow-empty", "-m", "by the agent")
    lost = git(at.root, "rev-parse", "HEAD")
    git(at.root, "merge", "other", check=False)
    with pytest.raises(Lost):
        do(workspace.undo(at.head, "u"))
    assert git(root, "rev-parse", BRANCH) == lost and git(root, "for-each-ref", "refs/skill-state") == ""
    ref = do(workspace.undo(at.head, "u", seen=lost))
    assert git(root, "rev-parse", BRANCH) == at.head
    assert git(root, "rev-parse", f"{ref}^") == lost
    assert do(make(root).open()).dirty is False


def test_undo_moves_nested_repositories_aside(root: Path) -> None:
    workspace, at = opened(root)
    repository(at.root / "vendor/nested", {"precious": "p"})
    do(workspace.undo(at.head, "u"))
    assert git(at.root, "status", "--porcelain") == ""
    assert list((root / ".agent-runtime/undone").rglob("precious"))


def test_spoil_makes_a_tracked_file_invalid_and_undo_mends_it(root: Path) -> None:
    workspace, at = opened(root)
    do(workspace.spoil("a.txt"))
    with pytest.raises((SyntaxError, ValueError)):  # which of them depends on Python's version
        compile((at.root / "a.txt").read_bytes(), "a", "exec")
    do(workspace.undo(at.head))
    assert (at.root / "a.txt").read_text() == "one\n"
    write(at.root, {"x.log": ""})
    for wrong in ("no.txt", "x.log", "src", "../../../a.txt"):
        with pytest.raises(ConfigError, match="must_notice"):
            do(workspace.spoil(wrong))


def test_start_over_keeps_the_old_tip(root: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"a.txt": "old run\n"})
    head = do(workspace.keep(["a.txt"], "s", TRAILERS, at.head))
    assert do(workspace.start_over("t#1/branch")) == "refs/skill-state/t#1/branch"
    assert git(root, "rev-parse", "refs/skill-state/t#1/branch") == head
    assert do(workspace.open()).head == at.base
    assert do(workspace.start_over("t#2/branch")) is None


def test_a_worktree_left_to_another_host_can_move_the_branch_no_more(root: Path) -> None:
    old, at = opened(root)
    write(at.root, {"a.txt": "half done by the other\n"})
    home = Home.of(at.root, root / ".agent-runtime", "t")
    home.leave(3)
    home.leave(3)
    assert (home.path.name, home.left) == ("t@3", (at.root,))
    # Before the taker has opened its own, what the sleeper commits counts: it is found by its key.
    early = do(old.keep(["a.txt"], "s", TRAILERS, at.head))
    with pytest.raises(Moved, match="t@3"):
        do(old.open())
    _, there = opened(root)
    assert (there.root, there.head, there.created) == (home.path, early, True)
    assert any("left to a controller of another host" in notice for notice in there.notices)
    # From then on it can't: neither by its next step, nor in the middle of one.
    write(at.root, {"a.txt": "late\n"})
    with pytest.raises(Lost):
        do(old.keep(["a.txt"], "s", {**TRAILERS, "Skill-State-Key": "k2"}, early))
    late = Repo(at.root).commit(["a.txt"], "past the look", parent=early, author="a <a@b>")
    assert late != early and git(root, "rev-parse", BRANCH) == early, "only its own HEAD moved"
    with pytest.raises(Moved):
        do(old.undo(at.head, "u", seen=early))
    assert (
        git(root, "rev-parse", BRANCH) == early
        and (there.root / "a.txt").read_text() == "half done by the other\n"
    )
    home.leave(7)
    assert opened(root)[1].root.name == "t@7"
