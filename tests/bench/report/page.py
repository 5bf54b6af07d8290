"""The page, whole in itself: no script, nothing loaded. And the same tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from tests.bench.report.charts import Chart, Lines, svg
from tests.bench.report.results import Experiment, Results
from tests.bench.report.views import View

STYLE = (Path(__file__).parent / "page.css").read_text()
TITLE = "Benchmarks: what an explicit state buys"
KINDS = """Each part says what its figures are. Information: whether everything that was needed stood in the prompt,
found out by a reader that misses nothing; it says nothing of how well a model does. Cost: sizes, in tokens of a public
vocabulary. Loss: what had to be cut for a budget."""
LISTS = """Pairs are the mean and the sample standard deviation over seeds, triples the median, the least and the most,
where the name does not say otherwise."""
Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A caption, the columns' names, the rows."""


def table_of(chart: Chart) -> Table:
    """What a chart shows, in words."""
    if not isinstance(chart, Lines):
        rows = [(row, *(chart.cells[row][column][0] for column in chart.columns)) for row in chart.rows]
        return chart.title, ("", *chart.columns), rows
    places = sorted({point.x for series in chart.series for point in series.points})
    known = {(series.name, point.x): point for series in chart.series for point in series.points}
    rows = []
    for series in chart.series:
        points = [known.get((series.name, place)) for place in places]
        shown = [
            "" if each is None else f"{each.y:,g}" + (f" ± {each.spread:,g}" if each.spread else "")
            for each in points
        ]
        rows.append((series.name, *shown))
    return f"{chart.title}: {chart.y.label}", (chart.x.label, *(f"{place:,g}" for place in places)), rows


def table_of_figures(experiment: Experiment) -> Table:
    """All figures of an experiment but those that only serve its bounds."""
    judged = {
        each["figure"].removeprefix(f"{experiment.name}: ") for each in experiment.source.bounds.values()
    }
    figures = {
        key: value
        for key, value in experiment.figures.items()
        if key not in judged or isinstance(value, dict)
    }
    columns = list(
        dict.fromkeys(key for value in figures.values() if isinstance(value, dict) for key in value)
    )
    plain = any(not isinstance(value, dict) for value in figures.values())
    rows = []
    for key, value in figures.items():
        cell = value if isinstance(value, dict) else {"figure": value}
        rows.append(
            (
                key,
                *(
                    said(cell[name]) if name in cell else ""
                    for name in (["figure"] if plain else []) + columns
                ),
            )
        )
    caption = f"{experiment.source.bench}: {experiment.name}"
    return caption, ("", *(["figure"] if plain else []), *columns), rows


def said(value: Any) -> str:
    """A figure as a person reads it."""
    if value is None:
        return "never"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, list):
        return ", ".join(map(said, value))
    if isinstance(value, dict):
        return "; ".join(f"{key} {said(each)}" for key, each in value.items())
    return f"{value:,.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


def sources(results: Results) -> Table:
    rows = [(each.command, each.file, str(each.runs), each.machine, each.at, "; ".join(each.falls_short) or "nothing")
            for each in results.sources]  # fmt: skip
    return "Runs", ("command", "file", "runs", "machine", "at", "falls short"), rows


def bounds(results: Results) -> Table:
    rows = []
    for source in results.sources:
        for label, bound in source.bounds.items():
            value = source.figures.get(bound["figure"])
            short = any(each.startswith(f"{label}: ") for each in source.falls_short)
            rows.append(
                (source.bench, label, said(value), said(bound["most"]), "falls short" if short else "kept")
            )
    return "Bounds", ("benchmark", "what must hold", "figure", "at most", ""), rows


def html(results: Results, views: Sequence[View], missing: Iterable[str]) -> str:
    """The page."""
    root = Element("html", lang="en")
    head, body = SubElement(root, "head"), SubElement(root, "body")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(head, "meta", name="color-scheme", content="light dark")
    SubElement(head, "title").text = TITLE
    SubElement(head, "style").text = STYLE
    main = SubElement(body, "main")
    SubElement(main, "h1").text = TITLE
    SubElement(main, "p").text = KINDS
    _table(main, sources(results))
    for view in views:
        _view(main, view)
    _missing(main, list(missing))
    part = SubElement(main, "section", id="all")
    SubElement(part, "h2").text = "All figures"
    SubElement(part, "p").text = LISTS
    for table in [bounds(results), *map(table_of_figures, results)]:
        _folded(part, table)
    return "<!doctype html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


