"""What the page shows of `scripts/bench skillexec`. Each sentence is made of the figures that it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tests.bench.report.charts import Axis, Chart, Lines, Matrix, Point, Series
from tests.bench.report.results import Experiment, Results
from tests.bench.report.views import LOOKS, OURS, View, both_ends, cells, over_t, point

BENCH, ONLY = "skillexec", "scripts/bench skillexec --only"
TOTAL, PROMPT, SCORE = "tokens in all, o200k", "tokens a prompt, o200k", "score, strict"
TENTHS = "tokens a prompt, first and last tenth"
BUDGET = re.compile(r"(?P<name>.+), budget=(?P<budget>\d+), (?P<T>T=\d+)")
ORDER = ("prompt", "memory", "stateful", "skill.state", *LOOKS)
EXPONENT = "growth exponent"
LONG_LOOKS = (0, 5, 6, 2, 3, 1)
KEEPING = {"takes old entries out": "ours, tidied", "x-evict": "ours, x-evict"}


def tokens(results: Results) -> View:
    view = View("tokens", "Tokens against the number of events", "cost", (f"{ONLY} horizon",))
    source = results.get(BENCH, "horizon")
    found = cells(source.figures, TOTAL) if source else {}
    if source is None or OURS not in found:
        return view
    mine = found[OURS][-1]
    ratio = {name: points[-1].y / mine.y for name, points in found.items() if points[-1].x == mine.x}
    most = max(ratio, key=lambda name: ratio[name])
    exponents = {name: source.figures.get(f"{name}, growth exponent") for name in found}

    def grown(name: str) -> str:
        return name if exponents[name] is None else f"{name}, T^{exponents[name]:.2f}"

    title = f"At T = {mine.x:g}, “{most}” has taken {ratio[most]:.1f} times the tokens of “{OURS}”"
    cached = cells(source.figures, f"{TOTAL}, cache-weighted")
    charts = (
        over_t("tokens-all", title, "tokens in all (o200k)", found, label=grown),
        over_t(
            "tokens-prompt", "A prompt’s mean size", "tokens a prompt (o200k)", cells(source.figures, PROMPT)
        ),
        over_t(
            "tokens-cached",
            "The totals with a cache of what two prompts share",
            "tokens, cached at 0.1",
            cached,
        ),
    )
    says = "Behind each name: the power of T by which its total grows."
    return replace(view, says=says, charts=charts, sources=(source,))


def budget(results: Results) -> View:
    view = View("budget", "Score against the budget of a prompt", "loss at equal budget", (f"{ONLY} budget",))
    source, beside = results.get(BENCH, "budget"), results.get(BENCH, "horizon")
    found: dict[str, dict[str, list[Point]]] = {}
    for key, cell in source.figures.items() if source else ():
        if match := BUDGET.fullmatch(key):
            points = found.setdefault(match["name"], {}).setdefault(match["T"], [])
            points.append(point(int(match["budget"]), cell[SCORE]))
    if source is None or not found:
        return view
    mine = unbudgeted(beside) if beside else ()
    says = "Each line is a horizon."
    if mine:
        says += (
            f" `{OURS}` has no budget: its prompts take {mine[0].x:g} to {mine[-1].x:g} tokens by themselves."
        )
    charts = tuple(_budgeted(name, of, mine) for name, of in found.items())
    return replace(view, says=says, charts=charts, sources=(source, beside) if beside and mine else (source,))


def unbudgeted(horizon: Experiment) -> tuple[Point, ...]:
    """Ours: its score by the size that its prompts have by themselves."""
    sizes, scores = (cells(horizon.figures, key).get(OURS, ()) for key in (PROMPT, SCORE))
    points = [Point(size.y, score.y) for size, score in zip(sizes, scores, strict=True)]
    return tuple(sorted(points, key=lambda each: each.x))


def _budgeted(name: str, of: dict[str, list[Point]], mine: tuple[Point, ...]) -> Lines:
    worst, T = min((points[0].y, T) for T, points in of.items())
    least = min(each.x for points in of.values() for each in points)
    series = [Series(T, tuple(points), at) for at, (T, points) in enumerate(of.items(), 1)]
    if mine:
        series.append(Series(OURS, mine, 0, ahead=True))
    ticks = tuple(sorted({each.x for points in of.values() for each in points}))
    low = mine[0].x / 2 if mine else None  # room for the name before the first point
    return Lines(
        id=f"budget-{name}",
        title=f"{name.capitalize()}: score {worst:.2f} at {least:g} tokens and {T}",
        says=f"Strict score against the tokens that a prompt may have, a line for each of: {'; '.join(of)}.",
        x=Axis("tokens a prompt may have (o200k)", log=True, ticks=ticks, low=low),
        y=Axis("strict score", ticks=(0, 0.25, 0.5, 0.75, 1), low=0, high=1),
        series=tuple(series),
    )


def recovered(steps: list[int | None]) -> tuple[str, str]:
    """A cell's word and class: events on what changed until the first right answer, over seeds; 0 is at once."""
    known = [each for each in steps if each is not None]
    if not known:
        return "never", "bad"
    word = f"{sum(known) / len(known):.3g}"
    if len(known) < len(steps):
        return f"{word}; never {len(steps) - len(known)}/{len(steps)}", "part"
    return word, "part" if any(known) else "good"


