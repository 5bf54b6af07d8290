"""A controller that sleeps through its lease (SIGSTOP) while another one takes its task over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.suites.crash.stage import Template, Victims, Whole, World, finish, living

LEASE = 1.0  # seconds, in the place of a minute
NEVER = 3600.0


@dataclass
class Pair:
    """Two servers of victims on one template: the sleeper and the taker."""

    folder: Path
    template: Template
    sleeper: Victims
    taker: Victims
    whole: Whole

    def sleeping(
        self, name: str, point: str, *words: str, lease: float = LEASE, host: str = ""
    ) -> tuple[World, int]:
        """A fresh world whose `run WORDS` stopped itself at `point`, and the pid of that run; its lease is over."""
        world = self.template.world(self.folder / name)
        log = str(world.folder / "log")
        asked = world.call("run", *words, log=log, at=point, arm="stop", lease=lease, host=host)
        pid = self.sleeper.start(asked)
        until = time.monotonic() + 60
        while stat(pid) != "T":
            assert stat(pid) and time.monotonic() < until, f"{point} was not reached\n{world.said()}"
            time.sleep(0.02)
        time.sleep(min(lease, LEASE) + 0.3)
        return world, pid

    def taken(self, name: str, point: str, *words: str) -> tuple[list[int], int, list[str]]:
        """On the same host: (exit codes of the taker, how the sleeper ended, faults)."""
        world, pid = self.sleeping(name, point, *words)
        codes = finish(world, self.taker)
        faults = world.faults(self.whole) if codes[-1] == 0 else [world.said()]
        if stat(pid) == "T":
            faults.append("left alive: the sleeper")
            os.kill(pid, signal.SIGKILL)
        return codes, self.sleeper.wait(), faults

    def woken(self, name: str, point: str) -> tuple[list[int], int, list[str]]:
        """The same, the sleeper being on another host as far as the taker can know: it wakes when all is done."""
        world, pid = self.sleeping(name, point, host="elsewhere")
        codes = finish(world, self.taker)
        assert stat(pid) == "T", "a process of another host can't be ended"
        before = (world.record(), world.commits(), world.tree())
        os.kill(pid, signal.SIGCONT)
        code = self.sleeper.wait()
        faults = world.faults(self.whole)
        if world.places.left == ():
            faults.append("shared: the taker worked in the worktree of the sleeper")
        if (world.record(), world.commits(), world.tree()) != before:
            faults.append("doubled: the woken controller changed the record or the branch")
        return codes, code, faults

    def kept_out(self, name: str, point: str) -> tuple[int, str, list[int], list[str]]:
        """Its lease not over: (exit code of a taker, state of the sleeper then, codes once it was killed, faults)."""
        world, pid = self.sleeping(name, point, lease=NEVER)
        refused = self.taker.run(world.call("run"))
        state = stat(pid)
        os.kill(pid, signal.SIGKILL)
        self.sleeper.wait()
        return refused, state, finish(world, self.taker), world.faults(self.whole)


def stat(pid: int) -> str:
    """The letter of a process's state; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@contextmanager
def pair(folder: Path, ship: str | None = None) -> Iterator[Pair]:
    """The world of `stage`, run once without interruption, and two servers."""
    template = Template(folder / "template", **({"ship": ship} if ship else {})).prepare()
    sleeper, taker = Victims(), Victims()
    try:
        world = template.world(folder / "rehearsal")
        assert taker.run(world.call("run")) == 0, world.said()
        yield Pair(folder, template, sleeper, taker, world.whole())
        assert living(folder) == []
    finally:
        sleeper.close()
        taker.close()
