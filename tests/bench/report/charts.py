"""Charts as SVG: lines over numeric axes, and a matrix of words. Colours are classes, so that the page can set them for
light and dark; each series has a mark of its own besides. No script, nothing from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement

WIDTH, HEIGHT = 460.0, 320.0
LEFT, TOP, BOTTOM = 54.0, 14.0, 46.0
LINE, LETTER = 14.0, 6.6  # a line of labels, the mean width of a letter, at the size of the labels
MARKS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
    "M-3.2 -3.2h6.4v6.4h-6.4z",
    "M0 -4.2L4 3H-4z",
    "M0 -4.6L4.6 0L0 4.6L-4.6 0z",
    "M0 4.2L4 -3H-4z",
    "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
    "M-4.6 -1.6h9.2v3.2h-9.2z",
    "M-1.6 -4.6h3.2v9.2h-3.2z",
    "M-4.2 0L3 -4v8z",
    "M4.2 0L-3 -4v8z",
)


@dataclass(frozen=True)
class Point:
    """`spread` is the sample standard deviation of y, where there is one."""

    x: float
    y: float
    spread: float = 0.0


@dataclass(frozen=True)
class Series:
    """`look` is the number of its colour and mark; `label` stands at its end, the name where there is none. `ahead`: it
    stands before the first point, since others go on where this one ends."""

    name: str
    points: tuple[Point, ...]
    look: int
    label: str = ""
    ahead: bool = False


@dataclass(frozen=True)
class Axis:
    """`ticks` are the values that are named. An axis begins and ends at `low` and `high`, where given, else with what
    is shown."""

    label: str
    log: bool = False
    ticks: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Lines:
    """A chart of lines. `title` says what it shows, `says` the same in a sentence for who can't see it."""

    id: str
    title: str
    says: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Matrix:
    """Words by row and column. `cells` holds (word, class) by row, then column: good, part, bad, plain or none."""

    id: str
    title: str
    says: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)


Chart = Lines | Matrix


def number(value: float) -> str:
    """A number as an axis names it: 1,200 is 1.2k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


class Scale:
    """From values to places."""

    def __init__(self, axis: Axis, values: Sequence[float], begin: float, end: float) -> None:
        shown = [*values, *axis.ticks]
        low = min(shown) if axis.low is None else axis.low
        high = max(shown) if axis.high is None else axis.high
        self._log = axis.log
        if axis.log and low <= 0:
            raise ValueError(f"{axis.label}: {low} can't stand on a logarithmic axis")
        if low == high:
            low, high = (low / 2, high * 2) if axis.log else (low - 1, high + 1)
        named = axis.ticks or tuple(_decades(low, high) if axis.log else _steps(low, high))
        if not axis.ticks:  # an axis of round numbers begins and ends with one
            low, high = min(low, named[0]), max(high, named[-1])
        self.low, self.high, self._begin, self._end, self.ticks = low, high, begin, end, named

    def __call__(self, value: float) -> float:
        low, high, value = (map(math.log, (self.low, self.high, value)) if self._log
                            else (self.low, self.high, value))  # fmt: skip
        return self._begin + (value - low) / (high - low) * (self._end - self._begin)


def _decades(low: float, high: float) -> list[float]:
    """Round numbers from one around `low` to one around `high`; the coarsest of which at least three are named."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    known = {digit * 10.0**power: digit for power in powers for digit in (1, 2, 5)}
    first = max(tick for tick in known if tick <= low * 1.001)
    last = min((tick for tick in known if tick >= high * 0.999), default=max(known))
    within = [tick for tick in known if first <= tick <= last]
    decades = [tick for tick in within if known[tick] == 1]
    return decades if len(decades) >= 3 else within


def _steps(low: float, high: float) -> list[float]:
    """Round numbers around the values, about five."""
    raw = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(at * step, 10) for at in range(first, last + 1)]


