from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from contracts.ports import Settle
from contracts.redact import Redactor
from tool_adapters import descendants
from tool_adapters.process import Graces, ProcessRunner, child_environment, resolve

linux = pytest.mark.skipif(sys.platform != "linux", reason="own-session descendants are found through /proc")
FAST = Graces(interrupt=0.2, terminate=0.2, sweep=0.2)


class Shelf(dict[str, bytes]):
    def put(self, data: bytes) -> str:
        self["a1"] = data
        return "a1"

    def get(self, id: str) -> bytes:
        return self[id]


def make(tmp_path: Path, **more: object) -> ProcessRunner:
    return ProcessRunner(tmp_path / "spool", graces=FAST, **more)  # type: ignore[arg-type]


def run(runner: ProcessRunner, code: str, tmp_path: Path, **more: object):
    async def go():
        return await runner.run(
            [sys.executable, "-c", code],
            **{"cwd": tmp_path, "env": child_environment(), "timeout": 30.0, **more},
        )

    return anyio.run(go)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    process = descendants.processes().get(pid)
    return process is None or not process.zombie


def test_exit_code_output_and_empty_spool(tmp_path: Path) -> None:
    runner = make(tmp_path)
    ran = run(runner, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)", tmp_path)
    assert (ran.exit, ran.out.data, ran.err.data, ran.signal, ran.survivors) == (
        7,
        b"out\n",
        b"err\n",
        None,
        (),
    )
    assert ran.ended
    assert list((tmp_path / "spool").iterdir()) == []


def test_exit_code_survives_unread_stdin(tmp_path: Path) -> None:
    ran = run(make(tmp_path), "import sys; print('bad key'); sys.exit(7)", tmp_path, stdin=b"x" * 3_000_000)
    assert (ran.exit, ran.out.data) == (7, b"bad key\n")


def test_stdin_arrives_whole_and_ends(tmp_path: Path) -> None:
    code = "import sys; d = sys.stdin.buffer.read(); print(len(d), d[-3:])"
    assert (
        run(make(tmp_path), code, tmp_path, stdin=b"x" * 1_000_000 + b"end").out.data == b"1000003 b'end'\n"
    )
    assert run(make(tmp_path), code, tmp_path).out.data == b"0 b''\n"


def test_spooled_input_is_private(tmp_path: Path) -> None:
    code = "import os; print(oct(os.fstat(0).st_mode & 0o777), oct(os.fstat(1).st_mode & 0o777))"
    assert run(make(tmp_path), code, tmp_path, stdin=b"x").out.data == b"0o600 0o600\n"
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700


def test_invalid_utf8_ansi_and_nul_are_kept_raw_and_shown_clean(tmp_path: Path) -> None:
    raw = rb"\xff\x00\x1b[31mred\x1b[0m\r\n"
    ran = run(make(tmp_path), f"import sys; sys.stdout.buffer.write(b'{raw.decode()}')", tmp_path)
    assert ran.out.data == b"\xff\x00\x1b[31mred\x1b[0m\r\n"
    assert ran.out.text == "\ufffdred\n"


def test_wall_clock(tmp_path: Path) -> None:
    ran = run(
        make(tmp_path), "import time; print('begun', flush=True); time.sleep(60)", tmp_path, timeout=0.6
    )
    assert (ran.exit, ran.timed_out, ran.idle) == (None, True, False)
    assert ran.out.data.startswith(b"begun")
    assert ran.signal == signal.SIGINT or b"KeyboardInterrupt" in ran.err.data


def test_idle_is_not_wall_clock(tmp_path: Path) -> None:
    runner = make(tmp_path)
    busy = "import time\nfor _ in range(8): print('.', flush=True); time.sleep(0.1)"
    assert run(runner, busy, tmp_path, idle=0.6).exit == 0
    ran = run(runner, "import time; print('.', flush=True); time.sleep(60)", tmp_path, idle=0.3)
    assert (ran.exit, ran.idle, ran.timed_out) == (None, True, False)


def test_flood_is_ended_and_memory_bounded(tmp_path: Path) -> None:
    runner = make(tmp_path, disk_cap=4_000_000)
    code = "import sys, time\nfor _ in range(100): sys.stdout.buffer.write(b'y' * 10**6)\ntime.sleep(60)"
    ran = run(runner, code, tmp_path, cap=10_000)
    assert (ran.exit, ran.flooded) == (None, True)
    assert ran.out.total > 4_000_000
    assert len(ran.out.data) <= 10_000
    assert list((tmp_path / "spool").iterdir()) == []


