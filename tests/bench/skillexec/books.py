"""The books of a reader of the warehouse: what it makes of the sentences that it reads. It knows the rules of the skill
text and the wording of events, and nothing of the environment's code: no import of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

STORED = re.compile(r"Stored (item_\d+) on (shelf_\d+)\.")
SHIPPED = re.compile(r"Shipped (item_\d+) from (shelf_\d+)\.")
MOVED = re.compile(r"Moved (item_\d+) from (shelf_\d+) to (shelf_\d+)\.")
AUDIT = re.compile(r"Audit: (shelf_\d+) holds (item_\d+)\.")
BARCODE = re.compile(r"Barcode update: (item_\d+) is now (item_\d+)\.")
CARRIED = re.compile(r"Notice: (item_\d+) is now on (shelf_\d+)\.")
CANCELLED = re.compile(r"order of (item_\d+): cancelled")
SHIPMENT = re.compile(r"Shipment arrived containing (item_\d+)\.")
ORDER = re.compile(r"Order received for (item_\d+)\.")
MAINTENANCE = re.compile(r"Maintenance required on (shelf_\d+)\.")


@dataclass
class Books:
    """shelf -> item, as far as was read; `cancelled` are orders that an authority says are taken back."""

    shelves: dict[str, str] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)

    def take(self, lines: Iterable[str]) -> None:
        """Takes sentences in, oldest first. One that says again what is known changes nothing."""
        for line in lines:
            self._sentence(line.strip())

    def _sentence(self, line: str) -> None:
        if found := STORED.fullmatch(line):
            self.shelves[found[2]] = found[1]
        elif found := SHIPPED.fullmatch(line):
            self._remove(found[1], found[2])
        elif found := MOVED.fullmatch(line):
            self._remove(found[1], found[2])
            self.shelves[found[3]] = found[1]
        elif found := AUDIT.fullmatch(line):
            self.shelves[found[1]] = found[2]
        elif found := BARCODE.fullmatch(line):
            if shelf := self.where(found[1]):
                self.shelves[shelf] = found[2]
        elif found := CARRIED.fullmatch(line):
            if shelf := self.where(found[1]):
                del self.shelves[shelf]
            self.shelves[found[2]] = found[1]
        elif found := CANCELLED.fullmatch(line):
            self.cancelled.add(found[1])

    def _remove(self, item: str, shelf: str) -> None:
        if self.shelves.get(shelf) == item:
            del self.shelves[shelf]

    def where(self, item: str) -> str | None:
        return next((shelf for shelf, held in self.shelves.items() if held == item), None)

    def empty(self) -> str:
        """The empty shelf with the lowest number."""
        taken = {int(shelf.removeprefix("shelf_")) for shelf in self.shelves}
        free = 0
        while free in taken:
            free += 1
        return f"shelf_{free}"

    def answer(self, event: str) -> str:
        """The action that the rules ask for. Where the books do not know, `Wait`."""
        if found := SHIPMENT.fullmatch(event):
            return f"Store {found[1]} {self.empty()}"
        if found := ORDER.fullmatch(event):
            shelf = self.where(found[1])
            return f"Ship {found[1]} {shelf}" if shelf and found[1] not in self.cancelled else "Wait"
        if (found := MAINTENANCE.fullmatch(event)) and (item := self.shelves.get(found[1])):
            return f"Move {item} {found[1]} {self.empty()}"
        return "Wait"

    def done(self, action: str) -> None:
        """What the books say once this action will have succeeded."""
        words = action.split()
        if words[0] in ("Ship", "Move"):
            self._remove(words[1], words[2])
        if words[0] in ("Store", "Move"):
            self.shelves[words[-1]] = words[1]
