"""An agent that edits by itself, as a program: what it does in its folder is a shell text per step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio

from contracts.record import AuditRow
from controller.assemble import assemble
from controller.loop import run
from controller.opening import Options
from controller.rig import Watch
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.controller.world import FILES, TASK, git, repository

AGENT = """\
import json, re, subprocess, sys
prompt = sys.stdin.read()
turn = json.load(open(sys.argv[1]))[int(re.search(r"^step (\\d+) of", prompt, re.M)[1]) - 1]
subprocess.run(["sh", "-c", turn["sh"]], check=False, stdout=subprocess.DEVNULL)
print(json.dumps({"state_patch": turn["patch"], "action": {"tool": turn["tool"], "args": turn["args"]}}))
"""
DELEGATED = (
    TASK.replace("run: [/bin/false]}", "run: [python3, agent.py, TURNS], explore: delegate}")
    .replace("sandbox: {mode: none}\n", "")
    .replace("role: guard, run: [sh, check.sh],", "role: guard, run: [sh, check.sh], when: edit,")
)  # fmt: skip


def turn(
    sh: str = "true", tool: str = "submit", args: dict[str, Any] | None = None, **patch: Any
) -> dict[str, Any]:
    """One launch: what the agent does with its hands, then its reply."""
    given = {"summary": "did it"} if args is None else args
    return {"sh": sh, "tool": tool, "args": given, "patch": patch}


class Delegated:
    """A task whose agent edits by itself."""

    def __init__(
        self, root: Path, turns: list[dict[str, Any]], *, task: str = DELEGATED, **files: str
    ) -> None:
        self.root, self.turns = root, root.parent / "turns.json"
        self.turns.write_text(json.dumps(turns))
        self.file = repository(root, FILES | files, task.replace("TURNS", str(self.turns)))
        (root / "agent.py").write_text(AGENT)
        self.notes: list[str] = []

    def run(self, environ: dict[str, str] | None = None, **options: Any) -> Any:
        """`controller run` to its end."""
        notes = self.notes

        class Notes(Watch):
            def note(self, line: str) -> None:
                notes.append(line)

        async def story() -> Any:
            return await run(
                assemble(read_task(self.file), watch=Notes(), environ=environ),
                Options(**{"patience": 0.0} | options),
            )

        return anyio.run(story)

    def git(self, *args: str) -> str:
        return git(self.root, *args)

    def branch_log(self) -> list[str]:
        return self.git("log", "--format=%s", "main..skill-state/tidy").splitlines()

    def branch_file(self, path: str) -> str:
        return self.git("show", f"skill-state/tidy:{path}")

    def refs(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname)", "refs/skill-state").split()


def rows(world: Delegated) -> list[AuditRow]:
    """The run's audit."""

    async def read() -> list[AuditRow]:
        store = SqliteStore(world.root / ".agent-runtime/state.db")
        record = await store.load("tidy")
        assert record is not None
        return [row async for *_, row in store.log(record.run)]

    return anyio.run(read)


def said(world: Delegated) -> list[str]:
    """What became of each launch."""
    return [str(row.validator_result) for row in rows(world) if row.kind in ("reply", "step")]
