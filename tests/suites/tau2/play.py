"""τ²-bench by our runtime: the real `controller.step`, a domain's tools as its actions, a script in a model's place."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contracts.actions import ActionCall, ActionResult, ActionSpec, Block, Probed, closed
from contracts.charter import Charter
from contracts.dialects import compile_dialect
from contracts.explain import Checker
from contracts.grammar import describe
from contracts.intent import IntentContract
from contracts.record import Observation, RunRecord
from contracts.reply import AgentProfile, AgentReply, Prompt, ReplyClass, Usage
from contracts.schema_refs import inline_refs
from contracts.state import StateSchema
from contracts.text import cut
from controller.assemble import charter
from controller.claim import claim, release
from controller.rig import Rig
from controller.step import step
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from controller.taskfile import read_task
from tests.bench.skillexec.ours import Deeds, NoFiles, NoTree

SHOWN = 8 * 1024  # bytes of a tool's answer in an observation
SAY = ActionSpec(
    "respond",
    closed({"text": {"type": "string", "minLength": 1, "maxLength": 4000}}, ("text",)),
    "say something to the user",
    "outside",
    example='{"text":"It is done."}',
)
TASK = """\
version: 1
name: tau2
goal: Do what the user asks, as the policy allows.
layout: paper
agent: {use: script}
agents:
  script: {kind: command, run: [/bin/false]}
checks:
  - {name: done, role: goal, run: [/bin/false]}
budgets: {steps: 200, tokens: 100000000, rejections: 5}
"""


class Office:
    """A domain in its own process and environment (office.py)."""

    def __init__(self, python: Path, domain: str) -> None:
        command = [python, Path(__file__).with_name("office.py"), domain]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.calls = 0

    def __call__(self, *request: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self.calls += request[0] == "call"
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{request[0]}: the domain's process ended, exit {self._process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def chosen(office: Office, count: int = 10) -> list[dict[str, Any]]:
    """The first of the published tasks that want three actions or more, one of which writes, and whose actions the
    tools all take (some are published although they are answered by an error)."""
    found: list[dict[str, Any]] = []
    for task in office("tasks"):
        if len(task["actions"]) < 3 or not any(task["writes"]):
            continue
        office("open", task["id"])
        if not any(office("call", *action)["error"] for action in task["actions"]):
            found.append(task)
        if len(found) == count:
            break
    return found


class Desk:
    """What the tools share: the domain, and whether the user hung up."""

    def __init__(self, office: Office) -> None:
        self.office, self.over = office, False

    def do(self, call: ActionCall) -> ActionResult:
        if call.tool == SAY.name:
            answer = self.office("say", call.args["text"])
            self.over = True
        else:
            answer = self.office("call", call.tool, call.args)
        text = answer["text"] or ""
        if answer["error"]:
            return ActionResult(ok=False, code="tau2.refused", say=cut(text, 500))
        block = Block(title=call.tool, text=cut(text, SHOWN), total=len(text.encode()))
        return ActionResult(blocks=(block,))


class Tool:
    """ports.Action: one tool of the domain, or the word to the user."""

    def __init__(self, spec: ActionSpec, desk: Desk) -> None:
        self.spec, self._desk = spec, desk

    def lasting(self, call: ActionCall) -> bool:
        return self.spec.effect == "outside"

    async def run(self, call: ActionCall) -> ActionResult:
        return self._desk.do(call)

    async def probe(self, call: ActionCall) -> Probed:
        return Probed(kind="unknown", why="the domain keeps no log")


def spec_of(tool: dict[str, Any]) -> ActionSpec:
    """A tool of the domain in the task's grammar: the arguments as they are published, and no others."""
    args = {**inline_refs(tool["args"]), "additionalProperties": False}
    args.pop("$defs", None)
    return ActionSpec(tool["name"], args, tool["summary"], "outside" if tool["writes"] else "read")


