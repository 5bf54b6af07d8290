"""`run` and what is said of it afterwards, as a user calls them."""

from __future__ import annotations

import sqlite3

from pydantic import TypeAdapter

from contracts.events import Event
from tests.surfaces.shell import FINISH, POLITE, READ, Shell, act, edit

EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def test_a_run_from_its_first_step_to_landing(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("status").out == "task greet: no run yet\nnext: controller run\n"
    ran = shell("run", "--json")
    assert ran.code == 0, ran.err
    for line in ran.out.splitlines():
        EVENT.validate_json(line)
    assert [line["event"] for line in ran.lines if line["event"] != "note"] == [
        "begun",
        *["step"] * 3,
        "outcome",
    ]
    end = ran.lines[-1]
    assert (end["outcome"], end["exit"], end["next"]) == ("completed", 0, "controller land")
    assert end["checks"]["polite"] == {"role": "goal", "start": False, "now": True, "why": "exit 0"}
    assert end["costs"]["estimated"] and end["costs"]["usd_micro"] is None, "an unknown cost is not zero"
    assert ran.err.count("sandbox: none") == 1
    assert [line.split()[:3] for line in ran.err.splitlines() if line.startswith("step")] == [
        ["step", "1", "read_files"],
        ["step", "2", "edit_files"],
        ["step", "3", "finish"],
    ]
    assert (shell.repo / "src/greeting.txt").read_text() == "hello\n", "the checkout is not touched"

    status = shell("status", "--json").one
    assert (status["state"], status["step"], status["owner"]) == ("completed", 3, None)
    assert "+hello, please" in shell("diff").out
    assert "1 file changed, +1 -1" in shell("diff", "--stat").out
    assert shell("checks").code == 0

    again = shell("run", "--json")
    assert (again.code, again.lines[-1]["costs"]["launches"]) == (0, 3), (
        "a finished run is shown, not repeated"
    )

    assert shell("land").code == 0
    assert (shell.repo / "src/greeting.txt").read_text() == "hello, please\n"
    assert f"Skill-State-Run: {end['run']}" in shell.git("log", "-1", "--format=%B")
    landed = shell("land")
    assert landed.code == 2 and "already" in landed.err
    assert shell("run", "--json").lines[-1]["next"] == "", "what is landed need not be landed again"


def test_what_is_kept_of_a_step(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0
    told = shell("explain", "2").out
    for part in (
        "section",
        "controller prompt 2",
        "made polite",
        "edit_files",
        "verdict: allow",
        "evidence: ok",
        "+hello, please",
    ):
        assert part in told, part
    rows = shell("explain", "2", "--json").one["rows"]
    assert (
        rows[0]["row"]["commit"]
        and "=== ACTIONS ===" in rows[0]["prompt"]
        and "edit_files" in rows[0]["reply"]
    )
    for artifact in (shell.repo / ".agent-runtime/artifacts").rglob("*"):
        if artifact.is_file():
            artifact.unlink()
    assert "prompt: not kept any more" in shell("explain", "2").out
    gone = shell("prompt", "2")
    assert gone.code == 2 and "is gone" in gone.err
    missing = shell("explain", "7")
    assert missing.code == 2 and "no step 7" in missing.err

    assert [
        line["row"]["kind"] if "row" in line else line["kind"] for line in shell("log", "--json").lines
    ] == [
        "opened",
        "step",
        "step",
        "step",
    ]
    assert shell("state", "show", "--json").one["notes"] == {"greeting": "made polite"}
    assert [line["step"] for line in shell("state", "history", "--json").lines] == [1, 2, 3]
    assert shell("state", "diff", "1", "2").out == '+ /notes/greeting: "made polite"\n'
    assert shell("state", "diff", "2", "3").out == ""
    assert '"digest"' in shell("state", "export").out


def test_a_changed_audit_row_is_found(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0
    held = shell("log", "--verify")
    assert held.code == 0 and "the chain holds" in held.out
    with sqlite3.connect(shell.repo / ".agent-runtime/state.db") as db:
        db.execute(
            "UPDATE audit SET row = replace(CAST(row AS TEXT), 'edit_files', 'read_files') WHERE seq = 3"
        )
    broken = shell("log", "--verify", "--json")
    assert broken.code == 3 and broken.one["wrong"] == ["row 3 was changed after it was written"]


def test_step_by_step(shell: Shell) -> None:
    shell.task(*POLITE)
    first = shell("step", "--json")
    assert (first.code, first.lines[-1]["outcome"], first.lines[-1]["next"]) == (0, None, "controller run")
    assert shell("status", "--json").one["state"] == "paused"
    assert shell("run", "--steps", "1").code == 0
    assert shell("status", "--json").one["step"] == 2
    land = shell("land")
    assert land.code == 2 and "not proven" in land.err
    assert shell("run").code == 0


def test_nothing_to_do(shell: Shell) -> None:
    shell.task(FINISH)
    (shell.repo / "src/greeting.txt").write_text("hello, please\n")
    shell.git("commit", "-qam", "polite already")
    ran = shell("run", "--json")
    assert (ran.code, ran.lines[-1]["outcome"], ran.lines[-1]["costs"]["launches"]) == (0, "nothing_to_do", 0)


def test_a_used_up_budget_and_a_higher_one(shell: Shell) -> None:
    shell.task(*POLITE, budgets="budgets: {steps: 2}")
    ran = shell("run", "--json")
    assert (ran.code, ran.lines[-1]["outcome"]) == (4, "budget_exhausted")
    assert "budgets.steps" in ran.lines[-1]["say"] and ran.lines[-1]["costs"]["launches"] == 2
    assert shell("run").code == 4, "it stays used up"
    shell.task(*POLITE, budgets="budgets: {steps: 3}")
    assert shell("run").code == 0


def test_a_question_and_its_answer(shell: Shell) -> None:
    shell.task(act("ask", question="how polite?"), *POLITE)
    ran = shell("run", "--json")
    assert ran.code == 5
    (waiting,) = shell("status", "--json").one["queue"]
    assert (waiting["kind"], waiting["status"]) == ("ask", "open") and "how polite?" in waiting["why"]
    assert ran.lines[-1]["next"] == f"controller answer {waiting['id']} TEXT"
    assert shell("run").code == 5, "nobody has answered"
    nobody = shell("answer", "nonsense", "very")
    assert nobody.code == 2 and waiting["id"] in nobody.err
    assert shell("answer", waiting["id"], "very").code == 0
    assert shell("status", "--json").one["state"] == "answered"
    assert shell("answer", waiting["id"], "twice").code == 2
    assert shell("run").code == 0
    assert "very" in shell("prompt", "3").out, "the next prompt shows the answer"


def test_stuck_and_retry(shell: Shell) -> None:
    shell.task("this is no JSON")
    ran = shell("run", "--json")
    assert (ran.code, ran.lines[-1]["outcome"]) == (3, "stuck")
    steps = [line for line in ran.lines if line["event"] == "step" and line["result"] == "rejected"]
    assert len(steps) == 5 and steps[0]["layer"] == "reply"
    assert ran.lines[-1]["next"] == "controller run --retry"
    assert shell("run").code == 3
    shell.task(*[FINISH] * 5, READ, edit("hello, please\n"), FINISH, budgets="budgets: {steps: 20}")
    assert shell("run", "--retry").code == 0


def test_a_red_finish_is_refuted(shell: Shell) -> None:
    shell.task(FINISH, *POLITE)
    told = [line for line in shell("run", "--json").lines if line["event"] == "step"]
    assert (told[0]["result"], told[0]["code"]) == ("refuted", "finish.red")
    assert "polite is red" in told[0]["say"]


def test_an_explained_rejection_shows_the_reply_and_the_correction(shell: Shell) -> None:
    shell.task("so be it")
    assert shell("step").code == 0
    told = shell("explain").out
    assert "so be it" in told and "verdict: reply." in told and "correction, shown in the next prompt" in told


def test_what_the_agent_saw_and_how_large_each_part_was(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("prompt").code == 2, "no run yet"
    assert shell("run").code == 0
    told = shell("prompt", "2", "--json").one
    text, parts = told["text"], told["sections"]
    assert text == shell("prompt", "2").out and text != shell("prompt").out
    assert "hello" in text.partition("=== OBSERVATION ===")[2]
    assert [part["section"] for part in parts] == [
        "skill", "intent", "actions", "state", "authorities", "observation", "budget"
    ]  # fmt: skip
    assert sum(part["bytes"] for part in parts) == told["bytes"] == len(text.encode())
    assert all(part["bytes"] <= part["bound"] for part in parts)
    shown = shell("prompt", "2", "--sections").out
    for part in parts:
        assert f"{part['bytes']:,}" in shown and f"{part['bound']:,}" in shown
    assert "together" in shown and "text" not in shell("prompt", "2", "--sections", "--json").one
    assert shell("explain", "2", "--json").one["rows"][0]["sections"] == parts
    missing = shell("prompt", "7")
    assert missing.code == 2 and "no prompt of step 7" in missing.err


def test_the_landing_message_says_what_was_decided_and_what_proves_it(shell: Shell) -> None:
    why = (
        "the word goes last, since callers match on the first word; asked Ana, who agreed on it with the team"
    )
    steps = [READ, edit("hello, please\n", {"decision_ledger": {"order": why}}), FINISH]
    shell.task(*steps)
    assert shell("run").code == 0
    main = shell.git("rev-parse", "main")
    dry = shell("land", "--dry-run")
    assert dry.code == 0 and shell.git("rev-parse", "main") == main
    assert shell("land").code == 0
    message = shell.git("log", "-1", "--format=%B", "main")
    assert message.strip() in dry.out and "1 file changed" in dry.out
    lines = message.splitlines()
    assert lines[0] == "The greeting is polite." and lines[1] == "" and max(map(len, lines)) <= 72
    flat = " ".join(message.split())
    assert f"Decisions: - order: {why}" in flat
    assert "- polite (goal): green: exit 0" in flat and "3 steps by script." in flat
    assert shell.git("log", "-1", "--format=%(trailers:key=Skill-State-Run,valueonly)", "main").strip()


def test_a_goal_too_long_for_a_subject_stands_whole_below_it(shell: Shell) -> None:
    goal = "The greeting is polite in every language that the product speaks, and in those that it will speak soon."
    shell.task(*POLITE, goal=f"goal: {goal}")
    assert shell("run").code == 0 and shell("land").code == 0
    lines = shell.git("log", "-1", "--format=%B", "main").splitlines()
    assert lines[0].endswith("…") and len(lines[0]) <= 72 and lines[1] == ""
    assert " ".join(lines[2:4]) == goal


def test_what_no_check_has_seen_is_not_landed_unless_that_is_wanted(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0
    (shell.repo / "other.txt").write_text("a colleague's\n")
    shell.git("add", "other.txt")
    shell.git("commit", "-qm", "meanwhile")
    head = shell.git("rev-parse", "main")
    for words in (("land",), ("land", "--dry-run")):
        refused = shell(*words)
        assert refused.code == 3 and "seen by no check" in refused.err and "--merge" in refused.err
    assert shell.git("rev-parse", "main") == head
    assert shell("land", "--merge", "--ff").code == 2
    assert shell("land", "--merge").code == 0
    message = shell.git("log", "-1", "--format=%B", "main")
    assert f"Merged onto {head[:12]}; no check has seen the result." in message
    assert (shell.repo / "src/greeting.txt").read_text() == "hello, please\n"
    assert (shell.repo / "other.txt").exists() and shell.git("rev-parse", "main^") == head


def test_landing_as_it_is_and_where(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("run").code == 0
    shell.git("branch", "stable")
    assert shell("land", "--ff", "--squash").code == 2
    (shell.repo / "src/greeting.txt").write_text("my own work\n")
    dirty = shell("land")
    assert dirty.code == 2 and "src/greeting.txt" in dirty.err
    assert shell("land", "--onto", "stable", "-m", "Be polite").code == 0
    assert shell.git("log", "-1", "--format=%s", "stable") == "Be polite\n"
    assert (shell.repo / "src/greeting.txt").read_text() == "my own work\n"
    shell.git("checkout", "-q", "src/greeting.txt")
    assert shell("land", "--ff").code == 0
    assert shell.git("rev-parse", "main") == shell.git("rev-parse", "skill-state/greet")
