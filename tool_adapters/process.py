"""Child processes other than git: started, watched, ended, swept up after. Nothing else here starts one.

Every child has its own session, gets its input from a file and writes to files, so that a grandchild that
holds a pipe open, a parent that never closes one, or 100 MB of output can't hang or fill the controller. Only one that
waits for its input has a pipe for it: that ends when this process does.
"""

from __future__ import annotations

import errno
import os
import secrets
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, BinaryIO

import anyio.to_thread

from contracts.ports import Artifacts, Ran, Settle
from contracts.redact import Redactor
from tool_adapters.descendants import (
    CHILD,
    Process,
    adopt_orphans,
    below,
    kill_tree,
    signal_group,
    stopped,
    sweep,
    this_mark,
)
from tool_adapters.reports import Reports
from tool_adapters.spool import Files, Spool, last_line, read
from tool_adapters.supervised import supervised

DISK_CAP = 64 * 1024 * 1024
EARLY = 64 * 1024  # bytes of what a child printed before its input that are looked at
_TICK = 0.05
_PASSED = ("HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "CI")


@dataclass(frozen=True)
class Graces:
    """Seconds that a child gets after INT and after TERM, and that what it left behind gets after TERM."""

    interrupt: float = 1.0
    terminate: float = 2.0
    sweep: float = 0.5


def child_environment(
    extra: Mapping[str, str] | None = None, *, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of a child: an allow-list of `base` (os.environ), then `extra`. PATH loses the caller's
    virtual environment and every entry that depends on the working folder."""
    base = os.environ if base is None else base
    env = {name: base[name] for name in base if name in _PASSED or name.startswith("LC_")}
    venv = base.get("VIRTUAL_ENV")
    dropped = {str(Path(venv, "bin"))} if venv else set()
    folders = base.get("PATH", os.defpath).split(os.pathsep)
    env["PATH"] = os.pathsep.join(
        each for each in folders if each.startswith("/") and each.rstrip("/") not in dropped
    )
    env.update({"TERM": "dumb", "NO_COLOR": "1"})
    env.update(extra or {})
    return env


def resolve(program: str, env: Mapping[str, str], cwd: Path) -> str | None:
    """The absolute path of `program` as a child with `env` in `cwd` would find it, symlinks kept; None when
    it is not there or not executable."""
    if "/" in program:
        path = cwd.absolute() / program
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(program, path=env.get("PATH", os.defpath))


class ProcessRunner:
    """ports.Runner over subprocess.Popen.

    spool      folder for raw input and output (0700, files 0600, removed after each child).
    artifacts  where full outputs are kept; redactor: what takes secrets out of everything returned or kept.
    watch      called with (program, last line of its output) now and then while a child runs.
    """

    def __init__(
        self,
        spool: Path,
        artifacts: Artifacts | None = None,
        redactor: Redactor | None = None,
        *,
        graces: Graces = Graces(),
        watch: Callable[[str, str], None] | None = None,
        disk_cap: int = DISK_CAP,
    ) -> None:
        self.redactor = redactor or Redactor()
        self.spool = Spool(spool, artifacts, self.redactor)
        self.graces, self.watch, self.disk_cap = graces, watch, disk_cap
        self._living: set[_Child] = set()
        adopt_orphans()

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
        """See ports.Runner. Raises only when the spool itself can't be used (OSError)."""
        child = _Child(self, tuple(argv), cwd, dict(env), _Term(timeout, idle, settle))

        def work() -> Ran:
            written = Reports(cwd, reports, self.redactor)
            with self.spool.files(stdin) as files:
                return replace(child.run(files, cap, keep, redact), reports=written.read())

        self._living.add(child)
        try:
            return await supervised(work, child.stop)
        finally:
            self._living.discard(child)

    async def spawn(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], age: float, cap: int, redact: bool
    ) -> Spare:
        """See contracts.spares.Spawner. Raises nothing: what could not be started takes no input."""
        child = _Child(self, tuple(argv), cwd, dict(env), _Term(age, fed=False))
        spare = Spare(child)

        def work() -> None:
            try:
                with self.spool.files() as files:
                    ran = child.run(files, cap, False, redact)
                spare.over.set_result(ran)
            except OSError as error:  # of the spool; a cold start says it
                spare.over.set_result(Ran(exit=None, refused=str(error)))
            except BaseException as error:
                spare.over.set_exception(error)
            finally:
                child.started.set()
                self._living.discard(child)

        self._living.add(child)
        # No task of ours lasts from one step to the next, and a process that ends must not wait for it.
        threading.Thread(target=work, daemon=True).start()
        return spare

    def end_now(self) -> None:
        """Kills every living child and all below it at once: the second interrupt."""
        for child in tuple(self._living):
            child.kill()


class Spare:
    """contracts.spares.Spare: a child that waits for its standard input in a thread of its own."""

    def __init__(self, child: _Child) -> None:
        self._child = child
        self.over: Future[Ran] = Future()

    async def feed(
        self,
        stdin: bytes,
        *,
        timeout: float,
        idle: float | None = None,
        settle: Settle | None = None,
        early: Callable[[bytes], bool],
    ) -> Ran | None:
        """See contracts.spares.Spare."""
        term = _Term(timeout, idle, settle)
        if await anyio.to_thread.run_sync(self._child.take, stdin, term, early):
            return await supervised(self.over.result, self._child.stop)
        await self.end()
        return None

    async def end(self) -> Ran:
        """See contracts.spares.Spare."""
        self._child.stop()
        return await supervised(self.over.result, self._child.stop)


@dataclass(frozen=True)
class _Term:
    """How long a child may go on, from `begun` (monotonic). Not `fed`: it waits for its input."""

    timeout: float
    idle: float | None = None
    settle: Settle | None = None
    fed: bool = True
    begun: float = field(default_factory=time.monotonic)


class _Child:
    """One child from start to sweep; lives in a worker thread."""

    def __init__(
        self, runner: ProcessRunner, argv: tuple[str, ...], cwd: Path, env: dict[str, str], term: _Term
    ) -> None:
        self._runner, self._argv, self._cwd, self._env, self._term = runner, argv, cwd, env, term
        self._marker = CHILD + secrets.token_hex(6)
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd: int | None = None
        self.started = threading.Event()
        self._feeding, self._ending = threading.Lock(), False
        self._out: BinaryIO | None = None

    def stop(self) -> None:
        self._stop.set()

    def kill(self) -> None:
        self._stop.set()
        process = self._process
        if process is not None and process.returncode is None:
            kill_tree(process.pid)

    def take(self, stdin: bytes, term: _Term, early: Callable[[bytes], bool]) -> bool:
        """Whether it took its input, and goes on under `term`; the rest of a long one follows."""
        self.started.wait()
        process, out = self._process, self._out
        with self._feeding:
            if process is None or out is None or process.stdin is None or self._ending or self._stop.is_set():
                return False
            if stopped(process.pid) or not early(read(out, 0, EARLY)):
                return False
            os.set_blocking(process.stdin.fileno(), False)
            try:
                taken = process.stdin.write(stdin) or 0
            except BrokenPipeError:
                return False
            self._term = term
            threading.Thread(target=_pour, args=(process.stdin, stdin[taken:]), daemon=True).start()
        return True

    def run(self, files: Files, cap: int, keep: bool, redact: bool) -> Ran:
        refused = self._start(files)
        self._out = files.out
        self.started.set()
        if refused is not None:
            return refused
        process = self._process
        assert process is not None
        try:
            why = self._watch(files)
            if process.stdin is not None and not self._term.fed:
                process.stdin.close()
            known = self._end() if why else ()
            survivors = sweep(process.pid, self._marker, self._runner.graces.sweep, known)
            # Reaped last: as long as the child is a zombie, its process group id can't become someone else's.
            code = process.wait()
        finally:
            if self._pidfd is not None:
                os.close(self._pidfd)
        clean, spool = self._runner.redactor.redact_text, self._runner.spool
        return Ran(
            exit=None if why else (code if code >= 0 else 128 - code),
            signal=-code if code < 0 else None,
            out=spool.captured(files.out, cap, keep, redact),
            err=spool.captured(files.err, cap, keep, redact),
            timed_out=why == "timeout",
            idle=why == "idle",
            flooded=why == "flood",
            settled=why == "settled",
            survivors=tuple(clean(each) for each in survivors),
            took=time.monotonic() - self._term.begun,
        )

    def _start(self, files: Files) -> Ran | None:
        program = self._argv[0] if self._argv else ""
        if not self._cwd.is_dir():
            return Ran(exit=None, refused=f"the folder {self._cwd} does not exist")
        path = resolve(program, self._env, self._cwd)
        if path is None:
            return Ran(exit=None, missing=program or "?", refused=f"the program {program!r} was not found")
        try:
            self._process = subprocess.Popen(
                self._argv,
                executable=path,
                cwd=self._cwd,
                env={**self._env, self._marker: this_mark()},
                stdin=(files.stdin or subprocess.DEVNULL) if self._term.fed else subprocess.PIPE,
                stdout=files.out,
                stderr=files.err,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Ran(exit=None, refused=self._refusal(error))
        with suppress(AttributeError, OSError):
            self._pidfd = os.pidfd_open(self._process.pid)
        return None

    def _refusal(self, error: OSError | ValueError) -> str:
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            longest = max(range(len(self._argv)), key=lambda place: len(self._argv[place]))
            total = sum(map(len, self._argv)) + sum(len(k) + len(v) for k, v in self._env.items())
            return (
                f"argument list too long (E2BIG): {total:,} bytes of arguments and environment, the longest is"
                f" argument {longest} with {len(self._argv[longest]):,}: pass it by standard input or a file"
            )
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return f"{self._argv[0]!r} could not be started: {reason}"

    def _watch(self, files: Files) -> str:
        """Until the child exits ("") or must be ended (the reason)."""
        sizes, changed, looked, settled_at = (0, 0), self._term.begun, (0, 0), None
        while not self._wait(_TICK):
            now, term = time.monotonic(), self._term
            fresh = (os.fstat(files.out.fileno()).st_size, os.fstat(files.err.fileno()).st_size)
            if fresh != sizes:
                sizes, changed = fresh, now
            if settled_at is None and term.settle and sizes[0] != looked[0]:
                settled_at = now if term.settle.done(files.out_path) else None
            why = self._due(term, now, max(sizes), max(changed, term.begun), settled_at)
            if why and self._decided(term):
                return why
            if self._runner.watch and sizes != looked and term.fed:
                self._runner.watch(self._argv[0], last_line(files.out, sizes[0]))
            looked = sizes
        self._decided(self._term)
        return "stopped" if self._stop.is_set() else ""

    def _due(self, term: _Term, now: float, size: int, changed: float, settled_at: float | None) -> str:
        """Why the child must be ended now; empty when it need not."""
        if self._stop.is_set():
            return "stopped"
        if size > self._runner.disk_cap:
            return "flood"
        if now - term.begun > term.timeout:
            return "timeout"
        if settled_at is not None and term.settle and now - settled_at > term.settle.grace:
            return "settled"
        if term.idle is not None and now - changed > term.idle:
            return "settled" if settled_at is not None else "idle"
        return ""

    def _decided(self, term: _Term) -> bool:
        """Whether `term` still is what it goes by: from here on it takes no input any more."""
        with self._feeding:
            self._ending = term is self._term
            return self._ending

    def _wait(self, seconds: float) -> bool:
        """True as soon as the child has exited; where the system allows without reaping it."""
        process = self._process
        assert process is not None
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _end(self) -> tuple[Process, ...]:
        process, graces = self._process, self._runner.graces
        assert process is not None
        known = tuple(below(process.pid))
        for number, grace in (
            (signal.SIGINT, graces.interrupt),
            (signal.SIGTERM, graces.terminate),
            (signal.SIGKILL, 10.0),
        ):
            signal_group(process.pid, number)
            if self._wait(grace):
                break
        return known


def _pour(pipe: IO[bytes], left: bytes) -> None:
    """Writes what is left and closes. Ends with the child, too: then nobody reads any more."""
    with suppress(OSError), pipe:
        os.set_blocking(pipe.fileno(), True)
        while left:
            left = left[pipe.write(left) :]
