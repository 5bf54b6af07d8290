"""From episodes to figures: mean and sample standard deviation over seeds, and how a total grows with the horizon."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.skillexec.episode import Outcome
from tests.bench.tokens import NAMES, tokens, weighted


@dataclass(frozen=True)
class Sized:
    """One episode in numbers. `prompt` and `reply` are tokens of all calls by tokenizer, `chars` those of all prompts,
    `cached` the prompts' tokens with a cache."""

    strict: float
    lenient: float
    calls: int
    prompt: dict[str, int]
    reply: dict[str, int]
    chars: int
    cached: float
    rejected: int
    unparsed: int
    retried: int
    desync: int | None

    @classmethod
    def of(cls, outcome: Outcome) -> Sized:
        turns = outcome.turns
        return cls(
            strict=outcome.score(),
            lenient=outcome.score(strict=False),
            calls=len(turns),
            prompt={name: sum(tokens(turn.prompt, name) for turn in turns) for name in NAMES},
            reply={name: sum(tokens(turn.reply, name) for turn in turns) for name in NAMES},
            chars=sum(len(turn.prompt) for turn in turns),
            cached=weighted([turn.prompt for turn in turns]),
            rejected=outcome.rejected,
            unparsed=outcome.unparsed,
            retried=outcome.retried,
            desync=outcome.desync,
        )


def over(values: Iterable[float], digits: int = 2) -> list[float]:
    """[mean, sample standard deviation]."""
    known = list(values)
    spread = statistics.stdev(known) if len(known) > 1 else 0.0
    return [round(statistics.mean(known), digits), round(spread, digits)]


def told(episodes: Sequence[Sized]) -> dict[str, object]:
    """The figures of one cell: the same runtime and setting over seeds."""
    found: dict[str, object] = {
        "score, strict": over(each.strict for each in episodes),
        "score, lenient": over(each.lenient for each in episodes),
        "characters a prompt": over((each.chars / each.calls for each in episodes), 0),
        "tokens in all, o200k, cache-weighted": over(
            (each.cached + each.reply[NAMES[0]] for each in episodes), 0
        ),
        "rejected, unparsed, retried": [
            sum(each.rejected for each in episodes),
            sum(each.unparsed for each in episodes),
            sum(each.retried for each in episodes),
        ],
        "first desync": [each.desync for each in episodes],
    }
    for name in NAMES:
        found[f"tokens a prompt, {name}"] = over((each.prompt[name] / each.calls for each in episodes), 1)
        found[f"tokens a reply, {name}"] = over((each.reply[name] / each.calls for each in episodes), 0)
        found[f"tokens in all, {name}"] = over((each.prompt[name] + each.reply[name] for each in episodes), 0)
    return found


def judged(episodes: Sequence[Outcome]) -> dict[str, object]:
    """How episodes went, without what they cost."""
    return {
        "score, strict": over(each.score() for each in episodes),
        "score, lenient": over(each.score(strict=False) for each in episodes),
        "rejected, unparsed, retried": [
            sum(each.rejected for each in episodes),
            sum(each.unparsed for each in episodes),
            sum(each.retried for each in episodes),
        ],
        "first desync": [each.desync for each in episodes],
    }


def exponent(horizons: Sequence[int], totals: Sequence[float]) -> float:
    """The k of total = c · T^k that fits best (least squares of the logarithms)."""
    x, y = [math.log(each) for each in horizons], [math.log(each) for each in totals]
    slope = statistics.linear_regression(x, y).slope
    return round(slope, 3)
