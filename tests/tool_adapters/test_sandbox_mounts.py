"""What of the machine is shown: toolchains are found, nothing private is, and Git without its credentials."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from tests.tool_adapters.repositories import git
from tests.tool_adapters.sandbox_world import SECRET, Machine, script
from tool_adapters.sandbox import SandboxPlan
from tool_adapters.sandbox_mounts import Mount, asked, hidden, ordered, plain_config

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap and landlock are Linux's")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.close()


# ---- toolchains ------------------------------------------------------------------------------------------------
def interpreter(prefix: Path) -> Path:
    """Something that looks like an installed Python; it is a shell script."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib" / "python3.12").mkdir(parents=True)
    (prefix / "lib" / "python3.12" / "os.py").write_text("")
    return script(prefix / "bin" / "python3", 'echo "ran with $(cat "$(dirname "$0")/../lib/secret" 2>&1)"')


def test_the_interpreter_behind_a_virtual_environment_is_shown(machine: Machine) -> None:
    prefix = machine.home / ".tools" / "3.12"
    python = interpreter(prefix)
    (prefix / "lib" / "secret").write_text("its library")
    (machine.worktree / ".venv" / "bin").mkdir(parents=True)
    (machine.worktree / ".venv" / "bin" / "python").symlink_to("python3")
    (machine.worktree / ".venv" / "bin" / "python3").symlink_to(python)
    tool = script(machine.worktree / ".venv/bin/tool", "", first=f"{machine.worktree}/.venv/bin/python")
    assert machine.run("bwrap", [str(tool)]).exit == 0
    assert machine.run("bwrap", ["sh", "-c", ".venv/bin/python x"]).exit == 0
    shown = [mount for mount in machine.plan("bwrap").mounts() if mount.path == prefix]
    assert [(mount.mode, mount.why) for mount in shown] == [("ro", ".venv/bin/python lives there")]
    assert (prefix / "bin" / "python3").exists() and prefix.is_relative_to(machine.home)
    assert machine.run("bwrap", ["sh", "-c", f"echo x > {prefix}/lib/secret"]).exit != 0


def test_what_a_model_wrote_makes_no_private_folder_visible(machine: Machine) -> None:
    """The program of the worktree points at executables in a private folder: only an interpreter would be
    followed."""
    private = machine.home / "work" / "private"
    script(private / "bin" / "run", "echo it ran")
    (private / "key").write_text(SECRET)
    (machine.worktree / "bin").mkdir()
    (machine.worktree / "bin" / "linked").symlink_to(private / "bin" / "run")
    (machine.worktree / "tools").symlink_to(private)
    script(machine.worktree / "bin" / "first", "", first=str(private / "bin" / "run"))
    (machine.worktree / ".venv" / "bin").mkdir(parents=True)
    (machine.worktree / ".venv" / "bin" / "python").symlink_to(private / "bin" / "run")
    (machine.worktree / ".venv" / "pyvenv.cfg").write_text(f"home = {private}/bin\n")
    plan = machine.plan("bwrap")
    for argv in (
        ["bin/linked"],
        ["bin/first"],
        ["tools/bin/run"],
        [".venv/bin/python"],
        ["sh", "-c", f"{private}/bin/run; cat {private}/key"],
    ):
        assert machine.run("none", argv).out.text
        seen = plan.mounts(argv, machine.worktree, machine.env)
        assert [mount for mount in seen if mount.path.is_relative_to(machine.home / "work")] == [], argv
        assert SECRET not in machine.run("bwrap", argv).out.text


def test_a_program_that_the_user_names_is_shown_but_not_the_home(machine: Machine) -> None:
    script(machine.home / "bin" / "mine", f"cat {machine.home}/.ssh/id_x {machine.home}/bin/*")
    (machine.home / "bin" / "other").write_text(SECRET)
    ran = machine.run("bwrap", [str(machine.home / "bin" / "mine")])
    assert "#!/bin/sh" in ran.out.text and SECRET not in ran.out.text
    deep = script(machine.home / "opt" / "tool" / "bin" / "deep", "cat $(dirname $0)/../lib.txt")
    (machine.home / "opt" / "tool" / "lib.txt").write_text("its own file")
    assert machine.run("bwrap", [str(deep)]).out.text.strip() == "its own file"


