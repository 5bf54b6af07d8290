"""`approvals`, `approve`, `reject`, `plan`, `apply`: as a person calls them."""

from __future__ import annotations

import json
from typing import Any

from tests.surfaces.shell import FINISH, READ, Shell, act, edit

ASKED = act("ask", question="how polite?")
CAREFUL = 'approvals: {boundaries: [{paths: ["src/**"]}]'
WRITE = edit("hello, please\n")


def notes(shell: Shell) -> Any:
    return json.loads(shell("state", "export").out)["state"]["notes"]


def guarded(shell: Shell, *replies: object, more: str = "}") -> None:
    shell.task(*replies, budgets=f"{CAREFUL}{more}\nbudgets: {{steps: 9}}")


def test_what_waits_is_shown_whole_and_done_after_a_yes(shell: Shell) -> None:
    guarded(shell, READ, WRITE, FINISH)
    assert shell("approvals").code == 2, "no run yet"
    ran = shell("run", "--json")
    assert (ran.code, ran.lines[-1]["next"]) == (5, "controller approvals show a2")
    assert shell("status", "--json").one["next"] == "controller approvals show a2"
    assert shell("approvals").out.startswith("a2    approval  open      a change of src/greeting.txt needs")
    entry = shell("approvals", "show", "a2", "--json").one
    assert entry["action"] == WRITE["action"] and len(entry["hash"]) == 64
    shown = shell("approvals", "show", "a2").out
    assert all(word in shown for word in (entry["hash"], "file src/greeting.txt", "hello, please", "expires"))

    assert "no entry 'a9'" in shell("approve", "a9").err
    assert "not what" not in shell("approve", "a2", "--hash", "0123456789").out
    wrong = shell("approve", "a2", "--hash", "0123456789")
    assert wrong.code == 2 and entry["hash"][:12] in wrong.err
    assert "is no question" in shell("answer", "a2", "yes").err
    said = shell("approve", "a2", "--hash", entry["hash"][:12], "--why", "go on", "--json").one
    assert (said["said"], said["next"]) == ("approved", "controller run")
    assert shell("status", "--json").one["state"] == "answered"
    before = shell("status", "--json").one["launches"]
    ended = shell("run", "--json")
    assert ended.code == 0 and ended.lines[-1]["costs"]["launches"] == before + 1, (
        "only `finish` was launched"
    )
    late = shell("approve", "a2")
    assert late.code == 2 and "no entry" in late.err
    assert shell("approvals").out == "nothing waits for a person\n"
    assert "approve a2 by" in shell("log").out


def test_a_no_ends_nothing_and_who_may_not_decide_is_told(shell: Shell) -> None:
    guarded(shell, READ, WRITE, READ, FINISH, more=", who: [nobody-here]}")
    assert shell("run").code == 5
    refused = shell("reject", "a2")
    assert refused.code == 2 and "nobody-here may" in refused.err
    guarded(shell, READ, WRITE, READ, FINISH)
    assert shell("run", "--new").code == 5
    assert shell("reject", "a2", "--why", "not now").code == 0
    assert shell("run", "--steps", "1").code == 0
    assert "said no to a2" in shell("prompt").out and "not now" in shell("prompt").out


def test_a_plan_is_shown_whole_and_applied_exactly(shell: Shell) -> None:
    shell.task(READ, edit("hello, please\n", {"notes": {"greeting": "polite"}}), FINISH)
    assert shell("run", "--steps", "1").code == 0
    planned = shell("plan", "--json")
    assert planned.code == 0, planned.err
    told = planned.one
    assert (told["plan"], told["kind"], told["next"]) == ("p2", "plan", "controller apply p2")
    assert (
        told["diff"]
        == "--- a/src/greeting.txt\n+++ b/src/greeting.txt\n@@ -1 +1 @@\n-hello\n+hello, please\n"
    )
    assert told["state_patch"] == {"notes": {"greeting": "polite"}} and told["tokens"] > 0
    status = shell("status", "--json").one
    assert (status["step"], status["committed"], status["outcome"]) == (2, 1, None)
    assert notes(shell) == {}
    head = shell.git("rev-parse", "skill-state/greet")

    done = shell("apply", "p2", "--json")
    assert done.code == 0, done.err
    assert shell("status", "--json").one["launches"] == status["launches"], "applying launches nothing"
    assert (
        shell.git("log", "-1", "--format=%s", "skill-state/greet") == "step 3: edit_files src/greeting.txt\n"
    )
    assert shell.git("rev-parse", "skill-state/greet^") == head
    assert notes(shell) == {"greeting": "polite"}
    assert shell("apply", "p2").code == 2, "once"
    assert shell("run").code == 0


