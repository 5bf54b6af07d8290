"""The process of the next step, started before its prompt is known: while the current step acts and verifies. It takes
one prompt or is ended; whatever becomes of it before that costs nothing, and a process is started as ever."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from contracts.ports import Ran
from contracts.reply import AgentReply, ReplyClass
from contracts.reply_rules import RULES, Does
from contracts.spares import Spare
from tool_adapters.agents.launch import REPLY_CAP, Folders, settled, start
from tool_adapters.agents.settings import AgentSettings

AGE = 600.0  # seconds after which a process that waits is not trusted any more
# After any other reply the next launch is later, another agent's, or none.
GOES_ON = (Does.JUDGE, Does.CORRECT)


@dataclass(frozen=True)
class Launch:
    """How a process is started, all but its input. `reads` is a digest of what it reads beside that."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    reads: str = ""


def only(kind: str) -> Callable[[bytes], bool]:
    """Says whether some output is whole lines of JSON, each an event of this type."""

    def judged(data: bytes) -> bool:
        try:
            return all(orjson.loads(line)["type"] == kind for line in data.splitlines())
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return False

    return judged


class Ahead:
    """Starts the processes of one agent, ahead where its task says `prespawn`. `early` judges what a process printed
    before its prompt: False, and it is not used."""

    def __init__(
        self, settings: AgentSettings, early: Callable[[bytes], bool] = lambda data: not data
    ) -> None:
        self._settings, self._early = settings, early
        self._waiting: tuple[Launch, Spare, float] | None = None
        self._said, self._waited = tuple[str, ...](), 0.0
        self.folders = Folders(settings)

    async def run(
        self,
        launch: Launch,
        stdin: str,
        *,
        idle: float | None = None,
        final: Callable[[Path], bool] | None = None,
        cap: int = REPLY_CAP,
    ) -> Ran:
        """As `launch.start`, by the process that waits where it was started as `launch` says."""
        (known, spare, began), self._waiting = self._waiting or (None, None, 0.0), None
        self._said, self._waited = (), 0.0
        if spare is not None and known == launch:
            waited = time.monotonic() - began
            ran = await spare.feed(
                stdin.encode("utf-8", "replace"),
                timeout=self._settings.config.timeout,
                idle=idle,
                settle=settled(final),
                early=self._early,
            )
            if ran is not None:
                self._waited = waited
                return ran
            self._said = ("the process started ahead could not be used: another one was started",)
        elif spare is not None:
            await spare.end()
        self.folders.make()
        return await start(
            self._settings,
            launch.argv,
            cwd=self._settings.place(self.folders.work),
            env=launch.env,
            stdin=stdin,
            idle=idle,
            final=final,
            cap=cap,
        )

    def told(self, reply: AgentReply) -> AgentReply:
        """The reply of the last launch, with what there is to say of how its process was started."""
        waited = self._waited if self._settings.starts_ahead else None
        return reply.model_copy(update={"notices": self._said, "ahead": waited})

    async def prepare(self, launch: Launch, after: ReplyClass, cap: int = REPLY_CAP) -> None:
        """Starts the next one, where a launch is likely to follow a reply of this class."""
        spawner = self._settings.ahead
        if spawner is None or not self._settings.starts_ahead or RULES[after].does not in GOES_ON:
            return
        try:
            self.folders.make()
            spare = await spawner.spawn(
                launch.argv, cwd=self.folders.work, env=launch.env, age=AGE, cap=cap, redact=False
            )
        except (OSError, RuntimeError):  # no room, no thread: the reply is paid for, the next launch says it
            return
        self._waiting = launch, spare, time.monotonic()

    async def end(self) -> None:
        """Ends the process that waits."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            await waiting[1].end()
        if self._settings.starts_ahead:
            shutil.rmtree(self.folders.work, ignore_errors=True)
