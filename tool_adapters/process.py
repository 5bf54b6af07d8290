"""Child processes other than git: started, watched, ended, swept up after. Nothing else here starts one.

Every child has its own session, gets its input from a file and writes to files, so that a grandchild that
holds a pipe open, a parent that never closes one, or 100 MB of output can't hang or fill the controller.
"""

from __future__ import annotations

import errno
import os
import secrets
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import anyio
import anyio.to_thread

from contracts.ports import Artifacts, Captured, Ran, Settle
from contracts.redact import Redactor
from tool_adapters.descendants import (
    CHILD,
    Process,
    adopt_orphans,
    below,
    kill_tree,
    signal_group,
    sweep,
    this_mark,
)
from tool_adapters.reports import Reports

DISK_CAP = 64 * 1024 * 1024
ARTIFACT_CAP = 16 * 1024 * 1024
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
        self.spool, self.artifacts, self.graces, self.watch = spool, artifacts, graces, watch
        self.redactor = redactor or Redactor()
        self.disk_cap = disk_cap
        self._living: set[_Child] = set()
        spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        _drop_leftovers(spool)
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
        child = _Child(self, tuple(argv), cwd, dict(env), timeout, idle, settle)
        result: list[Ran] = []
        failure: list[BaseException] = []
        over = anyio.Event()

        def work() -> Ran:
            written = Reports(cwd, reports, self.redactor)
            with self._spooled(stdin) as files:
                return replace(child.run(files, cap, keep, redact), reports=written.read())

        async def supervise() -> None:
            with anyio.CancelScope(shield=True):
                try:
                    result.append(await anyio.to_thread.run_sync(work))
                except BaseException as error:
                    failure.append(error)
                finally:
                    over.set()

        self._living.add(child)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(supervise)
                try:
                    await over.wait()
                except BaseException:
                    child.stop()
                    raise
        finally:
            self._living.discard(child)
        if failure:
            raise failure[0]
        return result[0]

    def end_now(self) -> None:
        """Kills every living child and all below it at once: the second interrupt."""
        for child in tuple(self._living):
            child.kill()

    @contextmanager
    def _spooled(self, stdin: bytes) -> Iterator[_Files]:
        _drop_leftovers(self.spool)  # again: the controller that we took over from may have died since
        prefix = f"{os.getpid()}-"
        paths: list[Path] = []
        try:
            streams: list[BinaryIO] = []
            for suffix in (".in", ".out", ".err"):
                handle, name = tempfile.mkstemp(suffix, prefix, self.spool)
                paths.append(Path(name))
                streams.append(os.fdopen(handle, "r+b", buffering=0))
            left = memoryview(stdin)
            while left:  # a disk that fills up takes a part without a word
                left = left[streams[0].write(left) :]
            streams[0].seek(0)
            with streams[0], streams[1], streams[2]:
                yield _Files(streams[0] if stdin else None, streams[1], streams[2], paths[1])
        finally:
            for path in paths:
                path.unlink(missing_ok=True)

    def captured(self, stream: BinaryIO, cap: int, keep: bool, redact: bool) -> Captured:
        """What a stream holds, within `cap` bytes."""
        total = os.fstat(stream.fileno()).st_size
        artifact = None
        if keep and total and self.artifacts is not None:
            artifact = self.artifacts.put(self._window(stream, total, ARTIFACT_CAP, True))
        return Captured(data=self._window(stream, total, cap, redact), total=total, artifact=artifact)

    def _window(self, stream: BinaryIO, total: int, cap: int, redact: bool) -> bytes:
        clean = self.redactor.redact if redact else bytes
        if total <= cap:
            return clean(_read(stream, 0, total))
        note = b"\n... cut, %d bytes in all ...\n" % total
        room = max(cap - len(note), 0)
        front, back = room * 3 // 10, room - room * 3 // 10
        # More than is kept goes through the filter, so that a secret cut in two is still known.
        more = self.redactor.overlap
        head = clean(_read(stream, 0, front + more))[:front]
        tail = clean(_read(stream, max(total - back - more, 0), back + more))
        return head + note + tail[len(tail) - min(back, len(tail)) :]


