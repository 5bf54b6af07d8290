"""A record on a remote that can't be reached, or that somebody deleted, put back or damaged: from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.surfaces.runners import REFS, Runners
from tests.surfaces.shell import POLITE, READ

pytestmark = pytest.mark.long


@pytest.fixture
def runners(tmp_path: Path) -> Runners:
    return Runners(tmp_path, *POLITE)


def test_a_remote_that_can_not_be_reached_is_exit_8(runners: Runners) -> None:
    shell, away = runners.fresh("one"), runners.bare.rename(runners.folder / "away")
    for words in (["run"], ["status"], ["log"], ["tell", "hi"]):
        said = shell(*words)
        assert said.code == 8 and "remote.git" in said.err, said
    assert runners.launches == [] and not (shell.repo / ".agent-runtime/work").exists()
    away.rename(runners.bare)
    assert shell("run").code == 0


def test_an_unknown_remote_is_a_mistake_in_the_task(runners: Runners) -> None:
    runners.changes["store"] = "store: {use: git, remote: upstream}"
    shell = runners.fresh("one")
    said = shell("run")
    assert said.code == 2 and "upstream" in said.err
    assert shell("validate").code == 3 and "no remote 'upstream'" in shell("validate").out


def test_a_deleted_record_is_refused_and_put_back_in_any_clone(runners: Runners) -> None:
    shell, other = runners.fresh("one"), runners.fresh("two")
    assert shell("run", "--steps", "2").code in (0, 6)
    before = runners.refs()
    runners.git("update-ref", "-d", f"{REFS}/record")
    for each in (shell, other):
        said = each("run")
        assert said.code == 8 and "is gone from the remote" in said.err
    assert "its lease names it" in other("run").err
    back = other("state", "recover", "--json")
    assert back.code == 0 and back.one["whole"] and back.one["step"] == 2
    assert runners.refs()["work"] == before["work"]
    assert other("run").code == 0 and runners.launches == ["one", "one", "two"]
    assert "back as it had stood there" in other("log").out and other("log", "--verify").code == 0


def test_a_rewound_record_is_refused_until_it_is_put_back_or_taken(runners: Runners) -> None:
    shell = runners.fresh("one")
    shell("run", "--steps", "1")
    first = runners.refs()
    shell("run", "--steps", "1")
    newer = runners.refs()
    runners.git("update-ref", f"{REFS}/record", first["record"])
    said = shell("run")
    assert said.code == 8 and "put back, or is another one" in said.err
    # Its branch knows a step that the record does not: no other clone takes it for a person's work, whatever the lease.
    runners.git("update-ref", f"{REFS}/lease", first["lease"])
    said = runners.fresh("two")("run")
    assert said.code == 8 and "steps that its record does not know" in said.err
    assert shell("state", "recover").code == 0 and runners.refs()["work"] == newer["work"]
    assert shell("run").code == 0 and len(runners.launches) == 3


def test_a_step_without_a_commit_that_was_put_back_is_not_done_again_in_a_fresh_clone(tmp_path: Path) -> None:
    runners = Runners(tmp_path, READ, READ | {"state_patch": {"notes": {"n1": "read"}}}, *POLITE[1:])
    assert runners.fresh("one")("run", "--steps", "1").code in (0, 6)
    old = runners.refs()
    assert runners.fresh("two")("run", "--steps", "1").code in (0, 6)
    runners.git("update-ref", f"{REFS}/record", old["record"])
    for words in (["run"], ["status"], ["step"]):
        said = runners.fresh(words[0])(*words)
        assert said.code == 8 and "was put back" in said.err and "at step 2" in said.err, said
    assert runners.launches == ["one", "two"]
    assert runners.fresh("mends")("state", "recover").code == 0
    last = runners.fresh("last")
    assert last("run").code == 0 and runners.launches == ["one", "two", "last", "last"]
    record = json.loads(runners.shown("runs/0001/record.json", "record"))
    assert record["spent"]["launches"] == 4 and last("log", "--verify").code == 0


@pytest.mark.parametrize("named", [False, True])
def test_a_whole_record_is_left_alone_and_a_damaged_one_is_put_back_or_rebuilt(
    runners: Runners, named: bool
) -> None:
    """`named`: whoever damaged it wrote a lease that names it, so nothing says what had stood there."""
    shell = runners.fresh("one")
    shell("run", "--steps", "2")
    assert shell("state", "recover").code == 2
    _committed(runners, {"runs/0001/record.json": "{"})
    if named:
        tip = runners.refs()["record"]
        who = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        names = ("commit-tree", f"{REFS}/lease^{{tree}}", "-p", tip, "-m", "names it")
        lease = runners.git(*who, *names).strip()
        runners.git("update-ref", f"{REFS}/lease", lease)
    for each in (shell, runners.fresh("two")):
        assert each("run").code == 8
        assert "damaged" in each("status").err
    said = runners.fresh("three")("state", "recover", "--json")
    assert said.code == 0 and said.one["step"] == 2 and bool(said.one["lost"]) == named
    done = runners.fresh("four")("run")
    assert done.code == 0 and runners.shown("src/greeting.txt") == "hello, please\n"
    assert shell("status", "--json").one["state"] == "completed"


@pytest.mark.parametrize("path", ["record.json", "audit/0000/02.json"])
def test_what_was_edited_in_place_is_refused_and_put_back(runners: Runners, path: str) -> None:
    """Version and number of rows stay: only the lease tells that this is not what was written."""
    shell = runners.fresh("one")
    shell("run", "--steps", "2")
    spent = shell("status", "--json").one["launches"]
    place = f"runs/0001/{path}"
    whole = runners.git("show", f"{REFS}/record:{place}")
    edited = (
        whole.replace('"launches":2', '"launches":0')
        if path == "record.json"
        else whole.replace("greet", "other")
    )
    assert edited != whole
    _committed(runners, {place: edited})
    before = runners.launches
    said = runners.fresh("two")("run")
    assert said.code == 8 and runners.launches == before
    assert "was put back, or is another one" in said.err or "damaged" in said.err, said.err
    back = runners.fresh("three")("state", "recover", "--json")
    assert back.code == 0 and back.one["step"] == 2 and not back.one["lost"]
    there = runners.fresh("four")
    assert there("status", "--json").one["launches"] == spent and there("log", "--verify").code == 0
    assert there("run").code == 0


def _committed(runners: Runners, files: dict[str, str]) -> None:
    """Somebody commits something else onto the record."""
    git = runners.seed.git
    git("fetch", "-q", "origin", f"{REFS}/record")
    git("checkout", "-q", "--detach", "FETCH_HEAD")
    for path, text in files.items():
        (runners.seed.repo / path).write_text(text)
    git("commit", "-qam", "tampered")
    git("push", "-q", "origin", f"HEAD:{REFS}/record")
    git("checkout", "-q", "main")


def test_a_lost_cache_is_fetched_again(runners: Runners) -> None:
    shell = runners.fresh("one")
    shell("run", "--steps", "2")
    shell.git("worktree", "remove", "--force", ".agent-runtime/work/greet")
    shell.git("branch", "-D", "skill-state/greet")
    shutil.rmtree(shell.repo / ".agent-runtime")
    done = shell("run", "--json")
    assert done.code == 0 and done.lines[0]["run"] is not None and len(runners.launches) == 3
