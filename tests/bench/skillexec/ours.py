"""Our runtime in the benchmark: the real `controller.step`, the environment as its actions and its one authority.

Nothing of the step is re-implemented here: record and audit are in a real store on disk, prompt and reply among real
artifacts, each reply passes all six layers of the gate. Only the worktree is left out, since the warehouse has none.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, ActionSpec, Block, Probed
from contracts.brief import describe_briefly
from contracts.charter import Charter
from contracts.dialects import compile_dialect
from contracts.explain import Checker
from contracts.grammar import describe
from contracts.intent import IntentContract
from contracts.ports import Action, Ask, Opened
from contracts.readings import CommandReading, GitReading, Reading
from contracts.record import Observation, RunRecord
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.state import StateSchema
from controller.assemble import charter
from controller.claim import claim, release
from controller.rig import Rig
from controller.step import step
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.bench.skillexec.domains import Domain
from tests.bench.skillexec.episode import Fed, Outcome, Turn, World, observed
from tests.bench.skillexec.readers import Reader

MEMORY = Path("/dev/shm")
TASK = """\
version: 1
name: bench
goal: Answer each event.
layout: {layout}
commit_mode: {mode}
agent: {{use: reader}}
agents:
  reader: {{kind: command, run: [/bin/false]}}
authorities:
  books: {{use: command, run: [/bin/true]}}
checks:
  - {{name: done, role: goal, run: [/bin/false]}}
budgets: {{steps: 100000, tokens: 100000000000, rejections: 20}}
"""


class Events:
    """The environment as ports: its actions, and what its books say. One object, since both are the same world."""

    name, when = "books", ("step",)

    def __init__(self, world: World, domain: Domain, noise: Callable[[int], list[str]]) -> None:
        self.world, self.domain, self.noise, self.at = world, domain, noise, 0
        self.turns: list[Turn] = []
        self.fed: list[Fed] = []

    def event(self, fed: Fed | None) -> str:
        """What is observed before event `at` is answered."""
        return observed(fed, self.world.events[self.at], self.noise(self.at))

    def act(self, tool: str, args: dict[str, Any]) -> Fed:
        fed = self.world.act(self.at, " ".join([self.domain.verbs[tool], *map(str, args.values())]))
        self.fed.append(fed)
        if not fed.again:
            self.settled()
        return fed

    def settled(self) -> None:
        """The event is answered: the next one comes."""
        self.at += 1
        if self.at < len(self.world.events):
            self.world.happen(self.at)

    async def read(self, ask: Ask) -> Reading:
        left = len(self.world.events) - self.at
        return CommandReading(
            name="books", ok=True, exit=0, text=self.world.authority(), worklist=True, count=left
        )


class Deed:
    """ports.Action: one verb of the environment. An action that it does not take is a result like any other, and is
    told in the observation; only the patch that came with it is not merged."""

    def __init__(self, spec: ActionSpec, events: Events) -> None:
        self.spec, self._events = spec, events

    def lasting(self, call: ActionCall) -> bool:
        return False

    async def run(self, call: ActionCall) -> ActionResult:
        fed = self._events.act(call.tool, call.args)
        over = self._events.at == len(self._events.world.events)
        told = fed.text if over else self._events.event(fed)
        if not fed.accepted:
            return ActionResult(ok=False, code="env.refused", say=fed.text, excerpt=told)
        return ActionResult(blocks=(Block(title="", text=told),))

    async def probe(self, call: ActionCall) -> Probed:
        return Probed(kind="unknown", why="the environment keeps no log")


class Deeds:
    """ports.Actions."""

    def __init__(self, deed: Callable[[ActionSpec], Action], specs: Iterable[ActionSpec]) -> None:
        self._deeds = {spec.name: deed(spec) for spec in specs}

    def __getitem__(self, tool: str) -> Action:
        return self._deeds[tool]

    async def reset(self, head: str, keep_as: str) -> str | None:
        return None

    async def find(self, key: str) -> str | None:
        return None


class NoTree:
    """ports.Workspace of a task that has no files."""

    def __init__(self, root: Path) -> None:
        self._opened = Opened(root=root, branch="none", base="0" * 40, head="0" * 40)

    async def open(self) -> Opened:
        return self._opened

    async def keep(self, *_: object) -> str:
        return self._opened.head

    async def undo(self, *_: object, **__: object) -> str | None:
        return None

    async def diff(self, *_: object) -> str:
        return ""


class NoFiles:
    """The reading of a worktree in which there is nothing."""

    name, when = "git", ("step",)

    async def read(self, ask: Ask) -> Reading:
        return GitReading(repository="", branch="none", base=ask.base, head=ask.head, tree="")


class Answering:
    """ports.Agent: a reader in the place of a launched process."""

    def __init__(self, law: Charter, reader: Reader, events: Events) -> None:
        self.profile: AgentProfile = law.agent
        self.dialect = law.dialect
        self._reader, self._events = reader, events

    def preflight(self) -> list[str]:
        return []

    async def ask(self, prompt: Prompt) -> AgentReply:
        turn = Turn(prompt.text, await anyio.to_thread.run_sync(self._reader.reply, prompt.text))
        self._events.turns.append(turn)
        try:
            value = json.loads(turn.reply)
        except json.JSONDecodeError as error:
            return AgentReply(
                cls=ReplyClass.INVALID, text=turn.reply, message=f"the reply is no JSON: {error}"
            )
        usage = Usage(input=prompt.bound, cached=0, output=len(turn.reply) // 3, usd_micro=0)
        return AgentReply(cls=ReplyClass.OK, value=value, text=turn.reply, usage=usage, took=0.0)

    async def close(self) -> None:
        """Nothing is open."""


def rig_of(
    folder: Path,
    world: World,
    reader: Reader,
    domain: Domain,
    *,
    layout: str = "paper",
    mode: str = "staged",
    noise: Callable[[int], list[str]] = lambda at: [],
    schema: StateSchema | None = None,
) -> tuple[Rig, Events]:
    """A rig around the environment, and the environment as its ports. `schema` in place of the domain's own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(TASK.format(layout=layout, mode=mode))
    law = charter(read_task(folder / "task.yaml"))
    brief = layout == "compact"
    state = schema or StateSchema.builtin(domain.schema)
    specs = tuple(replace(spec, summary="") for spec in domain.specs) if brief else domain.specs
    law = replace(
        law,
        intent=IntentContract.from_goal(law.task.goal or ""),
        skill=domain.brief if brief else domain.rules,
        schema=state,
        schemas={state.version: state},
        specs=specs,
        grammar=describe_briefly(specs, {}) if brief else describe(specs, {}),
        dialect=compile_dialect("merge", state, specs),
        checkers={spec.name: Checker(spec.args) for spec in specs},
    )
    events = Events(world, domain, noise)
    world.happen(0)
    rig = Rig(
        task=law,
        agent=Answering(law, reader, events),
        actions=Deeds(lambda spec: Deed(spec, events), specs),
        readers=(NoFiles(), events),
        store=SqliteStore(folder / "state.db"),
        workspace=NoTree(folder),  # type: ignore[arg-type]
        artifacts=FileArtifacts(folder / "artifacts"),
        hold=True,
    )
    return rig, events


