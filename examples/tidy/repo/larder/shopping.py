"""What to buy."""

from __future__ import annotations

from typing import Dict, List, Optional

from larder.recipes import Recipe, missing
from larder.stock import Stock


def shopping(recipes: List[Recipe], stock: Stock, extra: Optional[Dict[str, float]] = None) -> Dict[str, float]:
    """Amounts by name that are needed for all the recipes together, and what is wanted besides."""
    wanted: Dict[str, float] = dict(extra or {})
    total = Recipe("all", {})
    for recipe in recipes:
        for name, amount in recipe.needs.items():
            total.needs[name] = total.needs.get(name, 0.0) + amount
    for name, amount in missing(total, stock).items():
        wanted[name] = wanted.get(name, 0.0) + amount
    return wanted


def lines(wanted: Dict[str, float]) -> List[str]:
    return [f"{amount:g} {name}" for name, amount in sorted(wanted.items())]
