"""How a benchmark speaks: medians with min and max, bounds, and what falls short of them. `scripts/bench report` makes
a page of what several have said."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

FORMAT = 1  # of the JSON line


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def spread(values: Iterable[float], digits: int = 2) -> list[float]:
    """[median, min, max]."""
    known = list(values)
    return [round(each, digits) for each in (statistics.median(known), min(known), max(known))]


def machine() -> str:
    """What the figures were measured on, as far as it matters."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def report(name: str, runs: int, figures: dict[str, Any], bounds: dict[str, tuple[str, float]]) -> int:
    """Print the JSON line. `bounds`: label -> (key in figures, the most it may be). Returns 0, or 3 when a bound
    is not met."""
    short = []
    for label, (key, most) in bounds.items():
        value = figures[key][0] if isinstance(figures[key], list) else figures[key]
        if value > most:
            short.append(f"{label}: {value} > {most}")
    line = {
        "format": FORMAT,
        "bench": name,
        "options": sys.argv[1:],
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "runs": runs,
        "figures": figures,
        "bounds": {label: {"figure": key, "most": most} for label, (key, most) in bounds.items()},
        "falls_short": short,
    }
    print(orjson.dumps(line).decode())
    return 3 if short else 0
