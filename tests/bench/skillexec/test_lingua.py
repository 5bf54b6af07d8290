"""The conversation that LLMLingua compresses: as it was recorded, and not without a record."""

from __future__ import annotations

import pytest

from tests.bench.skillexec import lingua
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.experiments import episode, stored
from tests.bench.skillexec.readers import Perfect
from tests.bench.tokens import tokens


def test_what_was_recorded_is_played_again_and_loses() -> None:
    found = lingua.measured(anew=False)
    for length in lingua.LENGTHS:
        tight, wide = (
            found[f"LLMLingua, budget={budget}, T={length}"]["score, strict"][0] for budget in lingua.BUDGETS
        )
        assert tight < wide <= 1.0 and tight < 0.9, length


def test_a_conversation_that_fits_is_left_alone() -> None:
    def never(text: str, target: int) -> str:
        raise AssertionError("compressed")

    runtime = lingua.Lingua(WAREHOUSE, 50_000, tokens, never)
    assert episode(runtime, stored(42, 12)).score() == 1.0


def test_one_that_does_not_is_given_what_is_left_of_the_budget() -> None:
    asked: list[int] = []

    def halved(text: str, target: int) -> str:
        asked.append(target)
        return text[: len(text) // 2]

    runtime = lingua.Lingua(WAREHOUSE, 475, tokens, halved)
    outcome = episode(runtime, stored(42, 12))
    assert asked and all(0 < target < 475 for target in asked) and outcome.score() < 1.0


def test_one_that_was_never_compressed_is_an_error_that_says_what_to_do() -> None:
    runtime = lingua.Lingua(WAREHOUSE, 475, tokens, lingua.replayed)
    with pytest.raises(LookupError, match=r"--only lingua --live"):
        episode(runtime, stored(46, 25), reader=Perfect(rate=0.5, seed=3))
