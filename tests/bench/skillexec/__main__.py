"""SkillExecBench: what an explicit state buys, measured without a model. `scripts/bench skillexec [--quick]`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from contracts.errors import ConfigError
from tests.bench.report import report
from tests.bench.skillexec import (
    contradiction,
    experiments,
    growth,
    lingua,
    malice,
    migrating,
    modelled,
    releases,
    trouble,
)
from tests.bench.skillexec.bounds import bounded
from tests.bench.skillexec.models import NoReply

NAMES = ("horizon", "noise", "drift", "budget", "misreading", "faults", "long", "repository", "lingua",
         "releases", "growth", "shelves", "failure", "timeout", "contradiction", "malice", "migration")  # fmt: skip


def measured(names: list[str], quick: bool, live: bool) -> dict[str, Any]:
    """The figures of the named experiments, each under its name. `live`: LLMLingua compresses anew."""
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
        "lingua": lambda: lingua.measured(live),
        "releases": lambda: releases.released((20,) if quick else (25, 50, 100), seeds),
        "growth": lambda: growth.bounded(40 if quick else 200),
        "shelves": lambda: growth.filled((3,), 100) if quick else growth.filled((3, 10), 600),
        "failure": lambda: trouble.failing(25 if quick else 100, seeds),
        "timeout": lambda: trouble.timed_out(25 if quick else 100, seeds),
        "contradiction": lambda: contradiction.contradictory(20 if quick else 60, seeds),
        "malice": lambda: malice.malicious(10 if quick else 20, seeds[:1] if quick else seeds),
        "migration": lambda: migrating.migrated(15 if quick else 60, seeds),
    }
    return {f"{name}: {key}": value for name in names for key, value in makers[name]().items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds, short horizons")
    parser.add_argument("--only", action="append", choices=NAMES, help="an experiment; may be given again")
    parser.add_argument(
        "--live", action="store_true", help="LLMLingua itself instead of its record: several GB"
    )
    modelled.options(parser)
    asked = parser.parse_args()
    if asked.reader and asked.replay:
        parser.error("--replay asks nobody: leave --reader out")
    if asked.record and not asked.reader:
        parser.error("--record needs --reader: whose replies?")
    if asked.reader or asked.replay:
        try:
            return report("skillexec", asked.seeds, modelled.asked_for(asked), {})
        except (NoReply, ConfigError) as error:
            print(f"scripts/bench skillexec: {error}", file=sys.stderr)
            return 2
    figures = measured(asked.only or list(NAMES), asked.quick, asked.live)
    bounds = bounded(figures)
    return report(
        "skillexec", len(experiments.SEEDS[:2] if asked.quick else experiments.SEEDS), figures, bounds
    )


if __name__ == "__main__":
    sys.exit(main())
