"""`intent show`, `intent write`, `run --accept-new-intent`: as a person calls them."""

from __future__ import annotations

import json
from typing import Any

from tests.surfaces.shell import FINISH, READ, Shell, act, edit

FILE = ".agent-contract/intent-contract.json"
CONTRACT = {
    "$schema": "./x.json",
    "version": 1,
    "goal": "The greeting is polite.",
    "constraints": ["Short.", "No."],
}


def change(at: str, value: str, **more: Any) -> dict[str, Any]:
    return act("request_change", at=at, value=value, why="asked for", **more)


def contracted(shell: Shell, *replies: object) -> None:
    shell.task(*replies, goal="contract: .agent-contract")
    (shell.repo / FILE).parent.mkdir(exist_ok=True)
    (shell.repo / FILE).write_text(json.dumps(CONTRACT))


def test_approved_changes_are_shown_and_written_into_the_file(shell: Shell) -> None:
    contracted(
        shell, READ, change("/intent/constraints/1", "Very short."), READ, edit("hello, please\n"), FINISH
    )
    assert shell("intent", "show").out.startswith("Goal: The greeting is polite.\nConstraints:\n- Short.\n")
    assert shell("run").code == 5
    assert shell("approve", "c2", "--why", "yes").code == 0
    assert shell("run", "--steps", "1").code == 0
    told = shell("intent", "show", "--json").one
    (changed,) = told["changes"]
    assert (changed["step"], changed["entry"], changed["why"]) == (3, "c2", "yes")
    assert changed["edits"][0]["superseded"]["value"] == "Short." and told["edited"] is False
    shown = shell("intent", "show").out
    assert "- Very short." in shown and "changed at step 3" in shown and "  - Short." in shown

    assert shell("intent", "write", "--json").one["changed"] is True
    kept = json.loads((shell.repo / FILE).read_text())
    assert kept["$schema"] == "./x.json" and kept["constraints"][0]["value"] == "Short."
    assert kept["constraints"][1]["supersedes"] == kept["constraints"][0]["id"]
    assert "says already" in shell("intent", "write").out
    ended = shell("run")
    assert ended.code == 0, ended.err
    assert "the intent says what was in force already" in ended.err
    assert shell("run", "--new", "--steps", "1").code == 0
    assert "Very short." in shell("prompt").out, "what was approved outlives the run"


def test_an_edit_waits_and_every_place_names_the_option(shell: Shell) -> None:
    contracted(shell, READ, change("/intent/constraints/-", "Signed."), READ, edit("hello, please\n"), FINISH)
    assert shell("run").code == 5 and shell("approve", "c2").code == 0
    assert shell("run", "--steps", "1").code == 0
    (shell.repo / FILE).write_text(json.dumps(CONTRACT | {"constraints": ["Long.", "No."]}))
    blocked = shell("run", "--json")
    assert (blocked.code, blocked.lines[-1]["next"]) == (5, "controller run --accept-new-intent")
    assert "- Short., + Long." in blocked.lines[-1]["say"] and "Signed." in blocked.lines[-1]["say"]
    assert shell("status", "--json").one["next"] == "controller run --accept-new-intent"
    assert "was edited since" in shell("intent", "show").out and "Long." not in shell("intent", "show").out
    assert shell("intent", "write").code == 0, "the edit stays, what was approved is added"
    kept = json.loads((shell.repo / FILE).read_text())["constraints"]
    assert kept[:2] == ["Long.", "No."] and kept[2]["value"] == "Signed."
    assert "Signed" not in shell("run", "--json").lines[-1]["say"]
    ended = shell("run", "--accept-new-intent")
    assert ended.code == 0 and "Long." in shell("intent", "show").out
    assert "accepted" in shell("log").out


def test_an_edit_of_the_same_item_is_not_overwritten(shell: Shell) -> None:
    contracted(shell, change("/intent/constraints/1", "Very short."), READ)
    assert shell("run").code == 5 and shell("approve", "c1").code == 0
    assert shell("run", "--steps", "1").code == 0
    text = json.dumps(CONTRACT | {"constraints": ["Long."]})
    (shell.repo / FILE).write_text(text)
    refused = shell("intent", "write")
    assert refused.code == 2 and "Very short." in refused.err and (shell.repo / FILE).read_text() == text


def test_a_goal_in_the_task_file_is_not_written(shell: Shell) -> None:
    shell.task(READ)
    assert shell("intent", "show", "--json").one["contract"] == {
        "version": 1,
        "goal": "The greeting is polite.",
    }
    refused = shell("intent", "write")
    assert refused.code == 2 and "contract: .agent-contract" in refused.err


FACTS = {
    "type": "object", "additionalProperties": False, "required": ["facts"],
    "properties": {
        "facts": {
            "type": "object", "maxProperties": 9, "propertyNames": {"pattern": "^[a-z]{1,9}$"},
            "x-change-policy": "ask",
            "additionalProperties": {
                "type": "object", "additionalProperties": False, "required": ["value", "source"],
                "properties": {
                    "value": {"type": "string", "maxLength": 40},
                    "source": {"type": "string", "maxLength": 100, "x-format": "source"},
                },
            },
        }
    },
}  # fmt: skip


