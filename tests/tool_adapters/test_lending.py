"""The copy that is lent to an agent, and what comes back of it, whatever was done to it. Real git, no sandbox."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from contracts.paths import PathPolicy
from contracts.redact import Redactor
from contracts.submitted import Changed, Submitted
from controller.stores.artifacts import FileArtifacts
from tests.controller.world import git
from tool_adapters.git import Repo
from tool_adapters.lending import Lending

TOKEN = "ghp_" + "Zk3v9Qw7Lr2Xs8Nf4Tb6Hd1Jm5Pc0YgAuEiOq"


@pytest.fixture
def lending(tmp_path: Path) -> Lending:
    root, work = tmp_path / "repo", tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for name, text in {
        "src/a.py": "a\n",
        "src/b.py": "b\n",
        ".gitignore": ".venv/\n.env\nmade.py\n*.pyc\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    git(root, "worktree", "add", "-q", "-b", "run", str(work))
    artifacts = FileArtifacts(tmp_path / "artifacts", Redactor().redact)
    policy = PathPolicy(scope=("src/**",))
    return Lending(Repo(work), tmp_path / "room", "tidy", "x <x@y.z>", policy, Redactor(), artifacts)


def sh(lending: Lending, script: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(lending.room), "GIT_CONFIG_GLOBAL": os.devnull}
    who = {f"GIT_{role}_{what}": "x@y.z" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["sh", "-ec", script], cwd=lending.copy, env=env | who, check=True, stdout=subprocess.DEVNULL
    )


def taken(lending: Lending, script: str) -> Submitted:
    lending.lend()
    sh(lending, script)
    found = lending.take(1, ())
    assert not lending.room.exists(), "nothing of the copy is left"
    return found


def test_the_copy_is_a_repository_of_its_own_that_looks_clean(lending: Lending) -> None:
    lending.lend()
    sh(
        lending,
        'test -z "$(git status --porcelain)" && git log --oneline | grep -q start && git fsck --strict',
    )
    sh(
        lending,
        "git config user.name me; git tag mine; git update-ref refs/heads/main HEAD; echo x > .git/hooks-like",
    )
    work = lending.work.root
    assert git(work, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/heads/run"]
    assert git(work, "status", "--porcelain") == "" and "me" not in git(work, "config", "--list", "--local")
    assert lending.take(1, ()).own == ("refs/heads/main at " + git(work, "rev-parse", "HEAD")[:12],
                                       "refs/tags/mine at " + git(work, "rev-parse", "HEAD")[:12])  # fmt: skip


def test_what_changed_is_named_with_its_modes_and_kept(lending: Lending) -> None:
    script = "echo more >> src/a.py; rm src/b.py; printf 'x\\0' > src/c.bin; echo > src/run.sh; chmod +x src/run.sh"
    found = taken(
        lending, f"{script}; ln -s a.py src/link; touch src/cache.pyc; mkdir src/__pycache__; echo > top.txt"
    )
    assert found.files == (
        Changed(path="src/a.py"),
        Changed(path="src/b.py", mode="000000"),
        Changed(path="src/c.bin", was="000000", binary=True),
        Changed(path="src/link", was="000000", mode="120000"),
        Changed(path="src/run.sh", was="000000", mode="100755"),
        Changed(path="top.txt", was="000000"),
    )
    work = lending.work.root
    assert git(work, "show", f"{found.tree}:src/a.py") == "a\nmore\n"
    assert git(work, "rev-parse", f"{found.kept}^{{tree}}").strip() == found.tree
    assert b"+more" in lending.artifacts.get(found.diff) and found.bytes > 100
    assert git(work, "status", "--porcelain") == "", "the worktree is as it was"


def test_nothing_changed_is_said_and_nothing_is_kept(lending: Lending) -> None:
    found = taken(lending, "touch src/a.py; git status -s; mkdir empty")
    assert (found.count, found.files, found.kept, found.own) == (0, (), "", ())


def test_a_secret_is_named_by_its_place_and_not_shown(lending: Lending) -> None:
    found = taken(lending, f"echo 'token = \"{TOKEN}\"' > src/b.py")
    assert len(found.secrets) == 1 and "src/b.py line 1" in found.secrets[0]
    assert TOKEN not in found.model_dump_json() and TOKEN.encode() not in lending.artifacts.get(found.diff)


@pytest.mark.parametrize(
    "script",
    [
        "git commit -qam mine",
        "git checkout -qb mine && git commit -qam mine && git pack-refs --all && git gc -q",
        "git commit -qam mine && git branch mine && git checkout -q HEAD~1",
    ],
)
def test_commits_of_its_own_come_along_as_objects(lending: Lending, script: str) -> None:
    found = taken(lending, f"echo mine > src/a.py; {script}")
    assert found.own and git(lending.work.root, "log", "--format=%s", f"{found.kept}^2").startswith("mine")
    git(lending.work.root, "fsck", "--strict")


@pytest.mark.parametrize(
    ("script", "own"),
    [
        ("rm -rf .git; git init -q .", "HEAD"),
        ("rm -rf .git", "another .git"),
        ("rm -rf .git; ln -s /etc .git", "another .git"),
        ("rm .git/HEAD; ln -s /etc/passwd .git/HEAD", "HEAD"),
        ("rm .git/HEAD; mkfifo .git/HEAD", "HEAD"),
        ("echo ref: refs/heads/x > .git/HEAD", "HEAD"),
        (f"echo {'e' * 40} > .git/refs/heads/x", "refs/heads/x"),
        ("git init -q src/x", "a repository of its own in src/x"),
        ("mkdir src/.git; echo > src/new.py", "a repository of its own in src"),
        (
            "rm -rf .git/objects; ln -s / .git/objects; git tag x || echo abc > .git/refs/tags/x",
            "refs/tags/x",
        ),
    ],
)
def test_whatever_stands_in_its_git_is_read_as_data(lending: Lending, script: str, own: str) -> None:
    found = taken(lending, f"echo x > src/a.py; {script} 2>/dev/null")
    assert any(each.startswith(own) for each in found.own), found.own
    assert "src/a.py" in [each.path for each in found.files]


def test_no_git_of_ours_runs_what_the_copy_names(lending: Lending, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    lending.lend()
    sh(
        lending,
        f"""echo x > src/a.py; echo '*.py filter=evil diff=evil' > .gitattributes
        git config core.fsmonitor 'touch {trap}'; git config filter.evil.clean 'touch {trap}'
        git config diff.evil.command 'touch {trap}'; git config diff.evil.textconv 'touch {trap}'
        git config core.hooksPath .git/hooks; mkdir -p .git/hooks
        for each in post-index-change reference-transaction post-commit; do
          printf '#!/bin/sh\\ntouch {trap}\\n' > .git/hooks/$each; chmod +x .git/hooks/$each; done
        git status >/dev/null 2>&1""",
    )
    assert trap.exists(), "the control: a git that stands in the copy runs it"
    trap.unlink()
    found = lending.take(1, ())
    assert not trap.exists()
    assert {".gitattributes", "src/a.py"} <= {each.path for each in found.files}


def test_what_the_set_up_made_is_there_but_no_file_with_secrets(lending: Lending) -> None:
    work = lending.work.root
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/bin/python").write_text("")
    (work / "made.py").write_text("made")
    (work / ".env").write_text("SECRET=1")
    lending.lend()
    assert (lending.copy / "made.py").read_text() == "made" and not (lending.copy / ".env").exists()
    assert list(lending.folders()) == [work / ".venv"]
    assert lending.take(1, ()).count == 0


def test_a_folder_that_becomes_a_link_and_one_that_can_not_be_read_are_no_trouble(lending: Lending) -> None:
    found = taken(lending, "rm -rf src; ln -s /etc src; mkdir shut; touch shut/x; chmod 000 shut")
    assert Changed(path="src", was="000000", mode="120000") in found.files
    assert Changed(path="src/a.py", mode="000000") in found.files


@pytest.mark.parametrize(
    "script", ["head -c 40000000 /dev/zero > src/big", "seq 1 5000 | split -l 1 -a 4 - src/n"]
)
def test_too_much_is_not_taken_at_all(lending: Lending, script: str) -> None:
    found = taken(lending, script)
    assert found.tree == "" and found.kept == "" and found.count >= 1


def test_a_copy_whose_launch_was_cut_short_is_kept_before_the_next_one(lending: Lending) -> None:
    lending.lend()
    sh(lending, "echo half > src/a.py")
    lending.lend()
    assert (lending.copy / "src/a.py").read_text() == "a\n"
    assert git(lending.work.root, "show", "refs/skill-state/tidy/interrupted/copy:src/a.py") == "half\n"