def test_cut_keeps_head_and_tail(tmp_path: Path) -> None:
    ran = run(make(tmp_path), "print('HEAD' + 'x' * 50_000 + 'TAIL')", tmp_path, cap=1_000)
    assert ran.out.total == 50_009
    assert len(ran.out.data) <= 1_000
    assert ran.out.data.startswith(b"HEAD") and ran.out.data.endswith(b"TAIL\n")
    assert b"50009 bytes" in ran.out.data


def test_ignores_int_and_term_is_killed(tmp_path: Path) -> None:
    code = (
        "import signal as s, time, os\nfor n in (s.SIGINT, s.SIGTERM): s.signal(n, s.SIG_IGN)\n"
        "print(os.getpid(), flush=True)\nwhile True: time.sleep(1)"
    )
    ran = run(make(tmp_path), code, tmp_path, timeout=0.8)
    assert (ran.timed_out, ran.signal) == (True, signal.SIGKILL)
    assert not alive(int(ran.out.data))


GRANDCHILD = """
import os, signal, sys, time
pid = os.fork()
if pid == 0:
    os.setsid()
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    while True: time.sleep(1)
time.sleep(0.3)
"""


@linux
def test_own_session_grandchild_that_ignores_term_is_swept(tmp_path: Path) -> None:
    ran = run(make(tmp_path), GRANDCHILD + "sys.exit(3)", tmp_path)
    pid = int(ran.out.data)
    assert ran.exit == 3
    assert [each.split(":")[0] for each in ran.survivors] == [str(pid)]
    assert not alive(pid)


@linux
def test_own_session_grandchild_is_swept_after_a_timeout_even_with_an_empty_environment(
    tmp_path: Path,
) -> None:
    script = tmp_path / "grandchild.py"
    script.write_text(GRANDCHILD + "time.sleep(60)")
    code = f"import os, sys; os.execve(sys.executable, [sys.executable, {str(script)!r}], {{}})"
    ran = run(make(tmp_path), code, tmp_path, timeout=1.5)
    assert ran.timed_out
    assert not alive(int(ran.out.data))


def test_background_child_in_the_group_is_ended(tmp_path: Path) -> None:
    code = "import subprocess as s; print(s.Popen(['sleep', '60'], stdin=s.DEVNULL).pid)"
    ran = run(make(tmp_path), code, tmp_path)
    assert ran.exit == 0 and len(ran.survivors) == 1
    assert not alive(int(ran.out.data))


def test_processes_of_others_are_left_alone(tmp_path: Path) -> None:
    import subprocess

    mine = subprocess.Popen(["sleep", "60"])
    own_session = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert run(make(tmp_path), "import time; time.sleep(60)", tmp_path, timeout=0.3).survivors == ()
        assert mine.poll() is None and own_session.poll() is None
    finally:
        for each in (mine, own_session):
            each.kill()
            each.wait()


@pytest.mark.parametrize("pid", [-1, 0, 1, os.getpid(), os.getppid()], ids=["-1", "0", "1", "self", "parent"])
def test_foreign_groups_are_never_signalled(pid: int) -> None:
    assert not descendants.signal_group(pid, 0) or os.getpgid(pid) == pid != os.getpgrp()
    assert not descendants.signal_group(1, 0)
    assert not descendants.signal_group(os.getpgrp(), 0)


def test_answer_of_a_child_that_does_not_exit_is_used(tmp_path: Path) -> None:
    settle = Settle(done=lambda path: b"\n" in path.read_bytes(), grace=0.2)
    ran = run(
        make(tmp_path),
        "import time; print('{}', flush=True); time.sleep(60)",
        tmp_path,
        settle=settle,
        timeout=20.0,
    )
    assert (ran.settled, ran.exit, ran.timed_out, ran.out.data) == (True, None, False, b"{}\n")
    ran = run(make(tmp_path), "print('{}')", tmp_path, settle=settle)
    assert (ran.settled, ran.exit) == (False, 0)


def test_cancelling_ends_the_child(tmp_path: Path) -> None:
    runner, pidfile = make(tmp_path), tmp_path / "pid"
    code = f"import os, time; open({str(pidfile)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    async def go() -> None:
        with anyio.move_on_after(1.5):
            await runner.run([sys.executable, "-c", code], cwd=tmp_path, env=child_environment(), timeout=60)
            raise AssertionError("it was not cancelled")

    anyio.run(go)
    assert not alive(int(pidfile.read_text()))
    assert list((tmp_path / "spool").iterdir()) == []


