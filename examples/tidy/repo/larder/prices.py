"""What it costs."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

Price = Tuple[int, str]


class PriceBook:
    """Cents by name and shop."""

    def __init__(self) -> None:
        self._cents: Dict[Tuple[str, str], int] = {}

    def note(self, name: str, shop: str, cents: int) -> None:
        self._cents[name, shop] = cents

    def cheapest(self, name: str) -> Optional[Price]:
        """(cents, shop), or None when nobody sells it."""
        offers = [(cents, shop) for (item, shop), cents in self._cents.items() if item == name]
        return min(offers) if offers else None

    def total(self, wanted: Dict[str, float]) -> Optional[int]:
        """Cents for everything at its cheapest; None when something has no price."""
        sum_ = 0.0
        for name, amount in wanted.items():
            price = self.cheapest(name)
            if price is None:
                return None
            sum_ += price[0] * amount
        return round(sum_)