def drifts(experiment: Experiment, where: str) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """(drift, runtime, cell) of each list of steps."""
    for key, steps in experiment.figures.items():
        for name in LOOKS:
            if isinstance(steps, list) and key.endswith(f", {name}"):
                yield f"{where}: {key.removesuffix(f', {name}')}", name, recovered(steps)


def recovery(results: Results) -> View:
    view = View(
        "recovery",
        "Recovery from what changed unseen",
        "information",
        (f"{ONLY} drift", f"{ONLY} repository"),
    )
    places = {"warehouse": results.get(BENCH, "drift"), "repository": results.get(BENCH, "repository")}
    known = {where: source for where, source in places.items() if source is not None}
    listed = [each for where, source in known.items() for each in drifts(source, where)]
    if not listed:
        return view
    names = {name for _, name, _ in listed}
    columns = tuple(sorted(names, key=ORDER.index))
    table = {row: dict.fromkeys(columns, ("not run", "none")) for row, _, _ in listed}
    for row, name, cell in listed:
        table[row][name] = cell
    right = {name: sum(cells[name][1] == "good" for cells in table.values()) for name in columns}
    says = (
        f"At once in so many of {len(table)}: "
        + ", ".join(f"`{name}` {count}" for name, count in right.items())
        + "."
    )
    title = "Events on what changed until the first right answer, mean over seeds (0: at once)"
    chart = Matrix("recovery-steps", title, says.replace("`", ""), tuple(table), columns, table)
    return replace(view, says=says, charts=(chart,), sources=tuple(known.values()))


def growth(results: Results) -> View:
    view = View(
        "growth", "Growth of the state, and what it costs", "cost", (f"{ONLY} long", f"{ONLY} growth")
    )
    long, grown = results.get(BENCH, "long"), results.get(BENCH, "growth")
    charts: list[Chart] = []
    says = ""
    if long is not None:
        turned = {re.sub(r"(T=\d+), (.+)", r"\2, \1", key): value for key, value in long.figures.items()}
        total, prompt = cells(turned, TOTAL), cells(turned, PROMPT)
        look = {name: LONG_LOOKS[at % len(LONG_LOOKS)] for at, name in enumerate(total)}
        exponents = [
            (key.replace("growth exponent, ", ""), value) for key, value in turned.items() if EXPONENT in key
        ]
        says = (
            "The total grows by T to the power of "
            + ", ".join(f"{value:.3f} (`{name}`)" for name, value in exponents)
            + "."
        )
        charts += [
            over_t("growth-total", "Tokens in all, ours alone", "tokens in all (o200k)", total, look=look),
            over_t("growth-prompt", "A prompt’s mean size, ours alone", "tokens a prompt (o200k)", prompt, look=look,
                   linear=True),
        ]  # fmt: skip
    if grown is not None:
        found = {
            key: cell[TENTHS]
            for key, cell in grown.figures.items()
            if isinstance(cell, dict) and TENTHS in cell
        }
        title = "A field with a new entry each step: a prompt’s size at both ends of the run"
        unit, look = (
            Axis("tokens a prompt (o200k)", low=0),
            {name: (0, 5, 4, 1)[at % 4] for at, name in enumerate(found)},
        )
        if found:
            charts.append(both_ends("growth-field", title, unit, found, look, kept))
    sources = tuple(each for each in (long, grown) if each is not None)
    return replace(view, says=says, charts=tuple(charts), sources=sources)


def kept(key: str) -> str:
    """How a growing field is kept, in few words."""
    return next((said for part, said in KEEPING.items() if part in key), key)


VIEWS = (tokens, budget, recovery, growth)
