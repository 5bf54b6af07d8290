"""Trials: a run that is killed at one boundary, or at one moment, and then called again until its outcome."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from tests.suites.crash.stage import Template, Victims, Whole, World, finish, living

WORKERS = 2
AFTER, SLEPT = "after ", ("stop at ", "woken at ")
Prelude = Callable[[World, Victims], None]


@dataclass(frozen=True)
class Trial:
    """`at` is the boundary or the moment, `code` how the killed call ended, `codes` how those after it did."""

    at: str
    code: int
    codes: list[int]
    faults: list[str]
    said: str = ""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def __str__(self) -> str:
        return f"{self.at} (ended {self.code}, then {self.codes}): {'; '.join(self.faults)}\n{self.said}"


@dataclass
class Tally:
    """What the suite's last line says. A trial that had ended before its kill is none, and only said."""

    points: dict[str, set[str]] = field(default_factory=dict)
    moments: Counter[str] = field(default_factory=Counter)
    sleepers: int = 0
    ended: int = 0
    lost: int = 0
    doubled: int = 0

    def count(self, agent: str, trials: Iterable[Trial]) -> None:
        for trial in trials:
            if trial.at.startswith(SLEPT):
                self.sleepers += 1
            elif not trial.killed:
                self.ended += 1
            elif trial.at.startswith(AFTER):
                self.moments[agent] += 1
            else:
                self.points.setdefault(agent, set()).add(trial.at)
            self.lost += any("lost" in fault for fault in trial.faults)
            self.doubled += any("doubled" in fault for fault in trial.faults)

    def __bool__(self) -> bool:
        return bool(self.points or self.moments or self.sleepers or self.ended)

    def line(self) -> str:
        points = {agent: len(found) for agent, found in self.points.items()}
        return (
            f"crash: killed at {_counts(points)} points x agents and at {_counts(self.moments)} random moments "
            f"({self.ended} trials ended before their kill); {self.sleepers} put to sleep; "
            f"{self.lost} lost, {self.doubled} doubled"
        )


def _counts(of: Mapping[str, int]) -> str:
    each = ", ".join(f"{agent} {count}" for agent, count in of.items())
    return f"{sum(of.values())} ({each})" if of else "0"


TALLY = Tally()


class Theatre:
    """Where the trials of one template are played, two at a time. `before` is what went before in every world."""

    def __init__(self, folder: Path, template: Template, before: Prelude | None = None) -> None:
        self.folder, self.template, self.before = folder, template, before
        self._free: SimpleQueue[Victims] = SimpleQueue()
        self._all = [Victims() for _ in range(WORKERS)]
        for victims in self._all:
            self._free.put(victims)
        self.whole, self.points, self.took = self._rehearsed()

    def close(self) -> None:
        for victims in self._all:
            victims.close()

    @contextmanager
    def stage(self, name: str) -> Iterator[tuple[World, Victims]]:
        """A fresh world and somebody to die in it. The world is removed unless the body raises."""
        victims = self._free.get()
        try:
            world = self.template.world(self.folder / name)
            if self.before:
                self.before(world, victims)
            yield world, victims
            shutil.rmtree(world.folder, ignore_errors=True)
        finally:
            self._free.put(victims)

    def _rehearsed(self) -> tuple[Whole, list[str], float]:
        """An uninterrupted run: what it comes to, its boundaries, and its seconds."""
        with self.stage("rehearsal") as (world, victims):
            log, began = world.folder / "log", time.monotonic()
            code = victims.run(world.call("run", log=str(log)))
            took = time.monotonic() - began
            assert code == 0, world.said()
            whole = world.whole()
            assert (faults := world.faults(whole)) == [], faults
            return whole, log.read_text().splitlines(), took

    def passed(self, *words: str) -> list[str]:
        """The boundaries of another call, uninterrupted."""
        with self.stage("passed") as (world, victims):
            log = world.folder / "log"
            assert victims.run(world.call(*words, log=str(log))) == 0, world.said()
            return log.read_text().splitlines()

    def kill_at(
        self,
        points: Iterable[str],
        after: Callable[[World, Victims], list[int]] = finish,
        words: tuple[str, ...] = ("run",),
        **more: object,
    ) -> list[Trial]:
        """One trial for each boundary of the call `words`."""

        def play(number: int, point: str) -> Trial:
            with self.stage(f"at-{number}") as (world, victims):
                asked = world.call(*words, log=str(world.folder / "log"), at=point, **more)
                code = victims.run(asked)
                return self._judged(point, code, world, victims, after)

        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(lambda each: play(*each), enumerate(points)))

    def kill_after(
        self, count: int, seed: int, after: Callable[[World, Victims], list[int]] = finish
    ) -> list[Trial]:
        """Trials until `count` were killed, each at a moment of its own, evenly over the time that a run takes: one
        that ended before its kill is followed by another. Every fourth dies as a container does: with all that it
        has started."""
        chance = random.Random(seed)

        def play(number: int, moment: float) -> Trial:
            with self.stage(f"after-{number}") as (world, victims):
                pid = victims.start(world.call("run"))
                time.sleep(moment)
                whole = number % 4 == 3
                others = [int(each.partition(":")[0]) for each in living(world.folder)] if whole else []
                for each in (pid, *others):
                    try:
                        os.kill(each, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                code = victims.wait()
                return self._judged(f"{AFTER}{moment:.3f} s, seed {seed}", code, world, victims, after)

        trials: list[Trial] = []
        with ThreadPoolExecutor(WORKERS) as pool:
            while (missing := count - sum(trial.killed for trial in trials)) and len(trials) < 4 * count:
                moments = [chance.uniform(0, self.took) for _ in range(missing)]
                trials += pool.map(play, range(len(trials), len(trials) + missing), moments)
        return trials

    def _judged(
        self, at: str, code: int, world: World, victims: Victims, after: Callable[[World, Victims], list[int]]
    ) -> Trial:
        codes = after(world, victims)
        faults = world.faults(self.whole) if codes[-1] == 0 else [f"lost: the run ends with {codes[-1]}"]
        return Trial(at, code, codes, faults, world.said()[-1500:] if faults else "")


def one_of_each(points: Iterable[str]) -> list[str]:
    """One boundary of every name: the one in the middle of its times."""
    times: dict[str, list[str]] = {}
    for point in points:
        times.setdefault(point.rpartition(" ")[0], []).append(point)
    return [found[len(found) // 2] for found in times.values()]
