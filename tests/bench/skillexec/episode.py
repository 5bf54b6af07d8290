"""An episode: T events, one reply to each, and what came of it. The same for every environment and runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

NOISE = "--- BACKGROUND TELEMETRY ---"


@dataclass(frozen=True)
class Event:
    """One thing that the environment tells.

    text     what the agent reads.
    gold     the action that the rules ask for, as text. `Wait` where nothing is to be done.
    about    the entity that it concerns. actionable: it counts for the score.
    before   a change of the world that nobody is told of, made just before this event: (name, arguments).
    alert    it tells of an earlier such change.
    """

    text: str
    gold: str = "Wait"
    about: str = ""
    before: tuple[str, ...] = ()
    alert: bool = False

    @property
    def actionable(self) -> bool:
        return self.gold != "Wait"


@dataclass(frozen=True)
class Fed:
    """What the environment says of an action. `lenient`: it was accepted, with the right verb and entity. `again`: the
    event is not settled, and is told once more."""

    text: str
    accepted: bool
    strict: bool = False
    lenient: bool = False
    again: bool = False


class World(Protocol):
    """An environment under one episode. `act` carries the action of event number `at` out; `happen` makes the change
    that nobody is told of; `authority` is what a reading of the world shows, for who may read it."""

    events: Sequence[Event]

    def happen(self, at: int) -> None: ...
    def act(self, at: int, action: str) -> Fed: ...
    def authority(self) -> str: ...
    def right(self) -> bool: ...


@dataclass
class Turn:
    """One call: the prompt and the reply with their sizes, filled in by who counts."""

    prompt: str
    reply: str
    action: str = ""
    fed: Fed | None = None
    problem: str = ""


@dataclass
class Outcome:
    """An episode at its end. `turns` are the calls, retries and summaries included; `desync` is the first event after
    which the world is not as the rules would have it, None where it always was."""

    world: World
    turns: list[Turn] = field(default_factory=list)
    strict: list[bool] = field(default_factory=list)
    lenient: list[bool] = field(default_factory=list)
    rejected: int = 0
    unparsed: int = 0
    retried: int = 0
    desync: int | None = None

    def took(self, at: int, turn: Turn) -> None:
        """Counts the action of event `at`."""
        fed = turn.fed
        if fed is None:
            self.unparsed += 1
            fed = Fed("", False)
        elif not fed.accepted:
            self.rejected += 1
        self.strict.append(fed.strict)
        self.lenient.append(fed.lenient)
        if self.desync is None and not self.world.right():
            self.desync = at

    def abandoned(self) -> None:
        """Nothing more is answered."""
        missing = len(self.world.events) - len(self.strict)
        if self.desync is None:
            self.desync = len(self.strict)
        self.strict += [False] * missing
        self.lenient += [False] * missing

    def score(self, strict: bool = True) -> float:
        """The share of actionable events that were answered as the rules ask."""
        good = self.strict if strict else self.lenient
        counted = [right for right, event in zip(good, self.world.events, strict=True) if event.actionable]
        return sum(counted) / len(counted) if counted else 1.0


def observed(fed: Fed | None, event: Event, noise: Sequence[str] = ()) -> str:
    """O: what came of the last action, the event, the noise."""
    parts = [fed.text] if fed is not None else []
    parts.append(event.text)
    if noise:
        parts += [NOISE, *noise]
    return "\n".join(parts)
