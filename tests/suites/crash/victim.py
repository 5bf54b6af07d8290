"""The victim: `controller` in a process of its own, with a hook at every boundary of a step.

`python -m tests.suites.crash.victim` reads one JSON object a line (see `become`), forks a process of its own
session for each, and answers with {"pid"} at once and with {"pid", "status"} when it has ended. Forked, because a
hundred trials need not import the controller a hundred times; the hooks are put in after the fork, so that they are
in that process only.

A boundary is named NAME and counted: `NAME 3` is its third time. With `at` "NAME 3" the process does there what
`arm` says: `kill` (SIGKILL) or `stop` (SIGSTOP) to itself, after `delay` seconds. Every boundary that is passed is
appended to `log`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contracts.ports import Lease
from contracts.record import AuditRow, RunRecord
from controller import act, claim, interrupt
from controller.assemble import Tools
from controller.stores.artifacts import FileArtifacts
from controller.stores.git import GitStore
from controller.stores.sqlite import SqliteStore
from controller.stores.sqlite_file import SqliteFile
from controller.surfaces import cli, grown
from controller.surfaces import run as _loaded_before_the_fork  # noqa: F401
from tool_adapters import process
from tool_adapters.actions import request_change
from tool_adapters.actions.files import Files
from tool_adapters.actions.run import Run
from tool_adapters.git import Engine
from tool_adapters.remote_refs import GitRemote

Json = dict[str, Any]


class Boundaries:
    """Counts what is passed, and does at one of them what it is armed with."""

    def __init__(self, log: Path, at: str, arm: str, delay: float) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._at, self._delay = at, delay
        self._number = signal.SIGSTOP if arm == "stop" else signal.SIGKILL
        self._seen: Counter[str] = Counter()
        self._guard = threading.Lock()

    def pass_(self, name: str) -> None:
        with self._guard:
            self._seen[name] += 1
            here = f"{name} {self._seen[name]}"
            os.write(self._log, here.encode() + b"\n")
            if here == self._at:
                if self._delay:
                    threading.Timer(self._delay, os.kill, (os.getpid(), self._number)).start()
                else:
                    os.kill(os.getpid(), self._number)


def hooked(seen: Boundaries) -> None:
    """Puts a boundary before and after everything that outlives the process."""
    _hook_store(seen)
    _hook_remote(seen)
    _hook_children(seen)
    _hook_schema(seen)
    execute, keep, write = Engine._execute, FileArtifacts._written, Files._write

    def git(self: Engine, place: Any, verb: str, *rest: Any) -> bytes:
        seen.pass_(f"git {verb}: before")
        try:
            return execute(self, place, verb, *rest)
        finally:
            seen.pass_(f"git {verb}: after")

    def stored(self: FileArtifacts, data: bytes) -> Any:
        seen.pass_("artifact: before")
        kept = keep(self, data)
        seen.pass_("artifact: after")
        return kept

    def wrote(self: Files, *what: Any) -> None:
        seen.pass_("edit: before write")
        write(self, *what)
        seen.pass_("edit: written")

    Engine._execute, FileArtifacts._written, Files._write = git, stored, wrote  # type: ignore[method-assign]


def _hook_schema(seen: Boundaries) -> None:
    """The files of a field that was agreed to, as they are written, taken back and brought back."""

    def around(name: str, write: Callable[..., None]) -> Callable[..., None]:
        def wrote(*what: Any) -> None:
            seen.pass_(f"schema: before {name}")
            write(*what)
            seen.pass_(f"schema: after {name}")

        return wrote

    request_change.replace = around("write", request_change.replace)
    grown._keep, grown._move = around("copy", grown._keep), around("move", grown._move)


def _hook_store(seen: Boundaries) -> None:
    verb = ["other"]
    swap, writing, make = SqliteStore.swap, SqliteFile.writing, SqliteFile._make

    async def swapped(
        self: SqliteStore, record: RunRecord, row: AuditRow | None, lease: Lease, consumed: Any = ()
    ) -> RunRecord:
        verb[0] = f"swap {row.kind if row else 'staged' if record.staged else 'reserve'}"
        return await swap(self, record, row, lease, consumed)

    def named(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*args: Any, **kwargs: Any) -> Any:
            verb[0] = name
            return await method(*args, **kwargs)

        return called

    @contextmanager
    def wrote(self: SqliteStore) -> Iterator[Any]:
        name, verb[0] = verb[0], "other"
        seen.pass_(f"store {name}: before begin")
        with writing(self) as db:
            seen.pass_(f"store {name}: begun")
            yield db
            seen.pass_(f"store {name}: before commit")
        seen.pass_(f"store {name}: committed")

    def made(*args: Any) -> None:
        seen.pass_("store make: before")
        make(*args)
        seen.pass_("store make: made")

    SqliteStore.swap, SqliteFile.writing = swapped, wrote  # type: ignore[method-assign]
    SqliteFile._make = staticmethod(made)  # type: ignore[assignment,method-assign]
    for name in ("lease", "renew", "release"):
        setattr(SqliteStore, name, named(name, getattr(SqliteStore, name)))


def _hook_remote(seen: Boundaries) -> None:
    verb = ["other"]
    swap, push = GitStore.swap, GitRemote.push

    async def swapped(
        self: GitStore, record: RunRecord, row: AuditRow | None, lease: Lease, consumed: Any = ()
    ) -> RunRecord:
        verb[0] = f"swap {row.kind if row else 'staged' if record.staged else 'reserve'}"
        return await swap(self, record, row, lease, consumed)

    def named(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def called(*args: Any, **kwargs: Any) -> Any:
            verb[0] = name
            return await method(*args, **kwargs)

        return called

    def pushed(self: GitRemote, moves: Any, **more: Any) -> None:
        name, verb[0] = verb[0], "other"
        seen.pass_(f"store {name}: before push")
        push(self, moves, **more)
        seen.pass_(f"store {name}: pushed")

    GitStore.swap, GitRemote.push = swapped, pushed  # type: ignore[method-assign]
    for name in ("lease", "renew", "release"):
        setattr(GitStore, name, named(name, getattr(GitStore, name)))


def _hook_children(seen: Boundaries) -> None:
    start, run = process._Child._start, process._Child.run

    def started(self: process._Child, files: Any) -> Any:
        name = _called(self._argv)
        seen.pass_(f"child {name}: before start")
        refused = start(self, files)
        seen.pass_(f"child {name}: started")
        return refused

    def ran(self: process._Child, *args: Any) -> Any:
        done = run(self, *args)
        seen.pass_(f"child {_called(self._argv)}: ended")
        return done

    process._Child._start, process._Child.run = started, ran  # type: ignore[method-assign]


def _called(argv: tuple[str, ...]) -> str:
    """What a child is in the world of these tests: its commands say so in a word that begins with `#`."""
    tagged = [word.rpartition("#")[2].strip() for word in argv if "#" in word]
    return tagged[-1] if tagged else Path(argv[0]).name


# ---- positive controls: a recovery that does not work ------------------------------------------------------
async def _finds_nothing(*_: Any) -> None:
    return None


async def _not_yet(*_: Any) -> Any:
    return act.Probed(kind="not_yet", why="broken on purpose")


def _by_force(self: GitRemote, moves: Any, **_: Any) -> None:
    specs = [f"+{move.new}:{move.ref}" for move in moves]
    self._engine.run("push", "--quiet", "store", *specs, env=self._environment)


async def _ends_nobody(*_: Any) -> None:
    return None


_load = SqliteStore.load


async def _forgets(self: SqliteStore, run: str) -> RunRecord | None:
    record = await _load(self, run)
    return record and record.model_copy(update={"reserve": None})


BROKEN = {
    "find": lambda: setattr(Tools, "find", _finds_nothing),
    "probe": lambda: setattr(Run, "probe", _not_yet),
    "evict": lambda: setattr(SqliteStore, "_clear", _ends_nobody),
    "fence": lambda: setattr(GitRemote, "push", _by_force),
    "reserve": lambda: setattr(SqliteStore, "load", _forgets),
    "schema": lambda: setattr(request_change, "_written", lambda *_: None),
}


# ---- one process a line ------------------------------------------------------------------------------------
def become(asked: Json) -> None:
    """The rest of this process's life is `controller WORDS`."""
    os.setsid()
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["folder"])
    out = os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, target in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, out)):
        os.dup2(target, number)
    if asked.get("host"):
        socket.gethostname = lambda: asked["host"]
    if asked.get("lease"):
        claim.LEASE_SECONDS = asked["lease"]
    if asked.get("grace"):
        act.GRACE = asked["grace"]
    if asked.get("longest"):
        interrupt.LONGEST_END = asked["longest"]
    for name in asked.get("broken", ()):
        BROKEN[name]()
    if asked.get("log"):
        arm, delay = asked.get("arm", "kill"), asked.get("delay", 0.0)
        hooked(Boundaries(Path(asked["log"]), asked.get("at", ""), arm, delay))
    sys.argv = ["controller", *asked["words"]]
    cli.main()


def serve() -> None:
    guard = threading.Lock()

    def tell(answer: Json) -> None:
        with guard:
            os.write(1, json.dumps(answer).encode() + b"\n")

    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                sys.stdin.close()
                become(asked)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except BaseException as error:
                os.write(2, f"victim: {error!r}\n".encode())
            finally:
                os._exit(code)
        tell({"pid": pid})
        _, status = os.waitpid(pid, 0)
        tell({"pid": pid, "status": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    serve()
