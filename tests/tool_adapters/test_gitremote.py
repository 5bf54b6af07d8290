"""Remotes: what moves and what does not, over a folder and over HTTP; where a token goes; what a repository's own
configuration can't do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.errors import ConfigError, Permanent, Temporary
from tests.tool_adapters.git_http import GitHttp, bare
from tests.tool_adapters.repositories import git, repository, write
from tool_adapters.git import Engine, Repo
from tool_adapters.gitremote import Access, Remote

MAIN, TOPIC = "refs/heads/main", "refs/heads/topic"
TOKEN = "tok-0123456789-secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose `origin` is a bare one beside it, with `main` pushed."""
    root = repository(tmp_path / "repo")
    git(root, "remote", "add", "origin", str(bare(tmp_path / "far" / "widget.git")))
    git(root, "push", "-q", "origin", "main")
    return root


@pytest.fixture
def http(root: Path, tmp_path: Path) -> Iterator[GitHttp]:
    with GitHttp(tmp_path / "far", TOKEN) as served:
        git(root, "remote", "set-url", "origin", f"{served.url}/widget.git")
        yield served


def remote(root: Path, access: Access | None = None, named: str = "origin") -> Remote:
    return Remote(Engine(root), named, access)


def far(root: Path) -> Path:
    return root.parent / "far" / "widget.git"


def head(root: Path, ref: str = "HEAD") -> str:
    return git(root, "rev-parse", ref)


