"""What a child can do to a run: never end, say nothing, say too much, leave something running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from contracts.agents import AgentConfig
from contracts.authorities import Authority
from contracts.checks import Check
from contracts.commands import Command
from contracts.workspace import Setup
from tests.surfaces.shell import FINISH, POLITE, Shell, act, edit

MIB = 1024 * 1024
LONG = f"sleep 86397.{os.getpid()}"  # no other process on this machine has this name
# It does not end by itself: however fast the machine, the watcher sees it.
FLOOD = f"head -c 100000000 /dev/zero | tr '\\\\0' y; {LONG}"


def commands(**each: str) -> str:
    """The task's `actions:` line."""
    inner = ", ".join(f"{name}: {{{what}}}" for name, what in each.items())
    return f"actions: {{allow: [read_files, edit_files, run, finish], commands: {{{inner}}}}}"


def step_prompt(shell: Shell, step: int) -> str:
    return str(shell("explain", str(step), "--json").one["rows"][0]["prompt"])


def gone(word: str) -> bool:
    """Whether no process has `word` in its command line."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return not any(word in line and "ps -eo" not in line for line in found.splitlines())


def test_every_child_has_a_deadline_by_default() -> None:
    check = Check.model_validate({"name": "a", "role": "goal", "run": "x"})
    command, agent = Command.model_validate({"run": "x"}), AgentConfig()
    for each in (
        check.timeout,
        check.idle,
        command.timeout,
        command.idle,
        agent.timeout,
        agent.idle,
        Setup().timeout,
    ):
        assert 0 < each <= 900
    assert 0 < Authority.model_validate({"use": "command", "run": "x"}).timeout <= 900


def test_an_agent_that_answers_and_never_ends_is_ended_and_its_answer_used(shell: Shell) -> None:
    shell.task(*POLITE)
    agent = shell.home / "agent.py"
    agent.write_text(agent.read_text() + "sys.stdout.flush()\ntime.sleep(86400)\n")
    ran = shell("run", "--json")
    assert ran.code == 0, ran.err
    assert ran.lines[-1]["costs"]["launches"] == 3, "each answer was used"
    assert gone(str(agent))


def test_silence_ends_a_command_a_check_and_an_agent(shell: Shell) -> None:
    quiet = f'run: "echo begun; {LONG}", idle: 1s'
    shell.task(act("run", command="quiet"), FINISH, FINISH | {"sleep": 86_400}, actions=commands(quiet=quiet))
    task = shell.repo / "task.yaml"
    text = task.read_text().replace("agent.py]}", "agent.py], idle: 2s}")
    silent = f"  - {{name: silent, role: goal, run: 'echo begun; {LONG}', idle: 1s, pins: []}}\n"
    task.write_text(text.replace("checks:\n", "checks:\n" + silent))
    opened = shell("run", "--steps", "2")
    rows = shell("log", "--json").lines
    assert rows[1]["tool_result"] == "run.timeout", opened
    assert rows[0]["extra"]["checks"]["silent"] is False
    assert "printed nothing for 1 s" in step_prompt(shell, 2)
    assert rows[2]["tool_result"] == "finish.red", rows[2]
    ended = shell("step", "--json")
    last = shell("log", "--json").lines[-1]
    assert last["validator_result"] and "hang" in json.dumps(last), (ended, last)
    assert gone(LONG) and gone(str(shell.home))


def test_what_is_left_running_is_ended_and_said(shell: Shell) -> None:
    left = f"({LONG} &) ; sleep 0.3; echo here"  # time to become the program that it is named by
    shell.task(
        act("run", command="serve"),
        edit("hello, please\n"),
        FINISH,
        actions=commands(serve=f'run: "{left}"'),
        authorities=f'authorities: {{here: {{use: command, run: "{left}"}}}}',
    )
    task = shell.repo / "task.yaml"
    lefty = f"  - {{name: lefty, role: guard, run: '{left}; exit 0', when: edit, pins: []}}\n"
    text = task.read_text().replace("checks:\n", "checks:\n" + lefty)
    text = text.replace("workspace: {", f'workspace: {{setup: {{run: ["{left}"]}}, ')
    agent = shell.home / "agent.py"
    more = f"import subprocess\nsubprocess.Popen({LONG.split()}, start_new_session=True)\n"
    agent.write_text(more + agent.read_text())
    task.write_text(text)
    ran = shell("run")
    assert ran.code == 0, ran.err
    assert gone(LONG)
    assert "script left running and ended:" in ran.err and LONG in ran.err
    assert "workspace.setup left running and ended:" in ran.err
    prompt = step_prompt(shell, 2)
    assert prompt.count(f"left running and ended: {LONG}") >= 1, "the authority"
    assert "left running and ended: " in prompt.partition("=== OBSERVATION")[2], "the command"
    assert f"check lefty: green: exit 0 left running and ended: {LONG}" in step_prompt(shell, 3)


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for each in range(3): os.dup2(null, each)
        os.execve("/bin/sleep", ["sleep", "SECONDS"], {})
    os._exit(0)
os.wait()
time.sleep(0.2)
""".replace("SECONDS", LONG.split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="only the process group is known elsewhere")
def test_a_daemon_of_the_agent_with_an_empty_environment_is_ended_and_said(shell: Shell) -> None:
    shell.task(*POLITE)
    agent = shell.home / "agent.py"
    agent.write_text(DAEMON + agent.read_text())
    ran = shell("run", "--steps", "1")
    assert gone(LONG), ran.err
    assert "left running and ended:" in ran.err and LONG in ran.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("words", [("checks",), ("validate", "--prove-checks")], ids=["checks", "validate"])
