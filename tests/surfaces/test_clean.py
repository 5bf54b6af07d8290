"""`clean`: what is left goes, what somebody could miss stays, and the reason is said."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from controller.surfaces.clean import survey
from controller.surfaces.locate import open_existing, wait_for
from controller.taskfile import read_task
from tests.surfaces.shell import FINISH, POLITE, READ, Shell, act, edit
from tests.surfaces.test_trouble import wait_until
from tool_adapters.cleaning import Survey, reachable

OLD = 15 * 86_400


def by_kind(told: dict[str, Any], side: str, kind: str) -> list[dict[str, Any]]:
    return [each for each in told[side] if each["kind"] == kind]


def runtime(shell: Shell) -> Path:
    return shell.repo / ".agent-runtime"


def worktree(shell: Shell) -> Path:
    return runtime(shell) / "work/greet"


def why_kept(shell: Shell) -> str:
    told = shell("clean", "--json").one
    (kept,) = by_kind(told, "kept", "worktree")
    assert not by_kind(told, "removed", "worktree") and worktree(shell).is_dir()
    return str(kept["why"])


def test_a_landed_task_is_cleaned_up_and_what_it_did_stays(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("clean").out == "nothing to remove\n", "there is nothing yet, and nothing is made"
    assert not runtime(shell).exists()
    assert shell("run").code == 0
    assert "`controller land`, or push it" in why_kept(shell)
    assert shell("land").code == 0
    (worktree(shell) / "notes.txt").write_text("mine\n")
    assert why_kept(shell) == "changes that are not committed: notes.txt"
    (worktree(shell) / "notes.txt").unlink()
    shell.git("worktree", "lock", str(worktree(shell)))
    assert "locked" in why_kept(shell)
    shell.git("worktree", "unlock", str(worktree(shell)))

    dry = shell("clean", "--dry-run")
    assert "would remove worktree" in dry.out and "landed" in dry.out and worktree(shell).is_dir()
    told = shell("clean", "--json").one
    assert told["freed"] > 0 and not told["dry_run"]
    assert [each["what"] for each in by_kind(told, "removed", "worktree")] == [str(worktree(shell))]
    assert not worktree(shell).exists() and "work/greet" not in shell.git("worktree", "list")
    assert "made polite" in shell("explain", "2").out, "outputs of the newest runs stay"
    assert shell.git("rev-parse", "skill-state/greet"), "the branch stays"
    again = shell("clean", "--json").one
    assert (again["removed"], again["freed"]) == ([], 0)
    assert shell("run").code == 0 and shell("log", "--verify").code == 0


def test_a_task_that_is_not_finished_keeps_everything(shell: Shell) -> None:
    shell.task(READ, *POLITE)
    assert shell("step").code == 0
    told = shell("clean", "--json").one
    assert told["removed"] == []
    assert "not finished" in by_kind(told, "kept", "worktree")[0]["why"]
    assert shell("run").code == 0


def test_a_worktree_that_was_left_to_another_host_goes_with_its_task(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run", "--steps", "1").code == 0
    stranded = "UPDATE leases SET expires = 1, owner = json_set(owner, '$.host', 'elsewhere', '$.pid', 7)"
    with closing(sqlite3.connect(runtime(shell) / "state.db", isolation_level=None)) as db:
        db.execute(stranded)
    ran = shell("run")
    assert ran.code == 0 and "is left to a controller of another host" in ran.err
    assert shell.git("-C", str(worktree(shell)), "branch", "--show-current") == ""
    (new,) = runtime(shell).glob("work/greet@*")
    assert shell.git("-C", str(new), "branch", "--show-current").strip() == "skill-state/greet"
    assert shell("diff").code == 0 and shell("status").code == 0
    waits = by_kind(shell("clean", "--json").one, "kept", "worktree")
    assert {Path(each["what"]).name for each in waits} == {"greet", new.name}, "not landed yet"
    assert shell("land").code == 0
    (worktree(shell) / "notes.txt").write_text("of the sleeper\n")
    told = shell("clean", "--json").one
    assert [Path(each["what"]).name for each in by_kind(told, "removed", "worktree")] == [new.name]
    (kept,) = by_kind(told, "kept", "worktree")
    assert kept["why"] == "changes that are not committed: notes.txt"
    (worktree(shell) / "notes.txt").unlink()
    told = by_kind(shell("clean", "--json").one, "removed", "worktree")
    assert [Path(each["what"]).name for each in told] == ["greet"] and not worktree(shell).exists()


def test_a_branch_that_went_on_after_landing_is_not_safe(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0 and shell("land").code == 0
    shell.git("-C", str(worktree(shell)), "commit", "--allow-empty", "-qm", "by hand")
    assert "on no other branch" in why_kept(shell)
    shell.git("branch", "saved", "skill-state/greet")
    assert "saved holds its work" in shell("clean", "--dry-run").out


def test_a_task_without_a_file_and_a_folder_deleted_by_hand(shell: Shell) -> None:
    shell.task(READ)
    assert shell("step").code == 0
    shell.task(READ, name="name: other")
    told = shell("clean", "--json", "--dry-run").one
    (gone,) = by_kind(told, "removed", "worktree")
    assert gone["why"] == "no task file has the name greet; main holds its work"
    for path in sorted(worktree(shell).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    worktree(shell).rmdir()
    strange = runtime(shell) / "work/strange"
    strange.mkdir()
    (strange / "file").write_text("")
    (runtime(shell) / "work/empty").mkdir()
    told = shell("clean", "--json").one
    assert "the folder is gone" in by_kind(told, "removed", "worktree")[0]["why"]
    assert "skill-state/greet" not in shell.git("worktree", "list")
    assert by_kind(told, "kept", "worktree")[0]["what"] == str(strange)
    assert (strange / "file").exists() and not (runtime(shell) / "work/empty").exists()


def test_undone_trees_are_listed_with_age_and_content_and_go_when_they_are_old(shell: Shell) -> None:
    shell.task(edit("hello, please\n"), FINISH, act("ask", question="?"))
    assert shell("step").code == 0
    worktree(shell).joinpath("src/greeting.txt").write_text("half\ndone\n")
    assert shell("step").code == 0  # kept as found/1
    (kept,) = by_kind(shell("clean", "--json").one, "kept", "ref")
    assert "/found/" in kept["what"] and kept["holds"] == "+2 -1 in src/greeting.txt" and kept["age"] < 600
    ref, tree = kept["what"], shell.git("rev-parse", f"{kept['what']}^{{tree}}").strip()
    shell.extra["GIT_COMMITTER_DATE"] = f"{int(time.time()) - OLD} +0000"
    old = commit_tree(shell, tree)
    shell.git("update-ref", ref.replace("/found/", "/undone/"), old)
    shell.git("update-ref", "refs/skill-state/someone-else/undone/1", old)
    dry = shell("clean", "--dry-run").out
    assert f"would remove ref {ref.replace('/found/', '/undone/')}" in dry and "15 days old" in dry
    assert shell.git("for-each-ref", "refs/skill-state").count("\n") == 3, "a dry run deletes nothing"
    told = shell("clean", "--json").one
    assert [each["what"] for each in by_kind(told, "removed", "ref")] == [ref.replace("/found/", "/undone/")]
    left = shell.git("for-each-ref", "--format=%(refname)", "refs/skill-state").split()
    assert left == sorted([ref, "refs/skill-state/someone-else/undone/1"]), "and nothing of another task"


def commit_tree(shell: Shell, tree: str) -> str:
    import subprocess

    env = {"PATH": shell.env["PATH"], "HOME": str(shell.home), **shell.extra}
    argv = [
        "git",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit-tree",
        tree,
        "-p",
        "main",
        "-m",
        "undone",
    ]
    done = subprocess.run(argv, cwd=shell.repo, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_files_that_nobody_needs_go_and_logins_stay(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0 and shell("land").code == 0
    gone = [
        runtime(shell) / "spool/4194300-1.out",
        runtime(shell) / "errors/controller-x.txt",
        runtime(shell) / "agents/script/home/codex/log/x.log",
        runtime(shell) / "agents/script/home/tmp/x",
        runtime(shell) / "artifacts/ab" / ("ab" + "0" * 14),
        runtime(shell) / "artifacts/ab/.new-x",
        runtime(shell) / "schema/greet/.new-x",
    ]
    stay = [
        runtime(shell) / f"spool/{os.getpid()}-1.out",
        runtime(shell) / "agents/script/login.json",
        runtime(shell) / "agents/script/home/codex/auth.json",
        runtime(shell) / "artifacts/cd" / ("cd" + "0" * 14),
        runtime(shell) / "undone/nested-1/file",
        runtime(shell) / "state.db.damaged-1",
    ]
    for path in (*gone, *stay):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 5000)
        if path not in stay[3:4]:  # one artifact is new
            os.utime(path, (1e9, 1e9))
    told = shell("clean", "--json").one
    assert [path for path in gone if path.exists()] == [], told
    assert [path for path in stay if not path.exists()] == [], told
    assert told["freed"] >= 5000 * 3
    (kept,) = by_kind(told, "kept", "undone folder")
    assert kept["holds"].startswith("a repository")
    later = Survey(runtime(shell), shell.repo, (), (), 3, time.time() + OLD)()
    assert any(each.kind == "undone folder" and each.remove for each in later)


def test_outputs_of_older_runs_go(shell: Shell) -> None:
    shell.task(*POLITE)
    for number in range(3):
        assert shell("run", *(["--new"] if number else [])).code == 0
    shelf = runtime(shell) / "artifacts"
    before = {path for path in shelf.rglob("*") if path.is_file()}
    for path in before:
        os.utime(path, (1e9, 1e9))
    assert by_kind(shell("clean", "--json").one, "removed", "artifacts") == [], "three runs are kept"
    told = shell("clean", "--json", "--keep-runs", "1").one
    assert by_kind(told, "removed", "artifacts")
    assert shell("explain", "2").out.count("not kept any more") == 0
    assert shell("replay", "--json").one["skipped"] == []
    assert shell("replay", "#1", "--json").one["skipped"] != []


def test_what_an_output_names_is_needed_too(tmp_path: Path) -> None:
    texts = {"a" * 16: "see " + "b" * 16, "b" * 16: "artifact:cccc from line 3", "c" * 16: "", "d" * 16: ""}
    paths = {}
    for name, text in texts.items():
        paths[name] = tmp_path / name
        paths[name].write_text(text)
    assert reachable(paths, [b'{"prompt":"aaaaaaaaaaaaaaaa"}']) == {"a" * 16, "b" * 16, "c" * 16}
    assert reachable(paths, [b"d" * 40]) == set(), "a commit's id is none"


def test_nothing_is_cleaned_while_a_run_is_at_work(shell: Shell) -> None:
    shell.task(READ, READ | {"sleep": 60})
    first = shell.start("run")
    try:
        wait_until(lambda: shell("status", "--json").one.get("step") == 2)
        busy = shell("clean")
        assert busy.code == 7 and str(first.pid) in busy.err
        assert shell("clean", "--dry-run").code == 0
        first.send_signal(signal.SIGKILL)
        first.wait(30)
        assert shell("clean").code == 0
    finally:
        first.kill()


def test_a_damaged_store_is_no_reason_to_delete(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0 and shell("land").code == 0
    for tail in ("-wal", "-shm"):
        Path(f"{runtime(shell)}/state.db{tail}").unlink(missing_ok=True)
    (runtime(shell) / "state.db").write_bytes(b"\0" * 4096)
    assert shell("clean").code == 8 and worktree(shell).is_dir()
    (runtime(shell) / "state.db").unlink()
    told = shell("clean", "--json").one
    assert by_kind(told, "removed", "artifacts") == [] and worktree(shell).is_dir()


@pytest.fixture
def loaded(shell: Shell) -> Any:
    shell.task(*POLITE)
    assert shell("step").code == 0
    return read_task(shell.repo / "task.yaml")


def test_looking_changes_nothing(shell: Shell, loaded: Any) -> None:
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in shell.repo.rglob("*"))
    wait_for(lambda: survey(loaded, [open_existing(loaded)], 3))
    after = sorted((str(path), path.lstat().st_mtime_ns) for path in shell.repo.rglob("*"))
    volatile = ("state.db-shm", "state.db-wal", ".agent-runtime")
    assert [each for each in before if not each[0].endswith(volatile)] == [
        each for each in after if not each[0].endswith(volatile)
    ]
