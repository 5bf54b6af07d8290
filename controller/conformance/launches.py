"""One launch of the agent under test: what its model's side did, how it was ended, and all that was seen of it."""

from __future__ import annotations

import math
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import anyio
import psutil

from contracts.base import JsonObject
from contracts.ports import Ran, Runner, Settle
from contracts.reply import AgentReply, Prompt
from controller.conformance.failures import UNREACHABLE, failure
from controller.conformance.loopback import Answer, Gateway, Recorded
from controller.conformance.subject import Place, Subject
from controller.conformance.weights import overhead, weigh

# How long a process may take to end after a TERM, and what it left behind to be gone.
ENDING, SWEPT = 10.0, 5.0
# One launch may cost what one request costs; a CLI that asks again and again by itself spends unseen.
MOST_REQUESTS = 3
_TICK = 0.02
_VARYING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids
    r"|\d{4}-\d\d-\d\dT\d\d(?:[-:]\d\d){1,2}\b"  # times
    r"|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\d{4,}"  # digests and numbers
)
End = Literal["itself", "deadline", "interrupt", "TERM", "KILL"]


@dataclass(frozen=True)
class Fault:
    """A failure of the vendor's side by its name (see `failures`), played in the API that is asked."""

    name: str


@dataclass(frozen=True)
class Ask:
    """What one launch is like. `end`: it ends by itself, at its deadline, or, once its request is there, by the
    controller's interrupt or a signal to its process."""

    answer: Answer | Fault
    prompt: Prompt
    end: End = "itself"


@dataclass
class Started:
    """A process as it was started, and its end."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    ran: Ran | None = None


@dataclass
class Seen:
    """What was seen of a launch. `raised`: what the adapter let out, which must be nothing. `ended` seconds after the
    signal, None: not in time. `left`: processes that lived on. `files` of its home, numbers and ids as `#`; `tmp` there
    is its TMPDIR."""

    subject: Subject
    ask: Ask
    reply: AgentReply | None = None
    raised: str = ""
    requests: list[Recorded] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    started: list[Started] = field(default_factory=list)
    ended: float | None = None
    left: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    took: float = 0.0

    @property
    def cls(self) -> str:
        """The class of the reply; "" where there was none."""
        return self.reply.cls.value if self.reply else ""

    @property
    def exit(self) -> str:
        """How the last process ended: `0`, `signal 15`, `ended by the controller`."""
        ran = self.started[-1].ran if self.started else None
        if ran is None:
            return "unknown"
        if ran.signal and ran.exit is not None:
            return f"signal {ran.signal}"
        return str(ran.exit) if ran.exit is not None else "ended by the controller"

    @cached_property
    def first(self) -> Recorded | None:
        """The first request to the model."""
        return self.requests[0] if self.requests else None

    @property
    def overhead(self) -> int | None:
        """Bytes of the first request that are neither prompt nor schema."""
        return overhead(weigh(self.first)) if self.first else None


class Watching:
    """ports.Runner that notes what was started."""

    def __init__(self, inner: Runner) -> None:
        self._inner, self.started = inner, list[Started]()

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
        started = Started(tuple(argv), cwd, dict(env))
        self.started.append(started)
        started.ran = await self._inner.run(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            timeout=timeout,
            idle=idle,
            cap=cap,
            keep=keep,
            settle=settle,
            redact=redact,
            reports=reports,
        )
        return started.ran


def launch(subject: Subject, ask: Ask, place: Place, runner: Runner, timeout: float) -> Seen:
    """Launches once. `timeout` seconds bound it from outside."""
    seen, watching = Seen(subject, ask), Watching(runner)
    with _endpoint(ask) as (url, gateway):
        agent = subject.agent(place, watching, url, timeout)

        async def work() -> None:
            before, begun = _children(), time.monotonic()
            over, scope = anyio.Event(), anyio.CancelScope()

            async def asking() -> None:
                with scope:
                    try:
                        seen.reply = await agent.ask(ask.prompt)
                    except Exception as error:
                        seen.raised = f"{type(error).__name__}: {error}"
                over.set()

            def under_way() -> bool:
                return over.is_set() or bool(gateway.asked if subject.at_loopback else _children() - before)

            async with anyio.create_task_group() as group:
                group.start_soon(asking)
                if ask.end == "itself":
                    await _until(lambda: over.is_set() or len(gateway.asked) > MOST_REQUESTS, math.inf)
                    scope.cancel()  # it is over, or it runs away
                elif ask.end != "deadline":
                    await _until(under_way, timeout)
                    if ask.end == "interrupt":
                        scope.cancel()
                    else:
                        seen.ended = await _signal(ask.end, before)
                await over.wait()
            await agent.close()
            seen.took = time.monotonic() - begun
            await _until(lambda: not _children() - before, SWEPT)
            seen.left = sorted(filter(None, map(_named, _children() - before)))

        anyio.run(work)
    seen.started, seen.requests = watching.started, list(gateway.asked)
    seen.others = [f"{r.method} {r.path.split('?')[0]}" for r in gateway.requests if r.api == "other"]
    seen.files = _files(place.home)
    return seen


@contextmanager
def _endpoint(ask: Ask) -> Iterator[tuple[str, Gateway]]:
    def policy(prompt: str, schema: JsonObject, request: Recorded) -> Answer:
        return failure(ask.answer.name, request.api) if isinstance(ask.answer, Fault) else ask.answer

    with Gateway(policy, strict=False) as gateway, socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and never listens: whoever connects is refused
        refusing = f"http://127.0.0.1:{held.getsockname()[1]}"
        yield refusing if ask.answer == Fault(UNREACHABLE) else gateway.url, gateway


async def _until(true: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < until:
        await anyio.sleep(_TICK)
    return found


async def _signal(name: str, before: set[int]) -> float | None:
    """Sends it to the agent's own process; seconds until that had ended, None after ENDING (it is killed then)."""
    mine = {child.pid for child in psutil.Process().children()} - before
    sent = time.monotonic()
    for pid in mine:
        os.kill(pid, signal.Signals[f"SIG{name}"])
    if await _until(lambda: not any(_named(pid) for pid in mine), ENDING):
        return time.monotonic() - sent
    for pid in mine:
        os.kill(pid, signal.SIGKILL)
    return None


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True) if _named(child.pid)}


def _named(pid: int) -> str:
    """The name of a living process; "" for one that has ended."""
    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.name()
    except psutil.Error:
        return ""


def _files(home: Path) -> list[str]:
    """The files of a home by their stable names."""
    here = re.sub(r"[^A-Za-z0-9]", "-", str(home.parent))  # how CLIs name what they keep of a project
    found = (
        path.relative_to(home).as_posix().replace(here, "#") for path in home.rglob("*") if not path.is_dir()
    )
    passing = ("-wal", "-shm", ".lock")  # of an open database; there or not
    return sorted({_stable(name) for name in found if not name.endswith(passing)})


def _stable(name: str) -> str:
    """Without numbers and ids. What lies in a folder of TMPDIR is named by versions, machines and users: the folder."""
    if not name.startswith("tmp/"):
        return _VARYING.sub("#", name)
    top, inner, _ = name.removeprefix("tmp/").partition("/")
    return "tmp/" + re.sub(r"\d+", "#", _VARYING.sub("#", top)) + inner


def same_json(one: Any, other: Any) -> bool:
    """Whether two schemas say the same; `$schema` aside, which some vendors refuse by name."""
    return _bare(one) == _bare(other)


def _bare(schema: Any) -> JsonObject:
    return (
        {key: value for key, value in schema.items() if key != "$schema"} if isinstance(schema, dict) else {}
    )
