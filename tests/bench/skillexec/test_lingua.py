"""The conversation that LLMLingua compresses: as it was recorded, and not without a record."""

from __future__ import annotations

import sys
from pathlib import Path

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


def test_what_is_compressed_anew_is_added_to_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "compress.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'text': asked['text'][-asked['target']:]}), flush=True)\n"
    )
    monkeypatch.setattr(lingua, "HERE", tmp_path)
    monkeypatch.setattr(lingua, "RECORDED", tmp_path / "recorded.jsonl")
    monkeypatch.setattr(lingua, "environment", lambda: Path(sys.executable))
    lingua.recorded.cache_clear()
    try:
        with lingua.live() as compress:
            assert [compress("abcdef", target) for target in (2, 4, 2)] == ["ef", "cdef", "ef"]
        lingua.recorded.cache_clear()
        assert len((tmp_path / "recorded.jsonl").read_text().splitlines()) == 2
        assert lingua.replayed("abcdef", 4) == "cdef"
    finally:
        lingua.recorded.cache_clear()
