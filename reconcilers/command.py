"""An authority that is a command: what it prints is shown, and passes or fails nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from contracts.base import digest
from contracts.counts import parse_counts
from contracts.errors import Permanent, Temporary
from contracts.ports import Ask, Ran, Runner
from contracts.readings import CommandReading
from contracts.text import cut
from contracts.units import argv_of

CAP = 1024 * 1024
WORKLIST_LINES = 40


class CommandReconciler:
    """Runs `run` in `cwd` (a text is `sh -c`).

    ok_exit    exit codes of a good reading; any other makes it Permanent (refresh: `unknown`).
    max_bytes  of the excerpt. worklist: each line of standard output is an item that is left to do.
    """

    def __init__(
        self,
        name: str,
        run: str | tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        runner: Runner,
        ok_exit: tuple[int, ...] = (0,),
        max_bytes: int = 4096,
        worklist: bool = False,
        timeout: float = 60.0,
        when: tuple[str, ...] = ("step",),
    ) -> None:
        self.name, self.when = name, when
        self._argv, self._cwd, self._env, self._runner = argv_of(run), cwd, env, runner
        self._ok, self._max, self._worklist, self._timeout = ok_exit, max_bytes, worklist, timeout

    async def read(self, ask: Ask) -> CommandReading:
        """The reading. Raises Permanent (missing program, other exit code), Temporary (time limit)."""
        began = time.monotonic()
        ran = await self._runner.run(
            self._argv, cwd=self._cwd, env=self._env, timeout=self._timeout, cap=CAP, keep=True
        )
        said = output(ran)
        if ran.refused:
            raise Permanent(f"{self.name}: {ran.refused}")
        if ran.timed_out:
            raise Temporary(f"{self.name}: not done after {self._timeout:g} s")
        if ran.exit is None or ran.exit not in self._ok:
            why = "wrote too much and was ended" if ran.flooded else f"exit {ran.exit}"
            raise Permanent(f"{self.name}: {why}: {said.strip()[-300:]}")
        lines = [line for line in ran.out.text.split("\n") if line.strip()]
        shown, count, first = said, None, None if ran.err.total or self._worklist else 1
        if self._worklist:
            count = len(lines) if ran.out.total <= CAP else max(len(lines), 1)
            rest = f": read artifact:{ran.out.artifact}" if ran.out.artifact else ""
            more = [f"… and {count - WORKLIST_LINES:,} more{rest}"] if count > WORKLIST_LINES else []
            shown = "\n".join([*lines[:WORKLIST_LINES], *more])
        return CommandReading(
            name=self.name,
            ok=True,
            exit=ran.exit,
            text=cut(shown.strip("\n"), self._max, artifact=ran.out.artifact, first=first)
            + left_running(ran),
            total=ran.out.total + ran.err.total,
            artifact=ran.out.artifact or ran.err.artifact,
            worklist=self._worklist,
            count=count,
            counts=parse_counts(said),
            digest=digest([ran.exit, ran.out.text]),
            took=time.monotonic() - began,
        )


def output(ran: Ran) -> str:
    """Standard output and standard error, one after the other."""
    return "\n".join(text for text in (ran.out.text.rstrip("\n"), ran.err.text.rstrip("\n")) if text)


def left_running(ran: Ran) -> str:
    """A last line that names what the command left running and what was ended; empty when there was nothing."""
    names = sorted(
        {each.split(": ", 1)[-1] for each in ran.survivors}
    )  # without pids, which differ each time
    return f"\nleft running and ended: {', '.join(names)}"[:400] if names else ""