async def begun(rig: Rig, events: Events) -> str:
    """A stored run whose first observation is the first event. Its id."""
    name = rig.task.task.name
    async with claim(name, rig) as fence:
        record = RunRecord(
            task=name,
            run=f"{name}@{'0' * 12}#1",
            opened=fence.now,
            base=fence.opened.base,
            branch=fence.opened.branch,
            head=fence.opened.head,
            state=rig.task.schema.initial(),
            observation=Observation(
                step=0,
                tool="start",
                head="the first event",
                blocks=(Block(title="", text=events.event(None)),),
            ),
        )
        stored = await rig.store.swap(record, None, fence.lease)
    return stored.run


class Halted(RuntimeError):
    """The run ended before the episode did. `cause`: of its halt. `at`: the event that was not answered."""

    def __init__(self, at: int, record: RunRecord, outcome: Outcome) -> None:
        super().__init__(f"event {at}: {record.halt}")
        self.at, self.cause, self.outcome = at, record.halt.cause if record.halt else "", outcome


async def steps(run: str, rig: Rig, events: Events, outcome: Outcome, until: int) -> None:
    """Steps until so many events are answered. Raises Halted."""
    while events.at < until:
        calls, at = len(events.turns), events.at
        record = await step(run, rig)
        if record.halt is not None:
            raise Halted(at, record, outcome)
        if events.at == at:  # rejected by the gate, or told again: asked again, and counted
            outcome.retried += len(events.turns) - calls
            continue
        turn = events.turns[-1]
        turn.fed = events.fed[-1]
        outcome.took(at, turn)


async def play_ours(rig: Rig, events: Events) -> Outcome:
    """Steps until every event is answered."""
    outcome, run = Outcome(events.world, events.turns), await begun(rig, events)
    try:
        await steps(run, rig, events, outcome, len(events.world.events))
    finally:
        await release(rig)
    return outcome


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for an episode's store: in memory where a gigabyte of it is free. The store waits for the disk thrice
    a step; no figure here is a time, and thousands of steps would be hardly anything but that."""
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 1 << 30
    return tempfile.TemporaryDirectory(dir=MEMORY if roomy else None)


def played(world: World, reader: Reader, domain: Domain, **how: Any) -> Outcome:
    """An episode in a folder of its own; `how` as for `rig_of`."""
    with scratch() as folder:
        return anyio.run(play_ours, *rig_of(Path(folder) / "run", world, reader, domain, **how))
