"""The checks of the wire can fail: each is shown a fault that it must find."""

from __future__ import annotations

import pytest

from tests.scenarios.blind import blinded
from tests.scenarios.wire import Sent, bounded, constant, corrected


def sent(state: str = "a: 1", observation: str = "", budget: str = "step 1", correction: str = "") -> Sent:
    parts = {"SKILL": "s" * 400, "STATE": state, "AUTHORITIES": " x", "CORRECTION": correction}
    parts |= {"OBSERVATION": f"step 1 run: done\n--- out\n {observation}", "BUDGET": budget}
    text = "".join(f"=== {name} ===\n{part}\n\n" for name, part in parts.items() if part)
    return Sent(text.encode(), text, plain=True)


def test_what_moves_may_grow_and_nothing_else() -> None:
    assert constant([sent(), sent("a: 1" * 900, "text\n" * 500)]) == 0
    with pytest.raises(AssertionError, match="without what moves"):
        constant([sent(), sent(budget="step 1, and all that was said before, and all that was done before")])


def test_a_request_over_its_bound_is_found() -> None:
    with pytest.raises(AssertionError):
        bounded([sent()], 100)


def test_a_correction_is_all_that_may_come_in_addition() -> None:
    first = sent()
    assert "no" in corrected(first, sent(correction="no", budget="step 2"))
    with pytest.raises(AssertionError):
        corrected(first, sent(correction="no", observation="something else"))


def test_blinding_takes_the_data_and_leaves_the_rest() -> None:
    shown = blinded(sent(observation="text of a file").prompt)
    assert "text of a file" not in shown and "--- out" in shown and "=== AUTHORITIES ===\n x" in shown
