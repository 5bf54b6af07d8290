"""An episode of the warehouse on the wire: by ours, each step a fresh process of a real CLI that the real
`controller.step` launches through its adapter; and by the same CLI going on with one conversation. Behind the gateway
stands the perfect reader, which sees the request and nothing else."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from contracts.dialects import compile_dialect
from contracts.reply import AgentReply, Prompt
from tests.bench.conversation import clis
from tests.bench.conversation.reading import said
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.episode import Event, Outcome, Turn
from tests.bench.skillexec.ours import Events, play_ours, rig_of
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.runtimes import Prompt as ReAct
from tests.bench.skillexec.runtimes import action_of
from tests.bench.skillexec.warehouse import Warehouse
from tests.gateway import Answer, ApiError, Gateway, Recorded, Text
from tests.tool_adapters.real_agents import real

NO_SOCKET = {"/v1/responses": ApiError(426, message="this gateway speaks HTTP alone")}
"""To Codex, which by default asks for a WebSocket first."""


@dataclass(frozen=True)
class Mark:
    """Up to a moment: requests to the model; seconds of wall clock, and of CPU of the children that have ended."""

    requests: int
    wall: float
    cpu: float


@dataclass(frozen=True)
class Run:
    """An episode: `marks` stand before each event and at the end, so that its first T events can be told apart."""

    outcome: Outcome
    requests: Sequence[Recorded]
    marks: Sequence[Mark]


class Clocked(Warehouse):
    """A warehouse that takes down where an episode stands before each event."""

    def __init__(self, events: Sequence[Event], gateway: Gateway) -> None:
        super().__init__(events)
        self._gateway = gateway
        self.marks: list[Mark] = []

    def happen(self, at: int) -> None:
        self.mark()
        super().happen(at)

    def mark(self) -> None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.marks.append(Mark(len(self._gateway.asked), time.monotonic(), used.ru_utime + used.ru_stime))

    def run(self, outcome: Outcome) -> Run:
        """The episode, which is over."""
        self.mark()
        return Run(outcome, self._gateway.asked, self.marks)


# ---- ours ------------------------------------------------------------------------------------------------
class Launched:
    """ports.Agent: a real adapter, its prompts and replies taken down as the bench has them."""

    def __init__(self, agent: Any, events: Events) -> None:
        self.profile, self.dialect = agent.profile, agent.dialect
        self._agent, self._events = agent, events

    def preflight(self) -> list[str]:
        return []

    async def ask(self, prompt: Prompt) -> AgentReply:
        reply: AgentReply = await self._agent.ask(prompt)
        self._events.turns.append(Turn(prompt.text, reply.text))
        return reply

    async def close(self) -> None:
        await self._agent.close()


def ours(folder: Path, cli: str, listed: Sequence[Event], layout: str) -> Run:
    """One process a step, its prompt of this layout."""
    kind = clis.KINDS[cli]
    reader = Perfect(WAREHOUSE.books)

    def policy(prompt: str, schema: Any, request: Recorded) -> Answer:
        answer: Answer = dialect.encode(json.loads(reader.reply(prompt)))
        return answer

    with Gateway(policy) as gateway:
        world = Clocked(listed, gateway)
        rig, events = rig_of(folder / "run", world, reader, WAREHOUSE, layout=layout)
        law = rig.task
        dialect = compile_dialect(
            kind.dialect_kind, law.schema, law.specs, reasoning=not kind.native_reasoning
        )
        agent = real(folder / "agent", gateway, cli, dialect=dialect, prespawn=False)
        rig.task = replace(law, dialect=dialect, agent=agent.profile)
        rig.agent = Launched(agent, events)
        return world.run(anyio.run(play_ours, rig, events))


# ---- one conversation --------------------------------------------------------------------------------------
class Continued:
    """runtimes.Runtime. What a person types: the rules with the first event, where `rules_first`; then what came of the
    last action and the next event. All else is kept by the CLI."""

    def __init__(self, rules_first: bool) -> None:
        self._opening = f"{instructions()}\n\n" if rules_first else ""

    def prompt(self, observation: str) -> str:
        opening, self._opening = self._opening, ""
        return f"{opening}Observation:\n{observation}"

    def take(self, turn: Turn) -> str:
        return action_of(turn.reply)


def instructions() -> str:
    return f"{WAREHOUSE.rules}\n{ReAct.ASK}"


class Typed:
    """readers.Reader: each message is one launch of the CLI, which goes on with its conversation."""

    def __init__(self, launch: Callable[[str], str]) -> None:
        self._launch = launch

    def reply(self, prompt: str) -> str:
        return self._launch(prompt)


def by_default(folder: Path, cli: str, listed: Sequence[Event]) -> Run:
    """The command as people are told to use it, nothing turned off but what would call another host; prose."""

    def policy(prompt: str, schema: Any, request: Recorded) -> Answer:
        return Text(reader.reply(said(request)))

    reader = Perfect(WAREHOUSE.books)
    with Gateway(policy, routes=NO_SOCKET) as gateway:
        command = clis.Default(folder, cli, gateway.url)
        return _talk(command.say, True, Clocked(listed, gateway))


def lean(folder: Path, cli: str, listed: Sequence[Event]) -> Run:
    """By our adapter and all its flags but the one that forbids a session: the rules are the system prompt, and the
    reply is asked for by a schema of its two lines."""

    def policy(prompt: str, schema: Any, request: Recorded) -> Answer:
        thought, _, action = reader.reply(said(request)).partition("\nAction: ")
        return {"thought": thought.removeprefix("Thought: "), "action": action}

    reader = Perfect(WAREHOUSE.books)
    with Gateway(policy) as gateway:
        command = clis.Lean(folder, cli, gateway, instructions())
        return _talk(command.say, False, Clocked(listed, gateway))


def _talk(launch: Callable[[str], str], rules_first: bool, world: Clocked) -> Run:
    return world.run(play(world, Continued(rules_first), Typed(launch)))
