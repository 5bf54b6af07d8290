"""Ours: the commit of the store alone, and the real `controller.step` without Git, its agent a function."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from contracts.actions import ActionCall, ActionResult, ActionSpec, Block, Probed, closed
from contracts.charter import Charter
from contracts.dialects import compile_dialect
from contracts.explain import Checker
from contracts.grammar import describe
from contracts.ports import Ask
from contracts.readings import CommandReading, Reading
from contracts.record import AuditRow, Observation, RunRecord
from contracts.redact import Redactor
from contracts.reply import AgentReply, Prompt, ReplyClass, Usage
from contracts.state import StateSchema
from controller.assemble import charter
from controller.claim import claim
from controller.rig import Rig
from controller.step import step
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.bench.peers.work import NOTE_BYTES, NOTES, TEXT_BYTES, State, merged, patch, start, text
from tests.bench.skillexec.ours import NoFiles, NoTree

TASK = """\
version: 1
name: bench
goal: Keep the notes.
agent: {use: mine}
agents: {mine: {kind: command, run: [/bin/false]}}
authorities: {left: {use: command, run: [/bin/true]}}
checks: [{name: never, role: goal, run: [/bin/false]}]
budgets: {steps: 1000000, tokens: 1000000000000, wall: 1000h}
"""
RUN = f"bench@{'0' * 12}#1"
STEPS = 1_000_000

SCHEMA = closed(
    {
        "done": {"type": "integer", "minimum": 0, "maximum": STEPS},
        "notes": {
            "type": "object",
            "maxProperties": NOTES,
            "propertyNames": {"pattern": "^n[0-9]{3}$", "maxLength": 4},
            "additionalProperties": {"type": "string", "maxLength": NOTE_BYTES},
        },
    }
)
TELL = ActionSpec(
    "tell",
    closed({"text": {"type": "string", "maxLength": TEXT_BYTES}}, ("text",)),
    "say a text",
    "outside",
    example='{"text":"…"}',
)


class Commit:
    """`Store.swap`: record and audit row in one transaction, fenced by a lease that was taken once."""

    def __init__(self, folder: Path) -> None:
        self._store = SqliteStore(folder / "state.db")
        self._loop = asyncio.Runner()

    def begin(self) -> int:
        return self._loop.run(self._begin())

    async def _begin(self) -> int:
        self._lease = await self._store.lease("bench", 3600)
        found = await self._store.load(RUN)
        if found is None:
            found = await self._store.swap(opened(), None, self._lease)
        self._record = found
        return found.step + 1

    def turns(self, count: int) -> None:
        self._loop.run(self._turns(count))

    async def _turns(self, count: int) -> None:
        for _ in range(count):
            before = self._record
            number = before.step + 1
            change = patch(number)
            after = before.model_copy(update={"state": merged(before.state, change), "step": number})
            row = AuditRow(
                kind="step",
                at=time.time(),
                step=number,
                step_id=f"{RUN}/{number}",
                state_patch=change,
                action={"tool": "tell", "args": {"text": text(number)}},
            )
            self._record = await self._store.swap(after, row, self._lease)

    def state(self) -> State:
        record = self._loop.run(self._store.load(RUN))
        assert record is not None
        return record.state


class Step:
    """`controller.step` as `controller run` calls it: the lease is held over the steps."""

    hold = True

    def __init__(self, folder: Path) -> None:
        self._folder, self._loop = folder, asyncio.Runner()

    def begin(self) -> int:
        self._rig = rig_of(self._folder)
        self._rig.hold = self.hold
        return self._loop.run(self._begin())

    async def _begin(self) -> int:
        found = await self._rig.store.load(RUN)
        if found is None:
            async with claim("bench", self._rig) as fence:
                found = await self._rig.store.swap(opened(), None, fence.lease)
        return found.step + 1

    def turns(self, count: int) -> None:
        self._loop.run(self._turns(count))

    async def _turns(self, count: int) -> None:
        for _ in range(count):
            after = await step(RUN, self._rig)
            if after.halt or after.correction or after.staged:
                raise SystemExit(f"the bench's own step did not commit: {after.halt or after.correction}")

    def state(self) -> State:
        record = self._loop.run(self._rig.store.load(RUN))
        assert record is not None
        return record.state


class StepAlone(Step):
    """The same called by itself, as by a job that does one step: the lease is taken for it and given up."""

    hold = False


class Notes:
    """ports.Agent: answers with the patch of the step that is asked for, without a process."""

    def __init__(self, law: Charter) -> None:
        self.profile, self.dialect = law.agent, law.dialect

    def preflight(self) -> list[str]:
        return []

    async def ask(self, prompt: Prompt) -> AgentReply:
        action = {"tool": TELL.name, "args": {"text": text(prompt.step)}}
        answer = {"state_patch": patch(prompt.step), "action": action}
        usage = Usage(input=prompt.bound, cached=0, output=TEXT_BYTES // 3, usd_micro=0)
        return AgentReply(cls=ReplyClass.OK, value=answer, text=json.dumps(answer), usage=usage)

    async def close(self) -> None:
        """Nothing is open."""


class Told:
    """ports.Actions with one tool, which says again what it was told."""

    spec = TELL

    def __getitem__(self, tool: str) -> Told:
        return self

    def lasting(self, call: ActionCall) -> bool:
        return False

    async def run(self, call: ActionCall) -> ActionResult:
        return ActionResult(blocks=(Block(title="told", text=str(call.args["text"])),))

    async def probe(self, call: ActionCall) -> Probed:
        return Probed(kind="unknown", why="nothing is kept")

    async def reset(self, head: str, keep_as: str) -> str | None:
        return None

    async def find(self, key: str) -> str | None:
        return None


class Left:
    """The one authority: a worklist that grows shorter with each step, or the run would be called stuck."""

    name, when = "left", ("step",)

    async def read(self, ask: Ask) -> Reading:
        return CommandReading(name="left", ok=True, exit=0, text="", worklist=True, count=STEPS - ask.step)


def opened() -> RunRecord:
    """The run before its first step."""
    return RunRecord(
        task="bench",
        run=RUN,
        opened=0.0,
        base="0" * 40,
        branch="none",
        head="0" * 40,
        state=start(),
        observation=Observation(step=0, tool="start", head="nothing was done yet"),
    )


def rig_of(folder: Path) -> Rig:
    """Real store, artifacts and redactor; no worktree, and functions for agent, action and authority."""
    (folder / "task.yaml").write_text(TASK)
    law = charter(read_task(folder / "task.yaml"))
    state, specs = StateSchema(SCHEMA), (TELL,)
    law = replace(
        law,
        schema=state,
        schemas={state.version: state},
        specs=specs,
        grammar=describe(specs, {}),
        dialect=compile_dialect("merge", state, specs),
        checkers={TELL.name: Checker(TELL.args)},
    )
    actions: Any = Told()
    workspace: Any = NoTree(folder)
    store = SqliteStore(folder / "state.db")
    return Rig(
        task=law,
        agent=Notes(law),
        actions=actions,
        readers=(NoFiles(), Left()),
        store=store,
        workspace=workspace,
        artifacts=FileArtifacts(folder / "artifacts", Redactor().redact, store.carried),
    )