def commit(root: Path, name: str) -> str:
    write(root, {name: f"{name}\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", name)
    return head(root)


def by_hand(root: Path, branch: str = "topic") -> str:
    """Somebody else's commit on the remote's branch."""
    other = root.parent / "other"
    if not other.exists():
        git(root.parent, "clone", "-q", str(far(root)), "other")
    git(other, "fetch", "-q")
    git(other, "checkout", "-q", "-B", branch, f"origin/{branch}")
    made = commit(other, f"by-hand-{len(list(other.iterdir()))}")
    git(other, "push", "-q", "origin", branch)
    return made


# ---- moves ------------------------------------------------------------------------------------------------
def test_a_branch_is_made_moved_and_deleted_by_its_lease(root: Path) -> None:
    one, first = remote(root), head(root)
    assert one.tips([TOPIC]) == {}
    assert one.push({TOPIC: (first, None)}).kind == "done"
    second = commit(root, "b")
    assert one.push({TOPIC: (second, first)}).kind == "done"
    assert one.tips([TOPIC, MAIN]) == {TOPIC: second, MAIN: first} == one.tips(["refs/heads/*"])
    assert one.push({TOPIC: (None, first)}).kind == "moved"
    assert one.push({TOPIC: (None, second)}).kind == "done"
    assert one.tips([TOPIC]) == {}
    assert git(root, "for-each-ref", "--format=%(refname)").split() == [MAIN, "refs/remotes/origin/main"]


def test_what_somebody_else_pushed_stays(root: Path) -> None:
    one, first = remote(root), head(root)
    one.push({TOPIC: (first, None)})
    theirs = by_hand(root)
    ours = commit(root, "ours")
    assert one.push({TOPIC: (ours, first)}).kind == "moved"
    assert one.push({TOPIC: (ours, None)}).kind == "moved"
    assert one.tips([TOPIC]) == {TOPIC: theirs}
    git(far(root), "update-ref", "-d", TOPIC)
    assert one.push({TOPIC: (ours, first)}).kind == "moved", "a branch that was deleted is not made anew"


def test_several_refs_move_together_or_not_at_all(root: Path) -> None:
    one, first = remote(root), head(root)
    record = "refs/skill-state/x/record"
    assert one.push({TOPIC: (first, None), record: (first, None)}).kind == "done"
    second = commit(root, "b")
    assert one.push({TOPIC: (second, first), record: (second, None)}).kind == "moved"
    assert one.tips([TOPIC, "refs/skill-state/x/*"]) == {TOPIC: first, record: first}


def test_a_name_within_another_is_not_taken_for_it(root: Path) -> None:
    git(root, "push", "-q", "origin", "main:refs/heads/a/refs/heads/topic", "main:refs/heads/topic2")
    assert remote(root).tips([TOPIC]) == {}


def test_what_the_remote_refuses(root: Path) -> None:
    hook = far(root) / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    said = remote(root).push({TOPIC: (head(root), None)})
    assert said.kind == "refused" and "pre-receive hook declined" in said.why and "GH006" in said.why


def test_fetched_objects_make_no_ref(root: Path) -> None:
    one, first = remote(root), head(root)
    one.push({TOPIC: (first, None)})
    theirs = by_hand(root)
    assert Repo(root).rev(theirs) is None
    assert one.fetch([TOPIC], have=[first]) == {TOPIC: theirs}
    assert Repo(root).merge_base(theirs, first) == first
    assert "topic" not in git(root, "for-each-ref")
    with pytest.raises(Permanent):
        one.fetch(["refs/heads/nowhere"])


def test_from_a_linked_worktree_and_a_shallow_clone(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "w", str(tmp_path / "w"))
    made = commit(tmp_path / "w", "w")
    assert remote(tmp_path / "w").push({TOPIC: (made, None)}).kind == "done"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{far(root)}", "thin")
    thin = commit(tmp_path / "thin", "thin")
    assert remote(tmp_path / "thin").push({MAIN: (thin, head(root))}).kind == "done"


def test_what_one_holds_beyond_the_other(root: Path) -> None:
    one, first = remote(root), head(root)
    one.push({TOPIC: (first, None)})
    assert one.beyond(TOPIC, first, first) == ()
    theirs = by_hand(root)
    (said,) = one.beyond(TOPIC, theirs, first)
    assert said.startswith("a person: by-hand-")
    assert one.beyond(TOPIC, first, theirs) == ()
    ours = commit(root, "ours")
    assert (
        one.beyond(TOPIC, ours, theirs) == ("a person: ours",) and len(one.beyond(TOPIC, theirs, ours)) == 1
    )
    git(far(root), "update-ref", "-d", TOPIC)
    with pytest.raises((Temporary, Permanent)):
        one.beyond(TOPIC, "1" * 40, ours)


def test_ssh_asks_nobody_anything(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for ssh that notes its arguments and runs what it was asked to on this machine."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin/ssh"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nfor last; do :; done\nexec sh -c "$last"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    git(root, "remote", "set-url", "origin", f"ssh://git@forge.example.org{far(root)}")
    git(root, "config", "core.sshCommand", f"touch {tmp_path}/ran")
    assert remote(root).push({TOPIC: (head(root), None)}).kind == "done"
    asked = (tmp_path / "asked").read_text()
    assert (
        "-o BatchMode=yes" in asked and "git@forge.example.org" in asked and not (tmp_path / "ran").exists()
    )


# ---- HTTP and the token -----------------------------------------------------------------------------------
def test_the_token_goes_to_its_host_and_stands_nowhere(root: Path, http: GitHttp) -> None:
    one = remote(root, Access(http.host, TOKEN))
    ran: list[list[str]] = []
    execute = Engine._execute

    def watched(self: Engine, place: object, verb: str, words: list[str], *rest: object) -> bytes:
        ran.append(list(words))
        return execute(self, place, verb, words, *rest)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "_execute", watched)
        assert one.push({TOPIC: (head(root), None)}).kind == "done"
    assert any("push" in words for words in ran) and TOKEN not in str(ran)
    assert one.tips([TOPIC]) == {TOPIC: head(root)}
    assert all(said.startswith("Basic ") for _, _, said in http.seen) and TOKEN not in repr(vars(one))
    assert TOKEN not in (root / ".git/config").read_text()
    before = len(http.seen)
    with pytest.raises(Permanent):
        remote(root, Access("example.org", TOKEN)).tips([TOPIC])
    assert all(said == "" for _, _, said in http.seen[before:]), "not to a host that it is not for"


def test_ssh_becomes_https_on_the_tokens_host(root: Path) -> None:
    for url in ("git@github.com:acme/widget.git", "ssh://git@github.com/acme/widget.git"):
        git(root, "remote", "set-url", "origin", url)
        assert remote(root, Access("github.com", "t")).url == "https://github.com/acme/widget.git"
        assert remote(root, Access("gitlab.com", "t")).url == url
    git(root, "remote", "set-url", "origin", "https://me:pw@github.com/acme/widget")
    assert remote(root).url == "https://github.com/acme/widget"


@pytest.mark.parametrize("url", ["ext::sh -c 'touch {}' %S", "http://example.org/x.git", "ftp://x/y"])
def test_what_is_not_spoken(root: Path, url: str, tmp_path: Path) -> None:
    git(root, "remote", "set-url", "origin", url.format(tmp_path / "ran"))
    with pytest.raises(ConfigError, match="not spoken to"):
        remote(root)
    assert not (tmp_path / "ran").exists()


def test_a_remote_that_is_not_there(root: Path) -> None:
    with pytest.raises(ConfigError, match="no remote 'upstream'"):
        remote(root, named="upstream")


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "refused"), (403, "refused"), (404, "refused"), (429, "later"), (503, "later")]
)
def test_an_answer_of_http(root: Path, http: GitHttp, status: int, kind: str) -> None:
    http.fail = [(status, {})] * 3
    one = remote(root, Access(http.host, TOKEN))
    assert one.push({TOPIC: (head(root), None)}).kind == kind
    http.fail = [(status, {})] * 3
    with pytest.raises(Temporary if kind == "later" else Permanent) as caught:
        one.tips([TOPIC])
    assert TOKEN not in str(caught.value)


