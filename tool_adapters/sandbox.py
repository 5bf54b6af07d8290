"""The sandbox: what a model can cause to run runs here, and reaches nothing but the worktree.

A plan says what a task's commands may see; `for_` gives a Runner that starts every command accordingly, by the best
sandbox that this machine has (sandbox_probe).
"""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.to_thread

from contracts.errors import ConfigError
from contracts.ports import Ran, Runner, Settle
from contracts.task import Sandbox
from tool_adapters.process import resolve
from tool_adapters.sandbox_box import Box, Found, Refused, Resources
from tool_adapters.sandbox_bwrap import own_error
from tool_adapters.sandbox_crowd import watch_crowd
from tool_adapters.sandbox_mounts import (
    Mount,
    asked,
    hidden,
    ordered,
    repository,
    settings,
    settings_folder,
    system,
    written,
)
from tool_adapters.sandbox_probe import WRAPS, find_sandbox
from tool_adapters.sandbox_programs import Toolchains

NONE = "none"
_ANY_OWNER = (
    "# The worktree may belong to another user than the one who looks at it.\n[safe]\n\tdirectory = *\n"
)
_GONE = ("TMPDIR",)


@dataclass(frozen=True)
class SandboxPlan:
    """What commands of a task see and may use. `found` is None where the task wants no sandbox.

    worktree  the only place that they can write to. home: shown empty, its path kept.
    read      mounts of `sandbox.read`. scratch: a folder of the controller's for files that are shown instead of
              others, and for private temporary folders.
    inner     starts the processes; `around` gives it.
    copy      a repository of its own that is shown in the worktree's place, with what `more` names. within: words
              that start the command inside the sandbox.
    """

    found: Found | None
    worktree: Path
    home: Path
    scratch: Path
    env: Mapping[str, str]
    read: tuple[Mount, ...] = ()
    resources: Resources = field(default_factory=Resources)
    inner: Runner | None = None
    copy: Path | None = None
    more: tuple[Mount, ...] = ()
    within: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sandbox: Sandbox,
        worktree: Path,
        base: Path,
        runtime: Path,
        env: Mapping[str, str],
        environ: Mapping[str, str],
    ) -> SandboxPlan:
        """The plan of a task: `base` is the folder of its file, `env` what its children get, `environ` the
        caller's. Makes nothing. Raises ConfigError where a sandbox is required and can't be had, with the way to
        get one."""
        home = Path(env.get("HOME") or "/")
        found = None
        if sandbox.mode == "required":
            looked = find_sandbox(environ)
            if isinstance(looked, Refused):
                raise ConfigError(f"no sandbox works here: {looked.reason}", hint=looked.install)
            found = looked
        read = asked(sandbox.read, base, home, worktree) if found else ()
        return cls(found, worktree, home, runtime / "sandbox", dict(env), read)

    def around(self, inner: Runner) -> SandboxPlan:
        """The plan with the runner that starts its processes."""
        return replace(self, inner=inner)

    @property
    def kind(self) -> str:
        """What is used, as the audit records it: `none`, `bwrap 0.11.0`, `landlock ABI 7 (weaker: …)`."""
        return str(self.found) if self.found else NONE

    def for_(self, network: bool) -> Runner:
        """What commands are started with, by whether they may use the network."""
        assert self.inner is not None, "`around` comes first"
        return SandboxedRunner(self.inner, self, network) if self.found else self.inner

    def mounts(
        self,
        argv: Sequence[str] = (),
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        network: bool = False,
    ) -> tuple[Mount, ...]:
        """What `argv` would see, folders before what lies in them. Looks at files, starts nothing."""
        toolchains = Toolchains(self.worktree, self.home)
        found = [
            *system(),
            *self._settings(network),
            *(Mount(path, "empty", "temporary, gone after the command") for path in _temporary()),
            *self._home(),
            *toolchains.of(argv, cwd or self.worktree, self.env if env is None else env),
            *(
                mount
                for mount in self.read
                if not mount.path.is_relative_to(Path("/etc")) or not self._copies
            ),
            *hidden(self.worktree),
            *(repository(self.worktree, self.scratch) if self.copy is None else ()),
            Mount(self.worktree, "rw", "the worktree", str(self.copy or "")),
            *self.more,
        ]
        return ordered(found)

    def _settings(self, network: bool) -> Iterator[Mount]:
        if self._copies:
            yield from settings_folder(network, self.scratch, (("gitconfig", _ANY_OWNER),), self.read)
        else:
            yield from settings(network)
            yield Mount(Path("/etc/gitconfig"), "ro", "Git trusts the worktree", self.git_settings)

    @property
    def _copies(self) -> bool:
        """Whether a folder of copies can stand for /etc."""
        return self.found is not None and self.found.kind == "bwrap"

    @property
    def git_settings(self) -> str:
        """The file that Git takes for the system's settings."""
        return written(self.scratch / "git", _ANY_OWNER)

    def _home(self) -> Iterator[Mount]:
        if self.home != Path("/") and not self.home.is_relative_to(self.worktree):
            yield Mount(self.home, "empty", "home, gone after the command")