def apart(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places as near as may be to the wanted ones, in the same order, at least so far from one another."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    placed: list[tuple[list[int], float]] = []  # groups that touch, and the place of the first
    for at in order:
        group, top = [at], wanted[at]
        while placed and top < placed[-1][1] + least * len(placed[-1][0]):
            group = placed.pop()[0] + group
            top = sum(wanted[each] - least * place for place, each in enumerate(group)) / len(group)
        placed.append((group, top))
    found, floor = [0.0] * len(wanted), low
    for group, top in placed:
        for place, each in enumerate(group):
            floor = found[each] = max(floor, top + least * place)
            floor += least
    ceiling = high
    for each in reversed(order):
        ceiling = found[each] = min(found[each], ceiling)
        ceiling -= least
    return found


def svg(chart: Chart) -> Element:
    """The chart as an element of a page."""
    return _lines(chart) if isinstance(chart, Lines) else _matrix(chart)


def _begun(chart: Chart, width: float, height: float) -> Element:
    kind = "matrix" if isinstance(chart, Matrix) else "lines"
    named = {"role": "img", "aria-labelledby": f"{chart.id}-t {chart.id}-d", "class": kind}
    root = Element("svg", {"viewBox": f"0 0 {width:g} {height:g}", **named})
    SubElement(root, "title", {"id": f"{chart.id}-t"}).text = chart.title
    SubElement(root, "desc", {"id": f"{chart.id}-d"}).text = chart.says
    return root


def _text(parent: Element, x: float, y: float, text: str, kind: str, **more: str) -> None:
    SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": kind, **more}).text = text


def _lines(chart: Lines) -> Element:
    root = _begun(chart, WIDTH, HEIGHT)
    points = [point for series in chart.series for point in series.points]
    spans = [end for point in points for end in (point.y - point.spread, point.y + point.spread, point.y)]
    edge = (
        WIDTH - 20 - LETTER * max(len(series.label or series.name) for series in chart.series)
    )  # of the plot
    x = Scale(chart.x, [point.x for point in points], LEFT + 8, edge)
    y = Scale(chart.y, [each for each in spans if each > 0 or not chart.y.log], HEIGHT - BOTTOM, TOP)
    _axes(root, chart, x, y, edge)
    for series in chart.series:
        _drawn(root, series, x, y)
    for series in (each for each in chart.series if each.ahead):
        first = series.points[0]
        _text(root, x(first.x) - 8, y(first.y) + 4, series.label or series.name, f"label end c{series.look}")
    listed = [each for each in chart.series if not each.ahead]
    ends = [y(series.points[-1].y) for series in listed]
    for series, end, place in zip(listed, ends, apart(ends, LINE, TOP + 4, HEIGHT - BOTTOM), strict=True):
        at = x(series.points[-1].x)
        if abs(place - end) > 2 or at < edge - 1:
            path = f"M{at + 5:.1f} {end:.1f}L{edge + 8:.1f} {place:.1f}"
            SubElement(root, "path", {"class": f"leader s{series.look}", "d": path})
        _text(root, edge + 10, place + 4, series.label or series.name, f"label c{series.look}")
    return root


def _axes(root: Element, chart: Lines, x: Scale, y: Scale, edge: float) -> None:
    for tick in y.ticks:
        path = f"M{LEFT:g} {y(tick):.1f}H{edge + 4:g}"
        SubElement(root, "path", {"class": "rule", "d": path})
        _text(root, LEFT - 5, y(tick) + 4, number(tick), "tick end")
    free = -math.inf
    for tick in x.ticks:
        half = len(number(tick)) * LETTER / 2
        SubElement(root, "path", {"class": "notch", "d": f"M{x(tick):.1f} {HEIGHT - BOTTOM:g}v4"})
        if x(tick) - half > free:
            _text(root, x(tick), HEIGHT - BOTTOM + 17, number(tick), "tick middle")
            free = x(tick) + half + 3
    SubElement(root, "path", {"class": "axis", "d": f"M{LEFT:g} {HEIGHT - BOTTOM:g}H{edge + 4:g}"})
    _text(root, (LEFT + edge) / 2, HEIGHT - 8, chart.x.label, "name middle")
    middle = (HEIGHT - BOTTOM + TOP) / 2
    _text(root, 12, middle, chart.y.label, "name middle", transform=f"rotate(-90 12 {middle:g})")


def _drawn(root: Element, series: Series, x: Scale, y: Scale) -> None:
    group = SubElement(root, "g", {"class": f"series s{series.look}"})
    places = [(x(point.x), y(point.y)) for point in series.points]
    path = "M" + "L".join(f"{left:.1f} {top:.1f}" for left, top in places)
    SubElement(group, "path", {"class": "line", "d": path})
    for point, (left, top) in zip(series.points, places, strict=True):
        if point.spread:
            low, high = max(point.y - point.spread, y.low), min(point.y + point.spread, y.high)
            SubElement(group, "path", {"class": "spread", "d": f"M{left:.1f} {y(low):.1f}V{y(high):.1f}"})
        mark = SubElement(group, "path", {
            "class": "mark", "d": MARKS[series.look % len(MARKS)], "transform": f"translate({left:.1f} {top:.1f})",
            "data-series": series.name, "data-x": f"{point.x:g}", "data-y": repr(point.y),
        })  # fmt: skip
        spread = f" ± {point.spread:,g}" if point.spread else ""
        SubElement(mark, "title").text = f"{series.name}: {point.x:,g}, {point.y:,g}{spread}"


def _words(chart: Matrix) -> list[str]:
    return [word for row in chart.cells.values() for word, _ in row.values()]


def _matrix(chart: Matrix) -> Element:
    first = max(len(row) for row in chart.rows) * LETTER + 12
    widest = max(len(word) for word in (*chart.columns, *_words(chart))) * LETTER + 12
    cell, row = max(62.0, widest, (WIDTH * 1.45 - first) / len(chart.columns)), 25.0
    root = _begun(chart, first + cell * len(chart.columns) + 2, row * (len(chart.rows) + 1) + 4)
    for across, column in enumerate(chart.columns):
        _text(root, first + cell * (across + 0.5), row - 9, column, "tick middle")
    for down, name in enumerate(chart.rows, 1):
        _text(root, first - 8, row * down + 17, name, "tick end")
        for across, column in enumerate(chart.columns):
            word, kind = chart.cells[name][column]
            box = {"x": f"{first + cell * across + 1:.1f}", "y": f"{row * down + 1:.1f}", "rx": "3",
                   "width": f"{cell - 2:.1f}", "height": f"{row - 2:.1f}", "class": f"cell {kind}",
                   "data-row": name, "data-column": column, "data-word": word}  # fmt: skip
            SubElement(root, "rect", box)
            _text(root, first + cell * (across + 0.5), row * down + 17, word, f"word middle {kind}")
    return root
