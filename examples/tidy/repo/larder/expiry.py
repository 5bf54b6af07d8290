"""What must be eaten soon."""

from __future__ import annotations

import datetime
from typing import Dict, List, Tuple

from larder.items import Item
from larder.stock import Stock


def expiring(stock: Stock, today: datetime.date, days: int = 3) -> List[Tuple[int, Item]]:
    """(days left, item) of everything that keeps for at most `days` more, the most urgent first."""
    found: List[Tuple[int, Item]] = []
    for item in stock:
        left = item.days_left(today)
        if left is not None and left <= days:
            found.append((left, item))
    return sorted(found, key=lambda pair: (pair[0], pair[1].name))


def by_week(stock: Stock, today: datetime.date) -> Dict[int, List[str]]:
    """Names by the number of whole weeks that they keep."""
    weeks: Dict[int, List[str]] = {}
    for item in stock:
        left = item.days_left(today)
        if left is not None:
            weeks.setdefault(left // 7, []).append(item.name)
    return weeks
