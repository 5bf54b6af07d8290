"""Amounts and their units."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

FACTORS: Dict[str, Tuple[str, float]] = {
    "kg": ("g", 1000.0),
    "g": ("g", 1.0),
    "l": ("ml", 1000.0),
    "ml": ("ml", 1.0),
    "piece": ("piece", 1.0),
}


def base_unit(unit: str) -> Optional[str]:
    """The unit in which amounts of this kind are compared."""
    found = FACTORS.get(unit)
    return found[0] if found else None


def normalise(amount: float, unit: str) -> Tuple[float, str]:
    """An amount in its base unit. Raises ValueError for a unit that nobody knows."""
    if unit not in FACTORS:
        raise ValueError(f"unknown unit {unit!r}")
    base, factor = FACTORS[unit]
    return amount * factor, base
