"""What a rule may answer, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass

from tests.scenarios.policy.prompt import File, Found, Item

Range = tuple[int, int]
BEFORE, AFTER = 8, 45  # lines looked at around an item of which nothing is known yet
FURTHER = 60  # lines by which a rule looks on, up or down


@dataclass(frozen=True)
class Span:
    """Lines `first`–`last` become `new`."""

    first: int
    last: int
    new: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """The spans, from the top of the file down, none touching another."""

    kind: str
    spans: tuple[Span, ...]

    def moved(self, line: int) -> int:
        """Where a line of the file stands afterwards."""
        return line + sum(
            len(span.new) - (span.last - span.first + 1) for span in self.spans if span.last < line
        )


@dataclass(frozen=True)
class Look:
    """The rule must see all of these ranges at once."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Find:
    """The rule must know how often these regular expressions match in the file, `place` beside them."""

    patterns: tuple[str, ...]
    place: Range


Answer = Change | Look | Find | None


@dataclass(frozen=True)
class Case:
    """One item: line `at` of what can be seen of its file, all items of the worklist in the same file, and what
    was searched for in it."""

    file: File
    at: int
    items: tuple[Item, ...]
    found: dict[str, Found]

    @property
    def line(self) -> str:
        return self.file.rows[self.at]


def around(at: int) -> Range:
    """The range that is looked at first."""
    return max(1, at - BEFORE), at + AFTER


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())
