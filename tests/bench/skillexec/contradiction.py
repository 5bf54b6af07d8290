"""Observations that contradict one another: notices that an item was carried elsewhere, which is not so. Who is shown
what the warehouse's books say can know it; nobody else can."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.bench.report import say
from tests.bench.skillexec.books import Shelves
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.episode import Event, Outcome
from tests.bench.skillexec.figures import judged
from tests.bench.skillexec.ours import played
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.runtimes import Memory, Prompt, Runtime, SkillState
from tests.bench.skillexec.warehouse import SEEDS, Generator, Warehouse

RATE = 0.1
DOUBTING = replace(
    WAREHOUSE,
    rules=f"{WAREHOUSE.rules}\nWhere the books and a notice differ, the books are right.",
    kept=re.compile(rf"(?:{WAREHOUSE.kept.pattern})|Books: .*"),
)


def contradicted(seed: int, length: int, *, told: bool = False) -> list[Event]:
    """Events with false notices among them, about one in ten. `told`: the books stand beside the notice."""
    generator, rng, listed = Generator(seed), random.Random(f"contradiction {seed}"), list[Event]()
    while len(listed) < length:
        items = generator.world.items
        if items and rng.random() < RATE:
            shelf = rng.choice(sorted(items))
            text = f"Notice: {items[shelf]} is now on shelf_{shelf + 40}."
            books = f"\nBooks: {items[shelf]} is on shelf_{shelf}." if told else ""
            listed.append(Event(text + books, about=items[shelf]))
        else:
            listed.append(generator.draw())
    return listed


class Kept(Warehouse):
    """A warehouse whose books can be read: where the items stand that a notice spoke of."""

    spoken: tuple[str, ...] = ()

    def happen(self, at: int) -> None:
        super().happen(at)
        if self.events[at].text.startswith("Notice: "):
            self.spoken = (*self.spoken, self.events[at].about)

    def authority(self) -> str:
        stands = ((item, self.real.where(item)) for item in dict.fromkeys(self.spoken))
        return "\n".join(f"Books: {item} is on shelf_{shelf}." for item, shelf in stands if shelf is not None)


class Doubting(Shelves):
    """Books of a reader that believes the warehouse's own books more than a notice, whatever came first."""

    BOOKS = re.compile(r"Books: (item_\d+) is on (shelf_\d+)\.")

    def take(self, lines: Iterable[str]) -> None:
        listed = list(lines)
        super().take(line for line in listed if not self._doubted(line.strip(), listed))

    def _doubted(self, line: str, beside: list[str]) -> bool:
        """Whether it is a notice, and the books, read beside it, say otherwise."""
        if not line.startswith("Notice: "):
            return False
        read = (self.BOOKS.fullmatch(each.strip()) for each in beside)
        return any(found[1] == line.split()[1] for found in read if found)


def _episode(name: str, listed: list[Event]) -> Outcome:
    reader, world = Perfect(Doubting), Kept(listed)
    rivals: dict[str, type[Runtime]] = {"prompt": Prompt, "memory": Memory, "skill.state": SkillState}
    if name in rivals:
        return play(world, rivals[name](DOUBTING), reader)  # type: ignore[call-arg]
    return played(world, reader, DOUBTING, layout=name.partition(", ")[2])


def contradictory(length: int = 60, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """The scores where one event in ten is a false notice: without the books, with them as an authority (which the
    layout `full` shows), and with their line in every runtime's observation."""
    found: dict[str, Any] = {}
    seeds = list(seeds)
    for told in (False, True):
        for name in ("prompt", "memory", "skill.state", "ours, paper", "ours, full"):
            cell = [_episode(name, contradicted(seed, length, told=told)) for seed in seeds]
            key = f"{name}, books {'told to all' if told else 'to be read'}"
            found[key] = judged(cell)
            say(f"contradiction: {key}: {found[key]['score, strict']}")
    return found
