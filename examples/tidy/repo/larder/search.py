"""Finding things."""

from __future__ import annotations

from typing import List, Set

from larder.items import Item
from larder.stock import Stock


def by_tag(stock: Stock, tags: Set[str]) -> List[Item]:
    """Items that have all of the tags."""
    return [item for item in stock if tags <= set(item.tags)]


def by_name(stock: Stock, text: str) -> List[Item]:
    needle = text.casefold()
    return [item for item in stock if needle in item.name.casefold()]


def all_tags(stock: Stock) -> Set[str]:
    found: Set[str] = set()
    for item in stock:
        found.update(item.tags)
    return found
