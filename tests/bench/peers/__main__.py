"""A step beside what others would use for the same loop: a state of 20 KB, 100 or 1,000 steps, on SQLite each. Turn by
turn in one run, every subject in a process of its own; beside the last tenth of each runs a young copy of it, so that
growth is not a machine that became slower meanwhile. At the end each is killed, and a fresh process goes on."""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.peers.place import python_of, versions
from tests.bench.peers.subject import Process
from tests.bench.peers.work import after, shown
from tests.bench.report import report, say, spread

STEPS, BLOCK, RESUMES = 1_000, 10, 3
OURS, ALONE, COMMIT = "our step", "our step, alone", "our store commit"
GRAPH, HISTORY = "LangGraph", "LangGraph, history kept"
SUBJECTS = {
    COMMIT: "tests.bench.peers.ours:Commit",
    OURS: "tests.bench.peers.ours:Step",
    ALONE: "tests.bench.peers.ours:StepAlone",
    GRAPH: "tests.bench.peers.graph:Graph",
    "LangGraph, default": "tests.bench.peers.graph:Async",
    HISTORY: "tests.bench.peers.graph:GraphHistory",
    "LangGraph, history as deltas": "tests.bench.peers.graph:GraphDeltas",
    "DBOS": "tests.bench.peers.workflow:Workflow",
    "DBOS, default": "tests.bench.peers.workflow:Default",
}


@dataclass
class Rows:
    """What was measured of one subject. `blocks` are seconds a step, block by block; `old` and `young` those of the
    last blocks, and of a young copy's beside them. `cpu` seconds in all; `bytes` on disk before the first and after the
    last step; `resumed` seconds of each resumption; `lost` steps that a killed process had done and its successor did
    not find."""

    blocks: list[float] = field(default_factory=list)
    old: list[float] = field(default_factory=list)
    young: list[float] = field(default_factory=list)
    cpu: float = 0.0
    bytes: tuple[int, int] = (0, 0)
    resumed: list[float] = field(default_factory=list)
    lost: int = 0


class Kept:
    """A subject with its folder, over the processes that it has had."""

    def __init__(self, python: Path | str, name: str, subject: str, root: Path, stack: ExitStack) -> None:
        self.name, self.rows, self.folder = name, Rows(), Path(tempfile.mkdtemp(dir=root))
        self._young = Path(tempfile.mkdtemp(dir=root))
        self._start = lambda folder: self._started(python, subject, folder, stack)
        self.process = self._start(self.folder)
        self.beside: Process | None = None

    @staticmethod
    def _started(python: Path | str, subject: str, folder: Path, stack: ExitStack) -> Process:
        process = Process(python, subject, folder)
        stack.callback(process.kill)
        process.tell("begin")
        return process

    def begun(self) -> None:
        """The state before the first step is stored."""
        assert self.process.hear().value == 1
        self.rows.bytes = (used(self.folder), 0)

    def turns(self, count: int, *, beside: bool) -> None:
        """A block of steps; `beside`: and one of the young copy."""
        took = self.process.ask("turns", count)
        self.rows.blocks.append(took.took / count)
        self.rows.cpu += took.cpu
        if not beside:
            return
        if self.beside is None:
            self.beside = self._start(self._young)
            self.beside.hear()
            self.beside.ask("turns", count)  # what is done once is not what grows
        else:
            self.rows.old.append(took.took / count)
            self.rows.young.append(self.beside.ask("turns", count).took / count)

    def killed(self, steps: int) -> None:
        """All steps are done: the state is the right one, and the process is killed. The young copy goes."""
        checked(self.name, self.process.ask("state").value, steps)
        self.process.kill()
        if self.beside is not None:
            self.beside.kill()
        shutil.rmtree(self._young)
        for file in self.folder.glob("*.db"):
            with sqlite3.connect(file) as db:  # what stands in the log only belongs into the file
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
        self.rows.bytes = (self.rows.bytes[0], used(self.folder))

    def resumed(self, steps: int) -> None:
        """A fresh process goes on from what is stored: the time from opening it to the end of one step."""
        process = self._start(self.folder)
        opened, took = process.hear(), process.ask("turns", 1)
        self.rows.resumed.append(opened.took + took.took)
        self.rows.lost = max(self.rows.lost, steps - opened.value)
        checked(self.name, process.ask("state").value, opened.value)
        process.kill()


