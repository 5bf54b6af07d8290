"""The sandbox for what is meant well: commands work in it as they do without, toolchains are found, and where none
can be had that is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from contracts.task import Sandbox
from tests.tool_adapters.repositories import git
from tests.tool_adapters.sandbox_world import SECRET, Machine, sandbox, script
from tool_adapters import descendants
from tool_adapters.probe import ask
from tool_adapters.sandbox import NONE, SandboxPlan
from tool_adapters.sandbox_box import Found, Refused, Resources, limited
from tool_adapters.sandbox_bwrap import own_error, version
from tool_adapters.sandbox_mounts import Mount
from tool_adapters.sandbox_probe import INSTALL, candidates, find_sandbox, first_that_works

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap and landlock are Linux's")
WORKING = ("bwrap", "landlock")
EVERY = ("none", *WORKING)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("kind", EVERY)
def test_exit_output_input_and_the_worktree(machine: Machine, kind: str) -> None:
    code = """
import sys
print(sys.stdin.read()); print('e', file=sys.stderr); open('new.txt', 'w').write('n')
sys.exit(7)
"""
    ran = machine.python(kind, code, stdin=b"fed")
    assert (ran.exit, ran.out.data, ran.err.data, ran.signal) == (7, b"fed\n", b"e\n", None)
    assert (ran.missing, ran.refused, ran.survivors, ran.timed_out) == ("", "", (), False)
    assert (machine.worktree / "new.txt").read_text() == "n"
    long = machine.python(kind, "print('x' * 10000)", cap=1000)
    assert long.out.total == 10001 and len(long.out.data) <= 1000


@pytest.mark.parametrize("kind", EVERY)
def test_many_commands_leave_no_zombies(machine: Machine, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adopted = {each.pid for each in descendants.ended_children()}
    monkeypatch.setattr(descendants, "PATIENCE", 0.05)
    for _ in range(6):
        machine.run(kind, ["true"])
        time.sleep(0.06)
    machine.run(kind, ["true"])
    assert len({each.pid for each in descendants.ended_children()} - adopted) <= 3, (
        "those of the last command"
    )
    # A child that somebody here waits for is left to them, however late they look.
    child = subprocess.Popen(["sh", "-c", "exit 7"])
    machine.run(kind, ["true"])
    assert child.wait() == 7


@pytest.mark.parametrize("kind", EVERY)
def test_git_reads_in_a_linked_worktree(machine: Machine, kind: str) -> None:
    (machine.worktree / "a.txt").write_text("hello again\n")
    ran = machine.run(
        kind, ["sh", "-c", "git status --short; git grep -n again; git log --format=%s; git diff --stat"]
    )
    assert ran.out.text.splitlines()[:3] == [" M a.txt", "a.txt:1:hello again", "start"]
    assert (ran.exit, ran.err.text) == (0, "")


def test_git_writes_nothing_there(machine: Machine) -> None:
    commit = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--allow-empty", "-m", "x"]
    assert machine.run("bwrap", commit).exit == 128
    assert git(machine.checkout, "rev-list", "--count", "t") == "1"
    assert machine.run("none", commit).exit == 0
    assert git(machine.checkout, "rev-list", "--count", "t") == "2"


@pytest.mark.parametrize("kind", EVERY)
def test_a_missing_program_and_a_foreign_folder_are_named(machine: Machine, kind: str) -> None:
    ran = machine.run(kind, ["no-such-program"])
    assert (ran.exit, ran.missing, ran.refused) == (
        None,
        "no-such-program",
        "the program 'no-such-program' was not found",
    )
    assert "does not exist" in machine.run(kind, ["true"], cwd=machine.worktree / "gone").refused
    if kind != "none":
        assert "not in the worktree" in machine.run(kind, ["true"], cwd=machine.outside).refused
        (machine.worktree / "away").symlink_to(machine.outside)
        assert "not in the worktree" in machine.run(kind, ["true"], cwd=machine.worktree / "away").refused


@pytest.mark.parametrize("kind", EVERY)
def test_too_long_an_argument_is_named_by_its_own_place(machine: Machine, kind: str) -> None:
    ran = machine.run(kind, ["echo", "short", "x" * 200_000])
    assert ran.exit is None and "argument 2 with 200,000" in ran.refused


@pytest.mark.parametrize("kind", EVERY)
def test_the_time_limit_ends_everything(machine: Machine, kind: str) -> None:
    mark = "86399.25"
    ran = machine.run(kind, ["sh", "-c", f"sleep {mark} & sleep {mark}"], timeout=0.7)
    assert ran.timed_out and ran.exit is None
    living = [each for each in Path("/proc").iterdir() if each.name.isdigit() and mark in _words(each)]
    assert living == []


@pytest.mark.parametrize("kind", ["none", "bwrap"])
def test_a_controller_that_is_killed_takes_its_commands_along(machine: Machine, kind: str) -> None:
    """Without a sandbox the command goes on: nobody is left to end it."""
    mark = "86399.75"
    code = f"""
