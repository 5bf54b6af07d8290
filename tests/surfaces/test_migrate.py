"""`state migrate` and what `validate`, `run`, `state history` and `recall` say of versions: as a user calls them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.controller.versions import ONE, TEXT, TO_TWO, TWO, contract, keyed, schema
from tests.surfaces.shell import FINISH, Shell, act, edit

pytestmark = pytest.mark.long

NOTED = act("list_files", {"notes": {"tz": "uses text_type", "win": "unexplored"}}, depth=1)
POLITE = edit("hello, please\n")


@pytest.fixture
def versioned(shell: Shell) -> Shell:
    """A run after its first step, at version 1; the agent needs two more."""
    shell.task(NOTED, POLITE, FINISH, goal="goal: The greeting is polite.\ncontract: .agent-contract")
    contract(shell.repo, ONE)
    assert shell("step").code == 0
    return shell


def to_two(shell: Shell) -> Path:
    return contract(shell.repo, TWO, older=(ONE,), migrations=(TO_TWO,))


def test_a_run_is_migrated_and_goes_on(versioned: Shell) -> None:
    shell = versioned
    to_two(shell)
    refused = shell("run")
    assert refused.code == 2 and "controller state migrate --to 2 --dry-run" in refused.err
    shown = shell("state", "migrate", "--dry-run")
    assert shown.code == 0 and '- /notes: {"tz":"uses text_type","win":"unexplored"}' in shown.out
    assert '+ /facts: {"tz":{"source":"unknown","text":"uses text_type"}' in shown.out
    assert "nothing was changed" in shown.out and '"notes"' in shell("state", "show", "--json").out
    told = shell("state", "migrate", "--json").one
    assert (told["from"], told["to"], told["changed"]) == (1, 2, True)
    assert told["migrations"] == ["migrations/0002-step.json"]
    assert shell("run").code == 0
    assert shell("state", "show", "--json").one["facts"]["tz"]["text"] == "uses text_type"
    log = shell("log")
    assert "migration" in log.out and "state migrated from version 1 to 2" in log.out
    assert shell("log", "--verify").code == 0
    assert "migrated to version 2" in shell("state", "history").out
    assert [line.get("migrated_to") for line in shell("state", "history", "--json").lines] == [
        None,
        2,
        None,
        None,
    ]
    assert "+ /facts" in shell("state", "diff", "0").out
    assert shell("replay").code == 0
    export = json.loads(shell("state", "export").out)
    assert (export["state_version"], export["schema"]["x-version"]) == (2, 2)


def test_back_and_on_with_the_old_schema(versioned: Shell) -> None:
    shell = versioned
    to_two(shell)
    before = shell("state", "show", "--json").out
    assert shell("state", "migrate").code == 0
    back = shell("state", "migrate", "--to", "1")
    assert (
        back.code == 0 and "put migrations/state.schema.v1.json in the place of state.schema.json" in back.out
    )
    assert shell("state", "show", "--json").one == json.loads(before)
    folder = shell.repo / ".agent-contract"
    (folder / "state.schema.json").write_text((folder / "migrations/state.schema.v1.json").read_text())
    (folder / "migrations/state.schema.v2.json").write_text(json.dumps(TWO))
    assert shell("validate").code == 0, shell("validate").out
    assert shell("run").code == 0
    assert shell("replay").code == 0, "its replies are judged under the schema of their time"


def test_what_can_not_be_is_refused_with_what_to_do(versioned: Shell) -> None:
    shell = versioned
    to_two(shell)
    wrong = shell("state", "migrate", "--to", "7")
    assert wrong.code == 2 and "there are 1, 2" in wrong.err
    assert shell("state", "migrate").code == 0
    assert "of version 2 already" in shell("state", "migrate").out
    contract(shell.repo, ONE)
    for call in (("run",), ("state", "migrate")):
        newer = shell(*call)
        assert newer.code == 8 and "version 2" in newer.err, newer.err
    (shell.repo / ".agent-contract/migrations/0002-step.json").write_text('{"from": 1, "to": 2}')
    assert "why: Field required" in shell("state", "migrate").err
    (shell.repo / ".agent-contract/migrations/0002-step.json").rename(
        shell.repo / ".agent-contract/migrations/notes.json"
    )
    assert "neither a migration nor an older schema" in shell("validate").out


def test_before_the_first_run_there_is_nothing_to_migrate(shell: Shell) -> None:
    shell.task(NOTED)
    said = shell("state", "migrate")
    assert said.code == 2 and "no run yet" in said.err
    assert not (shell.repo / ".agent-runtime").exists()


def test_a_controller_at_work_is_not_disturbed(versioned: Shell) -> None:
    shell = versioned
    agent = shell.home / "agent.py.json"
    agent.write_text(json.dumps([NOTED, {"sleep": 60, **POLITE}]))
    run = shell.start("run")
    try:
        for _ in range(100):
            if shell("status", "--json").one["state"] == "running":
                break
            time.sleep(0.05)
        to_two(shell)
        said = shell("state", "migrate")
        assert said.code == 7, said.err
        assert '"notes"' in shell("state", "show", "--json").out
    finally:
        run.terminate()
        run.communicate(timeout=40)


def test_validate_tries_every_migration_both_ways(shell: Shell) -> None:
    shell.task(NOTED, goal="goal: The greeting is polite.\ncontract: .agent-contract")
    for change, says in (
        ({"back": []}, "back, the result is no state of version 1"),
        ({"samples": [{"notes": {"a": 1}, "next_action": ""}]}, "sample 1 is no state of version 1"),
        ({"from": 2, "to": 3}, "the chain has a hole"),
    ):
        contract(shell.repo, TWO, older=(ONE,), migrations=({**TO_TWO, **change},))
        found = shell("validate")
        assert found.code == 3 and says in found.out, found.out


def test_validate_says_when_a_version_was_edited_and_when_there_is_no_way_back(shell: Shell) -> None:
    shell.task(NOTED, goal="goal: The greeting is polite.\ncontract: .agent-contract")
    folder = to_two(shell)
    wider = schema(2, {"notes": keyed(TEXT, most=9), "next_action": TEXT})
    same = {"from": 1, "to": 2, "why": "one more", "forward": [], "back": []}
    narrow = schema(1, {"notes": keyed(TEXT, most=2), "next_action": TEXT})
    contract(shell.repo, wider, older=(narrow,), migrations=(same,))
    found = shell("validate")
    assert found.code == 0 and "no way back" in found.out
    (folder / "migrations/state.schema.v2.json").write_text(json.dumps(wider | {"title": "edited"}))
    assert "both say that they are version 2 and differ" in shell("validate").out


def test_recall_finds_what_a_migration_left_out_and_not_what_it_only_moved(versioned: Shell) -> None:
    shell = versioned
    drop = {
        "from": 1,
        "to": 2,
        "why": "only what is known of tz",
        "forward": [{"op": "remove", "path": "/notes/win", "if_present": True}],
        "back": [],
        "lossy": "the note win",
    }
    contract(shell.repo, {**ONE, "x-version": 2}, older=(ONE,), migrations=(drop,))
    assert shell("state", "migrate").code == 0
    hits = shell("recall", "unexplored", "--kind", "state", "--json").one["hits"]
    assert [hit["place"] for hit in hits] == ["/notes/win, removed at step 1"]
    assert shell("recall", "text_type", "--kind", "state", "--json").one["hits"] == []


SECRET = {"type": "string", "maxLength": 60, "x-sensitivity": "secret", "default": ""}


def test_a_secret_stays_one(versioned: Shell) -> None:
    shell = versioned
    one = {**ONE, "properties": {**ONE["properties"], "token": SECRET}}
    contract(shell.repo, one)
    Path(f"{shell.home}/agent.py.json").write_text(
        json.dumps([NOTED, act("list_files", {"token": "abc-9876543"})])
    )
    assert shell("run", "--steps", "1", "--retry").code == 0, "who may see what is for a person to confirm"
    renamed = {
        "from": 1, "to": 2, "why": "another name", "samples": [],
        "forward": [{"op": "move", "from": "/token", "path": "/key", "if_present": True}],
        "back": [{"op": "move", "from": "/key", "path": "/token", "if_present": True}],
    }  # fmt: skip
    open_ = schema(2, {**ONE["properties"], "key": TEXT}, "key")
    contract(shell.repo, open_, older=(one,), migrations=(renamed,))
    refused = shell("state", "migrate")
    assert refused.code == 2 and "secret" in refused.err and "9876543" not in refused.err
    kept = schema(2, {**ONE["properties"], "key": SECRET}, "key")
    contract(shell.repo, kept, older=(one,), migrations=(renamed,))
    moved = shell("state", "migrate")
    assert moved.code == 0 and "9876543" not in moved.out and "9876543" not in shell("log", "--json").out
    assert "9876543" not in shell("recall", "abc", "--json").out
    assert shell("log", "--verify").code == 0


def test_validate_says_when_a_task_is_too_small(shell: Shell) -> None:
    shell.task(NOTED, budgets="budgets: {steps: 3}")
    said = shell("validate")
    assert said.code == 0 and "at most 3 steps" in said.out
    left = "authorities: {left: {use: command, run: [cat, src/greeting.txt], worklist: true}}"
    shell.task(NOTED, budgets=f"{left}\nbudgets: {{steps: 9}}")
    assert "fewer than five steps" not in shell("validate").out
    said = shell("validate", "--prove-checks")
    assert said.code == 0 and "the worklist left shows 1 left" in said.out
