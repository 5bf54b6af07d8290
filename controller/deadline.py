"""deadline: the moment before which a call ends. Nothing is begun that can't be expected to end before it."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from pydantic_core import PydanticCustomError

from contracts.errors import ConfigError
from contracts.outcomes import Outcome
from contracts.record import Halt, RunRecord
from contracts.units import seconds

CAUSE = "deadline"
FORMS = "a duration (50m, 2h), a time of day (06:00, 06:00Z) or a date with its time (2026-12-01T06:00Z)"
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](Z|[+-][0-9]{2}:[0-9]{2})?")


class Deadline:
    """`at` is UTC seconds since the epoch. What is left is measured by the monotonic clock: setting the system's
    changes nothing. `longest` is the longest step of this call, in seconds."""

    def __init__(self, at: float, now: float | None = None) -> None:
        self.at = at
        self._ends = time.monotonic() + at - (time.time() if now is None else now)
        self.longest = 0.0

    @classmethod
    def of(cls, text: str, now: float | None = None) -> Deadline:
        """From FORMS, a time without a zone being local, a time of day the nearest one: at 06:05 `06:00` is over, at
        22:00 it is tomorrow's. Raises ConfigError."""
        now = time.time() if now is None else now
        try:
            if _CLOCK.fullmatch(text):
                return cls(_nearest(text, now), now)
            if ":" in text:
                return cls(datetime.fromisoformat(text).timestamp(), now)
            return cls(now + seconds(text), now)
        except (ValueError, OverflowError, PydanticCustomError):
            raise ConfigError(f"--deadline {text!r}: write {FORMS}") from None

    @property
    def left(self) -> float:
        """Seconds; negative once it is over."""
        return self._ends - time.monotonic()

    def took(self, step: float) -> None:
        """A step of this call took so many seconds."""
        self.longest = max(self.longest, step)

    def reached(self, record: RunRecord | None) -> Halt | None:
        """Why no further step is begun; None while one can be expected to end in time: it is expected to take as long
        as the longest of this call, or as the run's took on the average."""
        spent = record.spent if record else None
        usual = spent.wall / spent.launches if spent and spent.launches else 0.0
        expected, left = max(self.longest, usual), self.left
        if 0 < left >= expected:
            return None
        why = f"a step takes about {expected:.0f} s and {left:.0f} s are left" if left > 0 else "it is over"
        return Halt(
            outcome=Outcome.waiting,
            cause=CAUSE,
            say=f"nothing more is begun before the deadline: {why}",
            not_before=self.at,
            step=record.step if record else 0,
        )


def _nearest(clock: str, now: float) -> float:
    """The time of day `clock` that is nearest to `now`."""
    today = datetime.fromtimestamp(now, UTC).astimezone()
    days = (
        datetime.fromisoformat(f"{(today + timedelta(days=each)).date()}T{clock}").timestamp()
        for each in (-1, 0, 1)
    )
    return min(days, key=lambda each: abs(each - now))