import os, sys, anyio
from pathlib import Path
from contracts.task import Sandbox
from tool_adapters.process import ProcessRunner
from tool_adapters.sandbox import SandboxPlan
mode, root, mark = sys.argv[1:]
worktree = Path(root)
runtime, env = Path({str(machine.runtime)!r}), dict(os.environ)
plan = SandboxPlan.of(Sandbox(mode=mode), worktree, worktree, runtime, env, os.environ)
plan = plan.around(ProcessRunner(Path({str(machine.outside)!r})))
async def go():
    await plan.for_(False).run(['sleep', mark], cwd=worktree, env=dict(os.environ), timeout=60)
anyio.run(go)
"""
    mode = "none" if kind == "none" else "required"
    owner = subprocess.Popen(
        [sys.executable, "-c", code, mode, str(machine.worktree), mark],
        env=machine.env | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        wait_until(lambda: sleepers(mark))
    finally:
        owner.kill()
        owner.wait()
    if kind == "bwrap":
        wait_until(lambda: not sleepers(mark))
    assert bool(sleepers(mark)) is (kind == "none")
    for pid in sleepers(mark):
        os.kill(pid, 9)


def sleepers(mark: str) -> list[int]:
    """Processes whose command line is `sleep MARK`."""
    return [
        int(each.name)
        for each in Path("/proc").iterdir()
        if each.name.isdigit() and _words(each) == f"sleep\0{mark}\0"
    ]


def wait_until(holds: Callable[[], object], seconds: float = 20) -> None:
    """Until it holds, or the time is over; the assertion that follows judges."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)


