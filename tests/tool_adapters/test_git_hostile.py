"""A repository that plants code wherever git is known to run some: none of it runs through our verbs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from tests.tool_adapters.repositories import git, repository, write
from tool_adapters.git import Repo

ME = "step maker <steps@example.org>"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


HOOKS = (
    "pre-commit",
    "post-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-checkout",
    "post-merge",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "fsmonitor-watchman",
)
CANARY = "#!/bin/sh\ntouch '{canary}'\n[ -t 0 ] || cat\nexit 0\n"


def hostile(root: Path, tmp_path: Path) -> Path:
    """Plants code in every place from which git is known to run some, and returns the file it would touch."""
    canary, script = tmp_path / "canary", tmp_path / "evil.sh"
    script.write_text(CANARY.format(canary=canary))
    script.chmod(0o755)
    hooks = root / ".git/hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    for hook in HOOKS:
        shutil.copy(script, hooks / hook)
    included = tmp_path / "included.config"
    included.write_text(f'[filter "included"]\n\tclean = {script}\n\tsmudge = {script}\n')
    with (root / ".git/config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\teditor = {script}\n\tsshCommand = {script}\n"
            f"\talternateRefsCommand = {script}\n\thooksPath = {hooks}\n"
            f'[filter "evil.one"]\n\tclean = {script}\n\tsmudge = {script}\n\trequired = true\n'
            f'[filter "proc"]\n\tprocess = {script}\n\trequired = true\n'
            f'[diff "evil"]\n\tcommand = {script}\n\ttextconv = {script}\n[diff]\n\texternal = {script}\n'
            f'[merge "evil"]\n\tdriver = {script}\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {script}\n'
            f'[log]\n\tshowSignature = true\n[credential]\n\thelper = "!{script}"\n[include]\n\tpath = {included}\n'
        )
    write(
        root,
        {
            ".gitattributes": "a.txt filter=evil.one diff=evil merge=evil\nsrc/** filter=proc diff=evil\n"
            "inc.txt filter=included\n",
        },
    )
    return canary


def exercise(repo: Repo, base: str) -> None:
    write(repo.root, {"a.txt": "ONE\n", "src/b.txt": "TWO\n", "inc.txt": "three\n"})
    os.utime(repo.root / ".gitignore", (1, 1))
    repo.status()
    repo.position(base, base)
    repo.diff(base)
    repo.changed(base)
    repo.files()
    repo.grep("O")
    paths = ["a.txt", "src/b.txt", "inc.txt", ".gitattributes"]
    new = repo.commit(paths, "s", parent=base, author=ME)
    repo.diff(base, new)
    repo.diffstat(base, new)
    repo.find(base, new, "Skill-State-Key", "x")
    repo.show(new, "a.txt")
    repo.engine.run("worktree", "add", "--no-track", "-b", "w", str(repo.root.parent / "w"), new)
    repo.engine.run("reset", "--hard", "--quiet", base)


def test_no_planted_code_runs(root: Path, tmp_path: Path) -> None:
    base, canary = head(root), hostile(root, tmp_path)
    repo = Repo(root)
    exercise(repo, base)
    assert not canary.exists()
    assert (tmp_path / "w/a.txt").read_text() == "ONE\n"


@pytest.mark.parametrize(
    "command",
    [["status"], ["diff"], ["add", "-A"], ["commit", "-qam", "x"], ["log", "-p", "--ext-diff"]],
    ids=lambda command: command[0],
)
def test_positive_control_plain_git_runs_it(root: Path, tmp_path: Path, command: list[str]) -> None:
    canary = hostile(root, tmp_path)
    write(root, {"a.txt": "ONE\n", "inc.txt": "three\n"})
    git(root, *command, check=False)
    assert canary.exists()


@pytest.mark.parametrize("where", ["config", "included"])
def test_a_driver_planted_after_opening_is_switched_off_too(root: Path, tmp_path: Path, where: str) -> None:
    script, canary, included = tmp_path / "evil.sh", tmp_path / "canary", tmp_path / "included"
    script.write_text(CANARY.format(canary=canary))
    script.chmod(0o755)
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
