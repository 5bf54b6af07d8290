"""What is shown on stderr while a run goes on: a live line on a terminal, one line a step elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from contracts.events import StepEnded
from contracts.text import clean
from controller.rig import Watch
from controller.surfaces.events import step_line
from controller.surfaces.words import bar, clock, duration, left, money, plain

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text


class Lines(Watch):
    """One line a step and a line a note, to a stream that is no terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr

    def note(self, line: str) -> None:
        self._print(plain(line))

    def step(self, told: StepEnded) -> None:
        """A step has ended."""
        self._print(plain(step_line(told)))

    def output(self, program: str, line: str) -> None:
        """A child process printed something; called from its worker thread."""

    def close(self) -> None:
        """Nothing is shown from here on."""

    def _print(self, line: str) -> None:
        print(line, file=self.stream, flush=True)


class LiveLine(Lines):
    """The same lines, and below them what goes on now: step, phase, tokens, money, elapsed time, the last line
    that the running program printed."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        from rich.console import Console
        from rich.live import Live

        self._guard = threading.Lock()
        self._began = self._phase_began = time.monotonic()
        self._now, self._line, self._step = "opening", "", None  # type: tuple[str, str, StepEnded | None]
        self._console = Console(file=self.stream, highlight=False, soft_wrap=True)
        self._live: Live | None = Live(
            console=self._console, get_renderable=self._shown, refresh_per_second=4, transient=True
        )
        self._live.start()

    def phase(self, verb: str, detail: str = "") -> None:
        with self._guard:
            self._now = f"{verb} {detail}".strip()
            self._line, self._phase_began = "", time.monotonic()

    def waiting(self, due: float) -> None:
        left = duration(max(0.0, due - time.time()))
        with self._guard:
            self._now = f"waiting until {clock(due)}, {left} left (Ctrl-C ends it, `controller run` goes on)"

    def output(self, program: str, line: str) -> None:
        with self._guard:
            self._line = clean(line).replace("\n", " ")[:300]

    def step(self, told: StepEnded) -> None:
        with self._guard:
            self._step = told
        super().step(told)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def _shown(self) -> Text:
        from rich.text import Text

        now = time.monotonic()
        with self._guard:
            step, costs = self._step, self._step.costs if self._step else None
            parts = [f"step {step.step + 1 if step else '…'}", self._now, duration(now - self._phase_began)]
            if costs and costs.tokens:
                parts.append(f"{costs.tokens:,} tokens")
            if costs and costs.usd_micro:
                parts.append(money(costs.usd_micro, costs.estimated))
            for name, count in step.left.items() if step else ():
                most = step.most.get(name, count) if step else count
                parts.append(f"{name} {bar(count, most)} {left(count, most)}")
            parts.append(f"{duration(now - self._began)} in all")
            shown = Text(" · ".join(parts), style="dim", no_wrap=True, overflow="ellipsis")
            if self._line:
                shown.append(f"\n  {self._line}", style="dim")
            return shown


def in_ci() -> bool:
    """Whether this is a job of continuous integration."""
    return os.environ.get("CI", "").lower() in ("true", "1")


def on_terminal(stream: TextIO) -> bool:
    """Whether somebody watches: a terminal that can redraw a line, and no CI job."""
    return stream.isatty() and not in_ci() and os.environ.get("TERM") != "dumb"


def for_stderr() -> Lines:
    """What fits this process's stderr."""
    return LiveLine() if on_terminal(sys.stderr) else Lines()
