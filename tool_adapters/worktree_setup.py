"""What a fresh worktree needs before anything works in it: ignored files copied in, and the set-up commands."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from contracts.base import digest
from contracts.errors import ConfigError
from contracts.ports import Ran, Runner
from contracts.repository import Status
from contracts.workspace import Setup
from tool_adapters import gitformat
from tool_adapters.git import EXCLUDES, Repo

T = TypeVar("T")
TAIL = 30


@dataclass(frozen=True)
class Did:
    """Whether something was done, and what is worth saying about it."""

    ran: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorktreeSetup:
    """Brings a worktree up once, and again when a file in `setup.when` changed. What was done is remembered in
    the runtime folder, not in the worktree."""

    setup: Setup
    copy: tuple[str, ...]
    runtime: Path
    runner: Runner
    env: Mapping[str, str]
    work: Repo
    _tried: set[str] = field(default_factory=set)

    @property
    def marker(self) -> Path:
        """Where the last set-up is remembered."""
        return self.runtime / "setup" / f"{self.work.root.name}.json"

    async def bring_up(self, folder: Path, checkout: Path, *, fresh: bool) -> Did:
        """`folder` is the task's folder in the worktree, `checkout` the same folder of the user's checkout.
        Raises ConfigError with the end of the output when a command fails the first time. Later, when a step
        changed what the set-up reads, its failure is that step's doing: it is remembered for the `setup`
        reading, so that the agent learns of it, and tried again once per process and with every change."""
        if not self.setup.run and not self.copy:
            return Did()
        inner = self.work.root / folder
        wanted = await _thread(lambda: self._digest(inner))
        marker = self.marker
        done, failed = (None, "") if fresh else _marked(marker)
        if done == wanted and (not failed or wanted in self._tried):
            return Did()
        self._tried.add(wanted)
        before = Status(None, None) if done is None else await _thread(self.work.status)
        marker.unlink(missing_ok=True)
        notices = await _thread(lambda: self._copy_in(inner, checkout)) if done is None else []
        try:
            notices += await self._run(inner)
        except ConfigError as error:
            if done is None:
                raise
            await _thread(lambda: self._settle(before.untracked, not before.dirty))
            why = error.message
            await _thread(lambda: _mark(marker, wanted, why))
            return Did(True, (*notices, why.partition("\n")[0]))
        # Never set up before: no step has worked here, so whatever lies about is the set-up's.
        notices += await _thread(lambda: self._settle(before.untracked, not before.dirty))
        await _thread(lambda: _mark(marker, wanted))
        return Did(True, tuple(notices))

    def _digest(self, inner: Path) -> str:
        files = {}
        for pattern in self.setup.when:
            for path in sorted(inner.glob(pattern)):
                if path.is_file():
                    files[path.relative_to(inner).as_posix()] = digest(path.read_bytes())
        return digest([list(map(_words, self.setup.run)), list(self.copy), files])

    def _copy_in(self, inner: Path, checkout: Path) -> list[str]:
        notices = []
        for pattern in self.copy:
            found = [
                path for path in sorted(checkout.glob(pattern)) if not path.is_relative_to(self.work.root)
            ]
            if not found:
                notices.append(f"workspace.copy: there is no {pattern} in the checkout")
            for path in found:
                target = inner / path.relative_to(checkout)
                target.parent.mkdir(parents=True, exist_ok=True)
                if path.is_dir() and not path.is_symlink():
                    shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
                elif not target.exists():
                    shutil.copy2(path, target, follow_symlinks=False)
        return notices

    async def _run(self, inner: Path) -> list[str]:
        """Notices of what the commands left running. Raises ConfigError."""
        notices: list[str] = []
        deadline = time.monotonic() + self.setup.timeout
        for command in self.setup.run:
            argv = _words(command)
            ran = await self.runner.run(
                argv, cwd=inner, env=self.env, timeout=max(deadline - time.monotonic(), 0.1), keep=True
            )
            if ran.exit != 0:
                raise ConfigError(
                    f"workspace.setup failed: {' '.join(argv)[:200]}: {_why(ran, self.setup.timeout)}\n{_tail(ran)}",
                    hint="mend the command, or the file that it reads",
                )
            if ran.survivors:
                notices.append(f"workspace.setup left running and ended: {', '.join(ran.survivors)}"[:400])
        return notices

    def _settle(self, untracked_before: tuple[str, ...], clean: bool) -> list[str]:
        """What the set-up left in the worktree: new files are ignored from now on, changed ones put back."""
        run = self.work.engine.run
        shown = gitformat.status(run("status", "--porcelain=v2", "-z", "--untracked-files=normal"))
        new = [path for path in shown.untracked if not any(old.startswith(path) for old in untracked_before)]
        if new:
            file = self.work.engine.place().own / EXCLUDES
            with file.open("ab") as out:
                for path in new:
                    out.write(b"/" + gitformat.raw(re.sub(r"([\\*?\[ ])", r"\\\1", path)) + b"\n")
        changed = sorted({*shown.staged, *shown.unstaged})
        if changed and clean:
            run("reset", "--hard", "--quiet")
            return [f"workspace.setup changed tracked files, which were put back: {', '.join(changed[:10])}"]
        return []


def _words(command: str | tuple[str, ...]) -> list[str]:
    return ["sh", "-c", command] if isinstance(command, str) else list(command)


def _why(ran: Ran, timeout: float) -> str:
    if ran.refused:
        return ran.refused
    if ran.timed_out:
        return f"not done after {timeout:g} s"
    return "it wrote too much" if ran.flooded else f"exit {ran.exit}"


def _tail(ran: Ran) -> str:
    lines = [line for text in (ran.out.text, ran.err.text) for line in text.strip().split("\n") if line]
    return "\n".join(lines[-TAIL:])


def _marked(marker: Path) -> tuple[str | None, str]:
    """(digest of the inputs of the last set-up, how it failed or nothing). (None, "") when there was none."""
    try:
        found = json.loads(marker.read_text())
        return str(found["digest"]), str(found.get("failed", ""))
    except (OSError, ValueError, KeyError, TypeError):
        return None, ""


def _mark(marker: Path, wanted: str, failed: str = "") -> None:
    marker.parent.mkdir(parents=True, exist_ok=True)
    new = marker.with_suffix(".new")
    new.write_text(json.dumps({"digest": wanted, "failed": failed}))
    new.replace(marker)


async def _thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