def checked(name: str, state: dict[str, Any], steps: int) -> None:
    """Raises SystemExit unless `state` is what so many steps leave."""
    if state["done"] != steps or shown(state) != after(steps):
        raise SystemExit(
            f"{name}: the stored state is not that of step {steps} but of {state['done']}, or another"
        )


def used(folder: Path) -> int:
    """Bytes of the blocks that the files of a folder take on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def measure(
    python: Path | str, subjects: dict[str, str], steps: int, resumes: int, block: int = BLOCK
) -> dict[str, Rows]:
    """Every subject through all its steps, block by block in turn; then killed, and resumed so often."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, ExitStack() as stack:
        kept = [Kept(python, name, subject, Path(folder), stack) for name, subject in subjects.items()]
        for each in kept:
            each.begun()
        blocks = steps // block
        for number in range(blocks):
            order = random.Random(number).sample(kept, len(kept))  # nobody always comes behind the same one
            for each in order:
                each.turns(block, beside=number >= blocks - max(3, blocks // 10))
            if (number + 1) % max(1, blocks // 10) == 0:
                say(f"step {(number + 1) * block} of {steps}")
        for each in kept:
            each.killed(steps)
        for time in range(resumes):
            for each in kept:
                each.resumed(steps + 1 + time)
        return {each.name: each.rows for each in kept}


def figures(rows: dict[str, Rows], steps: int, peer: str = GRAPH) -> dict[str, Any]:
    """ms of a step, CPU ms, bytes on disk a step, growth (the last tenth by a young copy beside it), resume; and by the
    peer's, block by block."""
    found: dict[str, Any] = {}
    for name, row in rows.items():
        tenth = max(1, len(row.blocks) // 10)
        found |= {
            f"ms, {name}": spread([each * 1000 for each in row.blocks]),
            f"ms of the first and the last tenth, {name}": [
                round(statistics.median(part) * 1000, 2) for part in (row.blocks[:tenth], row.blocks[-tenth:])
            ],
            f"CPU ms, {name}": round(row.cpu * 1000 / steps, 2),
            f"growth, {name}": spread([old / new for old, new in zip(row.old, row.young, strict=True)]),
            f"bytes a step, {name}": round((row.bytes[1] - row.bytes[0]) / steps),
            f"resume ms, {name}": spread([each * 1000 for each in row.resumed]),
            f"steps lost, {name}": row.lost,
        }
        if name != peer:
            other = rows[peer]
            pairs = zip(row.blocks, other.blocks, strict=True)
            found[f"time / {peer}, {name}"] = spread([mine / theirs for mine, theirs in pairs])
            found[f"CPU / {peer}, {name}"] = round(row.cpu / other.cpu, 2)
            size = (row.bytes[1] - row.bytes[0]) / (other.bytes[1] - other.bytes[0])
            found[f"bytes / {peer}, {name}"] = round(size, 3)
    return found


def bounds() -> dict[str, tuple[str, float]]:
    """The issue's."""
    held: dict[str, tuple[str, float]] = {
        "store commit beside LangGraph's": (f"time / {GRAPH}, {COMMIT}", 1.0),
        "step beside LangGraph's": (f"time / {GRAPH}, {OURS}", 3.0),
        "step alone beside LangGraph's": (f"time / {GRAPH}, {ALONE}", 3.0),
        "disk of a store commit": (f"bytes / {GRAPH}, {COMMIT}", 0.5),
    }
    for name in (COMMIT, OURS, ALONE):
        held[f"growth of {name}"] = (f"growth, {name}", 1.1)
        held[f"steps lost by {name}"] = (f"steps lost, {name}", 0)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help=f"in blocks of {BLOCK}; {STEPS} otherwise")
    parser.add_argument("--quick", action="store_true", help="100 steps")
    asked = parser.parse_args()
    steps = 100 if asked.quick else asked.steps
    python = python_of()
    rows = measure(python, SUBJECTS, steps, 1 if asked.quick else RESUMES)
    return report("peers", steps, {"versions": versions(python)} | figures(rows, steps), bounds())


if __name__ == "__main__":
    sys.exit(main())
