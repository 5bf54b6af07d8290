"""What only the user may change, proposed by the agent: shown, decided on, and then it holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.outcomes import Outcome
from tests.controller.test_queue import CONTRACT, TASK, A, B, change, contracted, record, say, waiting
from tests.controller.test_step import go
from tests.controller.world import FILES, World, action, finish, part


def intent(prompt: str) -> str:
    return part(prompt, "intent")


def test_an_approved_change_of_the_intent_holds_and_keeps_what_it_replaced(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r")
    go(world, [change("/intent/locked_requirements/keep", "Keep the file names, but for b.txt.")])
    entry = waiting(world)
    assert (entry.kind, entry.id) == ("change", "c1")
    assert entry.diff == (
        "/intent/locked_requirements/keep\n- Keep the file names.\n+ Keep the file names, but for b.txt."
    )
    say(world, entry, why="agreed in the meeting")
    go(world, [A, change("/intent/constraints/-", "Sign the work.")])
    first = world.prompts[0]
    assert "- [keep] Keep the file names, but for b.txt." in intent(first)
    assert "agreed in the meeting" in part(first, "observation")
    held = record(world).intent
    assert held is not None
    was, now, _ = held["locked_requirements"]
    assert was == {"id": "keep.1", "value": "Keep the file names."}
    assert (now["id"], now["supersedes"]) == ("keep", "keep.1"), "others refer to it by its id"
    assert now["source"] == f"step:{record(world).run}/2"
    say(world, waiting(world))
    go(world, [change("/intent/constraints/1")])
    assert "Sign the work." in intent(world.prompts[0])
    say(world, waiting(world))
    go(world, [change("/intent/goal", "Replace every `old`.")])
    assert "Edit by hand." not in intent(world.prompts[0]) and "Sign the work." in intent(world.prompts[0])
    say(world, waiting(world))
    end = go(world, [B, finish()])
    assert end.outcome is Outcome.completed and "Goal: Replace every `old`.\n" in intent(world.prompts[0])
    assert (world.root / ".agent-contract/intent-contract.json").read_text() == CONTRACT, (
        "the user's file is theirs"
    )


@pytest.mark.parametrize(
    ("at", "value", "told"),
    [
        ("/intent/locked_requirements/none", "x", "there are keep, 2"),
        ("/intent/secrets/1", "x", "no place that can be changed"),
        ("/intent/goal", None, "can't be removed"),
        ("/intent/constraints/-", None, "needs a value"),
        ("/state/notes", "{}", "yours to change"),
        ("/state/source_authority", "no json", "must be JSON"),
        ("notes", "x", "no place"),
        ("/intent/constraints/-", "x" * 4000 + "y", "wrong"),
    ],
)
def test_what_could_never_be_approved_is_refused_at_once(
    tmp_path: Path, at: str, value: str | None, told: str
) -> None:
    world = contracted(tmp_path / "r")
    go(world, [change(at, value), finish()], limit=2)
    assert told in world.prompts[1] and record(world).queue == ()


def test_the_intent_grows_within_its_bound_only(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r", "budgets: {rejections: 9}\n")
    for number in range(2):
        end = go(world, [change("/intent/constraints/-", str(number) * 1900)])
        assert end.outcome is Outcome.blocked
        say(world, waiting(world))
    go(world, [change("/intent/constraints/-", "9" * 1900), finish()], limit=3)
    assert "say it shorter" in world.prompts[1]
    assert "1" * 1900 in intent(world.prompts[0])


def test_an_approved_change_of_a_locked_field(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=TASK)
    go(
        world,
        [action("list_files", {}, source_authority="CI"), change("/state/source_authority", '"the CI"')],
    )
    assert "request_change" in world.prompts[1], "the refusal names the way"
    entry = waiting(world)
    assert entry.diff == '/state/source_authority\n+ "the CI"'
    assert "source_authority" not in record(world).state
    say(world, entry)
    go(world, [finish()], limit=2)
    assert record(world).state["source_authority"] == "the CI"
    assert 'source_authority: "the CI"' in world.prompts[0]


def test_a_change_is_refused_when_what_it_changes_is_another_by_then(tmp_path: Path) -> None:
    world = contracted(tmp_path / "r", "approvals: {on_blocked: continue}\n")
    go(world, [change("/intent/constraints/1", "One."), change("/intent/constraints/1", "Two.")], limit=2)
    one, two = record(world).queue
    say(world, one)
    say(world, two)
    go(world, [finish()], limit=3)
    assert "policy.approval_moved" in world.prompts[0] and "One." in intent(world.prompts[0])


def test_a_secret_field_is_changed_by_nobody_but_the_user(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "notes": {"type": "string", "maxLength": 100, "default": ""},
            "token": {
                "type": "string", "maxLength": 100, "default": "", "x-owner": "user", "x-sensitivity": "secret"
            },
        },
        "required": ["notes"],
        "additionalProperties": False,
    }  # fmt: skip
    task = TASK.replace("goal: Replace every `old` by `new` in src.\n", "contract: .agent-contract\n")
    files = FILES | {
        ".agent-contract/intent-contract.json": CONTRACT,
        ".agent-contract/skill-spec.md": "# Skill\n",
        ".agent-contract/state.schema.json": json.dumps(schema),
    }
    world = World(tmp_path / "r", task=task, files=files)
    go(world, [change("/state/token"), finish()], limit=2)
    assert "only the user sets it" in world.prompts[1] and record(world).queue == ()