class Script:
    """In a model's place: replies with the action that comes after those which the prompt's state calls done. It reads
    nothing else, so that it does well says that the runtime does, and nothing of a model.

    Every `every`-th reply is spoiled by the next of `spoils`, in turn; the one after it is asked for again.
    """

    def __init__(
        self,
        actions: Sequence[tuple[str, dict[str, Any]]],
        spoils: Sequence[Callable[[dict[str, Any]], str]] = (),
        every: int = 0,
    ) -> None:
        self._actions, self._spoils, self._every = actions, spoils, every
        self.asked = self.spoiled = 0

    def reply(self, prompt: str) -> str:
        self.asked += 1
        state = prompt.partition("=== STATE ===\n")[2].partition("\n=== ")[0]
        found = re.search(r"^items: (\{.*\})$", state, re.MULTILINE)
        at = len(json.loads(found[1])) if found else 0
        tool, args = self._actions[at]
        right = {
            "state_patch": {"items": {f"a{at}": {"status": "done", "note": tool[:32]}}},
            "action": {"tool": tool, "args": args},
        }
        if self._every and self.asked % self._every == 0:
            spoil = self._spoils[self.spoiled % len(self._spoils)]
            self.spoiled += 1
            return spoil(right)
        return json.dumps(right)


class Answering:
    """ports.Agent: the script in the place of a launched process."""

    def __init__(self, law: Charter, script: Script) -> None:
        self.profile: AgentProfile = law.agent
        self.dialect = law.dialect
        self._script = script

    def preflight(self) -> list[str]:
        return []

    async def ask(self, prompt: Prompt) -> AgentReply:
        text = self._script.reply(prompt.text)
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            return AgentReply(cls=ReplyClass.INVALID, text=text, message=f"the reply is no JSON: {error}")
        usage = Usage(input=prompt.bound, cached=0, output=len(text) // 3, usd_micro=0)
        return AgentReply(cls=ReplyClass.OK, value=value, text=text, usage=usage)

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Played:
    """An episode at its end. `rejected`: the codes of the gate's rejections in order; `broken`: what is wrong with the
    audit chain; `calls`: how many calls reached the domain's tools."""

    reward: dict[str, Any]
    record: RunRecord
    calls: int
    rejected: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def rig_of(folder: Path, desk: Desk, opened: dict[str, Any], script: Script) -> Rig:
    """A rig around an opened task of the domain."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(TASK)
    law = charter(read_task(folder / "task.yaml"))
    state, specs = StateSchema.builtin("batch"), (*map(spec_of, opened["tools"]), SAY)
    law = replace(
        law,
        intent=IntentContract.from_goal(law.task.goal or ""),
        skill=opened["policy"],
        schema=state,
        schemas={state.version: state},
        specs=specs,
        grammar=describe(specs, {}),
        dialect=compile_dialect("merge", state, specs),
        checkers={spec.name: Checker(spec.args) for spec in specs},
    )
    return Rig(
        task=law,
        agent=Answering(law, script),
        actions=Deeds(lambda spec: Tool(spec, desk), specs),
        readers=(NoFiles(),),
        store=SqliteStore(folder / "state.db"),
        workspace=NoTree(folder),  # type: ignore[arg-type]
        artifacts=FileArtifacts(folder / "artifacts"),
        hold=True,
    )


async def begun(rig: Rig, asks: str) -> str:
    """A stored run whose first observation is what the user says. Its id."""
    name = rig.task.task.name
    async with claim(name, rig) as fence:
        said = Block(title="the user", text=asks)
        record = RunRecord(
            task=name,
            run=f"{name}@{'0' * 12}#1",
            opened=fence.now,
            base=fence.opened.base,
            branch=fence.opened.branch,
            head=fence.opened.head,
            state=rig.task.schema.initial(),
            observation=Observation(step=0, tool="start", head="the conversation begins", blocks=(said,)),
        )
        return (await rig.store.swap(record, None, fence.lease)).run


async def play(folder: Path, office: Office, task: dict[str, Any], script: Script) -> Played:
    """Steps until the user hung up, then the benchmark's own scoring. Raises RuntimeError when the run halts before."""
    opened, before = office("open", task["id"]), office.calls
    desk = Desk(office)
    rig = rig_of(folder, desk, opened, script)
    try:
        run = await begun(rig, opened["asks"])
        while not desk.over:
            record = await step(run, rig)
            if record.halt is not None:
                raise RuntimeError(f"task {task['id']}: {record.halt}")
        rows = [row async for _, _, _, row in rig.store.log(run)]
        broken = await rig.store.verify(run)  # type: ignore[attr-defined]
    finally:
        await release(rig)
    judged = [row.validator_result or "" for row in rows if row.kind == "reply"]
    rejected = [verdict for verdict in judged if verdict != "allow"]
    return Played(office("reward"), record, office.calls - before, rejected, broken)