def test_a_source_is_looked_up_and_said_to_be_gone(shell: Shell) -> None:
    head = shell.git("rev-parse", "HEAD").strip()
    sources = {
        "file": f"src/greeting.txt@{head[:12]}:1-1", "commit": f"commit:{head}", "step": "step:1",
        "check": "check:polite", "issue": "issue:7", "url": "url:https://example.org/x",
        "gone": "artifact:0123456789abcdef",
        "nofile": f"src/no.txt@{head}:1", "nocommit": "commit:0123456789", "nostep": "step:99",
    }  # fmt: skip
    some = list(sources.items())
    facts = [
        {"facts": {name: {"value": "v", "source": each} for name, each in part}}
        for part in (some[:5], some[5:9])
    ]
    contracted(shell, READ | {"state_patch": facts[0]}, READ | {"state_patch": facts[1]}, FINISH)
    (shell.repo / ".agent-contract/state.schema.json").write_text(json.dumps(FACTS))
    contract = CONTRACT | {"constraints": [{"id": "short", "value": "Short.", "source": "step:1"}, "No."]}
    (shell.repo / FILE).write_text(json.dumps(contract))
    assert shell("run", "--steps", "2").code == 0
    shows = {
        "file": "1 hello", "commit": "+hello", "step": '"read_files"', "check": "goal polite: red",
        "issue": "not fetched", "url": "https://example.org/x (outside",
        "gone": "is gone", "nofile": "has no file", "nocommit": "is gone",
        "nostep": "has no step 99",
    }  # fmt: skip
    for name, shown in shows.items():
        of = f"/facts/{name}" if name != "nostep" else sources[name]
        said = shell("explain", "--source", of, "--json")
        there = name not in ("gone", "nofile", "nocommit", "nostep")
        assert (said.code, said.one["there"]) == (0 if there else 3, there), (name, said.err)
        assert shown in said.one["text"] and said.one["source"] == sources[name], name
    assert shell("explain", "--source", "/facts/step/source").out.startswith("/facts/step/source: {")
    assert '"read_files"' in shell("explain", "--source", "/intent/constraints/short").out
    assert "no source at" in shell("explain", "--source", "/intent/constraints/2").err
    assert shell("explain", "--source", "/facts/none").code == 2
    words = shell("explain", "--source", "I saw it")
    assert words.code == 3 and "no pointer but words" in words.out


def test_what_a_source_holds_is_redacted_and_bounded(shell: Shell) -> None:
    token = "ghp_" + "a1B2" * 9
    (shell.repo / "src/long.txt").write_text("\n".join([f"token {token}", *(["x" * 99] * 2000)]))
    shell.git("add", "-A")
    shell.git("commit", "-qm", "long")
    head = shell.git("rev-parse", "HEAD").strip()
    shell.task(READ)
    assert shell("run", "--steps", "1").code == 0
    said = shell("explain", "--source", f"src/long.txt@{head}", "--json").one["text"]
    assert token not in said and "… cut" in said and len(said) <= 33_000


def test_the_walk_from_criteria_to_evidence(shell: Shell) -> None:
    criteria = [
        {"id": "polite", "value": "It is polite."},
        {"value": "It is there.", "proof": ["there", "polite"]},
    ]
    contracted(shell, READ, edit("hello, please\n"), FINISH)
    text = json.dumps(CONTRACT | {"success_criteria": criteria})
    (shell.repo / FILE).write_text(text)
    first = shell("validate", "--criteria", "--json").one
    assert [each["stands"] for each in first["criteria"]] == ["unknown", "unknown"] and first["good"]
    assert first["criteria"][0]["evidence"][0]["why"] == "not read: there is no run yet"
    assert shell("run", "--steps", "1").code == 0
    shown = shell("validate", "--criteria")
    assert shown.code == 0 and shown.out.startswith("not proven    [polite] It is polite.\n")
    assert "check there: green" in shown.out and "check polite: red, read at step 0" in shown.out
    assert shell("run").code == 0
    done = shell("validate", "--criteria", "--json").one
    assert {each["stands"] for each in done["criteria"]} == {"proven"}

    more = [*criteria, "It sounds nice.", {"value": "It is signed.", "change_policy": "locked"}]
    (shell.repo / FILE).write_text(json.dumps(CONTRACT | {"success_criteria": more}))
    lacking = shell("validate", "--criteria")
    assert lacking.code == 3 and "not provable  [3] It sounds nice." in lacking.out
    assert "a person is asked when the run finishes" in lacking.out
    told = shell("validate", "--json").one
    assert told["good"] and any(
        "[4] It is signed." in line and "a person is asked" in line for line in told["warnings"]
    )
    (shell.repo / FILE).write_text(text.replace('"there"', '"their"'))
    for words in (("validate",), ("run", "--new")):
        refused = shell(*words)
        assert (
            refused.code in (2, 3)
            and "its proof 'their' is no check; there are polite, there" in refused.out + refused.err
        )
    shell.task(READ)
    assert "no success criteria" in shell("validate", "--criteria").out


def test_a_guard_that_was_accepted_as_red_is_not_called_green(shell: Shell) -> None:
    contracted(shell, edit("hello, please\n"), FINISH)
    criteria = [{"id": "loud", "value": "It is loud."}]
    (shell.repo / FILE).write_text(json.dumps(CONTRACT | {"success_criteria": criteria}))
    loud = (
        "  - {name: loud, role: guard, run: [grep, -q, HELLO, src/greeting.txt], baseline: accept, pins: []}"
    )
    task = shell.repo / "task.yaml"
    task.write_text(task.read_text().replace("checks:\n", f"checks:\n{loud}\n"))
    assert shell("run").code == 0, "it need only get no worse"
    walk = shell("validate", "--criteria")
    assert walk.out.startswith("not proven    [loud] It is loud.\n") and walk.code == 0
    assert "check loud: red, no worse, read at step 2" in walk.out
