"""The warehouse: numbered shelves, an item on each at most, one event a step.

The generator is Algorithm 2 of the paper with what it leaves open settled (docs/benchmarks.md lists it): a shipment
goes to the empty shelf with the lowest number, maintenance moves a shelf's item to such a shelf, and the shelf can be
used at once. `random.Random(seed)` is asked in a fixed order, so that the event lists are the same everywhere; their
digests are kept in golden.json.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bench.skillexec.episode import Event, Fed

SHELVES, SEEDS = 500, (42, 43, 44, 45, 46)
VERBS = {"Store": 2, "Ship": 2, "Move": 3, "Wait": 0}
ITEM, SHELF = re.compile(r"item_\d+"), re.compile(r"shelf_\d+")

RULES = """\
You run a warehouse: shelf_0 to shelf_{last}, one item at most on each. Each step you read what came of your last action
and one event, and reply with one action.
- "Shipment arrived containing ITEM." Store it on the empty shelf with the lowest number: Store ITEM SHELF
- "Order received for ITEM." Ship it from its shelf: Ship ITEM SHELF
- "Maintenance required on SHELF." Move its item to the empty shelf with the lowest number: Move ITEM SHELF SHELF.
  The shelf can be used again at once.
- Audits, barcode updates and notices tell what has changed and ask for nothing: Wait
- Background telemetry means nothing.
An action that can't be done is answered by an error and changes nothing."""
BRIEF = """\
shelf_0-{last} hold one item each. Write inventory as your action leaves it.
Shipment: store on the lowest empty shelf. Order: ship. Maintenance: move its item likewise.
Audit, barcode update, notice: correct inventory, stay. Ignore telemetry."""


def number(shelf: str) -> int:
    return int(shelf.removeprefix("shelf_"))


@dataclass
class Shelves:
    """What stands where, as the rules see it: shelf number -> item. `cancelled`: items whose order was taken back."""

    count: int = SHELVES
    items: dict[int, str] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)

    def empty(self) -> int | None:
        """The empty shelf with the lowest number."""
        return next((shelf for shelf in range(self.count) if shelf not in self.items), None)

    def where(self, item: str) -> int | None:
        return next((shelf for shelf, held in self.items.items() if held == item), None)

    def do(self, action: str) -> str:
        """Carries an action out; says why not, or nothing."""
        words = action.split()
        if not words or VERBS.get(words[0]) != len(words) - 1:
            return f"unknown action {action[:60]!r}"
        if words[0] == "Wait":
            return ""
        item, shelves = words[1], words[2:]
        if not ITEM.fullmatch(item) or not all(SHELF.fullmatch(shelf) for shelf in shelves):
            return f"unknown action {action[:60]!r}"
        numbers = [number(shelf) for shelf in shelves]
        if any(shelf >= self.count for shelf in numbers):
            return f"there is no {shelves[-1]}"
        held = self.items.get(numbers[0])
        if words[0] == "Store":
            if held is not None:
                return f"{shelves[0]} holds {held}"
            if self.where(item) is not None:
                return f"{item} is stored already"
            self.items[numbers[0]] = item
            return ""
        if held != item:
            return f"{item} is not on {shelves[0]}"
        if words[0] == "Move":
            if numbers[1] in self.items:
                return f"{shelves[1]} holds {self.items[numbers[1]]}"
            self.items[numbers[1]] = item
        del self.items[numbers[0]]
        return ""

    def happen(self, name: str, *about: str) -> None:
        """A change from outside."""
        if name == "replaced":
            self.items[number(about[0])] = about[1]
        elif name == "relabelled":
            at = self.where(about[0])
            if at is not None:
                self.items[at] = about[1]
        elif name == "carried":
            at = self.where(about[0])
            if at is not None:
                del self.items[at]
                self.items[number(about[1])] = about[0]
        elif name == "cancelled":
            self.cancelled.add(about[0])


DONE = {
    "Store": "Stored {0} on {1}.",
    "Ship": "Shipped {0} from {1}.",
    "Move": "Moved {0} from {1} to {2}.",
    "Wait": "Waited.",
}


class Warehouse:
    """episode.World. The world that the agent acts on, beside the one in which every action was right."""

    def __init__(self, events: Sequence[Event], shelves: int = SHELVES) -> None:
        self.events = events
        self.real, self._gold = Shelves(shelves), Shelves(shelves)

    def happen(self, at: int) -> None:
        for world in (self.real, self._gold):
            if before := self.events[at].before:
                world.happen(*before)

    def act(self, at: int, action: str) -> Fed:
        gold = self.events[at].gold
        self._gold.do(gold)
        problem = self.real.do(action)
        words, wanted = action.split(), gold.split()
        if problem:
            return Fed(f"Error: {problem}.", False)
        if words[0] == "Ship" and words[1] in self.real.cancelled:
            return Fed(f"Shipped {words[1]}, but its order had been cancelled: it is lost.", False)
        same = words[:2] == wanted[:2]
        return Fed(DONE[words[0]].format(*words[1:]), True, words == wanted, same)

    def authority(self) -> str:
        """What a reading of the warehouse's own books shows: what was changed by others since, no inventory."""
        return "\n".join(f"order of {item}: cancelled" for item in sorted(self.real.cancelled))

    def right(self) -> bool:
        return self.real.items == self._gold.items


