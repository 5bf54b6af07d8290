"""One thing in the larder."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import List, Optional

from larder.units import normalise


@dataclass
class Item:
    """A thing, how much of it there is, and until when it keeps."""

    name: str
    amount: float
    unit: str = "piece"
    best_before: Optional[datetime.date] = None
    tags: List[str] = field(default_factory=list)

    def base_amount(self) -> float:
        return normalise(self.amount, self.unit)[0]

    def days_left(self, today: datetime.date) -> Optional[int]:
        """Days until the date on it; None when it has none."""
        if self.best_before is None:
            return None
        return (self.best_before - today).days
