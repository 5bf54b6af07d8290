"""Actions that fail, and actions whose answer does not come: how far the state and the world come apart by when a patch
is committed, and what is asked to be done that was done already."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import anyio

from contracts.actions import MAYBE, ActionCall, ActionResult, Block, Probed
from tests.bench.report import say
from tests.bench.skillexec.books import Shelves
from tests.bench.skillexec.domains import WAREHOUSE, Domain
from tests.bench.skillexec.episode import Fed, Outcome, Turn
from tests.bench.skillexec.figures import judged
from tests.bench.skillexec.ours import Deed, Deeds, play_ours, played, rig_of, scratch
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect, Reader
from tests.bench.skillexec.runtimes import Memory, Prompt, Runtime, SkillState
from tests.bench.skillexec.warehouse import SEEDS, Warehouse, events

RATE = 0.1
Trouble = Literal["jammed", "unheard", "unheard, not done"]
JAMMED = "Error: the lift is jammed: {} was not done."
UNHEARD = "Error: no answer in time: it is not known whether {} was done."


class Troubled(Warehouse):
    """A warehouse in which one action in ten meets with trouble, drawn with the seed; its event is told again.
    `shots`: what stood where after each action. `twice`: actions that were asked for although they had been done."""

    def __init__(self, seed: int, length: int, kinds: tuple[Trouble, ...]) -> None:
        super().__init__(events(seed, length))
        self._rng, self._kinds = random.Random(f"trouble {seed}"), kinds
        self.shots: list[dict[str, str]] = []
        self.troubles = self.twice = 0
        self.settled: Fed | None = None  # what came of an action that nobody heard of
        self._unheard = False

    def act(self, at: int, action: str) -> Fed:
        if self._unheard and action != "Wait":
            self.twice += 1
        fed = self._met(at, action) if action != "Wait" and self._rng.random() < RATE else None
        if fed is None:
            self._unheard = False
            fed = super().act(at, action)
        self.shots.append({f"shelf_{shelf}": item for shelf, item in self.real.items.items()})
        return fed

    def _met(self, at: int, action: str) -> Fed:
        self.troubles += 1
        kind = self._rng.choice(self._kinds)
        self.settled = None
        if kind == "jammed":
            return Fed(JAMMED.format(action), False, again=True)
        if kind == "unheard" and not self._unheard:
            problem = self.real.do(action)
            self._unheard = not problem
            same = action == self.events[at].gold
            self.settled = None if problem else Fed("done", True, same, same)
        return Fed(UNHEARD.format(action), False, again=True)

    def probed(self, at: int) -> Fed | None:
        """What the warehouse's journal says of the last action that nobody heard of: None where it was not done."""
        if self.settled is not None:
            self._gold.do(self.events[at].gold)
            self._unheard = False
        return self.settled


class Undoing(Shelves):
    """Books that take back what they had written down of an action when they read that it was not done."""

    NOT_DONE = re.compile(
        r"Error: the lift is jammed: (\w+) (item_\d+) (shelf_\d+)(?: (shelf_\d+))? was not done\."
    )

    def _sentence(self, line: str) -> None:
        if not (found := self.NOT_DONE.fullmatch(line)):
            return super()._sentence(line)
        verb, item, shelf, to = found.groups()
        if verb == "Store":
            return self._remove(item, shelf)
        if to:
            self._remove(item, to)
        self.shelves.setdefault(shelf, item)
        return None


class Inferring(Shelves):
    """Books that learn from errors. What was not heard of is sent again as it was; an error that follows tells that it
    was done, where both can be read."""

    UNHEARD = re.compile(r"Error: no answer in time: it is not known whether (.+) was done\.")
    HOLDS = re.compile(r"Error: (shelf_\d+) holds (item_\d+)\.")
    GONE = re.compile(r"Error: (item_\d+) is not on (shelf_\d+)\.")
    HEARD = re.compile(r"(Stored|Shipped|Moved|Waited|Error).*")

    def __init__(self, state: dict[str, dict[str, Any]]) -> None:
        super().__init__(state)
        self._open = ""

    def _sentence(self, line: str) -> None:
        if found := self.UNHEARD.fullmatch(line):
            self._open = found[1]
            return
        if (found := self.GONE.fullmatch(line)) and self._open.split()[1:3] == [found[1], found[2]]:
            self.done(self._open)
        elif found:
            self._remove(found[1], found[2])
        elif found := self.HOLDS.fullmatch(line):
            self._remove(found[2], self.where(found[2]) or "")
            self.shelves[found[1]] = found[2]
        else:
            super()._sentence(line)
        if self.HEARD.fullmatch(line):
            self._open = ""

    def answer(self, event: str) -> str:
        return self._open or super().answer(event)


