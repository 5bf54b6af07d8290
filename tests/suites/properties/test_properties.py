"""No reply, whatever it holds, changes what is protected or makes a state that breaks its schema or an invariant."""

from __future__ import annotations

import random
from typing import Any

import pytest

from contracts.verdicts import Reject
from controller import gate as judging
from tests.suites.properties.codes import INVARIANTS, rejection_codes
from tests.suites.properties.conftest import TOLD
from tests.suites.properties.laws import Law, laws
from tests.suites.properties.walk import walked

SEED = 20261130
CASES = 24_000


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[Law]:
    return laws(tmp_path_factory.mktemp("laws"), random.Random(SEED))


def test_nothing_protected_changes_and_every_state_is_valid(every: list[Law]) -> None:
    found = walked(every, CASES, SEED)
    TOLD.append(found.line())
    assert not found.violations, "\n".join(found.wrong)
    assert found.evicted > 500 and found.patches > 3_000 and found.verdicts["confirm"] > 300
    assert rejection_codes() == found.rules, "each code is reached, and none is unknown here"
    declared = {f"{INVARIANTS}{one.name}" for law in every for one in law.charter.schema.invariants}
    assert declared <= set(found.codes) and len(declared) >= 8, "and so is each invariant"


# ---- control: without a layer of the gate the oracle finds what slips through ----------------------------------
def lenient(transition: Any) -> Any:
    """The envelope without its rules: whatever can be taken for a transition is."""
    try:
        action = transition["action"]
        patch, tool, args = transition["state_patch"], action["tool"], action["args"]
    except (TypeError, KeyError):
        return Reject(layer="envelope", code="envelope.form", say="nothing to take")
    if isinstance(patch, dict) and isinstance(tool, str) and isinstance(args, dict):
        return patch, tool, args
    return Reject(layer="envelope", code="envelope.form", say="nothing to take")


LAYERS = {
    "envelope": ("_envelope", lenient),
    "schema": ("_schema", lambda *_: None),
    "patch": ("_patch", lambda *_: None),
    "intent": ("_intent", lambda *_: None),
    "invariants": ("_invariants", lambda *_: None),
    "policy": ("_policy", lambda *_: None),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_control_without_a_layer_violations_are_found(
    every: list[Law], layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, nothing = LAYERS[layer]
    monkeypatch.setattr(judging, name, nothing)
    assert slips(every, 2_000) > 0


def slips(every: list[Law], cases: int) -> int:
    """Violations until the first; a reply that the rest of the gate stumbles over counts as none."""
    for number in range(cases // 50):
        try:
            if found := walked(every[number % len(every) :], 50, SEED + number).violations:
                return found
        except Exception:
            continue
    return 0