def test_a_cut_connection_may_have_moved_it(root: Path, http: GitHttp) -> None:
    one = remote(root, Access(http.host, TOKEN))
    http.swallow = True
    assert one.push({TOPIC: (head(root), None)}).kind == "maybe"
    assert one.tips([TOPIC]) == {TOPIC: head(root)}, "this time it had"


def test_nobody_listens(root: Path) -> None:
    git(root, "remote", "set-url", "origin", "http://127.0.0.1:9/x.git")
    assert remote(root).push({TOPIC: (head(root), None)}).kind == "later"
    with pytest.raises(Temporary):
        remote(root).tips([TOPIC])


def test_no_redirect_is_followed(root: Path, http: GitHttp, tmp_path: Path) -> None:
    with GitHttp(tmp_path / "far") as other:
        http.fail = [(302, {"Location": f"{other.url}/widget.git/info/refs?service=git-receive-pack"})]
        assert remote(root, Access(http.host, TOKEN)).push({TOPIC: (head(root), None)}).kind == "refused"
        assert not other.seen


def test_the_repositorys_own_configuration_has_no_part_in_it(root: Path, tmp_path: Path) -> None:
    elsewhere = bare(tmp_path / "elsewhere.git")
    ran = tmp_path / "ran"
    for name, value in {
        f"url.{elsewhere}.insteadOf": str(far(root)),
        "credential.helper": f"!touch {ran}",
        "core.sshCommand": f"touch {ran}",
        f"remote.{far(root)}.receivepack": f"touch {ran}; git-receive-pack",
        "remote.origin.receivepack": f"touch {ran}; git-receive-pack",
        "remote.origin.uploadpack": f"touch {ran}; git-upload-pack",
        "core.hooksPath": str(tmp_path),
        "push.gpgSign": "true",
        "gpg.program": f"touch {ran}",
    }.items():
        git(root, "config", name, value)
    hook = tmp_path / "pre-push"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    one = remote(root)
    assert one.push({TOPIC: (head(root), None)}).kind == "done"
    assert one.fetch([TOPIC]) == one.tips([TOPIC]) == {TOPIC: head(root)}
    assert head(far(root), TOPIC) == head(root) and not ran.exists()
    assert git(elsewhere, "for-each-ref") == ""
    # The control: plain git, asked for the same, does run it.
    git(root, "push", "origin", "main:refs/heads/other", check=False)
    assert ran.exists()


def test_the_callers_environment_has_no_part_in_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    assert remote(root).tips([MAIN]) == {MAIN: git(far(root), "rev-parse", "main")}
