"""The quick form of `scripts/test properties`: fewer replies, and what one gate layer less lets through."""

from __future__ import annotations

import random

import pytest

from controller import gate as judging
from tests.suites.properties.codes import rejection_codes
from tests.suites.properties.laws import Law, laws
from tests.suites.properties.test_properties import LAYERS, slips
from tests.suites.properties.walk import walked

CASES = 1_500


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[Law]:
    return laws(tmp_path_factory.mktemp("laws"), random.Random(1), generated=5)


def test_nothing_protected_changes_and_every_state_is_valid(every: list[Law]) -> None:
    found = walked(every, CASES, 1)
    assert not found.violations, "\n".join(found.wrong)
    assert found.cases == CASES and len(found.rules) > 30 and found.evicted > 4
    assert found.rules <= rejection_codes(), "the whole suite reaches each of them"


@pytest.mark.parametrize("layer", LAYERS)
def test_control_without_a_layer_violations_are_found(
    every: list[Law], layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, *LAYERS[layer])
    assert slips(every, 2_000) > 0
