"""A real Git worktree with the means that actions are given: a process runner and a folder of artifacts."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from contracts.actions import ActionCall, ActionResult, Probed
from contracts.base import JsonObject
from contracts.commands import Command
from contracts.paths import PathPolicy
from contracts.ports import Action
from contracts.task import Limits
from tool_adapters.actions.context import ActionContext
from tool_adapters.git import Repo
from tool_adapters.process import ProcessRunner

ENV = {
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "PYTHONDONTWRITEBYTECODE": "1",
}


class ArtifactFolder:
    """Artifacts as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()[:16]
        (self.folder / name).write_bytes(data)
        return name

    def get(self, id: str) -> bytes:
        try:
            return (self.folder / id).read_bytes()
        except OSError:
            raise KeyError(id) from None


class Worktree:
    """`files` committed in a repository below `base`."""

    def __init__(self, base: Path, files: Mapping[str, bytes | str] | None = None) -> None:
        self.root = base / "tree"
        self.root.mkdir()
        self.reader = Repo(self.root).reader()
        self.artifacts = ArtifactFolder(base / "artifacts")
        self.runner = ProcessRunner(base / "spool", self.artifacts)
        self.git("init", "-q")
        for path, content in (files or {}).items():
            self.write(path, content)
        self.commit()

    def git(self, *args: str) -> bytes:
        done = subprocess.run(["git", *args], cwd=self.root, env=ENV, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def write(self, path: str, content: bytes | str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def commit(self) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        self.git("add", "-A")
        self.git(*who, "commit", "-q", "--allow-empty", "-m", "x")
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()

    def snapshot(self) -> dict[str, tuple[bytes, int]]:
        """Every file's bytes and mode, Git's own aside."""
        return {
            str(path.relative_to(self.root)): (path.read_bytes(), path.stat().st_mode)
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }

    def context(
        self,
        policy: PathPolicy | None = None,
        commands: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> ActionContext:
        return ActionContext(
            root=self.root,
            paths=policy or PathPolicy(),
            runner=self.runner,
            artifacts=self.artifacts,
            env=ENV,
            commands={name: Command.model_validate(raw) for name, raw in (commands or {}).items()},
            git=self.reader,
            limits=limits or Limits(),
        )


def call(tool: str, args: JsonObject, **more: Any) -> ActionCall:
    return ActionCall(tool=tool, args=args, **({"key": "key", "step": 1} | more))


def run(action: Action, args: JsonObject, **more: Any) -> ActionResult:
    return _in_loop(action.run, call(action.spec.name, args, **more))


def probe(action: Action, args: JsonObject, **more: Any) -> Probed:
    return _in_loop(action.probe, call(action.spec.name, args, **more))


def _in_loop(verb: Callable[[ActionCall], Any], what: ActionCall) -> Any:
    return anyio.run(verb, what)


def sha(data: bytes | str) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def bytes_of(result: ActionResult) -> int:
    return sum(len(block.title.encode()) + len(block.text.encode()) for block in result.blocks)
