"""The larder as a JSON file."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any, Dict, List, Union

from larder.items import Item
from larder.stock import Stock


def dump(stock: Stock) -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = []
    for item in stock:
        row: Dict[str, Any] = {"name": item.name, "amount": item.amount, "unit": item.unit}
        if item.best_before:
            row["best_before"] = item.best_before.isoformat()
        rows.append(row)
    return rows


def load(rows: List[Dict[str, Any]]) -> Stock:
    items: List[Item] = []
    for row in rows:
        date = row.get("best_before")
        best_before = datetime.date.fromisoformat(date) if date else None
        items.append(Item(row["name"], row["amount"], row["unit"], best_before))
    return Stock(items)


def read(path: Union[str, Path]) -> Stock:
    return load(json.loads(Path(path).read_text("utf-8")))


def write(path: Union[str, Path], stock: Stock) -> None:
    Path(path).write_text(json.dumps(dump(stock), indent=2) + "\n", "utf-8")