class Generator:
    """Draws events one by one from the world as it is when every action was right.

    receive_weight: how often a shipment is offered to the draw, so that shelves fill up. untouched: items that no event
    may concern.
    """

    def __init__(self, seed: int, shelves: int = SHELVES, receive_weight: int = 1) -> None:
        self.world, self.untouched = Shelves(shelves), set[str]()
        self._rng, self._weight, self._next = random.Random(seed), receive_weight, 0

    def fresh(self) -> str:
        """An item that was never seen."""
        self._next += 1
        return f"item_{self._next - 1}"

    def draw(self) -> Event:
        empty = self.world.empty()
        occupied = sorted(shelf for shelf, item in self.world.items.items() if item not in self.untouched)
        possible = ["receive"] * (self._weight if empty is not None else 0)
        possible += ["order"] if occupied else []
        possible += ["maintenance"] if occupied and empty is not None else []
        kind = self._rng.choice(possible)
        if kind == "receive":
            event = self.shipment(self.fresh())
        else:
            shelf = self._rng.choice(occupied)
            event = self.order(self.world.items[shelf]) if kind == "order" else self.maintenance(shelf)
        self.world.do(event.gold)
        return event

    def shipment(self, item: str) -> Event:
        return Event(f"Shipment arrived containing {item}.", f"Store {item} shelf_{self.world.empty()}", item)

    def order(self, item: str) -> Event:
        return Event(f"Order received for {item}.", f"Ship {item} shelf_{self.world.where(item)}", item)

    def maintenance(self, shelf: int) -> Event:
        item, to = self.world.items[shelf], self.world.empty()
        return Event(f"Maintenance required on shelf_{shelf}.", f"Move {item} shelf_{shelf} shelf_{to}", item)


def events(seed: int, horizon: int, shelves: int = SHELVES, receive_weight: int = 1) -> list[Event]:
    """The events of one episode, each with the action that the rules ask for."""
    generator = Generator(seed, shelves, receive_weight)
    return [generator.draw() for _ in range(horizon)]


def digest(listed: Sequence[Event]) -> str:
    """What an event list is recognised by: SHA-256 of its texts and actions, a line each."""
    lines = "".join(f"{event.text}\t{event.gold}\t{' '.join(event.before)}\n" for event in listed)
    return hashlib.sha256(lines.encode()).hexdigest()


# ---- drift -----------------------------------------------------------------------------------------------
DRIFTS = ("audit", "barcode", "move", "cancelled")
RECOVERABLE = DRIFTS[:3]


def drifted(
    kind: str, seed: int, *, at: int = 10, delay: int = 3, horizon: int = 25, alert: bool = True
) -> list[Event]:
    """An episode in which the world changes before event `at` and nobody is told. Where there is an `alert` it
    comes `delay` events later; the events after it are on the drifted item."""
    generator = Generator(seed)
    listed = [generator.draw() for _ in range(at)]
    while not generator.world.items:  # there must be something to drift
        listed[-1] = generator.shipment(generator.fresh())
        generator.world.do(listed[-1].gold)
    shelf = max(generator.world.items)
    change, text, item = _change(kind, generator, shelf)
    if kind == "cancelled":  # the order comes in with the change, and is wrong from the start
        listed.append(Event(f"Order received for {item}.", "Wait", item, change))
    else:
        # What was carried off leaves a shelf empty that nobody can know of: the rules count it as taken until then.
        if kind != "move":
            generator.world.happen(*change)
        generator.untouched.add(generator.world.items[shelf])
        first = generator.draw()
        listed.append(Event(first.text, first.gold, first.about, change))
    generator.untouched.add(item)
    listed += [generator.draw() for _ in range(delay - 1)]
    listed.append(Event(text, about=item, alert=True) if alert else generator.draw())
    if kind == "move":
        generator.world.happen(*change)
    if kind != "cancelled":
        generator.untouched.clear()
    if kind != "cancelled":
        listed += _about(item, generator, alert)
    return listed + [generator.draw() for _ in range(horizon - len(listed))]


def _about(item: str, generator: Generator, told: bool) -> list[Event]:
    """Two events on an item: its shelf is maintained, then it is ordered. Where nobody was told, the order is first."""
    shelf = generator.world.where(item)
    assert shelf is not None
    made = [generator.maintenance(shelf)] if told else []
    for event in made:
        generator.world.do(event.gold)
    made.append(generator.order(item))
    generator.world.do(made[-1].gold)
    return made


def _with(event: Event, change: tuple[str, ...]) -> Event:
    return Event(event.text, event.gold, event.about, change)


def _change(kind: str, generator: Generator, shelf: int) -> tuple[tuple[str, ...], str, str]:
    """(change, alert, the item that it is about from then on)."""
    item = generator.world.items[shelf]
    if kind == "audit":
        other = generator.fresh()
        return ("replaced", f"shelf_{shelf}", other), f"Audit: shelf_{shelf} holds {other}.", other
    if kind == "barcode":
        other = generator.fresh()
        return ("relabelled", item, other), f"Barcode update: {item} is now {other}.", other
    if kind == "move":
        free = f"shelf_{shelf + 40}"
        return ("carried", item, free), f"Notice: {item} is now on {free}.", item
    return ("cancelled", item), f"Notice: the order of {item} was cancelled.", item


def recovery(listed: Sequence[Event], strict: Sequence[bool]) -> int | None:
    """How many actionable events on the drifted entity went wrong after the alert (without one: after the change) until
    the first that was right. None where none was: it never recovered."""
    drifting = next(event for event in listed if event.before)
    since = next((at for at, event in enumerate(listed) if event.alert), listed.index(drifting))
    kind, *which = drifting.before
    about = which[1] if kind in ("replaced", "relabelled") else which[0]
    concerned = [
        right
        for event, right in list(zip(listed, strict, strict=True))[since:]
        if event.about == about and event.actionable
    ]
    if "cancelled" in drifting.before:
        return 0 if strict[listed.index(drifting)] else None
    return next((wrong for wrong, right in enumerate(concerned) if right), None)
