"""A remote's refs: moved all or none, looked up when an answer is lost, by no program that a repository names."""

from __future__ import annotations

import base64
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.errors import ConfigError, Lost, Unavailable
from contracts.refs import Draft, Move
from tests.tool_adapters.git_http import GitHttp
from tests.tool_adapters.git_http import bare as served_bare
from tests.tool_adapters.repositories import git, repository
from tool_adapters import remote_refs as module
from tool_adapters.remote_refs import GitRemote

RECORD, WORK = "refs/skill-state/t/record", "refs/skill-state/t/work"
PREFIX = "refs/skill-state/t/"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.1))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def checkout(tmp_path: Path, bare: Path) -> Path:
    root = repository(tmp_path / "repo")
    git(root, "remote", "add", "origin", str(bare))
    git(root, "push", "-q", "origin", "main")
    return root


def opened(root: Path, name: str = "copy") -> GitRemote:
    return GitRemote(root, root.parent / name, "origin")


def refs(bare: Path) -> dict[str, str]:
    lines = git(bare, "for-each-ref", "--format=%(refname) %(objectname)", "refs/skill-state").splitlines()
    return dict(line.split(" ") for line in lines)


def draft(text: str, parent: str | None = None) -> Draft:
    return Draft(text, {"a/b": text.encode()}, base=parent, parent=parent)


# ---- what it does ----------------------------------------------------------------------------------------------
def test_what_one_copy_pushed_another_one_reads(bare: Path, checkout: Path) -> None:
    one, other = opened(checkout), opened(checkout, "other")
    assert one.fetch(PREFIX) == {}
    first, odd = one.make([draft("one"), Draft("two", {"x": b"\0\n", "y/z": b""})])
    head = git(checkout, "rev-parse", "HEAD")
    one.push([Move(RECORD, "", first), Move(WORK, "", head)])
    assert other.fetch(PREFIX) == refs(bare) == {RECORD: first, WORK: head}
    assert other.listed(first) == {"a/b": 3}
    assert one.listed(odd) == {"x": 2, "y/z": 0}
    assert one.read([f"{odd}:x", f"{odd}:nope", f"{odd}:y/z", f"{first}:a/b"]) == [b"\0\n", None, b"", b"one"]
    assert one.read([]) == []
    assert one.place != other.place and opened(checkout).place == one.place


def test_a_draft_builds_on_its_base_and_may_leave_the_history_behind(checkout: Path) -> None:
    one = opened(checkout)
    (first,) = one.make([draft("one")])
    second, cut = one.make(
        [
            Draft("two", {"c": b"3", "a/b": None}, base=first, parent=first),
            Draft("cut", {"c": b"4"}, base=first),
        ]
    )
    assert one.listed(second) == {"c": 1} and one.listed(cut) == {"a/b": 3, "c": 1}
    assert one.contains(first, second) and not one.contains(second, first)
    assert not one.contains(first, cut), "its history begins anew"
    assert not one.contains("0" * 39 + "1", first)


def test_all_moves_or_none_and_only_from_where_they_should_be(bare: Path, checkout: Path) -> None:
    one = opened(checkout)
    first, second, third = one.make([draft("1"), draft("2"), draft("3")])
    one.push([Move(RECORD, "", first), Move(WORK, "", first)])
    with pytest.raises(Lost, match="work"):
        one.push([Move(RECORD, first, second), Move(WORK, second, third)])
    with pytest.raises(Lost, match="record"):
        one.push([Move(RECORD, "", second)])
    assert refs(bare) == {RECORD: first, WORK: first}
    one.push([Move(RECORD, first, second), Move(WORK, first, ""), Move(f"{PREFIX}new", "", third)])
    assert refs(bare) == {RECORD: second, f"{PREFIX}new": third}
    one.push([Move(RECORD, second, second)])
    assert opened(checkout, "other").fetch(PREFIX) == refs(bare)


