"""What a step costs beside `git status`: on repositories of 200 and 20,000 files, at run histories of 10, 1,000
and 10,000 steps. The own share is the whole step less agent, action and checks; counts stand beside times."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from contracts.reply import AgentReply, Prompt, ReplyClass, Usage
from controller.assemble import assemble
from controller.claim import release
from controller.opening import Options, opened
from controller.rig import Rig
from controller.step import step
from controller.stores.mirror import chain
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.bench.report import report, say, spread
from tool_adapters.git import Engine

TASK = """\
version: 1
name: bench
goal: Bench.
agent: {use: mine}
agents: {mine: {kind: command, run: [/bin/false]}}
workspace: {base: main}
sandbox: {mode: none}
budgets: {steps: 1000000, tokens: 1000000000000, wall: 1000h, usd: null}
checks:
  - {name: never, role: goal, run: ['false']}
"""

SIZES = (200, 20_000)
HISTORIES = (10, 1_000, 10_000)


def git(root: Path, *args: str, feed: bytes | None = None) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        ["git", *args], cwd=root, env=env, input=feed, stdout=subprocess.PIPE, check=True
    ).stdout.decode()


def repository(root: Path, files: int) -> Path:
    """`files` files of about 1 KB, 100 a folder, in one commit."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    body = b"".join(
        b"M 100644 inline d%d/f%d.txt\ndata <<E\n%s%d\nE\n" % (n // 100, n, b"line of text\n" * 80, n)
        for n in range(files)
    )
    head = b"commit refs/heads/main\ncommitter A <a@b.c> 1700000000 +0000\ndata <<E\nstart\nE\n"
    git(root, "fast-import", "--quiet", feed=head + body)
    git(root, "reset", "-q", "--hard")
    (root / "task.yaml").write_text(TASK)
    return root / "task.yaml"


class TimedAgent:
    """The Agent port with a prepared answer; its time is not the controller's."""

    def __init__(self, rig: Rig) -> None:
        self.profile, self.dialect = rig.agent.profile, rig.agent.dialect
        self.answer: dict[str, Any] = {}

    def preflight(self) -> list[str]:
        return []

    async def ask(self, prompt: Prompt) -> AgentReply:
        usage = Usage(input=prompt.bound, output=50, usd_micro=0)
        return AgentReply(cls=ReplyClass.OK, value=self.answer, text="{}", usage=usage)

    async def close(self) -> None:
        pass


