"""What the page shows of `scripts/bench conversation` and `scripts/bench peers`: ours beside what a user would pick."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.bench.report.charts import Axis, Chart, Matrix
from tests.bench.report.results import Results
from tests.bench.report.views import View, both_ends, cells, over_t

WAYS = {"ours": 0, "default": 1, "lean": 3, "ours, compact": 6}
UNITS = {
    "input tokens": "input tokens in all (o200k)",
    "input tokens, cache-weighted": "input tokens, cached at 0.1",
}
RATIO = re.compile(r"(?P<way>.+) / ours, T=(?P<T>\d+), input tokens")
BOTH_ENDS = "ms of the first and the last tenth, "
COLUMNS = {"ms a step": "ms", "growth": "growth", "bytes a step": "bytes a step", "resume, ms": "resume ms",
           "steps lost": "steps lost"}  # fmt: skip
OURS_FIRST = (0, 5, 6, 1, 3, 4, 8, 2, 9, 7)


def conversation(results: Results) -> View:
    command = "scripts/bench conversation"
    view = View(
        "conversation",
        "Beside one conversation that goes on, by the real CLIs",
        "cost, on the wire",
        (command,),
    )
    found = {each: cells(each.figures, "input tokens") for each in results.of("conversation")}
    clis = [each for each, known in found.items() if known]
    charts: list[Chart] = []
    for cli in clis:
        ratios = [(way, value) for key, value in cli.figures.items() if (way := RATIO.fullmatch(key))]
        said = ", ".join(f"{way['way']} {value:.1f} times" for way, value in ratios)
        said += f" ours at T = {ratios[0][0]['T']}" if ratios else ""
        for at, (key, unit) in enumerate(UNITS.items()):
            title = f"{cli.name}: {said if said and not at else unit}"
            charts.append(
                over_t(f"conversation-{cli.name}-{at}", title, unit, cells(cli.figures, key), look=WAYS)
            )
    return replace(
        view, says="Ways of the same CLI on the same events.", charts=tuple(charts), sources=tuple(clis)
    )


def peers(results: Results) -> View:
    view = View("peers", "Beside the peers, on the same work", "time and disk", ("scripts/bench peers",))
    source = results.get("peers", "peers")
    figures: dict[str, Any] = source.figures if source else {}
    found = {
        key.removeprefix(BOTH_ENDS): value for key, value in figures.items() if key.startswith(BOTH_ENDS)
    }
    if source is None or not found:
        return view
    ours_first = sorted(found, key=lambda name: not name.startswith("our"))
    look = {name: OURS_FIRST[at % len(OURS_FIRST)] for at, name in enumerate(ours_first)}
    steps = source.source.runs
    title = f"A step’s time in the first and the last tenth of {steps:,} steps"
    lines = both_ends("peers-tenths", title, Axis("ms a step, median", log=True), found, look, str)
    table = {
        name: {said: (first(figures.get(f"{key}, {name}")), "plain") for said, key in COLUMNS.items()}
        for name in found
    }
    says = "Each subject’s time, growth, disk and resumption."
    matrix = Matrix("peers-all", "The same subjects: medians", says, tuple(found), tuple(COLUMNS), table)
    says = f"A state of 20 KB and {steps:,} steps, every subject turn by turn in one run."
    return replace(view, says=says, charts=(lines, matrix), sources=(source,))


def first(figure: Any) -> str:
    """A figure, or the first of several, as a cell's word."""
    value = figure[0] if isinstance(figure, list) else figure
    return "–" if value is None else f"{value:,}"


VIEWS: tuple[Callable[[Results], View], ...] = (conversation, peers)