def test_missing_program_folder_and_too_long_arguments_are_named(tmp_path: Path) -> None:
    runner = make(tmp_path)

    async def go(argv: list[str], cwd: Path = tmp_path):
        return await runner.run(argv, cwd=cwd, env=child_environment(), timeout=5)

    missing = anyio.run(go, ["no-such-program-x"])
    assert (missing.missing, missing.exit) == ("no-such-program-x", None)
    assert "does not exist" in anyio.run(go, ["true"], tmp_path / "gone").refused
    long = anyio.run(
        go, ["true", "x" * 200_000] if sys.platform == "linux" else ["true", *["x" * 99_999] * 50]
    )
    assert "E2BIG" in long.refused and long.missing == ""
    (tmp_path / "tool").write_text("not a program")
    assert anyio.run(go, ["./tool"]).missing == "./tool"


def test_environment_is_an_allow_list(tmp_path: Path) -> None:
    base = {
        "PATH": "/venv/bin:/usr/bin::.:bin:/bin",
        "VIRTUAL_ENV": "/venv",
        "HOME": "/home/u",
        "LC_TIME": "C",
        "PYTHONPATH": "/x",
        "NODE_PATH": "/x",
        "GIT_DIR": "/x",
        "CLAUDECODE": "1",
        "ANTHROPIC_API_KEY": "k",
    }
    env = child_environment({"MINE": "1"}, base=base)
    assert env == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/u",
        "LC_TIME": "C",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "MINE": "1",
    }
    ran = run(make(tmp_path), "import os, json; print(json.dumps(dict(os.environ)))", tmp_path, env=env)
    got = {k: v for k, v in json.loads(ran.out.data).items() if not k.startswith("SKILL_STATE_CHILD_")}
    assert {k: v for k, v in got.items() if k not in ("LC_CTYPE", "__CF_USER_TEXT_ENCODING")} == env


def test_relative_program_is_found_in_the_childs_folder_keeping_links(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    assert resolve("bin/python", {}, tmp_path) == str(tmp_path / "bin/python")
    assert resolve("python", {"PATH": str(tmp_path / "bin")}, tmp_path) == str(tmp_path / "bin/python")
    assert resolve("python", {"PATH": "/nonexistent"}, tmp_path) is None


def test_secrets_are_redacted_in_output_and_artifact_but_not_in_a_reply(tmp_path: Path) -> None:
    shelf = Shelf()
    runner = make(tmp_path, artifacts=shelf, redactor=Redactor({"KEY": "hunter2hunter2"}))
    code = "print('k=hunter2hunter2 ' + 'ghp_' + 'a1B2' * 9)"
    ran = run(runner, code, tmp_path, keep=True)
    assert ran.out.data == b"k=[redacted:KEY] [redacted:github_token]\n"
    assert ran.out.artifact == "a1" and shelf["a1"] == ran.out.data
    ran = run(runner, code, tmp_path, keep=True, redact=False)
    assert b"hunter2hunter2" in ran.out.data and b"hunter2" not in shelf["a1"]


@pytest.mark.parametrize("shift", range(0, 14, 3))
def test_secret_across_the_cut_does_not_leak(tmp_path: Path, shift: int) -> None:
    runner = make(tmp_path, redactor=Redactor({"KEY": "hunter2hunter2"}))
    ran = run(runner, f"print('.' * {285 + shift} + 'hunter2hunter2' + 'x' * 5000)", tmp_path, cap=1_000)
    assert b"hunt" not in ran.out.data


def test_leftovers_of_a_dead_controller_are_removed(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "999999999-x.out").write_text("raw")
    (spool / f"{os.getpid()}-x.out").write_text("live")
    make(tmp_path)
    assert [path.name for path in spool.iterdir()] == [f"{os.getpid()}-x.out"]


def test_last_line_is_reported_while_it_runs(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    runner = make(tmp_path, watch=lambda program, line: seen.append((program, line)))
    run(runner, "import time\nfor n in range(3): print('line', n, flush=True); time.sleep(0.2)", tmp_path)
    assert (sys.executable, "line 1") in seen


def test_children_run_side_by_side(tmp_path: Path) -> None:
    runner = make(tmp_path)
    results: list[bytes] = []

    async def one(n: int) -> None:
        code = f"import os, time; time.sleep(0.2 * {n % 3}); print({n})"
        argv = [sys.executable, "-c", code]
        results.append((await runner.run(argv, cwd=tmp_path, env=child_environment(), timeout=30)).out.data)

    async def go() -> None:
        async with anyio.create_task_group() as group:
            for n in range(6):
                group.start_soon(one, n)

    anyio.run(go)
    assert sorted(results) == [f"{n}\n".encode() for n in range(6)]