def test_a_plan_whose_world_moved_is_not_applied(shell: Shell) -> None:
    shell.task(READ, WRITE, WRITE, FINISH)
    assert shell("run", "--steps", "1").code == 0 and shell("plan").code == 0
    worktree = shell.repo / ".agent-runtime/work/greet"
    (worktree / "src/other.txt").write_text("mine\n")
    shell.git("-C", str(worktree), "add", "-A")
    shell.git("-C", str(worktree), "commit", "-qm", "somebody else's")
    head = shell.git("rev-parse", "skill-state/greet")
    moved = shell("apply", "p2")
    assert moved.code == 7 and "HEAD is not" in moved.err and "controller plan" in moved.err
    assert shell.git("rev-parse", "skill-state/greet") == head
    assert "hello, please" not in (worktree / "src/greeting.txt").read_text()


def test_a_plan_that_nobody_applies_is_in_nobodys_way(shell: Shell) -> None:
    shell.task(READ, WRITE, WRITE, FINISH)
    assert shell("plan").code == 0 and shell("plan").code == 0
    assert [entry["id"] for entry in shell("approvals", "--json").one["queue"]] == ["p2"]
    assert shell("run").code == 0
    assert shell("approvals", "--json").one["queue"] == []


def test_what_can_not_be_planned_is_said(shell: Shell) -> None:
    shell.task("so be it", ASKED, FINISH)
    refused = shell("plan")
    assert refused.code == 3 and "nothing was planned: " in refused.out
    asked = shell("plan", "--json").one
    assert (asked["kind"], asked["next"]) == ("ask", "controller answer q2")
    assert shell("apply", "q2").code == 2
    again = shell("plan", "--json")
    assert (again.code, again.one["outcome"]) == (5, "blocked")


def test_two_people_at_once_are_both_told_the_truth(shell: Shell) -> None:
    guarded(shell, READ, WRITE, READ, FINISH)
    assert shell("run").code == 5
    children = [shell.start(word, "a2", "--json") for word in ("approve", "reject")]
    said = [(child.communicate(timeout=60), child.returncode) for child in children]
    assert shell("run", "--steps", "1").code == 0
    done = "hello, please" in shell.git("show", "skill-state/greet:src/greeting.txt")
    assert not done, "a no stands whichever came first"
    assert said[1][1] == 0 and said[0][1] in (0, 2, 7), said


def test_who_decides_is_the_systems_word(shell: Shell) -> None:
    guarded(shell, READ, WRITE, READ, FINISH, more=", who: [ana]}")
    assert shell("run").code == 5
    shell.extra["LOGNAME"] = shell.extra["USER"] = "ana"
    refused = shell("approve", "a2")
    assert refused.code == 2 and "ana may" in refused.err


def test_a_plan_is_void_once_the_task_was_edited(shell: Shell) -> None:
    shell.task(READ, WRITE, WRITE, FINISH)
    assert shell("run", "--steps", "1").code == 0 and shell("plan").code == 0
    task = shell.repo / "task.yaml"
    text = task.read_text()
    task.write_text(text.replace("grep, -q, please", "grep, -qi, please"))
    assert shell("apply", "p2").code == 5, "the checks were edited"
    task.write_text(text)
    assert "no entry" in shell("apply", "p2").err
    head = shell.git("rev-parse", "skill-state/greet")
    assert shell("run", "--steps", "1").code == 0 and shell.git("rev-parse", "skill-state/greet^") == head
    assert shell("replay").code == 0


def test_a_refused_change_is_listed_and_may_be_proposed_again_once_the_no_is_taken_back(shell: Shell) -> None:
    wish = act("request_change", at="/state/source_authority", value='"CI"', why="it decides")
    shell.task(wish)
    assert shell("run").code == 5 and shell("reject", "c1", "--why", "people do").code == 0
    assert shell("run", "--steps", "1").code == 0 and "intent.refused" in shell("explain", "2").out
    listed = shell("approvals").out
    assert listed.startswith("nothing waits for a person\nc1    refused by ") and "people do" in listed
    assert shell("approvals", "--json").one["refused"][0]["entry"] == "c1"
    wrong = shell("reject", "c9", "--withdraw")
    assert wrong.code == 2 and "refused were c1" in wrong.err
    assert "may be proposed again" in shell("reject", "c1", "--withdraw").out
    assert shell("approvals").out == "nothing waits for a person\n"
    assert shell("run").code == 5 and shell("approvals").out.startswith("c3    change    open")
    assert shell("replay").code == 0