class Meter:
    """Counts git processes and durable transactions of a rig, and the time that its actions take."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.commits, self.lease_only, self.touched = rig, 0, 0, set[str]()
        self.acting = 0.0
        store = rig.store
        assert isinstance(store, SqliteStore)
        store._file._open().set_trace_callback(self._statement)
        tools: Any = rig.actions
        for name in ("read_files", "edit_files"):
            tool = tools[name]
            tool.run = self._timed(tool.run)

    def _statement(self, text: str) -> None:
        word = text.split(" ", 1)[0]
        if word == "BEGIN":
            self.touched = set()
        elif word in ("INSERT", "UPDATE", "DELETE"):
            self.touched.add("lease" if "leases" in text.split("(")[0] else "record")
        elif word == "COMMIT":
            self.commits += 1
            self.lease_only += self.touched <= {"lease"}

    def _timed(self, run: Any) -> Any:
        async def timed(call: Any) -> Any:
            began = time.perf_counter()
            try:
                return await run(call)
            finally:
                self.acting += time.perf_counter() - began

        return timed


class Counted:
    """Counts what every Engine starts."""

    processes = 0
    run = Engine._execute

    @classmethod
    def install(cls) -> None:
        def execute(engine: Engine, *args: Any, **options: Any) -> Any:
            cls.processes += 1
            return cls.run(engine, *args, **options)

        Engine._execute = execute  # type: ignore[method-assign]


async def lengthen(rig: Rig, run: str, length: int, root: Path, branch: str) -> None:
    """Give the run a history: `length` audit rows like the last one, and as many commits on its branch."""
    store = rig.store
    assert isinstance(store, SqliteStore)
    db = store._file._open()
    seq, prev, row = db.execute(
        "SELECT seq, hash, row FROM audit WHERE run = ? ORDER BY seq DESC LIMIT 1", (run,)
    ).fetchone()
    rows = []
    for n in range(seq + 1, length + 1):
        hash = chain(prev, row)
        rows.append((run, n, prev, hash, row))
        prev = hash
    db.execute("BEGIN")
    db.executemany("INSERT INTO audit(run, seq, prev, hash, row) VALUES (?,?,?,?,?)", rows)
    db.execute("COMMIT")
    have = int(git(root, "rev-list", "--count", f"main..{branch}"))
    feed = b""
    for n in range(have, length):
        feed += b"commit refs/heads/%s\ncommitter A <a@b.c> %d +0000\ndata <<E\nstep %d\nE\n" % (
            branch.encode(),
            1700000000 + n,
            n,
        )
        if n == have:
            feed += b"from refs/heads/%s^0\n" % branch.encode()
        feed += b"\n"
    if feed:
        git(root, "fast-import", "--quiet", feed=feed)
    record = await store.load(run)
    assert record is not None and rig.lease is not None
    grown = {"rows": length, "chain": prev, "head": git(root, "rev-parse", branch).strip()}
    await store.swap(record.model_copy(update=grown), None, rig.lease)


class Subject:
    """One repository with one length of history, ready to be stepped."""

    def __init__(self, root: Path, files: int, history: int) -> None:
        self.root, self.label = root, f"{files} files, history {history}"
        self.times: dict[str, list[float]] = {"status": [], "read": [], "edit": []}
        self.counts: dict[str, list[int]] = {"read git": [], "edit git": [], "read tx": [], "edit tx": []}
        self.file, self.history, self.number = repository(root, files), history, 0

    async def open(self) -> None:
        self.rig = assemble(read_task(self.file))
        self.agent = TimedAgent(self.rig)
        self.rig.agent, self.rig.hold = self.agent, True
        record = await opened(self.rig, Options())
        self.run = record.run
        await lengthen(self.rig, self.run, self.history, self.root, record.branch)
        self.meter = Meter(self.rig)

    async def turn(self, counted: bool) -> None:
        """One `git status`, one read step and one edit step."""
        worktree = self.root / ".agent-runtime/work/bench"
        began = time.perf_counter()
        git(worktree, "status", "--porcelain=v2")
        status = time.perf_counter() - began
        for kind in ("read", "edit"):
            self.number += 1
            self.agent.answer = transition(kind, self.number)
            meter = self.meter
            processes, commits, leases = Counted.processes, meter.commits, meter.lease_only
            meter.acting = 0.0
            began = time.perf_counter()
            after = await step(self.run, self.rig)
            took = time.perf_counter() - began - meter.acting
            if after.correction or after.halt or after.staged:
                raise SystemExit(f"the bench's own step did not commit: {after.correction or after.halt}")
            if counted:
                self.times[kind].append(took)
                self.counts[f"{kind} git"].append(Counted.processes - processes)
                self.counts[f"{kind} tx"].append(meter.commits - commits - (meter.lease_only - leases))
        if counted:
            self.times["status"].append(status)

    def figures(self) -> dict[str, Any]:
        times, label = self.times, self.label
        found: dict[str, Any] = {f"status ms, {label}": spread([each * 1000 for each in times["status"]], 1)}
        for kind in ("read", "edit"):
            ratios = [own / status for own, status in zip(times[kind], times["status"], strict=True)]
            found[f"{kind} / status, {label}"] = spread(ratios)
            found[f"{kind} ms, {label}"] = spread([each * 1000 for each in times[kind]], 1)
        return found | {f"{name}, {label}": max(counts) for name, counts in self.counts.items()}


def transition(kind: str, number: int) -> dict[str, Any]:
    if kind == "read":
        action: dict[str, Any] = {
            "tool": "read_files",
            "args": {"files": [{"path": f"d0/f{number % 100}.txt"}]},
        }
    else:
        edit = {"op": "write", "path": f"d1/f{100 + number % 100}.txt", "content": f"{number}\n"}
        action = {"tool": "edit_files", "args": {"edits": [edit]}}
    return {"state_patch": {"next_action": f"{number}"}, "action": action}


async def measure(folder: Path, files: int, runs: int, figures: dict[str, Any]) -> None:
    """The three histories of one size, turn by turn in alternation, so that a noisy minute hits all of them."""
    subjects = [Subject(folder / f"{files}-{history}", files, history) for history in HISTORIES]
    for subject in subjects:
        await subject.open()
    for turn in range(runs + 1):
        for subject in subjects:
            await subject.turn(counted=turn > 0)  # the first turn warms the caches
    for subject in subjects:
        await release(subject.rig)
        figures |= subject.figures()
        label = subject.label
        say(
            f"{label}: read {figures[f'read / status, {label}']} edit {figures[f'edit / status, {label}']} x status"
        )
    for kind in ("read", "edit"):
        pairs = zip(subjects[0].times[kind], subjects[-1].times[kind], strict=True)
        figures[f"{kind} growth 10,000 / 10, {files} files"] = spread(
            [long / short for short, long in pairs], 3
        )


def cpu(argv: list[str], cwd: Path, runs: int = 5) -> list[float]:
    """CPU ms (user + system) of a whole command: [median, min, max]."""
    found = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    return spread(found, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="measured turns at each size and history")
    parser.add_argument("--quick", action="store_true", help="200 files only, five turns")
    asked = parser.parse_args()
    runs = 5 if asked.quick else asked.runs
    figures: dict[str, Any] = {}
    Counted.install()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for files in SIZES[:1] if asked.quick else SIZES:
            anyio.run(measure, Path(folder), files, runs, figures)
        where = Path(folder) / f"{SIZES[0]}-{HISTORIES[0]}"
        figures["controller status, CPU ms"] = cpu([sys.executable, "-m", "controller", "status"], where)
        figures["controller --help, CPU ms"] = cpu([sys.executable, "-m", "controller", "--help"], where)
    return report("step", runs, figures, bounds(SIZES[0] if asked.quick else SIZES[1], asked.quick))


def bounds(files: int, quick: bool) -> dict[str, tuple[str, float]]:
    """The issue's bounds; the ratios hold for the large repository."""
    held: dict[str, tuple[str, float]] = {
        "status CPU": ("controller status, CPU ms", 150),
        "help CPU": ("controller --help, CPU ms", 350),
    }
    for history in HISTORIES:
        label = f"{files} files, history {history}"
        if not quick:
            held[f"read share at {label}"] = (f"read / status, {label}", 4)
            held[f"edit share at {label}"] = (f"edit / status, {label}", 6)
        held[f"git processes of a read step at {label}"] = (f"read git, {label}", 9)
        held[f"git processes of an edit step at {label}"] = (f"edit git, {label}", 14)
        held[f"transactions of a read step at {label}"] = (f"read tx, {label}", 3)
        held[f"transactions of an edit step at {label}"] = (f"edit tx, {label}", 3)
    for size in SIZES[:1] if quick else SIZES:
        for kind in ("read", "edit"):
            held[f"{kind} growth at {size} files"] = (f"{kind} growth 10,000 / 10, {size} files", 1.15)
    return held


if __name__ == "__main__":
    sys.exit(main())
