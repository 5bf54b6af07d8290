"""The larder on a sheet of paper."""

from __future__ import annotations

import datetime
from typing import List, Optional

from larder.expiry import expiring
from larder.stock import Stock


def report(stock: Stock, today: datetime.date, title: Optional[str] = None) -> str:
    lines: List[str] = [title or "Larder", ""]
    lines += [f"{item.amount:g} {item.unit}  {item.name}" for item in stock]
    urgent = expiring(stock, today)
    if urgent:
        lines += ["", "Eat soon:"]
        lines += [f"  {item.name} ({left} days)" for left, item in urgent]
    return "\n".join(lines) + "\n"
