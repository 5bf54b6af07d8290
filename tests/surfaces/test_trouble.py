"""What goes wrong has its exit code and its sentence."""

from __future__ import annotations

import re
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from contracts.errors import ConfigError, Lost, Permanent, Temporary, Unavailable
from contracts.outcomes import EXIT_CODES
from controller.surfaces.failures import explained
from tests.surfaces.shell import POLITE, READ, Shell


def test_usage_and_configuration(shell: Shell) -> None:
    assert shell("frob").code == 2
    assert shell("run", "--steps", "0").code == 2
    missing = shell("run")
    assert missing.code == 2 and "controller init" in missing.err
    shell.task(*POLITE, budgets="budgets: {step: 3}")
    bad = shell("run", "--json")
    assert bad.code == 2 and re.search(r"task\.yaml:13:11: .*did you mean `steps`", bad.err), bad.err
    assert (bad.lines[-1]["outcome"], bad.lines[-1]["exit"]) == ("config_error", 2)
    shell.task(*POLITE, sandbox="sandbox: {mode: required, read: [/nowhere]}")
    assert "sandbox.read: there is no /nowhere" in shell("run").err
    shell.task(*POLITE)
    assert shell("-C", "nowhere", "status").code == 2
    assert shell("status", cwd=shell.home).code == 2
    assert shell("-C", str(shell.repo), "status", cwd=shell.home).code == 0
    assert not (shell.repo / ".agent-runtime").exists(), "nothing was made for a refused call or a query"


def test_a_missing_credential_is_refused_before_anything_is_made(shell: Shell) -> None:
    fake = shell.home / "bin"
    fake.mkdir()
    (fake / "claude").write_text("#!/bin/sh\nexit 9\n")
    (fake / "claude").chmod(0o755)
    shell.extra["PATH"] = f"{fake}:{shell.env['PATH']}"
    shell.task(*POLITE)
    ran = shell("run", "--agent", "claude")
    assert ran.code == 2 and "ANTHROPIC_API_KEY" in ran.err
    assert shell("status").out.startswith("task greet: no run yet")


def test_an_unusable_store(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("step").code == 0
    store = shell.repo / ".agent-runtime/state.db"
    kept = store.with_suffix(".kept")
    shutil.copy(store, kept)

    def broken(sql: str) -> None:
        shutil.copy(kept, store)
        db = sqlite3.connect(store)
        db.execute(sql)
        db.commit()
        db.close()

    for sql, words in {
        "PRAGMA user_version = 99": "upgrade",
        "PRAGMA application_id = 1": "not a store",
        "UPDATE runs SET record = replace(CAST(record AS TEXT), '\"step\":1', '\"step\":7')": "checksum",
    }.items():
        broken(sql)
        for command in ("status", "run"):
            said = shell(command)
            assert said.code == 8 and words in said.err, (command, sql, said)
    for content in (b"", b"\0" * 4096, kept.read_bytes()[:3000]):
        for tail in ("-wal", "-shm"):
            Path(f"{store}{tail}").unlink(missing_ok=True)
        store.write_bytes(content)
        for command in ("status", "log"):
            said = shell(command)
            assert said.code == 8 and "damaged" in said.err, (command, said)
        assert store.read_bytes() == content, "a damaged file is never replaced"


def test_a_second_controller_and_stopping_the_first(shell: Shell) -> None:
    shell.task(READ, READ | {"sleep": 60}, *POLITE)
    first = shell.start("run", "--json")
    try:
        wait_until(lambda: shell("status", "--json").one.get("step") == 2)
        status = shell("status", "--json").one
        assert (status["state"], status["owner"]["pid"]) == ("running", first.pid)
        second = shell("run", "--json")
        assert (second.code, second.lines[-1]["outcome"]) == (7, "busy") and str(first.pid) in second.err
        assert shell("checks").code == 7
        assert shell("stop", "--now").code == 0
        out, _ = first.communicate(timeout=30)
        assert first.returncode == 130, out
    finally:
        first.kill()
    assert '"outcome":"interrupted"' in out.splitlines()[-1]
    assert shell("status", "--json").one["state"] == "interrupted"
    assert shell("stop").code == 2, "nobody is at work"
    shell.task(READ, READ, *POLITE)
    ended = shell("run", "--json").lines[-1]
    assert (ended["exit"], ended["costs"]["launches"]) == (0, 5), "the launch without a reply counts"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_controller_that_was_ended_is_seen_as_interrupted(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    shell.task(READ | {"sleep": 60})
    first = shell.start("run")
    try:
        wait_until(lambda: shell("status", "--json").one.get("step") == 1)
        first.send_signal(number)
        assert first.wait(30) == code
    finally:
        first.kill()
    status = shell("status", "--json").one
    assert (status["state"], status["owner"], status["next"]) == ("interrupted", None, "controller run")


def test_stop_takes_effect_where_the_step_ends(shell: Shell) -> None:
    shell.task(READ | {"sleep": 3}, *POLITE)
    first = shell.start("run")
    try:
        wait_until(lambda: shell("status", "--json").one.get("step") == 1)
        assert shell("stop", "--why", "lunch").code == 0
        out, err = first.communicate(timeout=30)
    finally:
        first.kill()
    assert first.returncode == 128 + signal.SIGINT, err
    assert ", lunch: `controller run` goes on" in out, "why is said where the run ends"
    status = shell("status", "--json").one
    assert (status["step"], status["committed"], status["outcome"]) == (1, 1, "interrupted"), out
    assert shell("run").code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (Permanent("x"), 3),
        (Temporary("x"), 6),
        (Lost("x"), 7),
        (Unavailable("x"), 8),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("x"), 1),
    ],
)
def test_every_exception_has_its_exit_code(error: BaseException, code: int, tmp_path: Path) -> None:
    outcome, said = explained(error, tmp_path, debug=False)
    assert EXIT_CODES[outcome] == code
    assert len(said.splitlines()) == 1
    traces = list(tmp_path.rglob("*.txt"))
    assert len(traces) == (code == 1), "only a bug leaves a traceback"
    if traces:
        assert str(traces[0]) in said and "ZeroDivisionError: x" in traces[0].read_text()


def wait_until(holds: object) -> None:
    """At most 20 s."""
    assert callable(holds)
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.1)
