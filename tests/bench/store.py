"""What a step costs where the record is kept on a remote, beside a file: bytes pushed, requests, git processes and wall
time near step 10 and near step 300 of one run, and what a fresh clone fetches then. The remote is a real one behind
HTTP on this machine, so the times are without the way to it."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from controller.assemble import assemble
from controller.claim import release
from controller.opening import Options, opened
from controller.record_store import open_store
from controller.step import step
from controller.taskfile import read_task
from tests.bench.report import report, say, spread
from tests.bench.step import TASK, Counted, TimedAgent, git, repository, transition
from tests.tool_adapters.git_http import GitHttp, bare

FILES, WINDOW = 200, 10


class Kept:
    """One run, its record in a file or on the remote that `served` serves, stepped and measured."""

    def __init__(self, folder: Path, served: GitHttp | None) -> None:
        self.root, self.served = folder, served
        self.file = repository(folder, FILES)
        if served is not None:
            git(folder, "remote", "add", "origin", f"{served.url}/remote")
            git(folder, "push", "-q", "origin", "main")
            self.file.write_text(TASK + "store: {use: git}\n")
        self.rows: list[dict[str, float]] = []

    async def open(self) -> None:
        self.rig = assemble(read_task(self.file))
        self.rig.agent, self.rig.hold = TimedAgent(self.rig), True
        self.run = (await opened(self.rig, Options())).run

    async def turn(self, number: int) -> None:
        """One edit step, the same in both."""
        agent: Any = self.rig.agent
        agent.answer = transition("edit", number)
        processes, carried = Counted.processes, len(self.served.carried) if self.served else 0
        began = time.perf_counter()
        after = await step(self.run, self.rig)
        took = time.perf_counter() - began
        if after.correction or after.halt or after.staged:
            raise SystemExit(f"the bench's own step did not commit: {after.correction or after.halt}")
        requests = self.served.carried[carried:] if self.served else []
        pushed = [sent for path, sent, _ in requests if path.endswith("/git-receive-pack")]
        self.rows.append(
            {
                "ms": took * 1000,
                "bytes pushed": sum(pushed),
                "pushes": len([each for each in pushed if each > 4]),
                "requests": len(requests),
                "git processes": Counted.processes - processes,
            }
        )

    def near(self, number: int) -> list[dict[str, float]]:
        """The measured steps around a number, or the last ones before it."""
        return self.rows[max(0, number - WINDOW) : number]


async def fresh(kept: Kept, folder: Path) -> tuple[float, int]:
    """(seconds, bytes) of a clone that knows nothing until it has read the record and checked its audit."""
    assert kept.served is not None
    git(kept.root, "clone", "-q", f"{kept.served.url}/remote", str(folder))
    shutil.copy(kept.file, folder / "task.yaml")
    carried, began = len(kept.served.carried), time.perf_counter()
    store = open_store(read_task(folder / "task.yaml"))
    if await store.verify(kept.run):
        raise SystemExit("the audit does not hold in a fresh clone")
    return time.perf_counter() - began, sum(got for _, _, got in kept.served.carried[carried:])


async def measure(folder: Path, last: int, figures: dict[str, Any]) -> None:
    with GitHttp(folder / "served") as served:
        bare(folder / "served/remote")
        both = {"git": Kept(folder / "on-remote", served), "sqlite": Kept(folder / "in-file", None)}
        for kept in both.values():
            await kept.open()
        for number in range(1, last + 1):
            for kept in both.values():
                await kept.turn(number)
            if number in (WINDOW, last):
                took, size = await fresh(both["git"], folder / f"clone-{number}")
                figures[f"fresh clone at step {number}, s"] = round(took, 2)
                figures[f"fresh clone at step {number}, bytes"] = size
                say(f"step {number}: a fresh clone fetches {size:,} bytes in {took:.2f} s")
        for name, kept in both.items():
            await release(kept.rig)
            for number in (WINDOW, last):
                for each in kept.rows[0]:
                    values = [row[each] for row in kept.near(number)]
                    if name == "git" or each in ("ms", "git processes"):
                        figures[f"{each}, {name}, step {number}"] = spread(values, 1)
        early, late = (both["git"].near(number) for number in (WINDOW, last))
        for each in ("ms", "bytes pushed"):
            pairs = zip(early, late, strict=True)
            figures[f"{each}, growth"] = spread([new[each] / old[each] for old, new in pairs])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="length of the run")
    parser.add_argument("--quick", action="store_true", help="40 steps")
    asked = parser.parse_args()
    last = 40 if asked.quick else asked.steps
    figures: dict[str, Any] = {}
    Counted.install()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        anyio.run(measure, Path(folder), last, figures)
    bounds = {
        "bytes of a step do not grow": ("bytes pushed, growth", 1.25),
        "time of a step does not grow": ("ms, growth", 1.25),
        "bytes of a step": (f"bytes pushed, git, step {last}", 64 * 1024),
        "pushes of a step": (f"pushes, git, step {last}", 4),
        "bytes of a fresh clone, a step": (f"fresh clone at step {last}, bytes", last * 64 * 1024),
    }
    return report("store", 1, figures, bounds)


if __name__ == "__main__":
    sys.exit(main())
