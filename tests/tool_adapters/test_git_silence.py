"""Remotes that take a connection and never answer: given up on soon, and said so. A call that moves objects may take an
hour in these tests: what ends them is what they are about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.errors import Temporary, Unavailable
from contracts.refs import Move
from tests.tool_adapters.git_http import GitHttp, bare
from tests.tool_adapters.repositories import git, repository
from tests.tool_adapters.silence import Silence
from tool_adapters import gitanswer
from tool_adapters.git import Engine
from tool_adapters.gitremote import Remote
from tool_adapters.remote_refs import GitRemote

LEASE = "refs/skill-state/t/lease"
ADDRESSES = ["http://{}/widget.git", "https://{}/widget.git", "ssh://you@{}/widget.git"]


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitanswer, "ANSWER", 2.0)
    monkeypatch.setattr(gitanswer, "TRANSFER", 3600.0)


@pytest.fixture
def silence() -> Iterator[Silence]:
    with Silence() as server:
        yield server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_store_on_a_silent_remote_is_unavailable(root: Path, silence: Silence, address: str) -> None:
    refs = GitRemote(root, root.parent / "copy", address.format(silence.host))
    made = git(root, "rev-parse", "HEAD")
    for asked in (
        lambda: refs.fetch("refs/skill-state/t/"),
        lambda: refs.push([Move(LEASE, "", made)], brief=True),
        lambda: refs.push([Move(LEASE, "", made)]),
    ):
        with pytest.raises(Unavailable, match="the remote: it does not answer") as told:
            asked()
        assert "run again when it can be reached" in str(told.value)
    assert silence.taken >= 3, "each was really asked"


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_reading_of_a_silent_remote_may_be_tried_again(root: Path, silence: Silence, address: str) -> None:
    with pytest.raises(Temporary):
        Remote(Engine(root), address.format(silence.host)).tips(["refs/heads/*"])
    assert silence.taken


def test_a_push_to_a_remote_that_falls_silent_over_http_is_given_up_on(root: Path, silence: Silence) -> None:
    """HTTP alone tells it here: the call itself may take an hour."""
    head = git(root, "rev-parse", "HEAD")
    pushed = Remote(Engine(root), f"http://{silence.host}/widget.git").push({LEASE: (head, None)})
    assert pushed.kind in ("later", "maybe"), pushed


def test_whoever_was_heard_is_not_asked_again_first(root: Path, tmp_path: Path) -> None:
    bare(tmp_path / "far" / "widget.git")
    with GitHttp(tmp_path / "far") as served:
        refs = GitRemote(root, root.parent / "copy", f"{served.url}/widget.git")
        refs.fetch("refs/skill-state/t/")
        first = len(served.seen)
        refs.fetch("refs/skill-state/t/")
        assert len(served.seen) - first < first, "the knock is spared"


def test_how_ssh_is_started_is_the_users_matter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Theirs is started as it is; ours gives up on a server that says nothing."""
    noted = root.parent / "noted"
    program = root.parent / "own-ssh"
    program.write_text(f'#!/bin/sh\necho "$@" > {noted}\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setattr("tool_adapters.remote_refs.PAUSES", (0.0,))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    with pytest.raises(Unavailable):
        GitRemote(root, root.parent / "one", "ssh://you@127.0.0.1/x.git").fetch("refs/x/")
    assert "ServerAliveInterval" not in noted.read_text()
    monkeypatch.delenv("GIT_SSH_COMMAND")
    home = root.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tsshCommand = {program}\n")
    monkeypatch.setenv("HOME", str(home))
    noted.unlink()
    with pytest.raises(Unavailable):
        GitRemote(root, root.parent / "two", "you@127.0.0.1:x.git").fetch("refs/x/")
    assert "ServerAliveInterval" not in noted.read_text()
    (home / ".gitconfig").write_text("")
    program.rename(root.parent / "ssh")
    noted.unlink()
    monkeypatch.setenv("PATH", f"{root.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(Unavailable):
        GitRemote(root, root.parent / "three", "you@127.0.0.1:x.git").fetch("refs/x/")
    assert "ServerAliveInterval=10" in noted.read_text() and "ConnectTimeout=20" in noted.read_text()