def test_a_signal_ends_what_checks_have_started(shell: Shell, words: tuple[str, ...], number: int) -> None:
    shell.task(*POLITE)
    task = shell.repo / "task.yaml"
    begun = shell.home / "begun"
    slow = f"  - {{name: slow, role: guard, run: 'touch {begun}; ({LONG} &); {LONG}', pins: []}}\n"
    text = task.read_text().replace("checks:\n", "checks:\n" + slow)
    task.write_text(text)
    at_work = shell.start(*words)
    while not begun.exists():
        assert at_work.poll() is None, at_work.communicate()
        time.sleep(0.05)
    at_work.send_signal(number)
    out, err = at_work.communicate(timeout=60)
    assert at_work.returncode == 128 + number, (out, err)
    assert gone(LONG)


MEASURED = """
import atexit, pathlib, resource, sys
def told(path):
    try:
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except OSError:  # no /proc: bytes, on macOS
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    path.write_text(str(peak))
atexit.register(told, pathlib.Path(sys.argv.pop()))
from controller.__main__ import main
main()
"""


def peak(shell: Shell, *words: str) -> tuple[int, subprocess.CompletedProcess[str]]:
    """(most memory that the controller itself had at once in bytes, how it ended)."""
    told = shell.home / "peak"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words, str(told)],
        cwd=shell.repo, env=shell.env, capture_output=True, text=True,
    )  # fmt: skip
    return int(told.read_text()) * 1024, done


@pytest.mark.parametrize("who", ["agent", "command", "check", "authority"])
@pytest.mark.long
def test_a_hundred_megabytes_of_output_are_bounded_cut_and_said(shell: Shell, who: str) -> None:
    changes: dict[str, Any] = {}
    replies: list[Any] = [*POLITE]
    if who == "command":
        replies = [act("run", command="flood"), *POLITE]
        changes["actions"] = commands(flood=f'run: "{FLOOD}"')
    if who == "authority":
        changes["authorities"] = f'authorities: {{loud: {{use: command, run: "{FLOOD}"}}}}'
    shell.task(*replies, **changes)
    if who == "check":
        task = shell.repo / "task.yaml"
        loud = f'  - {{name: loud, role: guard, run: "{FLOOD}", baseline: accept, pins: []}}\n'
        task.write_text(task.read_text().replace("checks:\n", "checks:\n" + loud))
    if who == "agent":
        agent = shell.home / "agent.py"
        agent.write_text(
            "import sys, time\nfor _ in range(100): sys.stdout.write('y' * 10**6)\nsys.stdout.flush()\n"
            "time.sleep(86_397)\n" + agent.read_text()
        )
    most, done = peak(shell, "run", "--steps", "2")
    assert most < 200 * MIB, f"{most / MIB:.0f} MiB"
    print(f"peak with a flooding {who}: {most / MIB:.0f} MiB")
    spool = shell.repo / ".agent-runtime/spool"
    assert list(spool.iterdir()) == [], done.stderr
    said = json.dumps(shell("log", "--json").lines) + step_prompt(shell, 2)
    assert "flooded" in said or "wrote" in said, said[-3000:]
    assert gone(LONG)


def test_a_long_output_keeps_head_and_tail_and_says_what_is_cut(shell: Shell) -> None:
    long = "seq 1 200000"
    shell.task(act("run", command="long"), *POLITE, actions=commands(long=f"run: {long}"))
    assert shell("run", "--steps", "2").code == 0
    observed = step_prompt(shell, 2).partition("=== OBSERVATION")[2]
    assert "200000" in observed and "last 40 lines, 1,288,895 bytes: artifact:" in observed
    assert len(observed) < 24 * 1024
