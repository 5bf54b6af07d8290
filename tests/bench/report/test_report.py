"""The page of benchmarks: what is drawn are the figures, it is whole in itself, and what was not run is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.bench.report import FORMAT, __main__, skillexec_views, wire_views
from tests.bench.report.charts import Axis, Lines, Matrix, Point, Scale, Series, apart, svg
from tests.bench.report.page import html, markdown, table_of
from tests.bench.report.results import BadResult, Results, read
from tests.bench.report.views import OURS, View
from tests.bench.skillexec import experiments

TOTAL = "tokens in all, o200k"
WAYS = {"default": 9.0, "lean": 3.0, "ours": 1.0}


def kept(folder: Path, bench: str, figures: dict[str, Any], **more: Any) -> Path:
    """A file as scripts/bench keeps it."""
    line = {"format": FORMAT, "bench": bench, "options": [], "at": "2026-11-30T12:00:00+00:00", "machine": "one",
            "runs": 2, "figures": figures, "bounds": {}, "falls_short": []}  # fmt: skip
    path = folder / f"{bench}-{len(list(folder.iterdir()))}.result.json"
    path.write_bytes(orjson.dumps(line | more))
    return path


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """Figures of real experiments, made small: their keys are those that the page has to know."""
    parts = {
        "horizon": experiments.horizon((4, 8), (42,)),
        "budget": experiments.budgeted((300, 475), (8,), (42,)),
        "long": experiments.long((4, 8), 10, (42,)) | experiments.long((4, 8), 500, (42,)),
    }
    return {f"{name}: {key}": value for name, figures in parts.items() for key, value in figures.items()}


@pytest.fixture
def results(tmp_path: Path, played: dict[str, Any]) -> Results:
    drift = {
        "drift: audit, alert, prompt": [0, 0],
        "drift: audit, alert, ours, paper": [0, 2],
        "drift: cancelled, alert, prompt": [None, None],
        "drift: cancelled, alert, ours, paper": [0, None],
    }
    talk = {f"codex: {way}, T={T}": {"input tokens": k * T, "input tokens, cache-weighted": k * T / 2}
            for way, k in WAYS.items() for T in (10, 50)}  # fmt: skip
    loop = {"ms of the first and the last tenth, our step": [4.5, 5.5], "ms, our step": [5.0, 4.0, 6.0]}
    files = [
        kept(tmp_path, "skillexec", played | drift),
        kept(tmp_path, "conversation", talk),
        kept(tmp_path, "peers", loop),
    ]
    return Results(map(read, files))


def parts(results: Results) -> list[View]:
    return [make(results) for make in __main__.VIEWS]


def drawn(view: View) -> dict[tuple[str, str, float], float]:
    """What stands in the SVG itself: (chart, series, x) -> y."""
    marks = [
        (chart.id, mark)
        for chart in view.charts
        for mark in svg(chart).iter("path")
        if "data-y" in mark.attrib
    ]
    return {
        (id, m.attrib["data-series"], float(m.attrib["data-x"])): float(m.attrib["data-y"]) for id, m in marks
    }


def means(figures: dict[str, Any], name: str, key: str) -> dict[tuple[str, float], float]:
    """(runtime, T) -> mean, read straight from the JSON."""
    found = {}
    for label, cell in figures.items():
        if (match := re.fullmatch(rf"{name}: (.+), T=(\d+)", label)) and isinstance(cell, dict):
            found[match[1], float(match[2])] = cell[key][0]
    return found


def test_every_point_is_a_figure_and_every_figure_a_point(results: Results, played: dict[str, Any]) -> None:
    points = drawn(skillexec_views.tokens(results))
    wanted = means(played, "horizon", TOTAL)
    assert len(wanted) == len(experiments.EVERYBODY) * 2
    assert {(name, T): y for (id, name, T), y in points.items() if id == "tokens-all"} == wanted
    changed = played | {"horizon: memory, T=8": {**played["horizon: memory, T=8"], TOTAL: [7.0, 0.0]}}
    assert means(changed, "horizon", TOTAL) != wanted, "the control: another figure would be another point"


def test_scores_by_budget_are_the_figures(results: Results, played: dict[str, Any]) -> None:
    points = drawn(skillexec_views.budget(results))
    for name in ("window", "summary"):
        for budget in (300, 475):
            score = played[f"budget: {name}, budget={budget}, T=8"]["score, strict"][0]
            assert points[f"budget-{name}", "T=8", budget] == score
    sizes = {x for (id, name, x) in points if name == "ours, paper" and id == "budget-window"}
    assert sizes == {
        means(played, "horizon", "tokens a prompt, o200k")[("ours, paper", T)] for T in (4.0, 8.0)
    }


def test_growth_and_conversation_and_peers_are_the_figures(results: Results, played: dict[str, Any]) -> None:
    points = drawn(skillexec_views.growth(results))
    assert (
        points["growth-total", f"{OURS}, 10 shelves", 8.0]
        == played[f"long: {OURS}, T=8, 10 shelves"][TOTAL][0]
    )
    assert drawn(wire_views.conversation(results))["conversation-codex-0", "default", 50.0] == 450
    assert drawn(wire_views.peers(results)) == {
        ("peers-tenths", "our step", 1.0): 4.5,
        ("peers-tenths", "our step", 10.0): 5.5,
    }


def test_recovery_says_at_once_later_or_never(results: Results) -> None:
    (chart,) = skillexec_views.recovery(results).charts
    boxes = [box.attrib for box in svg(chart).iter("rect")]
    words = {(box["data-row"], box["data-column"]): (box["data-word"], box["class"]) for box in boxes}
    assert words == {
        ("warehouse: audit, alert", "prompt"): ("0", "cell good"),
        ("warehouse: audit, alert", "ours, paper"): ("1", "cell part"),
        ("warehouse: cancelled, alert", "prompt"): ("never", "cell bad"),
        ("warehouse: cancelled, alert", "ours, paper"): ("0; never 1/2", "cell part"),
    }


class Strict(HTMLParser):
    """Every element is closed in order; ids and references are kept."""

    VOID = {"meta"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.named: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.add(tag)
        self.ids += [known["id"]] if known.get("id") else []
        self.named += (known.get("aria-labelledby") or "").split()
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag


def test_the_page_is_whole_in_itself(results: Results) -> None:
    views = parts(results)
    page = html(results, views, __main__.missing(results))
    parser = Strict()
    parser.feed(page)
    assert parser.open == [] and len(parser.ids) == len(set(parser.ids))
    charts = sum(len(view.charts) for view in views)
    assert parser.named and set(parser.named) <= set(parser.ids) and len(parser.named) == 2 * charts
    assert not {"script", "link", "img", "iframe", "object"} & parser.tags
    assert not re.search(r"https?:|//|url\(|@import|src=|href=", page)


def test_each_chart_has_its_figures_as_a_table(results: Results) -> None:
    for view in parts(results):
        for chart in view.charts:
            _, _, rows = table_of(chart)
            shown = " ".join(cell for row in rows for cell in row)
            if isinstance(chart, Lines):
                assert all(f"{point.y:,g}" in shown for series in chart.series for point in series.points)
            written = markdown(results, [view], [])
            assert all(f"| {' | '.join(row)} |" in written for row in rows)


def test_what_was_not_run_is_named_and_not_drawn(tmp_path: Path, played: dict[str, Any]) -> None:
    results = Results(
        [read(kept(tmp_path, "skillexec", {k: v for k, v in played.items() if k.startswith("horizon")}))]
    )
    views = parts(results)
    assert [view.id for view in views if view.charts] == ["tokens"]
    missing = list(__main__.missing(results))
    assert "scripts/bench skillexec --only drift" in missing and "scripts/bench step" in missing
    assert "scripts/bench skillexec --only horizon" not in missing
    page = html(results, views, missing)
    assert page.count("<svg") == 3 and page.count("Not run: ") == len(views) - 1
    assert set(__main__.missing(Results([]))) - set(missing) == {"scripts/bench skillexec --only horizon"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("horizon: 10%", "no JSON"),
        ('{"results": []}', "no `bench` and `figures`"),
        ("[1]", "no `bench` and `figures`"),
        (
            '{"bench": "step", "runs": 3, "figures": {}}',
            "format unknown, this reads 1; run scripts/bench step again",
        ),
        (
            '{"format": 1, "bench": "step", "figures": {}}',
            "incomplete (KeyError('machine')); run scripts/bench step again",
        ),
    ],
)
def test_a_file_that_is_no_result_is_said_to_be_none(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: str | None,
    why: str,
) -> None:
    path = tmp_path / "a.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadResult, match=re.escape(why)) as raised:
        read(path)
    assert str(path) in str(raised.value)
    monkeypatch.setattr("sys.argv", ["report", str(path), "--out", str(tmp_path / "out")])
    assert __main__.main() == 2 and why in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_an_experiment_is_from_one_run(tmp_path: Path, played: dict[str, Any]) -> None:
    cell = {TOTAL: [1.0, 0.0], "tokens a prompt, o200k": [1.0, 0.0]}
    full = kept(tmp_path, "skillexec", {"horizon: ours, paper, T=100": cell}, runs=5, at="2026-01-01")
    quick = kept(tmp_path, "skillexec", played, options=["--quick"], at="2026-12-31")
    results = Results(map(read, (quick, full)))
    horizon = results.get("skillexec", "horizon")
    assert horizon is not None and set(horizon.figures) == {"ours, paper, T=100"}
    assert results.get("skillexec", "budget") is not None and len(results.sources) == 2


def test_it_is_written_from_files(
    tmp_path: Path,
    played: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    short = {
        "bounds": {"few": {"figure": "horizon: memory, growth exponent", "most": 0.1}},
        "falls_short": ["few: 1 > 0.1"],
    }
    path = kept(tmp_path, "skillexec", played, **short)
    monkeypatch.setattr("sys.argv", ["report", str(path), "--out", str(tmp_path / "out")])
    assert __main__.main() == 0 and capsys.readouterr().out.strip() == str(tmp_path / "out/report.html")
    assert "falls short" in (tmp_path / "out/report.md").read_text()
    data = orjson.loads((tmp_path / "out/report.json").read_bytes())
    chart = next(each for each in data["charts"] if each["id"] == "tokens-all")
    points = {
        (series["name"], point["x"]): point["y"] for series in chart["series"] for point in series["points"]
    }
    assert points == means(played, "horizon", TOTAL)


def test_axes_name_round_numbers_and_keep_the_order() -> None:
    for axis, low, high in (
        (Axis("", log=True), 3, 70_000),
        (Axis("", log=True), 410, 2_300),
        (Axis(""), 0.2, 17),
    ):
        scale = Scale(axis, [low, high], 100, 0)
        assert len(scale.ticks) >= 3 and 100 >= scale(low) > scale(high) >= 0
        assert all(-0.01 <= scale(tick) <= 100.01 for tick in scale.ticks)
        assert all(f"{tick:.0e}"[0] in "125" for tick in scale.ticks if axis.log)
    with pytest.raises(ValueError, match="logarithmic"):
        Scale(Axis("", log=True), [0, 1], 0, 1)


def test_labels_do_not_cover_one_another() -> None:
    wanted = [50.0, 50.5, 49.0, 10.0, 99.0, 98.0]
    placed = apart(wanted, 14, 4, 100)
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    assert order == sorted(range(len(wanted)), key=lambda at: placed[at])
    gaps = [placed[b] - placed[a] for a, b in pairwise(order)]
    assert min(gaps) >= 13.99 and max(placed) <= 100 and placed[3] == 10.0


def texts(chart: Lines) -> Iterator[tuple[float, float, str]]:
    for text in svg(chart).iter("text"):
        if "end" not in text.attrib["class"] and "middle" not in text.attrib["class"]:
            yield float(text.attrib["x"]), float(text.attrib["y"]), text.text or ""


def test_long_labels_have_room() -> None:
    series = tuple(
        Series(f"a runtime of a long name, {at}", (Point(1, 1), Point(2, at + 1)), at) for at in range(9)
    )
    for x, y, text in texts(Lines("a", "b", "c", Axis("x"), Axis("y"), series)):
        assert x + 6.2 * len(text) <= 460 and 0 < y < 320


def test_every_column_of_a_matrix_has_room_for_its_name() -> None:
    columns = tuple(f"a long name, {at}" for at in range(9))
    chart = Matrix(
        "a", "b", "c", ("row",), columns, {"row": dict.fromkeys(columns, ("0; never 1/2", "part"))}
    )
    middles = [float(text.attrib["x"]) for text in svg(chart).iter("text") if text.text in columns]
    assert min(after - before for before, after in pairwise(middles)) >= 6.2 * len(columns[0])
    assert middles[-1] + 3.1 * len(columns[0]) <= float(svg(chart).attrib["viewBox"].split()[2])