@dataclass(frozen=True)
class _Files:
    stdin: BinaryIO | None
    out: BinaryIO
    err: BinaryIO
    out_path: Path


class _Child:
    """One child from start to sweep; lives in a worker thread."""

    def __init__(
        self,
        runner: ProcessRunner,
        argv: tuple[str, ...],
        cwd: Path,
        env: dict[str, str],
        timeout: float,
        idle: float | None,
        settle: Settle | None,
    ) -> None:
        self._runner, self._argv, self._cwd, self._env = runner, argv, cwd, env
        self._timeout, self._idle, self._settle = timeout, idle, settle
        self._marker = CHILD + secrets.token_hex(6)
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd: int | None = None

    def stop(self) -> None:
        self._stop.set()

    def kill(self) -> None:
        self._stop.set()
        process = self._process
        if process is not None and process.returncode is None:
            kill_tree(process.pid)

    def run(self, files: _Files, cap: int, keep: bool, redact: bool) -> Ran:
        begun = time.monotonic()
        refused = self._start(files)
        if refused is not None:
            return refused
        process = self._process
        assert process is not None
        try:
            why = self._watch(files, begun)
            known = self._end() if why else ()
            survivors = sweep(process.pid, self._marker, self._runner.graces.sweep, known)
            # Reaped last: as long as the child is a zombie, its process group id can't become someone else's.
            code = process.wait()
        finally:
            if self._pidfd is not None:
                os.close(self._pidfd)
        clean = self._runner.redactor.redact_text
        return Ran(
            exit=None if why else (code if code >= 0 else 128 - code),
            signal=-code if code < 0 else None,
            out=self._runner.captured(files.out, cap, keep, redact),
            err=self._runner.captured(files.err, cap, keep, redact),
            timed_out=why == "timeout",
            idle=why == "idle",
            flooded=why == "flood",
            settled=why == "settled",
            survivors=tuple(clean(each) for each in survivors),
            took=time.monotonic() - begun,
        )

    def _start(self, files: _Files) -> Ran | None:
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
                stdin=files.stdin or subprocess.DEVNULL,
                stdout=files.out,
                stderr=files.err,
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

    def _watch(self, files: _Files, begun: float) -> str:
        """Until the child exits ("") or must be ended (the reason)."""
        sizes, changed, looked, settled_at = (0, 0), begun, (0, 0), None
        while not self._wait(_TICK):
            now = time.monotonic()
            fresh = (os.fstat(files.out.fileno()).st_size, os.fstat(files.err.fileno()).st_size)
            if fresh != sizes:
                sizes, changed = fresh, now
            if self._stop.is_set():
                return "stopped"
            if max(sizes) > self._runner.disk_cap:
                return "flood"
            if now - begun > self._timeout:
                return "timeout"
            if (
                settled_at is None
                and self._settle
                and sizes[0] != looked[0]
                and self._settle.done(files.out_path)
            ):
                settled_at = now
            if settled_at is not None and self._settle and now - settled_at > self._settle.grace:
                return "settled"
            if self._idle is not None and now - changed > self._idle:
                return "settled" if settled_at is not None else "idle"
            if self._runner.watch and sizes != looked:
                self._runner.watch(self._argv[0], _last_line(files.out, sizes[0]))
            looked = sizes
        return "stopped" if self._stop.is_set() else ""

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


def _read(stream: BinaryIO, at: int, count: int) -> bytes:
    pieces = []
    while count > 0 and (piece := os.pread(stream.fileno(), min(count, 1 << 20), at)):
        pieces.append(piece)
        at, count = at + len(piece), count - len(piece)
    return b"".join(pieces)


def _last_line(stream: BinaryIO, size: int) -> str:
    lines = _read(stream, max(size - 400, 0), 400).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _drop_leftovers(spool: Path) -> None:
    """Raw output of a controller that was killed: removed, once its process is gone."""
    for path in spool.iterdir():
        pid = path.name.split("-", 1)[0]
        if pid.isdigit() and path.suffix in (".in", ".out", ".err"):
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                path.unlink(missing_ok=True)
            except OSError:
                continue
