"""From episodes on the wire to figures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from tests.bench.conversation.reading import given, reading
from tests.bench.conversation.runs import Run
from tests.bench.skillexec.episode import Outcome
from tests.bench.skillexec.figures import exponent
from tests.bench.tokens import tokens, weighted
from tests.gateway import Answer, Text

TOKENS, CACHED = "input tokens", "input tokens, cache-weighted"
Cell = dict[str, Any]
DEFAULT, LEAN = 16.2, 4.0  # times the tokens of ours that a conversation takes at least
OURS = "ours, compact"  # the way of ours that the bounds are about
LINEAR, SQUARE = 1.05, 1.8  # the exponent of ours at most, of a conversation with lean flags at least


def cell(run: Run, length: int) -> Cell:
    """The figures of the first `length` events of an episode. Tokens are o200k, of what the model reads."""
    begun, ended = run.marks[0], run.marks[length]
    sent = run.requests[begun.requests : ended.requests]
    texts = [reading(request) for request in sent]
    sizes = [tokens(text) for text in texts]
    return {
        "score": score(run.outcome, length),
        "requests": len(sent),
        "request KB": round(sum(len(request.body) for request in sent) / 1000),
        TOKENS: sum(sizes),
        CACHED: round(weighted(texts)),
        "first and last request": [sizes[0], sizes[-1]],
        "of a request tools and schema": sum(map(tokens, given(sent[-1]))),
        "reply tokens, mean": round(statistics.mean(tokens(written(request.answer)) for request in sent)),
        "wall, s": round(ended.wall - begun.wall, 1),
        "CPU of the CLI, s": round(ended.cpu - begun.cpu, 1),
    }


def score(outcome: Outcome, length: int) -> float:
    """The share of the first events that were answered as the rules ask."""
    pairs = zip(outcome.strict[:length], outcome.world.events[:length], strict=True)
    return statistics.mean(right for right, event in pairs if event.actionable)


def written(answer: Answer) -> str:
    """What the model wrote."""
    return answer.text if isinstance(answer, Text) else json.dumps(answer)


def compared(cells: Mapping[str, Mapping[int, Cell]]) -> dict[str, float]:
    """By way of one CLI (those of ours begin so), the cells by horizon: conversations by ours at the longest horizon,
    and how the totals grow between the two longest."""
    found: dict[str, float] = {}
    longest = max(max(of) for of in cells.values())
    for one in (way for way in cells if not way.startswith("ours")):
        for other in (way for way in cells if way.startswith("ours")):
            for unit in (TOKENS, CACHED):
                ratio = cells[one][longest][unit] / cells[other][longest][unit]
                found[f"{one} / {other}, T={longest}, {unit}"] = round(ratio, 2)
    for way, of in cells.items():
        horizons = sorted(of)[-2:]
        if len(horizons) == 2:
            for unit in (TOKENS, CACHED):
                grown = exponent(horizons, [of[length][unit] for length in horizons])
                found[f"{way}, exponent of {unit}"] = grown
    return found


def overtaken(conversation: Run, ours: Run) -> int | None:
    """The number of events from which on the conversation has sent more in all; None where it never has."""
    pairs = list(zip(totals(conversation), totals(ours), strict=True))
    behind = max((at for at, (theirs, mine) in enumerate(pairs, 1) if theirs <= mine), default=0)
    return behind + 1 if behind < len(pairs) else None


def totals(run: Run) -> list[int]:
    """Input tokens in all, after each event."""
    sums = [0, *accumulate(tokens(reading(request)) for request in run.requests)]
    return [sums[mark.requests] for mark in run.marks[1:]]


def judged(figures: dict[str, Any], clis: Sequence[str], length: int) -> dict[str, tuple[str, float]]:
    """The bounds, each the most that a figure may be; what has to be large is put into `figures` upside down."""
    bounds: dict[str, tuple[str, float]] = {}
    missed = [1 - found["score"] for found in figures.values() if isinstance(found, dict)]
    figures["missed by a perfect reader, most"] = round(max(missed), 4)
    bounds["every conversation and every step has what it needs"] = ("missed by a perfect reader, most", 0)
    if length < 100:
        return bounds
    by_default = []
    for cli in clis:
        by_default.append(figures[f"{cli}: default / {OURS}, T={length}, {TOKENS}"])
        lean = f"{cli}: {OURS} / lean, T={length}, {TOKENS}"
        figures[lean] = round(1 / figures[f"{cli}: lean / {OURS}, T={length}, {TOKENS}"], 4)
        bounds[f"{cli}: a lean conversation takes {LEAN} times ours"] = (lean, 1 / LEAN)
        bounds[f"{cli}: ours grows with the horizon"] = (f"{cli}: {OURS}, exponent of {TOKENS}", LINEAR)
        short = f"{cli}: lean, what its exponent is short of 2"
        figures[short] = round(2 - figures[f"{cli}: lean, exponent of {TOKENS}"], 3)
        bounds[f"{cli}: a lean conversation grows with its square"] = (short, round(2 - SQUARE, 3))
    if len(by_default) > 1:
        second = f"{OURS} / default, T={length}, {TOKENS}, on the second CLI"
        figures[second] = round(1 / sorted(by_default)[-2], 4)
        bounds[f"two CLIs by default take {DEFAULT} times ours"] = (second, round(1 / DEFAULT, 4))
    return bounds