def _view(main: Element, view: View) -> None:
    part = SubElement(main, "section", id=view.id)
    SubElement(part, "h2").text = view.title
    if not view.charts:
        _not_run(part, view)
        return
    line = SubElement(part, "p")
    SubElement(line, "span", {"class": "kind"}).text = view.kind
    _prose(line, " " + view.says)
    grid = SubElement(part, "div", {"class": "charts"})
    for chart in view.charts:
        figure = SubElement(grid, "figure", {"class": "wide" if not isinstance(chart, Lines) else ""})
        SubElement(figure, "figcaption").text = chart.title
        SubElement(figure, "div", {"class": "plot", "tabindex": "0"}).append(svg(chart))
        _folded(figure, table_of(chart), "The same as a table")
    known = {each.source.file: each for each in view.sources}
    said = ", ".join(each.source.command for each in known.values())
    SubElement(part, "p", {"class": "from"}).text = f"From {said}."


def _not_run(part: Element, view: View) -> None:
    line = SubElement(part, "p", {"class": "missing"})
    _prose(line, "Not run: " + ", ".join(f"`{command}`" for command in view.commands))


def _missing(main: Element, missing: list[str]) -> None:
    part = SubElement(main, "section", id="missing")
    SubElement(part, "h2").text = "Not run"
    if not missing:
        SubElement(part, "p").text = "Nothing: every benchmark and every experiment has figures here."
        return
    listed = SubElement(part, "ul")
    for command in missing:
        SubElement(SubElement(listed, "li"), "code").text = command


def _prose(line: Element, text: str) -> None:
    """Text in which `what stands so` is code."""
    for at, piece in enumerate(text.split("`")):
        if at % 2:
            SubElement(line, "code").text = piece
        elif len(line):
            line[-1].tail = piece
        else:
            line.text = piece


def _folded(parent: Element, table: Table, name: str = "") -> None:
    fold = SubElement(parent, "details")
    SubElement(fold, "summary").text = name or table[0]
    _table(fold, table)


def _table(parent: Element, table: Table) -> None:
    caption, columns, rows = table
    box = SubElement(
        parent, "div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption}
    )
    made = SubElement(box, "table")
    SubElement(made, "caption").text = caption
    line = SubElement(SubElement(made, "thead"), "tr")
    for name in columns:
        SubElement(line, "th", scope="col").text = name
    body = SubElement(made, "tbody")
    for first, *rest in rows:
        line = SubElement(body, "tr")
        SubElement(line, "th", scope="row").text = first
        for cell in rest:
            SubElement(line, "td").text = cell


def markdown(results: Results, views: Sequence[View], missing: Iterable[str]) -> str:
    """The tables of the page."""
    lines = [f"# {TITLE}", "", " ".join(KINDS.split()), "", *_lines(sources(results))]
    for view in views:
        lines += [f"## {view.title}", ""]
        if not view.charts:
            lines += ["Not run: " + ", ".join(f"`{command}`" for command in view.commands), ""]
            continue
        lines += [f"*{view.kind}.* {view.says}", ""]
        for chart in view.charts:
            lines += _lines(table_of(chart))
    lines += ["## Not run", "", *(f"- `{command}`" for command in missing), ""]
    lines += ["## All figures", "", " ".join(LISTS.split()), ""]
    for table in [bounds(results), *map(table_of_figures, results)]:
        lines += _lines(table)
    return "\n".join(lines)


def _lines(table: Table) -> list[str]:
    caption, columns, rows = table
    shown = [[cell.replace("|", "\\|") for cell in row] for row in (columns, ("---",) * len(columns), *rows)]
    return [f"**{caption}**", "", *("| " + " | ".join(row) + " |" for row in shown), ""]
