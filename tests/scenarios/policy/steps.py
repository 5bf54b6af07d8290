"""What a rule may answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """Lines `first`–`last` become `new`; `everywhere` are further (old, new, times) within the same file."""

    kind: str
    first: int
    last: int
    new: tuple[str, ...]
    everywhere: tuple[tuple[str, str, int], ...] = ()

    @property
    def shift(self) -> int:
        """By how many lines what follows moves."""
        return len(self.new) - (self.last - self.first + 1)


@dataclass(frozen=True)
class Look:
    """The rule must see these lines first."""

    first: int
    last: int


@dataclass(frozen=True)
class Find:
    """The rule must know first where these texts stand in the file."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class GoTo:
    """Another line of the file must change before this one."""

    line: int


Answer = Change | Look | Find | GoTo | None
