"""Trials: a run that is killed at one boundary, or at one moment, and then called again until its outcome."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from tests.suites.crash.stage import Template, Victims, Whole, World, finish, living

WORKERS = 2
Prelude = Callable[[World, Victims], None]


@dataclass(frozen=True)
class Trial:
    """`at` is the boundary or the moment, `code` how the killed call ended, `codes` how those after it did."""

    at: str
    code: int
    codes: list[int]
    faults: list[str]
    said: str = ""

    def __str__(self) -> str:
        return f"{self.at} (ended {self.code}, then {self.codes}): {'; '.join(self.faults)}\n{self.said}"


@dataclass
class Tally:
    """What the suite's last line says."""

    points: dict[str, set[str]] = field(default_factory=dict)
    trials: int = 0
    lost: int = 0
    doubled: int = 0

    def count(self, agent: str, trials: Iterable[Trial]) -> None:
        for trial in trials:
            self.trials += 1
            if not trial.at.startswith("after "):
                self.points.setdefault(agent, set()).add(trial.at)
            self.lost += any("lost" in fault for fault in trial.faults)
            self.doubled += any("doubled" in fault for fault in trial.faults)

    def line(self) -> str:
        points = ", ".join(f"{agent} {len(found)}" for agent, found in self.points.items())
        every = sum(len(found) for found in self.points.values())
        return (
            f"crash: {every} points x agents ({points}), {self.trials} trials, "
            f"{self.lost} lost, {self.doubled} doubled"
        )


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
            assert world.faults(whole) == []
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

    def kill_after(self, count: int, seed: int) -> list[Trial]:
        """`count` trials, each killed at a moment of its own, evenly over the time that a run takes. Every fourth
        dies as a container does: with all that it has started."""
        chance = random.Random(seed)
        moments = [chance.uniform(0, self.took) for _ in range(count)]

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
                return self._judged(f"after {moment:.3f} s, seed {seed}", code, world, victims, finish)

        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(lambda each: play(*each), enumerate(moments)))

    def _judged(
        self, at: str, code: int, world: World, victims: Victims, after: Callable[[World, Victims], list[int]]
    ) -> Trial:
        codes = after(world, victims)
        faults = world.faults(self.whole) if codes[-1] == 0 else [f"lost: the run ends with {codes[-1]}"]
        return Trial(at, code, codes, faults, world.said()[-1500:] if faults else "")


def first_of_each(points: list[str]) -> list[str]:
    """One boundary of every name: its first time."""
    return [point for point in points if point.endswith(" 1")]
