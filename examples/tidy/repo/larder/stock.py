"""All the things in the larder."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional

from larder.items import Item


class Stock:
    """Items by name; equal names are added up."""

    def __init__(self, items: Optional[List[Item]] = None) -> None:
        self._items: Dict[str, Item] = {}
        for item in items or []:
            self.add(item)

    def add(self, item: Item) -> None:
        there = self._items.get(item.name)
        if there is None:
            self._items[item.name] = item
        elif there.unit == item.unit:
            there.amount += item.amount
        else:
            raise ValueError(f"{item.name} is kept in {there.unit}, not in {item.unit}")

    def take(self, name: str, amount: float) -> Optional[Item]:
        """Take some out; None when there is not enough."""
        there = self._items.get(name)
        if there is None or there.amount < amount:
            return None
        there.amount -= amount
        if there.amount == 0:
            del self._items[name]
        return Item(name, amount, there.unit, there.best_before)

    def get(self, name: str) -> Optional[Item]:
        return self._items.get(name)

    def __iter__(self) -> Iterator[Item]:
        return iter(sorted(self._items.values(), key=lambda item: item.name))

    def __len__(self) -> int:
        return len(self._items)
