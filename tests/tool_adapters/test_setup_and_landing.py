from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ConfigError, Permanent
from contracts.workspace import Setup
from tests.tool_adapters.repositories import git, repository, write
from tests.tool_adapters.worktrees import BRANCH, TRAILERS, do, make, opened, snapshot
from tool_adapters.landing import land
from tool_adapters.workspace import WorktreeWorkspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


# ---- set-up -------------------------------------------------------------------------------------------------
def test_setup_runs_when_made_and_when_its_files_change(root: Path) -> None:
    asked = Setup(run=(("sh", "-c", "echo x >> count.log"), "cat a.txt > made.txt"), when=("a.txt",))
    workspace, at = opened(root, setup=asked)
    assert at.setup and not at.dirty, "what set-up made is ignored from now on"
    assert (at.root / "made.txt").read_text() == "one\n"
    assert do(workspace.open()).setup is False and do(make(root, setup=asked).open()).setup is False
    write(at.root, {"a.txt": "changed\n"})
    head = do(workspace.keep(["a.txt"], "s", TRAILERS, at.head))
    again = do(workspace.open())
    assert again.setup and (at.root / "count.log").read_text() == "x\nx\n"
    assert (at.root / "made.txt").read_text() == "changed\n"
    do(workspace.undo(head))
    assert (at.root / "made.txt").exists(), "the set-up's files survive an undo"
    assert not list(at.root.glob("*setup*")) and git(root, "status", "--porcelain") == ""


def test_failing_setup_is_a_config_error_and_is_tried_again(root: Path) -> None:
    asked = Setup(run=("echo building; echo 'no such package' >&2; exit 3",))
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"(?s)exit 3.*building.*no such package"):
            opened(root, setup=asked)
    with pytest.raises(ConfigError, match="no-such-tool"):
        opened(root, setup=Setup(run=(("no-such-tool",),)))
    with pytest.raises(ConfigError, match="not done after"):
        opened(root, setup=Setup(run=("sleep 30",), timeout=0.3))
    assert opened(root, setup=Setup(run=("true",)))[1].setup


def test_setup_that_changes_tracked_files_is_put_back_and_reported(root: Path) -> None:
    _, at = opened(root, setup=Setup(run=("echo lock >> a.txt",)))
    assert not at.dirty and any("a.txt" in notice for notice in at.notices)


def test_setup_sees_no_variables_of_the_caller(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/leak")
    monkeypatch.setenv("VIRTUAL_ENV", "/leak")
    _, at = opened(root, setup=Setup(run=("env > env.log",)))
    assert "/leak" not in (at.root / "env.log").read_text()


def test_ignored_files_are_copied_in_once(root: Path) -> None:
    write(root, {"local.log": "l", "conf/x.log/y": "y", "free.cfg": "f"})
    _, at = opened(root, copy=("local.log", "conf/*.log", "free.cfg", "none.log"))
    assert (at.root / "local.log").read_text() == "l" and (at.root / "conf/x.log/y").exists()
    assert not at.dirty, "what was copied in is no change, ignored in the repository or not"
    assert any("none.log" in notice for notice in at.notices)


# ---- landing ------------------------------------------------------------------------------------------------
def worked(root: Path) -> tuple[WorktreeWorkspace, str]:
    workspace, at = opened(root)
    head = at.head
    for n in (1, 2):
        write(at.root, {"a.txt": f"step {n}\n"})
        head = do(workspace.keep(["a.txt"], f"step {n}", TRAILERS, head))
    return workspace, head


@pytest.mark.parametrize("mode", ["squash", "ff"])
def test_land_onto_the_clean_checkout_and_onto_another_branch(root: Path, mode: Any) -> None:
    git(root, "branch", "release")
    _, head = worked(root)
    landed = land(root, BRANCH, "main", mode, "the whole\n")
    assert (root / "a.txt").read_text() == "step 2\n" and git(root, "status", "--porcelain") == ""
    assert git(root, "log", "-1", "--format=%s", "main") == ("the whole" if mode == "squash" else "step 2")
    assert (landed.new == head) == (mode == "ff") and [file.path for file in landed.files] == ["a.txt"]
    assert land(root, BRANCH, "release", mode, "the whole").checkout is None
    assert git(root, "show", "release:a.txt") == "step 2"
    if mode == "ff":
        with pytest.raises(Permanent, match="nothing to land"):
            land(root, BRANCH, "main", mode, "x")


def test_land_refuses_a_dirty_checkout_and_touches_nothing(root: Path) -> None:
    worked(root)
    write(root, {"src/b.txt": "mine\n"})
    before = snapshot(root)
    with pytest.raises(ConfigError, match=r"uncommitted changes: src/b\.txt"):
        land(root, BRANCH, "main", "squash", "x")
    assert snapshot(root) == before and (root / "src/b.txt").read_text() == "mine\n"


def test_land_does_not_overwrite_an_untracked_file(root: Path) -> None:
    workspace, at = opened(root)
    write(at.root, {"new.txt": "from the run\n"})
    do(workspace.keep(["new.txt"], "s", TRAILERS, at.head))
    write(root, {"new.txt": "mine\n"})
    before = snapshot(root)
    with pytest.raises(Permanent, match="could not be brought forward"):
        land(root, BRANCH, "main", "ff", "x")
    assert snapshot(root) == before and (root / "new.txt").read_text() == "mine\n"


def test_land_on_a_base_that_went_on(root: Path) -> None:
    worked(root)
    write(root, {"src/b.txt": "meanwhile\n"})
    git(root, "commit", "-qam", "meanwhile")
    with pytest.raises(Permanent, match="gone on"):
        land(root, BRANCH, "main", "ff", "x")
    land(root, BRANCH, "main", "squash", "merged")
    assert (root / "a.txt").read_text() == "step 2\n" and (root / "src/b.txt").read_text() == "meanwhile\n"
    git(root, "reset", "-q", "--hard", "HEAD~1")
    write(root, {"a.txt": "conflicting\n"})
    git(root, "commit", "-qam", "conflicting")
    before = snapshot(root)
    with pytest.raises(Permanent, match="same lines"):
        land(root, BRANCH, "main", "squash", "x")
    assert snapshot(root) == before