def test_sandbox_read(machine: Machine) -> None:
    lib = machine.home / "go"
    lib.mkdir()
    (lib / "data").write_text("known")
    argv = ["sh", "-c", f"cat {lib}/data; echo more >> {lib}/data"]
    assert machine.run("bwrap", argv).out.text == ""
    for kind in ("bwrap", "landlock"):
        plan = plan_reading(machine, kind, str(lib))
        ran = machine.run(kind, argv, plan=plan)
        assert (ran.out.text, (lib / "data").read_text()) == ("known", "known")
    for each in ("/etc/debconf.conf", "/etc/skel", "/etc/login.defs"):
        if Path(each).exists():
            argv, plan = ["ls", each], plan_reading(machine, "bwrap", each)
            assert (machine.run("bwrap", argv).exit, machine.run("bwrap", argv, plan=plan).exit) == (2, 0)
    (machine.checkout / "sdk").mkdir()
    assert plan_reading(machine, "bwrap", "sdk").read[0].path == machine.checkout / "sdk"


def plan_reading(machine: Machine, kind: str, *read: str) -> SandboxPlan:
    return replace(machine.plan(kind), read=asked(read, machine.checkout, machine.home, machine.worktree))


@pytest.mark.parametrize("read", ["/", "~", "/home", "..", "/run", "/nowhere"])
def test_sandbox_read_refuses_what_would_show_everything(
    machine: Machine, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(machine.home))
    with pytest.raises(ConfigError, match=r"sandbox\.read"):
        plan_reading(machine, "bwrap", read)


# ---- the configuration of Git -----------------------------------------------------------------------------------
def test_a_configuration_without_credentials() -> None:
    text = """[core]
	repositoryformatversion = 1
	sshCommand = steal
	fsmonitor = steal
[extensions]
	objectFormat = sha256
[remote "origin"]
	url = https://me:token@example.org/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
	proxy = http://u:p@h
[http "https://example.org/"]
	extraheader = AUTHORIZATION: basic abc
[credential]
	helper = store
[include]
	path = ../more
[url "https://me:token@h/"]
	insteadOf = h:
"""
    kept = plain_config(text)
    assert [line.strip() for line in kept.splitlines()] == [
        "[core]",
        "repositoryformatversion = 1",
        "[extensions]",
        "objectFormat = sha256",
        '[remote "origin"]',
        "url = https://example.org/x.git",
        "fetch = +refs/heads/*:refs/remotes/origin/*",
    ]
    for odd in ("[core] fsmonitor = x\n", "[core]\n\tbare = false \\\n\tx\n", "\tbare = 1\n", '[a "b\n'):
        assert "=" not in plain_config(odd)


def test_a_checkout_among_the_systems_files_is_hidden(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not list(hidden(machine.worktree))
    monkeypatch.setattr("tool_adapters.sandbox_mounts.SYSTEM", (str(machine.checkout.parent),))
    assert [(each.path, each.mode) for each in hidden(machine.worktree)] == [(machine.checkout, "empty")]
    plan = machine.plan("bwrap")
    plan = replace(plan, read=(Mount(machine.checkout.parent, "ro", "as if the system's"),))
    ran = machine.run(
        "bwrap", ["sh", "-c", f"git log --format=%s; ls {machine.checkout}; cat a.txt"], plan=plan
    )
    assert ran.out.text == "start\nhello\n", ran.err.text


def test_borrowed_objects_are_found(machine: Machine, tmp_path: Path) -> None:
    store = tmp_path.resolve() / "store"
    git(tmp_path, "clone", "-q", "--bare", str(machine.checkout), str(store))
    (machine.common / "objects/info/alternates").write_text(f"{store}/objects\n")
    shutil.rmtree(machine.common / "objects" / git(machine.checkout, "rev-parse", "HEAD")[:2])
    assert machine.run("bwrap", ["git", "log", "--format=%s"]).out.text == "start\n"


def test_order_and_what_is_shown_anyway() -> None:
    def ro(path: str, source: str = "") -> Mount:
        return Mount(Path(path), "ro", "", source)

    found = ordered(
        [
            ro("/a/b/c"),
            Mount(Path("/a/b"), "rw", ""),
            ro("/a"),
            ro("/a/x"),
            ro("/a/y", "/z"),
            Mount(Path("/a/b"), "ro", ""),
            Mount(Path("/a/b"), "rw", "last"),
        ]
    )
    assert [(str(each.path), each.mode) for each in found] == [
        ("/a", "ro"),
        ("/a/b", "rw"),
        ("/a/y", "ro"),
        ("/a/b/c", "ro"),
    ]
    assert found[1].why == "last"
