"""A part of the page, and what all parts are made with: figures by their keys become points, points become charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench.report.charts import Axis, Chart, Lines, Point, Series
from tests.bench.report.results import Experiment

OURS = "ours, paper"
LOOKS = (OURS, "prompt", "memory", "stateful", "skill.state", "ours, full", "ours, compact")
CELL = re.compile(r"(?P<name>.+), T=(?P<T>\d+)")
EVENTS = "events, T"
TENTHS = Axis("tenth of the run", ticks=(1, 10))


@dataclass(frozen=True)
class View:
    """`kind` says what the figures are, `commands` what has to be run where `charts` are none, `says` what is to be
    read from them (`so` is code), `sources` what they are from."""

    id: str
    title: str
    kind: str
    commands: tuple[str, ...]
    says: str = ""
    charts: tuple[Chart, ...] = ()
    sources: tuple[Experiment, ...] = ()


def looks(names: Iterable[str]) -> dict[str, int]:
    """By name the number of a colour and mark: a runtime's is the same in every chart, others get what comes after."""
    others = [name for name in names if name not in LOOKS]
    return {name: at for at, name in enumerate(LOOKS)} | {
        name: len(LOOKS) + at for at, name in enumerate(others)
    }


def point(x: float, figure: Any) -> Point:
    """A figure is a number, or [mean, standard deviation]."""
    return Point(x, *figure[:2]) if isinstance(figure, list) else Point(x, figure)


def cells(figures: Mapping[str, Any], key: str) -> dict[str, tuple[Point, ...]]:
    """By runtime, what `key` is at each T, in the order of T."""
    found: dict[str, list[Point]] = {}
    for name, cell in figures.items():
        if (match := CELL.fullmatch(name)) and isinstance(cell, dict) and key in cell:
            found.setdefault(match["name"], []).append(point(int(match["T"]), cell[key]))
    return {name: tuple(sorted(points, key=lambda each: each.x)) for name, points in found.items()}


def over_t(
    id: str,
    title: str,
    unit: str,
    found: Mapping[str, tuple[Point, ...]],
    *,
    label: Callable[[str], str] = str,
    look: Mapping[str, int] | None = None,
    linear: bool = False,
) -> Lines:
    """A chart over the number of events; both axes are logarithmic, that of y not where it is to be `linear`."""
    look = look or looks(found)
    return Lines(
        id=id,
        title=title,
        says=f"{unit} against {EVENTS}, a line for each of: {'; '.join(found)}.",
        x=Axis(
            EVENTS, log=True, ticks=tuple(sorted({each.x for points in found.values() for each in points}))
        ),
        y=Axis(unit, low=0) if linear else Axis(unit, log=True),
        series=tuple(Series(name, points, look[name], label(name)) for name, points in found.items()),
    )


def both_ends(
    id: str,
    title: str,
    unit: Axis,
    found: Mapping[str, list[float]],
    look: Mapping[str, int],
    label: Callable[[str], str],
) -> Lines:
    """A chart of what [first, last] tenth of a run have."""
    return Lines(
        id=id,
        title=title,
        says=f"{unit.label} in the first and the last tenth of a run, for each of: {'; '.join(found)}.",
        x=TENTHS,
        y=unit,
        series=tuple(
            Series(name, (Point(1, first), Point(10, last)), look[name], label(name))
            for name, (first, last) in found.items()
        ),
    )
