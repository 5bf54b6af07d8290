"""Recipes, and which of them can be cooked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Set

from larder.stock import Stock


@dataclass
class Recipe:
    """What a dish needs: amounts by name, in the unit in which the larder keeps them."""

    name: str
    needs: Dict[str, float] = field(default_factory=dict)
    tags: Set[str] = field(default_factory=set)


def missing(recipe: Recipe, stock: Stock) -> Dict[str, float]:
    """What the larder lacks for a recipe."""
    lacking: Dict[str, float] = {}
    for name, amount in recipe.needs.items():
        there = stock.get(name)
        have = there.amount if there else 0.0
        if have < amount:
            lacking[name] = amount - have
    return lacking


def possible(recipes: List[Recipe], stock: Stock) -> List[Recipe]:
    return [recipe for recipe in recipes if not missing(recipe, stock)]
