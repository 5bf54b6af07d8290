"""`tell`, `answer` of an unknown deed, `unlock`, `replay`, `state recover`: as a user calls them."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.surfaces.shell import POLITE, READ, Shell, act


def store(shell: Shell) -> Path:
    return shell.repo / ".agent-runtime/state.db"


def changed(shell: Shell, sql: str, *values: object) -> None:
    db = sqlite3.connect(store(shell))
    db.execute(sql, values)
    db.commit()
    db.close()


def damaged(shell: Shell) -> None:
    for tail in ("-wal", "-shm"):
        Path(f"{store(shell)}{tail}").unlink(missing_ok=True)
    store(shell).write_bytes(b"\0" * 4096)


def test_a_note_is_told_listed_and_withdrawn(shell: Shell) -> None:
    shell.task(READ, READ, *POLITE)
    assert shell("tell", "x").code == 2, "there is no run yet"
    assert shell("step").code == 0
    told = shell("tell", "Mind the comma.")
    assert told.code == 0 and told.out.startswith("user-note-1: shown in every prompt")
    assert shell("tell", "Second.").code == 0
    assert [note["id"] for note in shell("tell", "--json").one["notes"]] == ["user-note-1", "user-note-2"]
    assert shell("tell", "--withdraw", "user-note-2").code == 0
    unknown = shell("tell", "--withdraw", "user-note-2")
    assert unknown.code == 2 and "shown: user-note-1" in unknown.err
    assert "Mind the comma." in shell("tell").out and "Second" not in shell("tell").out
    for wrong in (["", ""], ["x" * 501], ["x", "--withdraw", "user-note-1"]):
        assert shell("tell", *wrong).code == 2, wrong
    assert shell("step").code == 0
    prompt = shell("explain", "--json").one["rows"][0]["prompt"]
    assert "user-note-1: Mind the comma." in prompt and "Second" not in prompt
    assert shell("run").code == 0
    assert "next run" in shell("tell", "too late").out


def test_whether_a_deed_happened_has_two_answers(shell: Shell) -> None:
    shell.task(act("ask", question="Which?"), *POLITE)
    assert shell("run").code == 5
    db = sqlite3.connect(store(shell))
    record = json.loads(db.execute("SELECT record FROM runs").fetchone()[0])
    db.close()
    entry = record["queue"][0]
    record["queue"] = [entry | {"id": "q9", "kind": "unknown", "why": "ship may have happened"}]
    import hashlib

    data = json.dumps(record).encode()
    changed(shell, "UPDATE runs SET record = ?, sum = ?", data, hashlib.sha256(data).hexdigest())
    assert shell("status", "--json").one["next"] == "controller answer q9 happened|did-not-happen"
    refused = shell("answer", "q9", "I think so")
    assert refused.code == 2 and "`happened` or `did-not-happen`" in refused.err
    assert "ship may have happened" in refused.err
    assert shell("answer", "q9", " happened ").code == 0
    db = sqlite3.connect(store(shell))
    assert json.loads(db.execute("SELECT body FROM inbox").fetchone()[0])["text"] == "happened"
    db.close()


def test_the_lease_of_a_host_that_is_gone(shell: Shell) -> None:
    shell.task(READ, *POLITE)
    assert shell("step").code == 0
    owner = {"host": "elsewhere", "boot": "b", "pid": 7, "started": "1", "pgid": 7}
    changed(shell, "UPDATE leases SET id = 'abc123', owner = ?, expires = 9e9", json.dumps(owner).encode())
    assert shell("status", "--json").one["owner"] == {"host": "elsewhere", "pid": 7, "lease": "abc123"}
    assert "lease abc123" in shell("status").out
    busy = shell("run")
    assert busy.code == 7 and "lease abc123" in busy.err
    wrong = shell("unlock", "abc124")
    assert wrong.code == 2 and "abc124" in wrong.err
    assert shell("unlock", "abc123").code == 0
    assert shell("unlock", "abc123").code == 2
    assert shell("run").code == 0


def test_the_lease_of_a_living_owner_stays(shell: Shell) -> None:
    from controller.stores.liveness import this_process

    shell.task(READ, *POLITE)
    assert shell("step").code == 0
    me = dict(zip(("host", "boot", "pid", "started", "pgid"), this_process(), strict=True))
    changed(shell, "UPDATE leases SET id = 'abc123', owner = ?, expires = 9e9", json.dumps(me).encode())
    refused = shell("unlock", "abc123")
    assert refused.code == 7 and "controller stop --now" in refused.err and str(os.getpid()) in refused.err


def test_a_run_is_replayed(shell: Shell) -> None:
    shell.task(READ, act("nope"), *POLITE)
    assert shell("run").code == 0
    told = shell("replay", "--json")
    assert told.code == 0
    assert (told.one["steps"], told.one["gated"], told.one["same"]) == (4, 5, True)
    assert shell("replay", "#1", "--to", "2", "--json").one["gated"] == 2
    assert shell("replay", "#9").code == 2
    scope = 'workspace: {base: main, scope: ["lib/**"]}'
    shell.task(READ, workspace=scope)
    other = shell("replay")
    assert other.code == 3 and "the gate says policy.path.scope now, it said allow" in other.out


def test_a_damaged_store_is_rebuilt(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run", "--steps", "2").code == 0
    before = shell("state", "show", "--json").one
    whole = shell("state", "recover")
    assert whole.code == 2 and "is whole" in whole.err
    damaged(shell)
    assert shell("run").code == 8 and "controller state recover" in shell("status").err
    said = shell("state", "recover")
    assert said.code == 0, said.err
    assert (
        "rebuilt greet@" in said.out and "lost: the last observation" in said.out and "damaged-1" in said.out
    )
    assert shell("state", "show", "--json").one == before
    assert shell("run").code == 0 and shell("log", "--verify").code == 0


def test_what_can_not_be_rebuilt_is_said(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run", "--steps", "2").code == 0
    damaged(shell)
    mirror = next((shell.repo / ".agent-runtime/audit").glob("*.jsonl"))
    lines = mirror.read_bytes().splitlines(keepends=True)
    mirror.write_bytes(b"".join(lines[:-1]))  # the row of the commit is gone
    said = shell("state", "recover", "--json")
    assert said.code == 3 and said.one["step"] == 1
    assert "the rows end at" in said.one["lost"][-1]
    mirror.unlink()
    damaged(shell)
    said = shell("state", "recover")
    assert said.code == 8 and "no audit row" in said.err


def test_a_store_put_back_from_an_older_copy_is_not_gone_on_from(shell: Shell) -> None:
    """What was done since would be done again."""
    shell.task(*POLITE)
    assert shell("run", "--steps", "1").code == 0
    copy = shell.home / "copy.db"
    with closing(sqlite3.connect(store(shell))) as db, closing(sqlite3.connect(copy)) as to:
        db.backup(to)
    assert shell("run", "--steps", "1").code == 0
    newest = shell("state", "history", "--json").lines
    for tail in ("", "-wal", "-shm"):
        Path(f"{store(shell)}{tail}").unlink(missing_ok=True)
    copy.rename(store(shell))
    mirror = next((shell.repo / ".agent-runtime/audit").glob("*.jsonl"))
    before = mirror.read_bytes()
    for again in (("run",), ("run", "--new"), ("log", "--verify")):
        refused = shell(*again)
        assert refused.code == (3 if "log" in again else 8), refused
        assert "it is not the newest" in refused.err + refused.out
    assert mirror.read_bytes() == before
    assert shell("state", "recover").code == 0
    assert shell("state", "history", "--json").lines == newest
    assert shell("run").code == 0 and shell("log", "--verify").code == 0


def test_a_store_that_is_gone_is_not_begun_afresh(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run", "--steps", "2").code == 0
    for tail in ("", "-wal", "-shm"):
        Path(f"{store(shell)}{tail}").unlink(missing_ok=True)
    refused = shell("run")
    assert refused.code == 8 and "`controller state recover` rebuilds it" in refused.err
    assert not store(shell).exists()
    assert shell("state", "recover").code == 0
    assert shell("run").code == 0 and shell("log", "--verify").code == 0


@pytest.mark.parametrize("words", [("unlock",), ("tell", "--withdraw"), ("replay", "--to", "-1")])
def test_usage(shell: Shell, words: tuple[str, ...]) -> None:
    shell.task(READ)
    assert shell(*words).code == 2