def _words(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("kind", WORKING)
def test_the_network_where_it_is_declared(machine: Machine, kind: str) -> None:
    code = """
import socket, sys
try: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('connected')
except OSError as error: print(error.strerror)
"""
    server = machine.listener(("127.0.0.1", 0), 2)
    port = server.getsockname()[1]
    assert machine.python(kind, code, port, network=True).out.text == "connected\n"
    assert machine.python(kind, code, port, network=False).out.text != "connected\n"
    if kind == "bwrap" and Path("/etc/resolv.conf").exists():
        assert machine.run(kind, ["cat", "/etc/resolv.conf"], network=True).exit == 0
        assert machine.run(kind, ["cat", "/etc/resolv.conf"], network=False).exit == 1


@pytest.mark.parametrize("kind", EVERY)
def test_the_environment_is_what_was_given(
    machine: Machine, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_TEST_SECRET", SECRET)
    added = {"none": set(), "bwrap": {"PWD"}, "landlock": {"TMPDIR", "GIT_CONFIG_SYSTEM"}}[kind]
    names = set(machine.python(kind, "import os; print(*os.environ)").out.text.split())
    known = {name for name in names if not name.startswith("SKILL_STATE_")}
    assert known - {"LC_CTYPE"} == {"PATH", "HOME", "LANG"} | added
    given = machine.python(kind, "import os; print(*os.environ)", env={**os.environ, **machine.env})
    assert "SANDBOX_TEST_SECRET" in given.out.text.split()  # the control: it is the list that keeps it out


@pytest.mark.parametrize("kind", WORKING)
def test_home_and_temporary_folders_can_be_used(machine: Machine, kind: str) -> None:
    code = """
import os, tempfile
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
home = os.path.expanduser('~')
print(os.listdir(home)); open(home + '/.cache', 'w').close()
"""
    assert machine.python(kind, code).out.text == "[]\n"
    assert not (machine.home / ".cache").exists()
    assert [each.name for each in machine.plan(kind).scratch.glob("tmp*")] == []


# ---- which sandbox ---------------------------------------------------------------------------------------------
def test_the_order_and_the_sentence_where_none_works(tmp_path: Path) -> None:
    found = find_sandbox(os.environ)
    assert isinstance(found, Found) and found.kind == "bwrap", f"no bubblewrap works here. {INSTALL}"
    broken = script(
        tmp_path / "bin" / "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"
    )
    path = os.pathsep.join([str(broken.parent), os.environ["PATH"]])
    kinds = [(each.kind, each.source) for each in candidates(path)]
    assert kinds[0] == ("bwrap", "system") and kinds[-1][0] in ("landlock", "bwrap")
    assert first_that_works(list(candidates(path))[1:2]) != first_that_works(list(candidates(path))[:1])
    refused = first_that_works([Found("bwrap", str(broken), "0.8.0", "system")])
    assert isinstance(refused, Refused)
    assert "No permissions to create new namespace" in refused.reason
    for way in ("apt-get install bubblewrap", "skill-state-controller[sandbox]", "sandbox: {mode: none}"):
        assert way in refused.install
    assert isinstance(first_that_works([]), Refused)


def test_none_is_the_runner_itself(machine: Machine) -> None:
    plan = machine.plan("none")
    assert plan.kind == NONE and plan.for_(True) is machine.inner and plan.for_(False) is machine.inner


def test_required_takes_the_best(machine: Machine) -> None:
    plan = SandboxPlan.of(
        Sandbox(),
        worktree=machine.worktree,
        base=machine.checkout,
        runtime=machine.runtime,
        env=machine.env,
        environ=os.environ,
    )
    assert plan.kind.startswith("bwrap ") and "weaker" not in plan.kind
    landlock = sandbox("landlock")
    assert landlock is not None and "weaker" in str(landlock)


def test_old_and_new_versions_get_what_they_know() -> None:
    assert version("bubblewrap 0.8.0") == (0, 8, 0) and version("") == (0,)
    assert own_error(1, "bwrap: Can't mkdir x\n") == "bwrap: Can't mkdir x"
    assert own_error(0, "bwrap: x") is None and own_error(1, "other") is None


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_limits_hold_where_prlimit_is_missing(shell: str, tmp_path: Path) -> None:
    words = limited(Resources(files=99), prlimit=tmp_path / "none")
    assert words[0] == "/bin/sh"
    found = shutil.which(shell)
    assert found, f"{shell} is needed"
    code, said = ask(
        [found, *words[1:], "sh", "-c", "ulimit -n; ulimit -c"],
        cwd=tmp_path,
        env={"PATH": os.defpath},
        seconds=20,
    )
    assert (code, said) == (0, "99\n0\n")


def test_a_sandbox_that_fails_is_told_from_a_command_that_does(machine: Machine) -> None:
    plan = machine.plan("bwrap")
    shutil.rmtree(machine.common / "worktrees" / "t")  # Git of the worktree is gone: nothing to mount
    assert machine.run("bwrap", ["sh", "-c", "echo 'x: no' >&2; exit 1"], plan=plan).exit == 1

    async def go() -> None:
        gone = replace(plan, read=(Mount(Path("/nowhere"), "ro", "gone"),))
        ran = await gone.for_(False).run(["true"], cwd=machine.worktree, env=machine.env, timeout=20)
        assert ran.exit is None and ran.refused.startswith("the sandbox could not be set up: bwrap: ")

    anyio.run(go)
