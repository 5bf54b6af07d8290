"""SkillExecBench: what an explicit state buys, measured without a model. `scripts/bench skillexec [--quick]`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tests.bench.report import report
from tests.bench.skillexec import experiments

NAMES = ("horizon", "noise", "drift", "budget", "misreading", "faults", "long", "repository")


def measured(names: list[str], quick: bool) -> dict[str, Any]:
    """The figures of the named experiments, each under its name."""
    seeds = experiments.SEEDS[:2] if quick else experiments.SEEDS
    makers: dict[str, Any] = {
        "horizon": lambda: experiments.horizon((10, 50) if quick else (10, 25, 50, 100, 200), seeds),
        "noise": lambda: experiments.noisy((0, 20) if quick else (0, 5, 20, 50), 25 if quick else 50, seeds),
        "drift": lambda: experiments.drift(seeds),
        "budget": lambda: experiments.budgeted(
            (475,) if quick else (475, 1000, 1800), (10, 50) if quick else (10, 25, 50, 100), seeds
        ),
        "misreading": lambda: experiments.misread(
            (0.0, 0.03) if quick else (0.0, 0.002, 0.01, 0.03, 0.1), seeds=seeds
        ),
        "faults": lambda: experiments.broken(length=30 if quick else 100, seeds=seeds),
        "long": lambda: (
            experiments.long((50, 200) if quick else (50, 200, 1000, 5000), 10)
            | experiments.long((50, 200) if quick else (50, 200, 1000, 5000), experiments.SHELVES)
        ),
        "repository": lambda: experiments.looked_after((20,) if quick else (10, 25, 50, 100), seeds),
    }
    return {f"{name}: {key}": value for name in names for key, value in makers[name]().items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds, short horizons")
    parser.add_argument("--only", action="append", choices=NAMES, help="an experiment; may be given again")
    asked = parser.parse_args()
    figures = measured(asked.only or list(NAMES), asked.quick)
    bounds: dict[str, tuple[str, float]] = {}
    for key, cell in list(figures.items()):
        if isinstance(cell, dict) and "ours" in key and "score, strict" in cell:
            figures[f"{key}: missed"] = round(1 - cell["score, strict"][0], 4)
            bounds[f"{key}: a perfect reader finds all it needs"] = (f"{key}: missed", 0)
        if key == "faults: ours, paper, committed corruption of syntax and type":
            bounds["no reply of broken syntax or type gets into our state"] = (key, 0)
        if "growth exponent, 10 shelves" in key:
            bounds["ours grows with the horizon alone"] = (key, 1.05)
    return report(
        "skillexec", len(experiments.SEEDS[:2] if asked.quick else experiments.SEEDS), figures, bounds
    )


if __name__ == "__main__":
    sys.exit(main())
