"""What the sandbox costs a command: `true`, a Python that does nothing and `git status`, through the same runner
without a sandbox and in each kind that works here, turn by turn in alternation."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import anyio

from contracts.ports import Ran
from contracts.task import Sandbox
from tests.bench.report import report, say, spread
from tests.bench.step import git, repository
from tool_adapters.process import ProcessRunner, child_environment
from tool_adapters.sandbox import NONE, SandboxPlan
from tool_adapters.sandbox_probe import candidates, find_sandbox, tried

COMMANDS = {
    "true": ["true"],
    "python": [sys.executable, "-IS", "-c", ""],
    "git status": ["git", "status", "--porcelain"],
}


def plans(folder: Path) -> dict[str, SandboxPlan]:
    """One plan per sandbox that works here, and one without, over a linked worktree of 200 files."""
    checkout = folder / "checkout"
    repository(checkout, 200)
    worktree = folder / "work"
    git(checkout, "worktree", "add", "-q", str(worktree), "-b", "work")
    bare = SandboxPlan.of(
        Sandbox(mode="none"),
        worktree=worktree,
        base=checkout,
        runtime=folder / "runtime",
        env=child_environment(),
        environ=os.environ,
    ).around(ProcessRunner(folder / "spool"))
    found = {NONE: bare}
    for each in candidates(os.environ.get("PATH", os.defpath)):
        if tried(each) is None:
            found[f"{each.kind} {each.version} ({each.source})"] = replace(bare, found=each)
    return found


async def measure(asked: dict[str, SandboxPlan], runs: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of each command in each sandbox."""
    times: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in asked} for name in COMMANDS}
    for turn in range(runs + 1):
        for name, argv in COMMANDS.items():
            for kind, plan in asked.items():
                began = time.perf_counter()
                ran: Ran = await plan.for_(False).run(argv, cwd=plan.worktree, env=plan.env, timeout=60)
                took = time.perf_counter() - began
                if ran.exit != 0:
                    raise SystemExit(f"{name} in {kind}: {ran.refused or ran.err.text or ran.exit}")
                if turn:  # the first one warms the caches
                    times[name][kind].append(took)
        if turn % 10 == 0:
            say(f"{turn} of {runs}")
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="measured turns")
    runs: int = parser.parse_args().runs
    figures: dict[str, object] = {}
    began = time.perf_counter()
    find_sandbox(os.environ)
    figures["find, once a process, ms"] = round((time.perf_counter() - began) * 1000, 1)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        asked = plans(Path(folder).resolve())
        times = anyio.run(measure, asked, runs)
        for name, by_kind in times.items():
            for kind, taken in by_kind.items():
                figures[f"{name}, {kind}, ms"] = spread([each * 1000 for each in taken], 1)
                if kind != NONE:
                    pairs = list(zip(taken, by_kind[NONE], strict=True))
                    figures[f"{name}, {kind}, more ms"] = spread([(a - b) * 1000 for a, b in pairs], 1)
                    figures[f"{name}, {kind} / none"] = spread([a / b for a, b in pairs], 2)
        for kind, plan in asked.items():
            if kind != NONE:
                began = time.perf_counter()
                figures[f"mounts, {kind}"] = len(plan.mounts())
                figures[f"finding the mounts, {kind}, ms"] = round((time.perf_counter() - began) * 1000, 1)
    return report("sandbox", runs, figures, {})


if __name__ == "__main__":
    sys.exit(main())