def test_of_two_who_push_at_once_one_loses(bare: Path, checkout: Path) -> None:
    def attempt(number: int) -> None:
        mine = opened(checkout, f"copy-{number}")
        (made,) = mine.make([draft(f"by {number}")])
        barrier.wait()
        try:
            mine.push([Move(RECORD, "", made)])
            won.append(made)
        except Lost:
            lost.append(number)

    barrier, won, lost = threading.Barrier(4), list[str](), list[int]()
    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(won) == 1 and len(lost) == 3 and refs(bare)[RECORD] == won[0]


def test_a_push_whose_answer_was_lost_is_looked_up(bare: Path, checkout: Path) -> None:
    hook = bare / "hooks/post-receive"
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    hook.chmod(0o755)
    one = opened(checkout)
    first, second = one.make([draft("1"), draft("2")])
    assert "failed to push" in git_push_says(checkout, first), "control: git itself reports an error"
    assert refs(bare) == {RECORD: first}
    one.push([Move(RECORD, first, second)])
    assert refs(bare) == {RECORD: second}


def git_push_says(checkout: Path, oid: str) -> str:
    asked = ["git", "--git-dir", str(checkout.parent / "copy"), "push", str(checkout.parent / "remote.git")]
    done = subprocess.run([*asked, f"{oid}:{RECORD}"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_a_server_that_died_midway_is_made_whole_by_the_next_try(bare: Path, checkout: Path) -> None:
    one = opened(checkout)
    first, second = one.make([draft("1"), draft("2")])
    one.push([Move(RECORD, "", first), Move(WORK, "", first)])
    # As if only one of the two had been renamed into place.
    git(one.copy, "push", "-q", "-f", str(bare), f"{second}:{RECORD}")
    one.push([Move(RECORD, first, second), Move(WORK, first, second)])
    assert refs(bare) == {RECORD: second, WORK: second}


@pytest.mark.parametrize("asked", ["fetch", "push"])
def test_a_remote_that_is_not_there_is_said(checkout: Path, bare: Path, asked: str) -> None:
    one = opened(checkout)
    (first,) = one.make([draft("1")])
    shutil.rmtree(bare)
    with pytest.raises(Unavailable, match=r"remote\.git.*does not appear to be a git repository"):
        one.fetch(PREFIX) if asked == "fetch" else one.push([Move(RECORD, "", first)])


def test_a_refusal_of_the_remote_is_told_in_its_words(checkout: Path, bare: Path) -> None:
    hook = bare / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'no refs of yours here'; exit 1\n")
    hook.chmod(0o755)
    one = opened(checkout)
    (first,) = one.make([draft("1")])
    with pytest.raises(
        Unavailable, match=r"no refs of yours here.*hook declined.*must let this account write"
    ):
        one.push([Move(RECORD, "", first)])


def test_a_remote_without_atomic_pushes_is_refused(checkout: Path, bare: Path) -> None:
    git(bare, "config", "receive.advertiseAtomic", "false")
    one = opened(checkout)
    (first,) = one.make([draft("1")])
    with pytest.raises(Unavailable, match="atomic"):
        one.push([Move(RECORD, "", first)])
    assert refs(bare) == {}


def test_an_unknown_name_is_a_mistake_in_the_task(checkout: Path) -> None:
    with pytest.raises(ConfigError, match=r"no remote 'upstream'.*known: origin"):
        GitRemote(checkout, checkout.parent / "copy", "upstream").fetch(PREFIX)


def test_an_address_or_a_path_does_as_well(checkout: Path, bare: Path) -> None:
    for written in (str(bare), f"file://{bare}", "../remote.git"):
        assert GitRemote(checkout, checkout.parent / "copy", written).fetch(PREFIX) == {}


def test_credentials_in_an_address_are_not_shown(checkout: Path) -> None:
    one = GitRemote(checkout, checkout.parent / "copy", "https://me:s3cret@127.0.0.1:9/x.git")
    with pytest.raises(Unavailable) as error:
        one.fetch(PREFIX)
    assert "s3cret" not in str(error.value) and "127.0.0.1:9" in str(error.value)


def test_over_http_what_passes_is_tried_again_and_a_lost_answer_looked_up(tmp_path: Path) -> None:
    with GitHttp(tmp_path / "served") as served:
        there = served_bare(tmp_path / "served/remote")
        root = repository(tmp_path / "repo")
        git(root, "remote", "add", "origin", f"{served.url}/remote")
        git(root, "push", "-q", "origin", "main")
        one = opened(root)
        first, second = one.make([draft("1"), draft("2")])
        one.fetch(PREFIX)
        served.fail = [(503, {}), (502, {})]
        one.push([Move(RECORD, "", first)])
        served.swallow = True
        one.push([Move(RECORD, first, second), Move(WORK, "", first)])
        assert not served.swallow and refs(there) == {RECORD: second, WORK: first}
        served.fail = [(500, {})]
        assert one.fetch(PREFIX) == refs(there)
        served.fail = [(500, {})] * 9
        with pytest.raises(Unavailable, match="500"):
            one.fetch(PREFIX)
        served.fail = [(404, {})]
        with pytest.raises(Unavailable, match="not found"):
            one.fetch(PREFIX)
        assert served.fail == [], "what can't pass is not tried again"


# ---- the copy --------------------------------------------------------------------------------------------------
def test_a_lost_or_damaged_copy_is_made_again(checkout: Path, bare: Path) -> None:
    one = opened(checkout)
    (first,) = one.make([draft("1")])
    one.push([Move(RECORD, "", first)])
    one.saw(RECORD, first)
    assert opened(checkout).seen(RECORD) == first
    shutil.rmtree(one.copy)
    assert opened(checkout).fetch(PREFIX) == {RECORD: first} and opened(checkout).seen(RECORD) is None
    for path in one.copy.rglob("objects/??/*"):
        path.chmod(0o644)
        path.write_bytes(b"")
    again = opened(checkout)
    assert again.fetch(PREFIX) == {RECORD: first} and again.read([f"{first}:a/b"]) == [b"1"]


def test_a_lock_that_a_killed_git_left_is_nobodys(
    checkout: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STALE", 0.2)
    one = opened(checkout)
    first, second = one.make([draft("1"), draft("2")])
    one.push([Move(RECORD, "", first)])
    one.fetch(PREFIX)
    one.push([Move(RECORD, first, second)])
    (one.copy / "refs/remote/t/record.lock").touch()
    assert one.fetch(PREFIX) == {RECORD: second}


def test_a_shallow_clone_works_on_a_branch_of_the_whole_repository(tmp_path: Path, bare: Path) -> None:
    full = repository(tmp_path / "full")
    for number in range(3):
        git(full, "commit", "-q", "--allow-empty", "-m", f"n{number}")
    git(full, "push", "-q", str(bare), "main")
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{bare}", name)
    one = GitRemote(tmp_path / "one", tmp_path / "copy-1", "origin")
    git(tmp_path / "one", "commit", "-q", "--allow-empty", "-m", "work")
    tip = git(tmp_path / "one", "rev-parse", "HEAD")
    one.push([Move(WORK, "", tip)])
    # The base goes on: the second clone holds another commit than the work began at.
    git(full, "commit", "-q", "--allow-empty", "-m", "later")
    git(full, "push", "-q", str(bare), "main")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{bare}", "three")
    for name in ("two", "three"):
        other = GitRemote(tmp_path / name, tmp_path / f"copy-{name}", "origin")
        assert other.fetch(PREFIX) == {WORK: tip}
        other.bring(tip)
        assert git(tmp_path / name, "log", "-1", "--format=%s", tip) == "work"
        git(tmp_path / name, "update-ref", "refs/heads/w", tip)
        git(tmp_path / name, "fsck", "--connectivity-only")


# ---- who may be asked, and what may run ------------------------------------------------------------------------
CANARY = "#!/bin/sh\ntouch '{canary}'\nexit 1\n"


def planted(root: Path, tmp_path: Path) -> Path:
    """Programs wherever a push or fetch would look for one in the repository; the file that they would touch."""
    canary, script = tmp_path / "canary", tmp_path / "evil.sh"
    script.write_text(CANARY.format(canary=canary))
    script.chmod(0o755)
    for hook in ("pre-push", "reference-transaction", "post-update"):
        shutil.copy(script, root / ".git/hooks" / hook)
    with (root / ".git/config").open("a") as config:
        config.write(
            f'[remote "origin"]\n\treceivepack = {script}\n\tuploadpack = {script}\n'
            f"[core]\n\tsshCommand = {script}\n\tgitProxy = {script}\n\taskPass = {script}\n"
            f"\talternateRefsCommand = {script}\n\tfsmonitor = {script}\n"
            f'[credential]\n\thelper = "!{script}"\n[credential "http://127.0.0.1"]\n\thelper = "!{script}"\n'
            f'[remote "{root.parent / "remote.git"}"]\n\treceivepack = {script}\n\tuploadpack = {script}\n'
        )
    return canary


def test_no_program_that_the_repository_names_runs(checkout: Path, bare: Path, tmp_path: Path) -> None:
    canary = planted(checkout, tmp_path)
    one = opened(checkout)
    (first,) = one.make([draft("1")])
    one.push([Move(RECORD, "", first), Move(WORK, "", git(checkout, "rev-parse", "HEAD"))])
    one.fetch(PREFIX)
    opened(checkout, "other").fetch(PREFIX)
    one.bring(first)
    assert not canary.exists()
    git(checkout, "push", "-q", "origin", "main:x", check=False)
    assert canary.exists(), "control: plain git runs it"


@pytest.mark.parametrize(
    "url", ["ext::sh -c 'touch {canary}'", "ssh://127.0.0.1:9/x", "http://127.0.0.1:{port}/x"]
)
def test_nor_on_the_way_to_another_kind_of_remote(checkout: Path, tmp_path: Path, url: str) -> None:
    canary = planted(checkout, tmp_path)
    with demanding() as (port, _):
        git(checkout, "config", "remote.origin.url", url.format(canary=canary, port=port))
        with pytest.raises(Unavailable):
            opened(checkout).fetch(PREFIX)
    assert not canary.exists()


@contextmanager
def demanding() -> Iterator[tuple[int, list[str]]]:
    """A server that wants a password for everything, and what it was given."""
    given: list[str] = []

    class Door(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given.append(self.headers.get("Authorization", ""))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], given
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_password_is_taken_from_the_users_own_configuration_and_nobody_is_asked(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SSH_ASKPASS", str(tmp_path / "nobody"))
    for name in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(name)
    with demanding() as (port, given):
        git(checkout, "config", "remote.origin.url", f"http://127.0.0.1:{port}/x")
        with pytest.raises(Unavailable, match="could not read Username"):
            opened(checkout).fetch(PREFIX)
        assert set(given) == {""}
        answer = "!f() { echo username=me; echo password=mine; }; f"
        (home / ".gitconfig").write_text(f'[credential]\n\thelper = "{answer}"\n')
        with pytest.raises(Unavailable, match="Authentication failed"):
            opened(checkout, "again").fetch(PREFIX)
        assert "Basic " + base64.b64encode(b"me:mine").decode() in given
        git(checkout, "config", f"http.http://127.0.0.1:{port}/.extraheader", "Authorization: token")
        with pytest.raises(Unavailable):
            opened(checkout, "header").fetch(PREFIX)
        assert "token" in given, "what a CI checkout leaves in the repository for its pushes"
