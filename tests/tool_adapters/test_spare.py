"""A child that is started before its input: fed it does what any child does, and nothing that becomes of it before
harms anybody."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.ports import Ran, Settle
from contracts.spares import Spare
from tests.tool_adapters.test_process import FAST, alive, linux
from tool_adapters.descendants import below
from tool_adapters.process import ProcessRunner, child_environment

TELL = "import sys; data = sys.stdin.buffer.read(); print(len(data), data[-3:].decode())"
AGE = 30.0


def make(tmp_path: Path, **more: Any) -> ProcessRunner:
    return ProcessRunner(tmp_path / "spool", graces=FAST, **more)


def spawned(
    tmp_path: Path,
    code: str,
    then: Callable[[Spare], Awaitable[Any]],
    *,
    runner: ProcessRunner | None = None,
    age: float = AGE,
    argv: tuple[str, ...] = (sys.executable, "-c"),
) -> Any:
    """What `then` returns of a spare that runs `code`; no child and no spooled file is left after it."""
    runner = runner or make(tmp_path)

    async def go() -> Any:
        spare = await runner.spawn(
            (*argv, code), cwd=tmp_path, env=child_environment(), age=age, cap=100_000, redact=True
        )
        return await then(spare)

    result = anyio.run(go)
    assert below(os.getpid()) == []
    assert list((tmp_path / "spool").iterdir()) == []
    return result


async def fed(spare: Spare, stdin: bytes = b"end", wait: float = 0.3, **more: Any) -> Ran | None:
    await anyio.sleep(wait)
    return await spare.feed(stdin, **{"timeout": 20.0, "early": lambda data: not data, **more})


async def pid_of(spare: Any) -> int:
    """The pid, once it was started."""
    with anyio.fail_after(10):
        while spare._child._process is None:
            await anyio.sleep(0.01)
    return int(spare._child._process.pid)


@pytest.mark.parametrize("size", [3, 70_000, 5_000_000])
def test_its_input_arrives_whole_and_ends(size: int, tmp_path: Path) -> None:
    ran = spawned(tmp_path, TELL, lambda spare: fed(spare, b"x" * (size - 3) + b"end"))
    assert (ran.exit, ran.out.data, ran.survivors) == (0, b"%d end\n" % size, ())


def test_time_counts_from_the_input(tmp_path: Path) -> None:
    ran = spawned(tmp_path, TELL, lambda spare: fed(spare, wait=1.5, timeout=1.0, idle=1.0))
    assert ran.exit == 0 and ran.took < 1.5


def test_it_never_ends_once_fed(tmp_path: Path) -> None:
    code = TELL + "; sys.stdout.flush(); import time; time.sleep(60)"
    ran = spawned(tmp_path, code, lambda spare: fed(spare, timeout=0.5))
    assert (ran.exit, ran.timed_out) == (None, True)
    ran = spawned(tmp_path, code, lambda spare: fed(spare, idle=0.5))
    assert (ran.exit, ran.idle) == (None, True)
    settle = Settle(lambda path: path.stat().st_size > 0, 0.1)
    ran = spawned(tmp_path, code, lambda spare: fed(spare, settle=settle))
    assert (ran.settled, ran.out.data) == (True, b"3 end\n")


def test_one_that_never_reads_a_long_input_is_ended(tmp_path: Path) -> None:
    code = "import time; time.sleep(60)"
    ran = spawned(tmp_path, code, lambda spare: fed(spare, b"x" * 5_000_000, timeout=0.5))
    assert ran.timed_out


@pytest.mark.parametrize("code", ["raise SystemExit(7)", "import os; os.kill(os.getpid(), 9)", "print('{}')"])
def test_one_that_is_over_takes_nothing(code: str, tmp_path: Path) -> None:
    assert spawned(tmp_path, code, lambda spare: fed(spare, wait=0.5)) is None


def test_what_can_not_be_started_takes_nothing(tmp_path: Path) -> None:
    assert spawned(tmp_path, "", fed, argv=("/nowhere/program",)) is None


def test_what_it_prints_before_its_input_is_judged(tmp_path: Path) -> None:
    code = "print('garbage', flush=True); " + TELL
    assert spawned(tmp_path, code, fed) is None
    seen: list[bytes] = []
    ran = spawned(tmp_path, code, lambda spare: fed(spare, early=lambda data: not seen.append(data)))
    assert seen == [b"garbage\n"] and ran.out.data == b"garbage\n3 end\n"


def test_a_stopped_one_takes_nothing_and_is_ended(tmp_path: Path) -> None:
    async def then(spare: Spare) -> Ran | None:
        pid = await pid_of(spare)
        os.kill(pid, signal.SIGSTOP)
        ran = await fed(spare)
        assert not alive(pid)
        return ran

    assert spawned(tmp_path, TELL, then) is None


def test_an_old_one_and_a_flooding_one_are_ended_by_themselves(tmp_path: Path) -> None:
    async def waits(spare: Spare) -> Ran | None:
        pid = await pid_of(spare)
        with anyio.fail_after(20):
            while alive(pid):
                await anyio.sleep(0.05)
        return await fed(spare)

    assert spawned(tmp_path, TELL, waits, age=0.3) is None
    flood = "import sys, time\nwhile True: sys.stdout.write('y' * 100_000); time.sleep(0.001)"
    assert spawned(tmp_path, flood, waits, runner=make(tmp_path, disk_cap=1_000_000)) is None


def test_killed_at_any_moment_it_takes_its_input_or_nothing(tmp_path: Path) -> None:
    """Whatever the moment: an end that is told, no child left, no hang."""
    code, chance = TELL + "; import time; time.sleep(0.1)", random.Random(7)
    ends: list[str] = []
    for _ in range(25):
        kill_at, feed_at = chance.uniform(0, 0.3), chance.uniform(0, 0.3)

        async def then(spare: Spare, kill_at: float = kill_at, feed_at: float = feed_at) -> Ran | None:
            async def killer() -> None:
                pid = await pid_of(spare)
                await anyio.sleep(kill_at)
                if spare._child._process.returncode is None:  # type: ignore[attr-defined]
                    os.kill(pid, signal.SIGKILL)

            async with anyio.create_task_group() as group:
                group.start_soon(killer)
                return await fed(spare, wait=feed_at)

        ran = spawned(tmp_path, code, then)
        ends.append("none" if ran is None else "killed" if ran.signal == 9 else str(ran.exit))
    assert set(ends) <= {"none", "killed", "0"} and {"none", "killed"} <= set(ends), ends


@linux
def test_unfed_it_is_ended_with_all_below_it(tmp_path: Path) -> None:
    child = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True); "

    async def then(spare: Spare) -> Ran:
        await anyio.sleep(0.5)
        return await spare.end()

    ran = spawned(tmp_path, child + TELL, then)
    assert len(ran.survivors) == 1 and "sleep 60" in ran.survivors[0]


def test_cancelled_while_it_works_it_is_ended(tmp_path: Path) -> None:
    async def then(spare: Spare) -> int:
        pid = await pid_of(spare)
        with anyio.move_on_after(1):
            await fed(spare)
        return pid

    assert not alive(spawned(tmp_path, TELL + "; import time; time.sleep(60)", then))


def test_a_second_interrupt_ends_it(tmp_path: Path) -> None:
    runner = make(tmp_path)

    async def then(spare: Spare) -> Ran:
        pid = await pid_of(spare)
        runner.end_now()
        ran = await spare.end()
        assert not alive(pid)
        return ran

    spawned(tmp_path, "import time; time.sleep(60)", then, runner=runner)


OWNER = """
import sys, time, anyio
from pathlib import Path
from tool_adapters.process import ProcessRunner, child_environment
async def main():
    runner = ProcessRunner(Path(sys.argv[1]))
    told = "import os, sys; print(os.getpid(), file=open(sys.argv[1], 'w'), flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", told, sys.argv[2]]
    await runner.spawn(argv, cwd=Path("/"), env=child_environment(), age=600, cap=10, redact=True)
    time.sleep(600)
anyio.run(main)
"""


def test_its_input_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path / "spool"), str(told)])
    try:
        until = time.monotonic() + 30
        while not (told.exists() and told.read_text().endswith("\n")):
            assert time.monotonic() < until
            time.sleep(0.02)
        pid = int(told.read_text())
        assert alive(pid), "the control"
    finally:
        owner.kill()
        owner.wait()
    until = time.monotonic() + 30
    while alive(pid):
        assert time.monotonic() < until
        time.sleep(0.02)
