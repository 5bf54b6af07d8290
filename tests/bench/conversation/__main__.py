"""A conversation that goes on beside a fresh process a step, on the wire, with the real agent CLIs. `scripts/bench
conversation [--quick] [--only CLI]`.

The warehouse of `scripts/bench skillexec`, a perfect reader behind a loopback gateway as the model. One episode of the
longest horizon a way; the shorter ones are its first events, which are the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.conversation.clis import KINDS
from tests.bench.conversation.figures import Cell, cell, compared, judged, overtaken
from tests.bench.conversation.runs import Run, by_default, lean, ours
from tests.bench.report import report, say
from tests.bench.skillexec import warehouse
from tests.bench.skillexec.episode import Event

HORIZONS, QUICK = (10, 50, 100), (10,)
WAYS: dict[str, Callable[[Path, str, Sequence[Event]], Run]] = {
    "ours": partial(ours, layout="full"),
    "ours, compact": partial(ours, layout="compact"),
    "default": by_default,
    "lean": lean,
}


def measured(cli: str, horizons: Sequence[int], folder: Path) -> dict[str, Any]:
    """The figures of one CLI: each way at each horizon, and one beside the other."""
    listed = warehouse.events(warehouse.SEEDS[0], max(horizons))
    runs: dict[str, Run] = {}
    cells: dict[str, dict[int, Cell]] = {}
    for number, (way, play) in enumerate(WAYS.items()):
        runs[way] = play(folder / f"{cli}-{number}", cli, listed)
        cells[way] = {length: cell(runs[way], length) for length in horizons}
        for length, found in cells[way].items():
            say(f"{cli}, {way}, T={length}: {found}")
    figures: dict[str, Any] = {
        f"{way}, T={length}": found for way, of in cells.items() for length, found in of.items()
    }
    for way in ("default", "lean"):
        figures[f"{way}, has sent more than ours from event"] = overtaken(runs[way], runs["ours"])
    return {f"{cli}: {label}": value for label, value in (figures | compared(cells)).items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten events, with codex alone")
    parser.add_argument("--only", action="append", choices=list(KINDS), help="a CLI, instead of all")
    asked = parser.parse_args()
    horizons = QUICK if asked.quick else HORIZONS
    clis = asked.only or (["codex"] if asked.quick else list(KINDS))
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for cli in clis:
            figures |= measured(cli, horizons, Path(folder))
    return report("conversation", 1, figures, judged(figures, clis, max(horizons)))


if __name__ == "__main__":
    sys.exit(main())
