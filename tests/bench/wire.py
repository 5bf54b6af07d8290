"""What a step sends, by each real agent and kind of credential: twenty steps of a long task against a loopback
gateway, each request taken apart byte by byte; beside it the plain command that people are told to use, with the same
prompt and schema. And how much of a request a prompt cache can hold from one step to the next.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.conformance.weights import PROMPT, SCHEMA, Weight, overhead, weigh
from tests.bench.report import report, say, spread
from tests.bench.tokens import NAMES, tokens
from tests.gateway import Gateway, Recorded, Script
from tests.wire.plain import plain
from tests.wire.prefix import SLACK, again, excess, stable
from tests.wire.runs import dateutil, views
from tests.wire.ways import WAYS, Way

STEPS = 20
TASKS = {"dateutil": dateutil, "views": views}
Parts = Mapping[str, Weight]


def plainly(way: Way, folder: Path, asked: Sequence[Recorded]) -> list[Recorded]:
    """The requests of the plain command, for the first, a middle and the last of these prompts and their schema."""
    sent = []
    for number, request in enumerate((asked[0], asked[len(asked) // 2], asked[-1])):
        with Gateway(Script([request.answer], repeat_last=True)) as gateway:
            done = plain(way, folder / f"plain-{number}", gateway.url, request.prompt_text, request.schema)
            if done.code or not gateway.asked:
                raise SystemExit(
                    f"the plain {way.agent} ended with {done.code}: {done.stderr.decode()[-2000:]}"
                )
            sent += gateway.asked
    return sent


def table(requests: Sequence[Recorded]) -> dict[str, Any]:
    """By part: bytes, and tokens of what the model reads of it, each [median, min, max]."""
    weighed = [weigh(request) for request in requests]
    found = {"total": _figures([[*parts.values()] for parts in weighed])}
    for name in (*PROMPT, SCHEMA):
        found[name] = _figures([[parts.get(name, Weight(0))] for parts in weighed])
    found["overhead"] = _figures([_added(parts) for parts in weighed])
    for name in dict.fromkeys(name for parts in weighed for name in parts if name not in (*PROMPT, SCHEMA)):
        found[f"overhead: {name}"] = _figures([[parts.get(name, Weight(0))] for parts in weighed])
    return found


def _added(parts: Parts) -> list[Weight]:
    return [weight for name, weight in parts.items() if name not in (*PROMPT, SCHEMA)]


def _figures(groups: Sequence[Sequence[Weight]]) -> dict[str, list[float]]:
    found = {"bytes": spread([sum(weight.bytes for weight in group) for group in groups], 0)}
    found["tokens"] = spread([sum(tokens(weight.text) for weight in group) for group in groups], 0)
    return found


def measure(name: str, way: Way, task: str, folder: Path, steps: int) -> dict[str, Any]:
    """Every figure of one way."""
    folder.mkdir()
    asked = TASKS[task](way, folder, steps)
    plain_ones = plainly(way, folder, asked)
    found = {
        name: table(asked),
        f"{name}, plain": table(plain_ones),
        f"{name}, overhead bytes at most": max(overhead(weigh(request)) for request in asked),
        f"{name}, beyond the common prefix / what must be new, at most": round(max(excess(asked)), 3),
        f"{name}, share that a cache can hold": spread(again(asked), 3),
        f"{name}, spellings of tools and system": stable(asked),
    }
    say(told(name, found))
    return found


def told(name: str, found: Mapping[str, Any]) -> str:
    """The medians of one way and of its plain command, as lines of a table."""
    lines = [f"\n{name}: {'part':<26} {'bytes':>8} {'tokens':>7} {'plain':>8} {'tokens':>7}"]
    plain_parts = found[f"{name}, plain"]
    for part in dict.fromkeys([*found[name], *plain_parts]):
        cells = [
            of.get(part, {}).get(unit, [0])[0]
            for of in (found[name], plain_parts)
            for unit in ("bytes", "tokens")
        ]
        lines.append(
            f"{'':{len(name) + 1}} {part:<26} {cells[0]:>8,.0f} {cells[1]:>7,.0f} {cells[2]:>8,.0f} {cells[3]:>7,.0f}"
        )
    lines += [f"{label}: {value}" for label, value in found.items() if not isinstance(value, dict)]
    return "\n".join(lines)


def bounds(ways: Mapping[str, Way]) -> dict[str, tuple[str, float]]:
    """The issue's: overhead per step, prefix, and the stable part."""
    held: dict[str, tuple[str, float]] = {}
    for name, way in ways.items():
        held[f"overhead, {name}"] = (f"{name}, overhead bytes at most", way.most)
        prefix = f"{name}, beyond the common prefix / what must be new, at most"
        held[f"prefix, {name}"] = (prefix, 1 + SLACK)
        held[f"stable part, {name}"] = (f"{name}, spellings of tools and system", 1)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of each way")
    parser.add_argument(
        "--task", choices=list(TASKS), default="dateutil", help="the second with open file ranges"
    )
    parser.add_argument("--only", action="append", choices=list(WAYS), help="a way, instead of all")
    parser.add_argument("--quick", action="store_true", help="five steps")
    asked = parser.parse_args()
    steps = 5 if asked.quick else asked.steps
    ways = {name: way for name, way in WAYS.items() if not asked.only or name in asked.only}
    figures: dict[str, Any] = {"task": asked.task, "tokens": NAMES[0]}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for number, (name, way) in enumerate(ways.items()):
            figures |= measure(name, way, asked.task, Path(folder) / str(number), steps)
    return report("wire", steps, figures, bounds(ways))


if __name__ == "__main__":
    sys.exit(main())
