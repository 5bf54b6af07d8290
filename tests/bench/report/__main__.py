"""Makes one page of what benchmarks have measured: `scripts/bench report [FILE ...]`.

Without files: what `scripts/bench NAME` kept in .cache/bench. Writes report.html (whole in itself), report.md and
report.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import orjson

from tests.bench.report import FORMAT, say, skillexec_views, wire_views
from tests.bench.report.page import html, markdown
from tests.bench.report.results import BadResult, Results, read
from tests.bench.skillexec.__main__ import NAMES

VIEWS = (*skillexec_views.VIEWS, *wire_views.VIEWS)
KEPT = Path(".cache/bench")
BENCHES = Path(__file__).parents[1]


def missing(results: Results) -> Iterator[str]:
    """The commands of all that was not run, in the benchmarks that there are."""
    names = {path.stem: path for path in BENCHES.glob("*.py")}
    names |= {path.parent.name: path for path in BENCHES.glob("*/__main__.py")}
    for name in sorted(set(names) - {"report"}):
        if name == "skillexec":
            yield from (
                f"scripts/bench skillexec --only {each}" for each in NAMES if not results.get(name, each)
            )
        elif "__main__" in names[name].read_text() and not results.of(name):
            yield f"scripts/bench {name}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench report", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="results, instead of those in .cache/bench")
    parser.add_argument(
        "--out", type=Path, default=KEPT, help="the folder of the page (default: .cache/bench)"
    )
    asked = parser.parse_args()
    files = asked.files or sorted(KEPT.glob("*.result.json"))
    if not files:
        say(f"no results in {KEPT}: run scripts/bench --quick, or name files")
        return 2
    try:
        results = Results(map(read, files))
    except BadResult as error:
        say(str(error))
        return 2
    parts, left = [make(results) for make in VIEWS], list(missing(results))
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "report.html").write_text(html(results, parts, left))
    (asked.out / "report.md").write_text(markdown(results, parts, left))
    data = {
        "format": FORMAT,
        "sources": [
            {key: value for key, value in asdict(each).items() if key != "figures"}
            for each in results.sources
        ],
        "charts": [asdict(chart) | {"part": part.id} for part in parts for chart in part.charts],
        "experiments": {f"{each.source.bench}: {each.name}": each.figures for each in results},
        "not run": left,
    }
    (asked.out / "report.json").write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2))
    print(asked.out / "report.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
