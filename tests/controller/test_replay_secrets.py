"""Replay of a run with secret fields: what their values decided is said to be unseen, everything else is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contracts.invariants import invariants
from contracts.outcomes import Outcome
from tests.controller.test_forgetting import TEXT, keyed, look, stored, world
from tests.controller.test_queue import A, B, say, waiting
from tests.controller.test_replay import replayed
from tests.controller.test_step import go
from tests.controller.world import World, finish

SECRET = {**TEXT, "x-sensitivity": "secret"}
FACT = {
    "type": "object", "additionalProperties": False, "required": ["value", "source"],
    "properties": {"value": SECRET, "source": {**TEXT, "x-format": "source"}},
}  # fmt: skip
DIFFER = {"name": "keys_differ", "say": "no key twice", "unique": ["/keys/*", "/token"]}
SINGLE = {"name": "notes_differ", "say": "no note twice", "unique": ["/notes/*"]}
LONG = {
    "name": "door_is_long", "say": "8 letters at least",
    "holds": {"properties": {"keys": {"properties": {"door": {"minLength": 20}}}}},
}  # fmt: skip


@pytest.fixture
def keeping(tmp_path: Path) -> World:
    made = world(
        tmp_path / "r",
        {
            "notes": keyed(TEXT, 4),
            "token": SECRET,
            "keys": keyed(SECRET, 3, **{"x-evict": "oldest"}),
            "facts": keyed(FACT, 4, **{"x-change-policy": "ask"}),
        },
        **{"x-invariants": [DIFFER, SINGLE, LONG]},
    )
    made.file.write_text(made.file.read_text() + "budgets: {rejections: 9}\n")
    return made


def codes(made: World) -> str:
    wrong = stored(made).correction
    return wrong.code if wrong else ""


def test_stand_ins_of_one_length_are_not_one_secret(keeping: World) -> None:
    two = {"door": "the-first-secret-of-all", "gate": "the-other-secret-of-all"}
    go(keeping, [look(1, keys=two, token="x"), look(2, keys={"yard": "the-third-secret-of-all"})], limit=2)
    go(keeping, [look(3, keys={"barn": "the-last-secret-of-them"}, notes={"a": "b"}), A, B, finish()])
    assert stored(keeping).outcome is Outcome.completed
    found = replayed(keeping)
    assert (found.wrong, found.skipped, found.steps, found.gated) == ((), (), 6, 6)
    assert [line.split()[1] for line in found.unseen] == ["keys_differ", "door_is_long"]
    assert all("kept nowhere" in line for line in found.unseen)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (look(2, keys={"gate": "the-first-secret-of-all"}), "invariants.keys_differ"),
        (look(2, keys={"door": "short"}), "invariants.door_is_long"),
        (look(2, keys={"gate": "x" * 61}), "schema.state"),
    ],
)
def test_what_a_secret_decided_is_said_to_be_unseen(keeping: World, reply: Any, code: str) -> None:
    go(keeping, [look(1, keys={"door": "the-first-secret-of-all"}), reply], limit=2)
    assert codes(keeping) == code
    go(keeping, [look(3, notes={"a": "x", "b": "x"}), A, B, finish()])
    found = replayed(keeping)
    assert found.wrong == () and found.gated == 5
    (line,) = found.skipped
    assert line == f"step 2: it was {code} for values of secret fields, which are kept nowhere"


def test_so_is_whether_two_sources_disagreed_on_a_secret(keeping: World) -> None:
    fact = {"pin": {"value": "1234", "source": "step:1"}}
    other = {"pin": {"value": "4321"}}
    go(keeping, [look(1, facts=fact), look(2, facts=other)])
    entry = waiting(keeping)
    assert entry.kind == "conflict" and "4321" not in entry.model_dump_json(include={"diff", "why"})
    say(keeping, entry)
    go(keeping, [A, B, finish()])
    assert stored(keeping).state["facts"] == {"pin": {"value": "4321", "source": "step:1"}}
    found = replayed(keeping)
    assert (found.wrong, found.steps, found.gated) == ((), 5, 4)
    why = "for values of secret fields, which are kept nowhere"
    assert found.skipped == (f"step 2: it was confirm {why}", f"step 3: it was allow {why}")


def test_control_what_no_secret_decides_is_still_found(keeping: World) -> None:
    go(
        keeping,
        [look(1, keys={"door": "the-first-secret-of-all"}), look(2, notes={"a": "x", "b": "x"}), A, B],
        limit=4,
    )
    assert replayed(keeping).wrong == ()
    path = keeping.root / ".agent-contract/state.schema.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"x-invariants": [DIFFER, LONG]}))
    keeping.file.write_text(keeping.file.read_text().replace('scope: ["src/**"]', 'scope: ["lib/**"]'))
    wrong = replayed(keeping).wrong
    assert any("the gate says allow now, it said invariants.notes_differ" in line for line in wrong)
    assert any("policy.path.scope now, it said allow" in line for line in wrong)


@pytest.mark.parametrize(
    ("one", "rests"),
    [
        ({"unique": "/keys/*"}, True),
        ({"unique": "/keys/#"}, False),
        ({"unique": "/facts/*"}, True),
        ({"unique": "/facts/*/source"}, False),
        ({"refers": "/notes/*", "to": "/keys/*"}, True),
        ({"refers": "/notes/*", "to": "/keys/#"}, False),
        ({"refers": "/notes/*", "to": "/facts/#", "with": {"required": ["source"]}}, False),
        ({"refers": "/notes/*", "to": "/facts/#", "with": {"properties": {"value": {"const": "x"}}}}, True),
        ({"refers": "/notes/*", "to": "/facts/#", "with": {"additionalProperties": {"maxLength": 3}}}, True),
        ({"holds": {"anyOf": [{"properties": {"token": {"const": "x"}}}, {"required": ["notes"]}]}}, True),
        ({"holds": {"properties": {"notes": {"minProperties": 1}}}}, False),
    ],
)
def test_which_invariants_may_rest_on_a_secret(keeping: World, one: dict[str, Any], rests: bool) -> None:
    schema = keeping.rig().task.schema
    (made,), problems = invariants(schema.plain | {"x-invariants": [{"name": "n", "say": "s", **one}]})
    assert problems == [] and any(made.rests_on(place) for place in schema.secrets) is rests
