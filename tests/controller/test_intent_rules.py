"""The six rules of what decides what matters, one test each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from contracts.changes import GROWTH, BadChange, proposed
from contracts.criteria import unproven
from contracts.errors import ConfigError
from contracts.intent import IntentContract
from contracts.outcomes import Outcome
from contracts.readings import UnknownReading
from contracts.state import StateSchema
from controller.render import worst_case
from controller.replay import replay
from controller.stores.artifacts import FileArtifacts
from tests.controller.test_migrate import ALL, FIRST, carried
from tests.controller.test_queue import change, record, rows, say, waiting
from tests.controller.test_step import go
from tests.controller.versions import ONE, THREE, VERSIONED, contract
from tests.controller.world import FILES, TASK, World, action, edit, finish

A, B = edit("src/a.txt", "one old", "one new"), edit("src/b.txt", "an old", "a new")
FACT = {"value": "80", "source": "step:1", "step": 1}
INTENT: dict[str, Any] = {
    "version": 1,
    "goal": "Replace every `old` by `new` in src.",
    "locked_requirements": [{"id": "port", "value": "It listens on port 80.", "source": "issue:12"}],
}


def world(folder: Path, *, schema: str = "ctf", more: str = "", **intent: Any) -> World:
    task = TASK.replace("goal: Replace every `old` by `new` in src.\n", "contract: .agent-contract\n")
    task = task.replace("ask, finish]", "ask, request_change, finish]")
    text = orjson.dumps(StateSchema.builtin(schema).source).decode()
    files = FILES | {
        ".agent-contract/intent-contract.json": json.dumps(INTENT | intent),
        ".agent-contract/state.schema.json": text,
    }
    return World(folder, task=task + more, files=files)


def look(**patch: Any) -> dict[str, Any]:
    return action("list_files", {}, **patch)


def code(of: World) -> str:
    wrong = record(of).correction
    return wrong.code if wrong else ""


def same_again(of: World) -> None:
    found = replay(rows(of), of.rig().task, FileArtifacts(of.root / ".agent-runtime/artifacts"))
    assert (found.wrong, found.skipped) == ((), ())


def test_user_owned_fields_change_only_by_a_proposal(tmp_path: Path) -> None:
    one = world(tmp_path / "r", schema="coding")
    for patch in ({"source_authority": "CI"}, {"source_authority": None}):
        go(one, [look(**patch)], limit=1)
        assert code(one) == "intent.locked" and "source_authority" not in record(one).state
    go(one, [look(intent={"locked_requirements": None})], limit=1)
    assert code(one) == "schema.unknown_field", "the intent is no part of what a patch reaches"
    go(one, [change("/state/source_authority", '"CI"')])
    assert waiting(one).kind == "change" and "source_authority" not in record(one).state
    say(one, waiting(one))
    go(one, [], limit=1)
    assert record(one).state["source_authority"] == "CI"
    same_again(one)


@pytest.mark.parametrize(
    ("source", "good"),
    [
        ("step:3", True),
        ("artifact:0123abcd:10-20", True),
        ("commit:0123456", True),
        ("src/a.txt@0123456:1-2", True),
        ("check:no-old", True),
        ("issue:12", True),
        ("https://example.org/a", True),
        ("I saw it", False),
        ("step:", False),
        ("commit:main", False),
        ("src/a.txt:3", False),
    ],
)
def test_a_fact_names_its_source(tmp_path: Path, source: str, good: bool) -> None:
    one = world(tmp_path / "r")
    go(one, [look(facts={"port": FACT | {"source": source}})], limit=1)
    assert ("port" in record(one).state["facts"]) is good
    if not good:
        assert code(one) == "schema.state"
        said = record(one).correction
        assert said is not None and ("is no pointer: write artifact:ID" in said.say)


def test_a_fact_without_a_source_is_none(tmp_path: Path) -> None:
    one = world(tmp_path / "r")
    go(one, [look(facts={"port": {"value": "80"}})], limit=1)
    assert code(one) == "schema.state" and record(one).state["facts"] == {}


def test_unknown_is_a_value_with_a_reason(tmp_path: Path) -> None:
    one = world(tmp_path / "r", more="budgets: {rejections: 9}\n")
    for wrong in ({"source": "step:1"}, {"source": "step:1", "value": "80", "unknown": "why"}):
        go(one, [look(facts={"port": wrong})], limit=1)
        assert code(one) == "invariants.known_or_unknown"
    go(one, [look(facts={"port": {"source": "step:1", "unknown": "the scan timed out"}})], limit=1)
    go(one, [look()], limit=1)
    assert '"unknown":"the scan timed out"' in one.prompts[0].partition("=== STATE")[2]
    go(one, [look(facts={"port": FACT | {"source": "step:9", "unknown": None}})], limit=1)
    assert record(one).state["facts"]["port"]["value"] == "80" and record(one).queue == (), (
        "what was unknown conflicts with nothing"
    )

    blind = TASK.replace("[git, grep, -n, old, --, src]", "[/nonexistent-program]")
    two = World(tmp_path / "b", task=blind)
    go(two, [look()], limit=1)
    shown = two.prompts[0].partition("=== AUTHORITIES")[2].partition("===\n")[2].partition("\n===")[0]
    (line,) = [line for line in shown.splitlines() if line.startswith("remaining")]
    assert len(line) > len("remaining: unknown ()") or "remaining: failed" in line
    assert UnknownReading(name="x", why="the reason").why, "an unknown reading has its reason"
    with pytest.raises(ValueError, match="why"):
        UnknownReading.model_validate({"name": "x"})


def test_two_sources_of_one_fact_are_for_a_person(tmp_path: Path) -> None:
    one = world(tmp_path / "r")
    go(one, [look(facts={"port": FACT}), look(facts={"port": {"value": "8080", "source": "step:2"}})])
    entry = waiting(one)
    assert (entry.kind, entry.id) == ("conflict", "d2")
    assert entry.diff == '/facts/port\n- "80" (source: step:1)\n+ "8080" (source: step:2)'
    assert record(one).state["facts"] == {"port": FACT}, "nothing is overwritten meanwhile"
    say(one, entry, hash=record(one).queue[0].hash[:-1] + "x")
    assert go(one, []).outcome is Outcome.blocked, "a yes is to these very values"
    say(one, entry, why="it moved")
    go(one, [look(facts={"port": {"value": "9", "source": "check:sound"}})], limit=2)
    assert record(one).state["facts"]["port"] == FACT | {"value": "8080", "source": "step:2"}
    (row,) = [row for row in rows(one) if "superseded" in row.extra]
    assert row.extra["superseded"] == {"/facts/port": FACT}
    say(one, waiting(one), yes=False, why="the check is wrong")
    go(one, [look()], limit=1)
    assert "said no to d4" in one.prompts[0] and record(one).state["facts"]["port"]["value"] == "8080"
    same_again(one)


def test_what_is_no_conflict_goes_through_and_what_would_hide_one_does_not(tmp_path: Path) -> None:
    one = world(tmp_path / "r", more="approvals: {on_blocked: continue}\nbudgets: {rejections: 9}\n")
    again = FACT | {"value": "81"}
    fine = [
        look(facts={"port": FACT}),
        look(facts={"port": FACT}),
    ]
    go(one, [*fine, look(facts={"port": again})], limit=3)
    assert record(one).state["facts"]["port"] == again, "one source corrects itself"
    go(one, [look(facts={"port": None})], limit=1)
    assert code(one) == "patch.append_only", "a fact is not removed to be set anew"
    go(
        one,
        [look(facts={"port": {"value": "82"}}), look(facts={"port": {"value": "82"}}, target="t")],
        limit=2,
    )
    assert [entry.kind for entry in record(one).queue] == ["conflict"]
    assert code(one) == "intent.conflict" and record(one).state["target"] == "", "one entry for one question"
    go(one, [action("ask", {"question": "?"}, facts={"port": {"value": None, "unknown": "?"}})], limit=1)
    assert code(one) == "intent.conflict"
    edit_too = A | {"state_patch": {"facts": {"port": {"value": "83", "source": "step:9"}}}}
    text = one.file.read_text().replace(
        "{on_blocked: continue}", "{on_blocked: continue, boundaries: [edit_files]}"
    )
    one.file.write_text(text)
    go(one, [edit_too], limit=1)
    assert record(one).queue[-1].kind == "conflict" and "; and edit_files needs" in record(one).queue[-1].why


def test_a_fact_is_not_taken_over_by_naming_another_source_first(tmp_path: Path) -> None:
    one = world(tmp_path / "r")
    end = go(one, [look(facts={"port": FACT}), look(facts={"port": {"source": "step:7"}})])
    assert end.outcome is Outcome.blocked and record(one).queue[-1].kind == "conflict"
    assert record(one).state["facts"]["port"] == FACT


def test_evidence_against_a_locked_requirement_is_for_a_person(tmp_path: Path) -> None:
    one = world(tmp_path / "r")
    wish = change("/intent/locked_requirements/port", "It listens on port 8080.")
    wish["action"]["args"]["source"] = "the log"
    go(one, [wish], limit=1)
    assert code(one) == "intent.change" and record(one).queue == ()
    wish["action"]["args"]["source"] = "check:sound"
    go(one, [wish])
    entry = waiting(one)
    assert entry.kind == "conflict" and entry.why.startswith("check:sound speaks against it: ")
    assert entry.diff.splitlines()[1:] == [
        "- It listens on port 80.",
        "+ It listens on port 8080.",
        "against it speaks check:sound",
    ]
    assert "It listens on port 80." in one.prompts[0] and record(one).intent is None
    say(one, entry, yes=False, why="mend the check")
    go(one, [look()], limit=1)
    assert "said no to d2" in one.prompts[0] and "- [port] It listens on port 80." in one.prompts[0]
    same_again(one)


def test_the_schema_is_versioned_with_migration_and_rollback(tmp_path: Path) -> None:
    one = World(tmp_path / "r", task=VERSIONED)
    contract(one.root, ONE)
    go(one, [FIRST], limit=1)
    before = record(one)
    contract(one.root, THREE, **ALL)
    with pytest.raises(ConfigError, match="state migrate --to 3"):
        go(one, [])
    assert record(one) == before, "nothing is asked and nothing changed while state and schema differ"
    carried(one)
    assert record(one).state_version == 3 and record(one).state != before.state
    carried(one, to=1)
    assert (record(one).state_version, record(one).state) == (1, before.state)
    assert [row.extra["to"] for row in rows(one) if row.kind == "migration"] == [3, 1]


def test_each_criterion_is_walked_back_to_its_evidence(tmp_path: Path) -> None:
    criteria = [
        {"id": "clean", "value": "No `old` is left.", "proof": ["no-old"]},
        {"id": "sound", "value": "It is sound."},
        "It reads well.",
    ]
    one = world(tmp_path / "r", schema="coding", success_criteria=criteria)
    end = go(one, [A, B, finish()])
    assert end.outcome is Outcome.completed
    assert end.record.halt.say == "done (not provable by a check: [3] It reads well.)"
    assert "- [clean] No `old` is left. (proof: no-old)" in one.prompts[0]
    assert rows(one)[-1].extra["unproven"] == ["[3] It reads well."]

    locked = [*criteria[:2], {"value": "It reads well.", "change_policy": "locked"}]
    two = world(tmp_path / "l", schema="coding", success_criteria=locked)
    end = go(two, [A, B, finish()])
    assert end.outcome is Outcome.blocked and "no check proves [3] It reads well." in end.record.halt.say
    entry = waiting(two)
    assert entry.kind == "finish" and entry.basis["head"] == end.record.head and "intent" in entry.basis
    say(two, entry, why="it does")
    end = go(two, [])
    assert end.outcome is Outcome.completed and end.record.spent.launches == 3
    same_again(two)


def test_a_criterion_that_was_changed_keeps_its_evidence() -> None:
    contract = IntentContract.model_validate(
        {
            "goal": "g",
            "success_criteria": [
                {"id": "clean", "value": "a"},
                {"id": "x", "value": "b", "proof": ["sound"]},
            ],
        }
    )
    for number, name in enumerate(("clean", "x"), start=1):
        args = {"at": f"/intent/success_criteria/{name}", "value": "changed", "why": "w"}
        changed = proposed(args, {}, contract, StateSchema.builtin("coding"), "step:1", 10_000).intent
        assert changed is not None and len(changed.success_criteria) == 3
        assert unproven(changed, ("clean", "sound")) == ()
        args = {"at": f"/intent/success_criteria/{number}", "why": "w"}
        gone = proposed(args, {}, changed, StateSchema.builtin("coding"), "step:1", 10_000).intent
        assert gone is not None and len(gone.success_criteria) == 1, "what it superseded does not come back"


def test_the_contract_stands_whole_in_the_prompt_and_in_its_bound(tmp_path: Path) -> None:
    many = [f"{number:03} " + "word " * 180 + f"end{number:03}" for number in range(60)]
    one = world(tmp_path / "r", schema="coding", constraints=many, must_remember=many[:30])
    go(one, [look()], limit=1)
    shown = one.prompts[0].partition("=== INTENT ===")[2].partition("\n=== ")[0]
    assert all(text in shown for text in many) and shown.count("end007") == 2 and "… cut" not in shown
    law = one.rig().task
    assert len(shown.encode()) <= worst_case(law, 1000)["intent"] <= len(shown.encode()) + GROWTH + 64


def test_a_proposal_never_says_more_than_its_place() -> None:
    contract, schema = IntentContract.model_validate(INTENT), StateSchema.builtin("coding")
    with pytest.raises(BadChange, match="no place"):
        proposed({"at": "/intent/x/1", "value": "v"}, {}, contract, schema, "step:1", 10_000)