class AcceptedOnly(SkillState):
    """The paper's runtime with its order turned round: a patch is merged when the answer to its action is no error."""

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain)
        self._before: dict[str, Any] | None = None

    def prompt(self, observation: str) -> str:
        if self._before is not None and observation.startswith("Error:"):
            self.state = self._before
        self._before = None
        return super().prompt(observation)

    def take(self, turn: Turn) -> str:
        before = self.state
        action = super().take(turn)
        self._before = before
        return action


class Probing(Deed):
    """ports.Action with an effect outside: what was not heard of is looked up in the warehouse's journal."""

    def lasting(self, call: ActionCall) -> bool:
        return True

    async def run(self, call: ActionCall) -> ActionResult:
        done = await super().run(call)
        return done.model_copy(update={"code": MAYBE}) if "not known" in done.say else done

    async def probe(self, call: ActionCall) -> Probed:
        world = self._events.world
        assert isinstance(world, Troubled)
        fed = world.probed(self._events.at)
        if fed is None:
            return Probed(kind="not_yet", why="the journal does not hold it")
        self._events.fed[-1] = fed
        self._events.settled()
        over = self._events.at == len(world.events)
        told = fed.text if over else self._events.event(fed)
        return Probed(kind="happened", result=ActionResult(blocks=(Block(title="event", text=told),)))


def probing(world: Troubled, reader: Reader, mode: str = "staged") -> Outcome:
    """An episode of ours whose actions can be looked up."""
    with scratch() as folder:
        rig, around = rig_of(Path(folder) / "run", world, reader, WAREHOUSE, mode=mode)
        deeds = Deeds(lambda spec: Probing(spec, around), WAREHOUSE.specs)
        return anyio.run(play_ours, replace(rig, actions=deeds), around)


SHOWN = re.compile(r"^(?:State: |inventory: )(\{.*\})$", re.MULTILINE)


def false_entries(outcome: Outcome, shots: list[dict[str, str]]) -> int:
    """Prompts whose state was not what stood on the shelves; of prompts that show none, none."""
    found = 0
    for turn, shot in zip(outcome.turns[1:], shots, strict=False):
        if shown := SHOWN.search(turn.prompt.partition("=== STATE ===\n")[2] or turn.prompt):
            state = json.loads(shown[1])
            found += state.get("inventory", state) != shot
    return found


ERRORS_KEPT = replace(WAREHOUSE, kept=re.compile(rf"(?:{WAREHOUSE.kept.pattern})|Error: .*"))
RIVALS: dict[str, type[Runtime]] = {
    "prompt": Prompt,
    "memory": Memory,
    "skill.state, merged before": SkillState,
    "skill.state, merged when accepted": AcceptedOnly,
}
OURS = {"ours, staged": "staged", "ours, optimistic": "optimistic"}


def _episode(name: str, world: Troubled, reader: Reader) -> Outcome:
    if name in RIVALS:
        return play(world, RIVALS[name](ERRORS_KEPT), reader)  # type: ignore[call-arg]
    if name.endswith("probing"):
        return probing(world, reader)
    return played(world, reader, WAREHOUSE, mode=OURS[name])


def failing(length: int = 100, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """One action in ten is not done, and said so: by runtime, and by whether the reader takes back what it wrote."""
    found: dict[str, Any] = {}
    seeds = list(seeds)
    for name in (*RIVALS, *OURS):
        for how, books in (("trusting", Shelves), ("undoing", Undoing)):
            worlds = [Troubled(seed, length, ("jammed",)) for seed in seeds]
            cell = [_episode(name, world, Perfect(books)) for world in worlds]
            found[f"{name}, {how}"] = _told(cell, worlds)
        say(f"action failure: {name}: {found[f'{name}, trusting']['score, strict']}")
    return found


def timed_out(length: int = 100, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """One action in ten is not heard of; half of those were done. Its event is told again, unless it was looked up. By
    runtime, and by whether the reader learns from the errors that follow."""
    found: dict[str, Any] = {}
    seeds = list(seeds)
    for name in (*RIVALS, *OURS, "ours, staged, probing"):
        for how, books in (("trusting", Shelves), ("inferring", Inferring)):
            worlds = [Troubled(seed, length, ("unheard", "unheard, not done")) for seed in seeds]
            cell = [_episode(name, world, Perfect(books)) for world in worlds]
            found[f"{name}, {how}"] = _told(cell, worlds)
            say(f"timeout: {name}, {how}: {found[f'{name}, {how}']['score, strict']}")
    return found


def _told(cell: list[Outcome], worlds: list[Troubled]) -> dict[str, Any]:
    return judged(cell) | {
        "troubles": sum(world.troubles for world in worlds),
        "prompts with a false state": sum(
            false_entries(each, world.shots) for each, world in zip(cell, worlds, strict=True)
        ),
        "asked to do again what was done": sum(world.twice for world in worlds),
    }
