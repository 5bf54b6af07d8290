"""Which ranges stay open: those that are worked on, as far as six views and their bytes reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.scenarios.policy.prompt import File, Seen, shown
from tests.scenarios.upkeep.answers import Range

Json = dict[str, Any]
MOST, BYTES = 6, 9_000  # of 16 KiB: what is open is paid for in every prompt
A_LINE = 48  # bytes that a line is taken to have while it can't be seen


@dataclass(frozen=True)
class View:
    """A range of a file that is open, or shall be."""

    path: str
    first: int
    last: int

    @property
    def json(self) -> Json:
        return {"path": self.path, "from": self.first, "to": self.last}


def opened(seen: Seen) -> dict[str, View]:
    """The views of the state, by name."""
    found: Json = seen.state.get("view") or {}
    return {name: View(each["path"], each["from"], each["to"]) for name, each in found.items()}


def viewed(seen: Seen, path: str) -> File:
    """What the views alone show of a file: that is still there in the next step."""
    return shown(seen.sections.get("VIEWS", "")).get(path, File())


def patch(seen: Seen, path: str, ranges: tuple[Range, ...]) -> Json:
    """The merge patch after which the ranges of `path` are open, and of what was open as much as fits: of the
    same file the nearest, of other files nothing."""
    wanted = [View(path, first, last) for first, last in ranges]
    have = opened(seen)
    near = ranges[0][0] if ranges else 1
    old = sorted(
        (view for view in have.values() if view.path == path), key=lambda view: abs(view.first - near)
    )
    chosen: list[View] = []
    for view in [*wanted, *old]:
        joined = _joined(chosen, view)
        if view in wanted or (len(joined) <= MOST and sum(_bytes(seen, each) for each in joined) <= BYTES):
            chosen = joined
    return _difference(have, chosen[:MOST])


def _joined(views: list[View], more: View) -> list[View]:
    """The views with one more; what touches or overlaps becomes one."""
    apart = []
    for view in views:
        if view.path == more.path and view.first <= more.last + 1 and more.first <= view.last + 1:
            more = View(more.path, min(view.first, more.first), max(view.last, more.last))
        else:
            apart.append(view)
    return [*apart, more]


def _bytes(seen: Seen, view: View) -> int:
    rows = seen.file(view.path).rows
    lines = range(view.first, view.last + 1)
    return sum(len(rows[number].encode()) + 6 if number in rows else A_LINE for number in lines) + 240


def _difference(have: dict[str, View], chosen: list[View]) -> Json:
    kept = {name for name, view in have.items() if view in chosen}
    fresh = [view for view in chosen if view not in have.values()]
    free = (name for name in (f"v{number}" for number in range(1, MOST + 1)) if name not in kept)
    named = {name: view.json for name, view in zip(free, fresh, strict=False)}
    gone = {name: None for name in have if name not in kept and name not in named}
    return {**gone, **named}


def remembered(seen: Seen, path: str) -> tuple[Range, ...]:
    """The ranges of a file that the agent noted: what views are for, done by hand."""
    found: Json = seen.state["ranges"]
    return tuple((each["from"], each["to"]) for each in found.values() if each["path"] == path)


def noted(seen: Seen, path: str, ranges: tuple[Range, ...]) -> Json:
    """The merge patch after which the noted ranges are these."""
    fresh = {f"r{number}": View(path, *each).json for number, each in enumerate(ranges[:MOST], 1)}
    return {name: None for name in seen.state["ranges"] if name not in fresh} | fresh


def unseen(file: File, wanted: Range) -> list[Range]:
    """The parts of a range that can't be seen, as far as the file is known to go."""
    last = min(wanted[1], file.total) if file.total else wanted[1]
    missing = [number for number in range(wanted[0], last + 1) if number not in file.rows]
    return pieces(tuple((number, number) for number in missing), lines=10_000)


def pieces(ranges: tuple[Range, ...], lines: int = 150) -> list[Range]:
    """The ranges in pieces that one reading shows whole, joined first where they touch."""
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return [
        (begin, min(begin + lines - 1, last))
        for first, last in joined
        for begin in range(first, last + 1, lines)
    ]
