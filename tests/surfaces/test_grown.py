"""A field more for the state, proposed by the agent and agreed to by a person in the middle of a run."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from controller.schema_chain import chain_of
from controller.surfaces.grown import at_version
from controller.taskfile import read_task
from tests.surfaces.shell import FINISH, READ, Shell, act, edit

pytestmark = pytest.mark.long

RISKS = {
    "type": "object", "maxProperties": 4, "propertyNames": {"pattern": "^[a-z]{1,9}$"},
    "additionalProperties": {"type": "string", "maxLength": 40}, "description": "What may go wrong.",
}  # fmt: skip
WISH = act("request_change", at="/schema/risks", value=json.dumps(RISKS), why="risks turned up")
RISKY = READ | {"state_patch": {"risks": {"tz": "naive"}}}
POLITE = edit("hello, please\n")


def state(shell: Shell) -> Any:
    return json.loads(shell("state", "export").out)


def folder(shell: Shell) -> list[str]:
    return sorted(path.name for path in (shell.repo / ".agent-runtime/schema/greet").glob("*"))


def test_a_field_that_was_agreed_to_is_there_in_the_next_prompt(shell: Shell) -> None:
    shell.task(READ, WISH, RISKY, RISKY, POLITE, FINISH)
    assert shell("run").code == 5
    shown = shell("approvals", "show", "c2").out
    assert "add /schema/risks to what the state may hold (because risks turned up)" in shown
    assert '"maxProperties":4' in shown and folder(shell) == []
    before = state(shell)
    assert shell("approve", "c2").code == 0
    one = shell("run", "--steps", "1")
    assert one.code == 0, one.err
    assert "the state's schema is of version 2 now, with what was agreed to: risks turned up" in one.err
    after = state(shell)
    assert (after["state"], before["state_version"], after["state_version"]) == (before["state"], 1, 2)
    assert folder(shell) == ["0002-adds-risks.json", "state.schema.v1.json", "state.schema.v2.json"]
    ended = shell("run")
    assert ended.code == 0, ended.err
    assert state(shell)["state"]["risks"] == {"tz": "naive"}
    assert 'risks: {"tz":"naive"}' in shell("prompt", "5").out
    told = shell("replay", "--json")
    assert told.code == 0 and not told.one["wrong"] and not told.one["skipped"], told.out
    assert '"risks":{"tz":"naive"}' in shell("state", "history", "--json").out
    assert shell("log", "--verify").code == 0
    assert shell("validate").code == 0
    assert shell("run", "--new", "--steps", "1").code == 0
    assert state(shell)["state_version"] == 2, "the next run begins with it"


def test_a_no_leaves_all_as_it_was(shell: Shell) -> None:
    shell.task(READ, WISH, RISKY, POLITE, FINISH)
    assert shell("run").code == 5
    assert shell("reject", "c2", "--why", "use notes").code == 0
    assert shell("run").code == 0
    assert folder(shell) == [] and state(shell)["state_version"] == 1 and "risks" not in state(shell)["state"]
    assert "use notes" in shell("prompt", "3").out
    assert shell("replay").code == 0


def test_what_a_crash_leaves_is_taken_up_by_the_next_call(shell: Shell) -> None:
    """Committed, and not carried over yet; or files that are not all written."""
    shell.task(READ, WISH, READ, RISKY, POLITE, FINISH)
    assert shell("run").code == 5 and shell("approve", "c2").code == 0
    assert shell("run", "--steps", "1").code == 0
    assert shell("state", "migrate", "--to", "1").code == 0
    assert folder(shell) == ["state.schema.v1.json", "undone"]
    home = shell.repo / ".agent-runtime/schema/greet"
    aside = home / "undone/1"
    shutil.copy(aside / "state.schema.v2.json", home)
    assert shell("run", "--steps", "0").code == 2 and shell("status").code == 0
    assert shell("validate").code == 0 and state(shell)["state_version"] == 1, (
        "without its migration it is none"
    )
    (aside / "0002-adds-risks.json").rename(home / "0002-adds-risks.json")
    went = shell("run")
    assert went.code == 0 and "version 2 now" in went.err, went.err
    assert state(shell)["state"]["risks"] == {"tz": "naive"}


def test_it_is_undone_by_migrating_back(shell: Shell) -> None:
    shell.task(READ, WISH, READ, RISKY, POLITE, FINISH)
    assert (
        shell("run").code == 5 and shell("approve", "c2").code == 0 and shell("run", "--steps", "2").code == 0
    )
    assert state(shell)["state"]["risks"] == {"tz": "naive"}
    back = shell("state", "migrate", "--to", "1")
    assert (
        back.code == 0 and "lost: what stands in /risks" in back.out and back.out.endswith("controller run\n")
    )
    assert "`controller state migrate --to 2` brings it back, empty" in back.out
    assert "risks" not in state(shell)["state"]
    assert shell("run").code == 0 and state(shell)["state_version"] == 1
    assert shell("replay").out.count("not replayed") == 0 and shell("replay").code == 0


def test_it_is_brought_back_and_the_whole_way_is_replayed(shell: Shell) -> None:
    shell.task(READ, WISH, READ, RISKY, READ, RISKY, POLITE, FINISH)
    assert shell("run").code == 5 and shell("approve", "c2").code == 0
    assert shell("run", "--steps", "2").code == 0 and state(shell)["state"]["risks"] == {"tz": "naive"}
    assert shell("state", "migrate", "--to", "1").code == 0
    assert shell("run", "--steps", "1").code == 0 and state(shell)["state_version"] == 1
    assert "there is no schema of version 3 (there are 1, 2)" in shell("state", "migrate", "--to", "3").err
    tried = shell("state", "migrate", "--to", "2", "--dry-run")
    assert tried.code == 0 and "1 -> 2: risks turned up (undone/0002-adds-risks.json)" in tried.out
    assert folder(shell) == ["state.schema.v1.json", "undone"]
    assert shell("state", "migrate", "--to", "2").code == 0
    assert state(shell)["state_version"] == 2 and "0002-adds-risks.json" in folder(shell)
    assert shell("run").code == 0 and state(shell)["state"]["risks"] == {"tz": "naive"}
    told = shell("replay", "--json")
    assert told.code == 0 and not told.one["wrong"] and not told.one["skipped"], told.out
    assert shell("validate").code == 0 and shell("log", "--verify").code == 0


def test_another_field_of_the_same_number_is_another_version(shell: Shell) -> None:
    """What was done under the one that was taken back is still judged by it."""
    other = act("request_change", at="/schema/owners", value=json.dumps(RISKS), why="who does it")
    owned = READ | {"state_patch": {"owners": {"tz": "ana"}}}
    shell.task(READ, WISH, READ, RISKY, other, READ, owned, RISKY, POLITE, FINISH)
    assert shell("run").code == 5 and shell("approve", "c2").code == 0
    assert shell("run", "--steps", "2").code == 0 and "risks" in state(shell)["state"]
    assert shell("state", "migrate", "--to", "1").code == 0
    assert shell("run").code == 5 and shell("approve", "c5").code == 0
    assert shell("run", "--steps", "3").code == 0
    assert state(shell)["state"]["owners"] == {"tz": "ana"} and state(shell)["state_version"] == 2
    assert "schema.unknown_field" in shell("explain", "8").out
    assert "of version 2 already" in shell("state", "migrate", "--to", "2").out
    assert (
        shell("state", "migrate", "--to", "1").code == 0 and shell("state", "migrate", "--to", "2").code == 0
    )
    grown = json.loads((shell.repo / ".agent-runtime/schema/greet/state.schema.v2.json").read_text())
    assert "owners" in grown["properties"], "the one that was taken back last"
    assert shell("run").code == 0
    told = shell("replay", "--json")
    assert told.code == 0 and not told.one["wrong"] and not told.one["skipped"], told.out


def test_where_the_state_can_not_follow_the_files_stay_as_they_were(shell: Shell) -> None:
    shell.task(READ, WISH, READ, RISKY, POLITE, FINISH)
    assert shell("run").code == 5 and shell("approve", "c2").code == 0
    assert shell("run", "--steps", "2").code == 0
    loaded, risks = read_task(shell.repo / "task.yaml"), "0002-adds-risks.json"
    with pytest.raises(RuntimeError), at_version(loaded, chain_of(loaded), 1):
        assert risks not in folder(shell)
        raise RuntimeError
    assert risks in folder(shell)
    assert shell("state", "migrate", "--to", "1").code == 0
    with pytest.raises(RuntimeError), at_version(loaded, chain_of(loaded), 2):
        assert risks in folder(shell)
        raise RuntimeError
    assert risks not in folder(shell) and shell("state", "migrate", "--to", "2").code == 0
    assert shell("run").code == 0 and state(shell)["state_version"] == 2


@pytest.mark.parametrize(
    ("at", "value", "told"),
    [
        ("/schema/risks", '{"type": "string"}', "maxLength"),
        ("/schema/risks", "no json", "must be the JSON Schema of the field"),
        ("/schema/notes", '{"type": "string", "maxLength": 9}', "is there already"),
        ("/schema/notes/*/more", '{"type": "string", "maxLength": 9}', "no object with named fields"),
        ("/schema/risks", '{"type": "string", "maxLength": 9, "x-owner": "user"}', "belongs to the agent"),
        ("/schema/risks", '{"type": "string", "maxLength": 3000}', "bytes with it"),
        ("/schema", '{"type": "string", "maxLength": 9}', "no place that can be changed"),
    ],
)
def test_what_could_not_be_agreed_to_is_refused_at_once(shell: Shell, at: str, value: str, told: str) -> None:
    shell.task(act("request_change", at=at, value=value, why="so"), READ)
    assert shell("run", "--steps", "1").code == 0
    correction = shell("explain", "1").out
    assert "intent.change" in correction and told in correction
    assert shell("approvals").out == "nothing waits for a person\n"


def test_an_edit_of_the_schema_that_it_was_made_of_is_not_lost_unseen(shell: Shell) -> None:
    shell.task(READ, WISH, RISKY, POLITE, FINISH, goal="contract: .agent-contract")
    home = shell.repo / ".agent-contract"
    home.mkdir()
    (home / "intent-contract.json").write_text('{"version": 1, "goal": "Polite."}')
    schema = json.loads(shell("schema", "state").out)
    (home / "state.schema.json").write_text(json.dumps(schema))
    assert shell("run").code == 5 and shell("approve", "c2").code == 0
    assert shell("run", "--steps", "1").code == 0
    schema["properties"]["mine"] = {"type": "string", "maxLength": 9}
    (home / "state.schema.json").write_text(json.dumps(schema))
    refused = shell("run")
    assert (
        refused.code == 2 and "give yours the next x-version, 3, and write a migration from 2" in refused.err
    )
    grown = shell.repo / ".agent-runtime/schema/greet"
    (home / "migrations").mkdir()
    for name in ("0002-adds-risks.json", "state.schema.v1.json"):
        (home / "migrations" / name).write_bytes((grown / name).read_bytes())
    (home / "state.schema.json").write_bytes((grown / "state.schema.v2.json").read_bytes())
    assert shell("validate").code == 0
    assert shell("run").code == 0, "taken into the contract folder it is an ordinary version"