def _temporary() -> Iterator[Path]:
    yield from (Path("/tmp"), Path("/var/tmp"))


@dataclass(frozen=True)
class SandboxedRunner:
    """ports.Runner: every command in the sandbox of `plan`, with or without the network.

    A program that is missing is named as without the sandbox. One that dies of signal N is exit 128 + N, without
    `signal`. Ended means killed: nobody inside gets a grace. `refused` also says when the sandbox itself could not
    be set up, or that the folder is none of the worktree's.
    """

    inner: Runner
    plan: SandboxPlan
    network: bool = False

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes = b"",
        timeout: float,
        idle: float | None = None,
        cap: int = 256 * 1024,
        keep: bool = False,
        settle: Settle | None = None,
        redact: bool = True,
        reports: Sequence[str] = (),
    ) -> Ran:
        """See ports.Runner."""
        with self._private() as private:
            made = await anyio.to_thread.run_sync(lambda: self._prepared(argv, cwd, env, private))
            if isinstance(made, Ran):
                return made
            words, outer = made
            token = f"SKILL_STATE_BOX_{secrets.token_hex(6)}"

            async def go() -> Ran:
                return await self.inner.run(
                    words,
                    cwd=cwd,
                    env={**outer, token: "1"},
                    stdin=stdin,
                    timeout=timeout,
                    idle=idle,
                    cap=cap,
                    keep=keep,
                    settle=settle,
                    redact=redact,
                    reports=reports,
                )

            with self._pointer_kept():
                ran = await watch_crowd(go, token, self.plan.resources.processes)
        return self._told(ran, len(words) - len(argv))

    def _prepared(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], private: Path | None
    ) -> tuple[list[str], dict[str, str]] | Ran:
        plan, program = self.plan, argv[0] if argv else ""
        assert plan.found is not None
        if not cwd.is_dir():
            return Ran(exit=None, refused=f"the folder {cwd} does not exist")
        if not cwd.resolve().is_relative_to(plan.worktree.resolve()):
            return Ran(exit=None, refused=f"the folder {cwd} is not in the worktree")
        if not program or resolve(program, env, cwd) is None:
            return Ran(exit=None, missing=program or "?", refused=f"the program {program!r} was not found")
        mounts = plan.mounts(argv, cwd, env, self.network)
        box = Box(mounts, cwd, self.network, plan.resources, private)
        gone = _GONE if plan.copy is None else ()
        inside = {name: value for name, value in env.items() if name not in gone}
        if private:
            inside |= {"HOME": str(private / "home"), "TMPDIR": str(private / "tmp")}
            inside["GIT_CONFIG_SYSTEM"] = plan.git_settings
        elif plan.home == Path("/"):
            inside["HOME"] = "/tmp"
        return WRAPS[plan.found.kind](plan.found, box, [*plan.within, *argv]), inside

    @contextmanager
    def _private(self) -> Iterator[Path | None]:
        """A temporary folder and a home on disk, for the kinds that can't make them in memory."""
        if self.plan.found is None or self.plan.found.kind == "bwrap":
            yield None
            return
        self.plan.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.plan.scratch, ignore_cleanup_errors=True) as name:
            for each in ("home", "tmp"):
                (Path(name) / each).mkdir()
            yield Path(name)

    @contextmanager
    def _pointer_kept(self) -> Iterator[None]:
        """Landlock can't hold a single file in a writable folder: the .git file is put back after each command."""
        pointer = self.plan.worktree / ".git"
        before = _content(pointer) if self.plan.found and self.plan.found.kind == "landlock" else None
        try:
            yield
        finally:
            if before is not None and _content(pointer) != before:
                _remove(pointer)
                pointer.write_bytes(before)

    def _told(self, ran: Ran, added: int) -> Ran:
        """`ran` in the words of the command itself. The sandbox's own init, on its way out, is no survivor."""
        assert self.plan.found is not None
        own = f": {self.plan.found.program} "
        ran = replace(ran, survivors=tuple(each for each in ran.survivors if own not in each))
        error = own_error(ran.exit, ran.err.text) if ran.out.total == 0 else None
        if error:
            return replace(ran, exit=None, refused=f"the sandbox could not be set up: {error}")
        if ran.exit == 125 and ran.out.total == 0 and ran.err.text.startswith("landlock: "):
            return replace(ran, exit=None, refused=f"the sandbox could not be set up: {ran.err.text.strip()}")
        if ran.refused:
            longest = re.sub(
                r"argument (\d+) with", lambda m: f"argument {max(int(m[1]) - added, 0)} with", ran.refused
            )
            return replace(ran, refused=longest)
        return ran


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None
    except OSError:
        return None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
