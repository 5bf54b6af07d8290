"""What waits for a person: parked, decided on, done once and only as it was looked at."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.outcomes import Outcome
from contracts.queue import Answer, Decision, Entry, Tell
from contracts.readings import Readings
from contracts.record import AuditRow, RunRecord
from controller.confirm import stale
from controller.recover import recover
from controller.replay import replay
from controller.stores.artifacts import FileArtifacts
from controller.stores.sqlite import SqliteStore
from tests.controller.test_step import go
from tests.controller.world import FILES, TASK, World, action, edit, finish, part

A, B = edit("src/a.txt", "one old", "one new"), edit("src/b.txt", "an old", "a new")
TASK = TASK.replace("ask, finish]", "ask, request_change, finish]")
EVERYWHERE = {"op": "replace_all", "glob": "src/*", "old": "old", "new": "new", "expect": 2}
CONTRACT = """\
{"version": 1, "goal": "Replace every `old` by `new` in src.",
 "locked_requirements": [{"id": "keep", "value": "Keep the file names."}, "No new files."],
 "constraints": ["Edit by hand."]}
"""


def made(folder: Path, approvals: str, commands: str = "", **more: Any) -> World:
    task = TASK.replace("checks:\n", f"{commands}checks:\n", 1)
    return World(folder, task=f"{task}approvals: {approvals}\n", **more)


def store(world: World) -> SqliteStore:
    return SqliteStore(world.root / ".agent-runtime/state.db")


def record(world: World) -> RunRecord:
    found = anyio.run(store(world).load, "tidy")
    assert found is not None
    return found


def rows(world: World) -> list[AuditRow]:
    run = record(world).run

    async def read() -> list[AuditRow]:
        return [row async for *_, row in store(world).log(run)]

    return anyio.run(read)


def say(world: World, about: Entry, yes: bool = True, **more: Any) -> None:
    word = {"entry": about.id, "hash": about.hash, "yes": yes, "by": "ana", "at": time.time()} | more
    anyio.run(store(world).post, "tidy", Decision(**word))


def waiting(world: World) -> Entry:
    (entry,) = record(world).queue
    return entry


def change(at: str, value: str | None = None, why: str = "the user will want it") -> dict[str, Any]:
    return action("request_change", {"at": at, "why": why} | ({"value": value} if value is not None else {}))


def contracted(folder: Path, more: str = "") -> World:
    task = TASK.replace("goal: Replace every `old` by `new` in src.\n", "contract: .agent-contract\n")
    files = FILES | {".agent-contract/intent-contract.json": CONTRACT}
    return World(folder, task=task + more, files=files)


def test_what_is_beyond_a_boundary_waits_and_is_then_done_without_a_launch(tmp_path: Path) -> None:
    world = made(tmp_path / "r", '{boundaries: [{paths: ["src/a*"]}]}')
    end = go(world, [A])
    assert (end.outcome, world.branch_log()) == (Outcome.blocked, [])
    entry = waiting(world)
    assert (entry.kind, entry.id, entry.target) == ("approval", "a1", "src/a.txt")
    assert entry.transition["action"] == A["action"] and entry.basis == {"file src/a.txt": end.record.head}
    assert go(world, []).outcome is Outcome.blocked, "nothing changes while nobody decides"
    say(world, entry, why="fine")
    end = go(world, [B, finish()])
    assert end.outcome is Outcome.completed
    assert world.branch_log() == ["step 3: edit_files src/b.txt", "step 2: edit_files src/a.txt"]
    assert (end.record.spent.launches, end.record.queue) == (3, ())
    kinds = [(row.kind, row.validator_result, row.human_events) for row in rows(world)[1:3]]
    assert kinds[0][:2] == ("reply", "confirm")
    assert kinds[1] == ("step", "allow", ("approve a1 by ana: fine", "answer a1"))
    assert rows(world)[1].extra["parked"]["basis"] == entry.basis


def test_a_no_is_told_and_changes_nothing_else(tmp_path: Path) -> None:
    world = made(tmp_path / "r", '{boundaries: [{paths: ["src/a*"]}]}')
    read = action("read_files", {"files": [{"path": "src/b.txt"}]}, notes={"b": "seen"})
    go(world, [read, A | {"state_patch": {"notes": {"a": "to do"}}}])
    before = record(world)
    say(world, waiting(world), yes=False, why="a.txt is the master copy")
    go(world, [B], limit=1)
    (prompt,) = world.prompts
    assert "ana said no to a2" in prompt and "a.txt is the master copy" in prompt
    assert "an old thing" in part(prompt, "observation"), "O stays until a step is committed"
    after = record(world)
    assert after.state == before.state and after.state["notes"] == {"b": "seen"} and after.queue == ()
    assert any("reject a2 by ana" in word for row in rows(world) for word in row.human_events)


@pytest.mark.parametrize(
    ("wrong", "refusal"),
    [
        ({"hash": "0" * 64}, "not what was looked at"),
        ({"by": "eve"}, "eve may not decide"),
        ({"at": time.time() + 90_000}, "out of date"),
        ({"entry": "a9"}, ""),
    ],
)
def test_a_word_that_may_not_be_said_changes_nothing(
    tmp_path: Path, wrong: dict[str, Any], refusal: str
) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files], who: [ana]}")
    go(world, [A])
    entry = waiting(world)
    said = {"by": "ana", "hash": entry.hash, "at": time.time()} | wrong
    if refusal:
        assert refusal in entry.refuses(said["by"], said["hash"], said["at"])
    say(world, entry, **wrong)
    assert go(world, []).outcome is Outcome.blocked and world.branch_log() == []
    say(world, entry)  # control: the right one does
    go(world, [], limit=1)
    assert world.branch_log() == ["step 2: edit_files src/a.txt"]


def test_a_yes_survives_the_controllers_own_commits_but_not_a_change_of_what_it_is_about(
    tmp_path: Path,
) -> None:
    approvals = '{boundaries: [{paths: ["src/a*"]}], on_blocked: continue}'
    world = made(tmp_path / "r", approvals)
    end = go(world, [A, B], limit=2)
    assert end.outcome is None and end.record.rejections == 0, "parked is no rejection"
    assert "parked as a1" in world.prompts[1] and "go on with other work" in world.prompts[1]
    assert world.branch_log() == ["step 2: edit_files src/b.txt"]
    say(world, waiting(world))
    assert go(world, [finish()]).outcome is Outcome.completed
    assert world.branch_log()[0] == "step 3: edit_files src/a.txt"

    moved = made(tmp_path / "m", "{boundaries: [apply_patch], on_blocked: continue}")
    patch = "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,2 @@\n-one old\n+one new\n two\n"
    go(moved, [action("apply_patch", {"patch": patch}), edit("src/a.txt", "two", "2")], limit=2)
    say(moved, waiting(moved))
    go(moved, [finish()], limit=2)
    assert moved.branch_log() == ["step 2: edit_files src/a.txt"]
    assert "policy.approval_moved" in moved.prompts[0] and "src/a.txt changed since" in moved.prompts[0]
    assert record(moved).queue == (), "it is gone: it must be proposed again"


def test_a_deed_outside_is_approved_for_one_commit_only(tmp_path: Path) -> None:
    ship = '    ship: {run: "echo shipped >> ../../../shipped", effects: [release]}\n    look: {run: [ls]}\n'
    approvals = '{boundaries: [{run: "sh*"}], on_blocked: continue}'
    world = made(tmp_path / "r", approvals, ship)
    go(world, [action("run", {"command": "ship"}), B, action("run", {"command": "look"})], limit=3)
    assert waiting(world).basis["head"] == record(world).base and "command ship" in waiting(world).basis
    say(world, waiting(world))
    go(world, [finish()], limit=2)
    assert "policy.approval_moved" in world.prompts[0] and not (world.root / "shipped").exists()
    again = made(tmp_path / "c", approvals, ship)  # control: nothing was committed meanwhile
    go(again, [action("run", {"command": "ship"}), action("run", {"command": "look"})], limit=2)
    say(again, waiting(again))
    go(again, [], limit=1)
    assert (again.root / "shipped").read_text() == "shipped\n"


def test_with_nothing_else_to_do_the_run_ends_and_says_what_it_waits_for(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files], on_blocked: continue}")
    end = go(world, [A, A])
    assert end.outcome is Outcome.blocked and "nothing is left to do" in end.record.halt.say
    assert end.record.halt.entry == "a1" and len(end.record.queue) == 1
    say(world, waiting(world), yes=False, why="no")
    assert go(world, [finish()], limit=1).outcome is None, "a no lifts it too"


def test_what_nobody_decides_in_time_makes_room(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files], expire: 1s}")
    assert go(world, [A]).outcome is Outcome.blocked
    time.sleep(1.1)
    say(world, waiting(world))
    end = go(world, [A])
    assert (end.outcome, waiting(world).id) == (Outcome.blocked, "a2"), "asked anew"
    assert any("nobody decided on a1 in time" in word for row in rows(world) for word in row.human_events)


def test_one_that_was_approved_but_not_used_in_time_is_not_done(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files], expire: 2s}")
    go(world, [A])
    say(world, waiting(world))
    time.sleep(2.1)
    go(world, [finish()], limit=2)
    assert world.branch_log() == [] and "policy.approval_expired" in world.prompts[0]


@pytest.mark.parametrize(
    ("boundary", "beyond", "within"),
    [
        ("{deletes: 0}", action("edit_files", {"edits": [{"op": "delete", "path": "src/b.txt"}]}), B),
        (
            '{run: "mess"}',
            action("batch", {"actions": [A["action"], {"tool": "run", "args": {"command": "mess"}}]}),
            action("run", {"command": "show", "params": {"path": "src/a.txt"}}),
        ),
        (
            '{paths: ["src/b*"]}',
            action("edit_files", {"edits": [EVERYWHERE]}),
            A,
        ),
        ("edit_files", action("batch", {"actions": [A["action"]]}), finish()),
    ],
)  # fmt: skip
def test_every_kind_of_boundary(tmp_path: Path, boundary: str, beyond: Any, within: Any) -> None:
    world = made(tmp_path / "r", f"{{boundaries: [{boundary}]}}")
    assert go(world, [within, beyond], limit=3).outcome is Outcome.blocked
    assert waiting(world).step == 2 and waiting(world).kind == "approval"


def test_eight_things_wait_at_once_and_no_more(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{on_blocked: continue}")
    asked = [action("ask", {"question": f"{n}?"}) for n in range(9)]
    go(world, asked, limit=9)
    assert len(record(world).queue) == 8 and record(world).correction.code == "policy.queue_full"  # type: ignore[union-attr]
    anyio.run(store(world).post, "tidy", Answer(entry="q3", text="thirty", by="ana", at=1.0))
    go(world, [finish()], limit=2)
    assert "thirty" in part(world.prompts[0], "observation"), "an answer is the step's observation"


def test_what_people_say_between_steps_is_in_the_audit(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=TASK)
    go(world, [A], limit=1)
    anyio.run(store(world).post, "tidy", Tell(text="mind the tests", by="ana", at=1.0))
    go(world, [action("nope"), B], limit=2)
    assert [row.human_events for row in rows(world)][2:] == [("tell by ana",), ()]


def test_what_people_decided_is_rebuilt_and_gated_again_from_the_audit_alone(tmp_path: Path) -> None:
    world = contracted(
        tmp_path / "r",
        '{boundaries: [{paths: ["src/a*"]}], on_blocked: continue}'.join(("approvals: ", "\n")),
    )
    go(
        world,
        [A, change("/state/source_authority", '"CI"'), change("/intent/constraints/1", "By hand."), A],
        limit=4,
    )
    a, field, wish = record(world).queue
    say(world, field)
    say(world, wish)
    say(world, a, yes=False)
    go(world, [A, edit("src/a.txt", "two", "2"), B], limit=5)
    second = next(entry for entry in record(world).queue if entry.transition["action"] == A["action"])
    say(world, second)
    go(world, [finish()], limit=2)
    before = record(world)
    assert before.state["source_authority"] == "CI" and before.intent is not None

    found = replay(rows(world), world.rig().task, FileArtifacts(world.root / ".agent-runtime/artifacts"))
    assert (found.wrong, found.skipped) == ((), ())
    assert found.gated == len([row for row in rows(world) if row.action is not None])
    path = world.root / ".agent-runtime/state.db"
    for each in path.parent.glob("state.db*"):
        each.unlink()
    anyio.run(recover, path, "tidy", before.head)
    after = record(world)
    assert (after.state, after.intent) == (before.state, before.intent)


def test_a_step_that_may_cost_too_much_waits_for_a_higher_boundary(tmp_path: Path) -> None:
    price = "mine: {kind: command, run: [/bin/false], price: {input: 30, cached: 3, output: 200}}"
    task = TASK.replace("mine: {kind: command, run: [/bin/false]}", price)
    world = World(tmp_path / "r", task=f"{task}approvals: {{boundaries: [{{usd: 0.5}}]}}\n")
    end = go(world, [])
    assert end.outcome is Outcome.blocked and "may cost $0." in end.record.halt.say and world.prompts == []
    assert go(world, [], retry=True).outcome is Outcome.blocked, "no launch above it"
    world.file.write_text(world.file.read_text().replace("usd: 0.5", "usd: 5"))
    assert go(world, [A], limit=1).outcome is None and world.branch_log() != []


@pytest.mark.parametrize("boundary", ['{paths: ["src/a*"]}', "{deletes: 0}"])
def test_a_command_may_not_do_what_an_edit_would_be_asked_about(tmp_path: Path, boundary: str) -> None:
    command = "    wild: {run: 'rm src/b.txt; echo x >> src/a.txt'}\n"
    world = made(tmp_path / "r", f"{{boundaries: [{boundary}]}}", command)
    go(world, [action("run", {"command": "wild"}), finish()], limit=2)
    assert world.branch_log() == [] and "evidence.boundary" in world.prompts[1]
    assert (world.worktree / "src/b.txt").exists()
    named = made(tmp_path / "n", f"{{boundaries: [{boundary}, {{run: wild}}]}}", command)
    go(named, [action("run", {"command": "wild"})])
    say(named, waiting(named))  # control: who says yes to the command says yes to what it does
    go(named, [], limit=1)
    assert len(named.branch_log()) == 1


def test_a_yes_to_a_command_is_for_the_command_as_it_was(tmp_path: Path) -> None:
    ship = "    ship: {run: 'echo shipped >> ../../../shipped'}\n"
    world = made(tmp_path / "r", "{boundaries: [{run: ship}]}", ship)
    go(world, [action("run", {"command": "ship"})])
    assert waiting(world).diff == "command ship: echo shipped >> ../../../shipped"
    say(world, waiting(world))
    world.file.write_text(world.file.read_text().replace("echo shipped", "echo EVIL"))
    go(world, [finish()], limit=2)
    assert "command ship is another one now" in world.prompts[0] and not (world.root / "shipped").exists()


def test_a_no_takes_a_yes_back_as_long_as_nothing_was_done(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files]}")
    go(world, [A])
    entry = waiting(world)
    say(world, entry)
    assert record(world).approved is not None
    say(world, entry, yes=False, why="on second thoughts")
    assert record(world).approved is None
    say(world, entry)  # and a yes does not take a no back
    go(world, [finish()], limit=1)
    assert world.branch_log() == [] and "on second thoughts" in world.prompts[0]


def test_a_hash_is_of_the_whole_entry_and_no_yes_passes_for_another(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files]}")
    go(world, [A])
    looked = waiting(world)
    go(world, [A | {"state_patch": {"notes": {"a": "another patch"}}}], new=True)
    entry = waiting(world)
    assert (entry.id, entry.transition["action"]) == (looked.id, looked.transition["action"])
    say(world, entry, hash=looked.hash)
    assert go(world, []).outcome is Outcome.blocked and world.branch_log() == []
    whole = {"transition": looked.transition, "basis": {"head": "0" * 40}, "target": "src", "who": ("eve",)}
    for name, other in whole.items():
        assert entry.model_copy(update={name: other}).seal(()) != entry.hash, name
    decided = {"status": "approved", "decider": "ana", "decided": 1.0, "answer": "fine"}
    assert entry.model_copy(update=decided).seal(()) == entry.hash
    say(world, entry)
    assert go(world, [], limit=1).record.state["notes"] == {"a": "another patch"}


def test_a_yes_for_a_record_that_was_changed_since_does_nothing(tmp_path: Path) -> None:
    world = made(tmp_path / "r", "{boundaries: [edit_files]}")
    go(world, [A])
    entry = waiting(world)
    forged = entry.model_copy(update={"transition": A | {"state_patch": {"notes": {"a": "forged"}}}})
    seen = Readings(at=time.time(), items={})
    verdict = stale(forged, record(world), seen, world.rig().task)
    assert verdict is not None and verdict.code == "policy.approval_changed"
    assert stale(entry.model_copy(update={"basis": {}}), record(world), seen, world.rig().task) is not None
