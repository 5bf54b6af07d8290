"""A machine with things worth stealing or breaking around a linked worktree, and commands that are run there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.ports import Ran, Runner
from contracts.task import Sandbox
from tests.tool_adapters.repositories import git
from tool_adapters.process import Graces, ProcessRunner
from tool_adapters.sandbox import SandboxPlan
from tool_adapters.sandbox_box import Found, Resources
from tool_adapters.sandbox_landlock import ABI_WITH_TCP, abi, left_open
from tool_adapters.sandbox_probe import INSTALL, candidates, tried

SECRET = "s3cr3t-0123456789abcdef"
FAST = Graces(interrupt=0.2, terminate=0.2, sweep=0.2)


@cache
def sandbox(kind: str) -> Found | None:
    """The sandbox of a kind. Fails, with the way to install it, where bubblewrap can't be had."""
    if kind == "none":
        return None
    if kind == "landlock":
        if abi() < ABI_WITH_TCP:
            pytest.skip("this kernel has no landlock with TCP; bubblewrap is what counts")
        return Found("landlock", sys.executable, f"ABI {abi()}", "kernel", left_open(abi()))
    found = [each for each in candidates(os.environ.get("PATH", os.defpath)) if each.kind == "bwrap"]
    trouble = "; ".join(f"{each.program}: {why}" for each in found if (why := tried(each)))
    working = [each for each in found if tried(each) is None]
    if not working:
        pytest.fail(f"no bubblewrap works here ({trouble or 'there is none'}). {INSTALL}")
    return working[0]


class Machine:
    """`home` holds a key, `outside` is any folder of the user's, `checkout` the repository with a linked worktree
    `worktree`. Close it after use."""

    def __init__(self, root: Path) -> None:
        root = root.resolve()
        self.home, self.outside, self.checkout = root / "home", root / "outside", root / "checkout"
        for folder in (self.home / ".ssh", self.outside, self.checkout):
            folder.mkdir(parents=True)
        (self.home / ".ssh" / "id_x").write_text(SECRET)
        git(self.checkout, "init", "-q", "-b", "main")
        (self.checkout / "a.txt").write_text("hello\n")
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-q", "-m", "start")
        (self.checkout / "plans.txt").write_text(SECRET)
        git(self.checkout, "config", "http.https://example.org/.extraheader", f"AUTHORIZATION: {SECRET}")
        self.runtime = self.checkout / ".agent-runtime"
        self.worktree = self.runtime / "work" / "t"
        git(self.checkout, "worktree", "add", "-q", str(self.worktree), "-b", "t")
        self.common = self.checkout / ".git"
        self.env = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
        }
        self.inner: Runner = ProcessRunner(root / "spool", graces=FAST)
        self._open: list[Any] = []

    def plan(self, kind: str, resources: Resources | None = None, read: Sequence[str] = ()) -> SandboxPlan:
        found = sandbox(kind)
        plan = SandboxPlan.of(
            Sandbox(mode="none", read=tuple(read)),
            worktree=self.worktree,
            base=self.checkout,
            runtime=self.runtime,
            env=self.env,
            environ=os.environ,
        )
        return replace(plan.around(self.inner), found=found, resources=resources or Resources())

    def run(self, kind: str, argv: Sequence[str], network: bool = False, **more: Any) -> Ran:
        """The command in the worktree, in the sandbox of a kind, or in none."""
        plan = more.pop("plan", None) or self.plan(kind, more.pop("resources", None))

        async def go() -> Ran:
            asked = {"cwd": self.worktree, "env": self.env, "timeout": 60.0} | more
            return await plan.for_(network).run(argv, **asked)

        return anyio.run(go)

    def python(self, kind: str, code: str, *words: object, **more: Any) -> Ran:
        return self.run(kind, [Path(sys.executable).name, "-IS", "-c", code, *map(str, words)], **more)

    # ---- things to attack --------------------------------------------------------------------------------------
    def victim(self) -> subprocess.Popen[bytes]:
        """A process of the user's with a secret in its environment."""
        env = {"PATH": os.environ["PATH"], "NOTE": SECRET}
        process = subprocess.Popen(["sleep", "60"], env=env, start_new_session=True)
        self._open.append(process)
        return process

    def listener(
        self, address: Any, family: int = socket.AF_UNIX, kind: int = socket.SOCK_STREAM
    ) -> socket.socket:
        """Something that answers the first who comes; `reached` tells."""
        server = socket.socket(family, kind)
        server.bind(address)
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.settimeout(0.1)
        self._open.append(server)
        return server

    def socket_path(self) -> str:
        """A short one: their names may have 107 bytes."""
        folder = tempfile.mkdtemp(prefix="s")
        self._open.append(Path(folder))
        return f"{folder}/s"

    def close(self) -> None:
        for each in self._open:
            if isinstance(each, subprocess.Popen):
                each.kill()
                each.wait()
            elif isinstance(each, Path):
                for inner in each.iterdir():
                    inner.unlink()
                each.rmdir()
            else:
                each.close()


def reached(server: socket.socket) -> bool:
    """Whether anybody came to `server`."""
    try:
        if server.type == socket.SOCK_STREAM:
            server.accept()[0].close()
        else:
            server.recv(10)
    except TimeoutError:
        return False
    return True


def script(path: Path, body: str, first: str = "/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{first}\n{body}\n")
    path.chmod(0o755)
    return path
