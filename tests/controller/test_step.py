"""The step's semantics, on a real repository and store; only the agent is scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.errors import ConfigError
from contracts.outcomes import Outcome
from contracts.queue import Answer, StopRequest
from contracts.record import RunRecord
from contracts.reply import AgentReply, ReplyClass, Usage
from contracts.sections import sections
from controller.opening import Options, opened
from controller.stores.sqlite import SqliteStore
from tests.controller.world import FILES, TASK, World, action, edit, finish, part


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repo")


def go(world: World, answers: Any = (), **options: Any) -> Any:
    async def story() -> Any:
        return await world.run(answers, **options)

    return anyio.run(story)


def stored(world: World) -> RunRecord:
    record = anyio.run(SqliteStore(world.root / ".agent-runtime/state.db").load, "tidy")
    assert record is not None
    return record


WORK = [
    edit("src/a.txt", "old", "new", notes={"a": "done"}),
    edit("src/b.txt", "old", "new", notes={"b": "done"}),
]


def test_a_task_is_carried_to_completed(world: World) -> None:
    end = go(world, [*WORK, finish()])
    assert end.outcome is Outcome.completed
    assert world.branch_log() == ["step 2: edit_files src/b.txt", "step 1: edit_files src/a.txt"]
    assert world.branch_file("src/a.txt") == "one new\ntwo\n"
    assert end.record.state["notes"] == {"a": "done", "b": "done"}
    assert (world.root / "src/a.txt").read_text() == "one old\ntwo\n", "the user's checkout is untouched"
    assert world.git("status", "--porcelain").strip() in (
        "",
        "?? task.yaml",
        "?? .agent-runtime/\n?? task.yaml",
    )


def test_a_finished_run_is_shown_again_without_a_launch(world: World) -> None:
    first = go(world, [*WORK, finish()])
    again = go(world, [])
    assert again.record == first.record and world.prompts == []


def test_finish_with_red_checks_is_refused_and_ends_stuck(world: World) -> None:
    end = go(world, [finish()] * 5)
    assert end.outcome is Outcome.stuck and len(world.prompts) == 5
    assert "finish.red" in world.prompts[1] and "no-old is red" in world.prompts[1]
    assert end.record.state == stored(world).state and world.branch_log() == []


def test_three_rejections_leave_the_prompt_as_it_was_plus_one_correction(world: World) -> None:
    bad = [action("fly"), {"oops": 1}, action("read_files", {"files": "x"})]
    go(world, [action("list_files", {}), *bad, action("list_files", {})], limit=5)
    first, after = world.prompts[1], world.prompts[4]

    def parts(prompt: str) -> dict[str, str]:
        return {each.name: each.text for each in sections(prompt) if each.name != "budget"}

    expected = parts(first)
    found = parts(after)
    correction = found.pop("correction")
    assert found == expected
    assert "schema.args" in correction and "step 4" in correction and "envelope" not in correction


def test_a_rejection_changes_neither_state_nor_observation(world: World) -> None:
    async def story() -> None:
        rig = world.rig(
            [action("list_files", {}, notes={"x": "y"}), edit("check.sh", "test", "true", notes={"x": "z"})]
        )
        await opened(rig, Options())
        from controller.step import step

        one = await step("tidy", rig)
        two = await step("tidy", rig)
        assert one.state == two.state and one.observation == two.observation
        assert two.correction is not None and two.correction.code == "policy.path.pinned"

    anyio.run(story)


def test_an_edit_that_does_not_match_is_refuted_and_teaches(world: World) -> None:
    go(world, [edit("src/a.txt", "odl", "new", notes={"a": "lie"}), finish()], limit=2)
    assert "one old" in world.prompts[1], "the nearest line is shown"
    assert stored(world).state["notes"] == {}
    assert world.branch_log() == []


def test_what_a_command_leaves_out_of_scope_is_put_back_and_said(world: World) -> None:
    go(world, [action("run", {"command": "mess"}), finish()], limit=2)
    assert world.branch_log() == ["step 1: run src/a.txt"]
    assert world.branch_file("src/a.txt").endswith("more\n")
    assert "junk.txt" not in world.git("ls-tree", "-r", "--name-only", "skill-state/tidy")
    assert not (world.worktree / "junk.txt").exists()
    assert "junk.txt" in world.prompts[1] and "put back" in world.prompts[1]


def test_what_would_harm_whoever_gets_the_commit_is_put_back_and_said(tmp_path: Path) -> None:
    leave = """\
    leave: {run: "cd src; ln -s $PWD home; ln -s ../../.. up; ln -s a.txt near; truncate -s 33M big; echo x > x"}
checks:
"""
    world = World(tmp_path / "r", task=TASK.replace("checks:\n", leave, 1))
    go(world, [action("run", {"command": "leave"}), finish()], limit=2)
    kept = world.git("ls-tree", "-r", "--name-only", "skill-state/tidy").split()
    assert {"src/near", "src/x"} <= set(kept) and not {"src/home", "src/up", "src/big"} & set(kept)
    observed = part(world.prompts[1], "observation")
    assert "3 changed files were put back" in observed
    assert observed.count("outside of the worktree") == 2 and "src/big: 33 MiB" in observed
    assert not (world.worktree / "src/big").exists()


def test_an_observation_is_consumed_only_by_a_committed_step(world: World) -> None:
    answers = [
        action("run", {"command": "show", "params": {"path": "src/a.txt"}}),
        action("nope"),
        action("list_files", {}),
        finish(),
    ]
    go(world, answers, limit=4)
    assert "one old" in world.prompts[1] and "one old" in world.prompts[2]
    observed = part(world.prompts[3], "observation")
    assert "two" not in observed, "consumed: never rendered again"


def test_budget_of_steps_is_exact_and_has_its_own_outcome(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=TASK + "budgets: {steps: 3}\n")
    reads = [action("read_files", {"files": [{"path": f"src/{n}.txt"}]}) for n in "abab"]
    end = go(world, reads)
    assert end.outcome is Outcome.budget_exhausted and len(world.prompts) == 3
    again = go(world, [])
    assert again.outcome is Outcome.budget_exhausted and world.prompts == [], "it survives a restart"
    world.file.write_text(TASK + "budgets: {steps: 6}\n")
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed, "a higher limit lifts it"


def test_a_finish_on_the_last_step_completes(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=TASK + "budgets: {steps: 3}\n")
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed


def test_money_stops_after_at_most_one_step_of_overshoot(tmp_path: Path) -> None:
    priced = TASK.replace("run: [/bin/false]", "run: [/bin/false], price: {input: 1, cached: 0, output: 0}")
    world = World(tmp_path / "r", task=priced + "budgets: {usd: 2.5}\n")
    reads = [action("read_files", {"files": [{"path": f"src/{n}.txt"}]}) for n in "abababab"]
    end = go(world, reads, usage=Usage(input=1000, output=1, usd_micro=1_000_000))
    assert end.outcome is Outcome.budget_exhausted and len(world.prompts) == 3
    assert end.record.spent.usd_micro == 3_000_000


def test_a_day_has_its_own_limit_over_all_runs_of_the_task(tmp_path: Path) -> None:
    priced = TASK.replace("run: [/bin/false]", "run: [/bin/false], price: {input: 1, cached: 0, output: 0}")
    world = World(tmp_path / "r", task=priced + "budgets: {usd_per_day: 2.5}\n")
    dollar = Usage(input=1000, output=1, usd_micro=1_000_000)
    assert go(world, [*WORK, finish()], usage=dollar).outcome is Outcome.completed
    end = go(world, [], new=True)
    assert end.outcome is Outcome.waiting and end.record.number == 2 and world.prompts == []
    assert end.record.halt.not_before % 86_400 == 0 and "3.00 of $2.5" in end.record.halt.say


def test_unknown_usage_is_charged_as_reserved_never_zero(world: World) -> None:
    go(world, [action("list_files", {})], usage=Usage(), limit=1)
    spent = stored(world).spent
    assert spent.input > 0 and spent.output > 0 and spent.estimated


def test_all_goals_green_is_nothing_to_do(tmp_path: Path) -> None:
    world = World(tmp_path / "r", files={"src/a.txt": "new\n", "src/b.txt": "new\n", "check.sh": "true\n"},
                  task=TASK.replace(", must_notice: src/a.txt", ""))  # fmt: skip
    end = go(world, [])
    assert end.outcome is Outcome.nothing_to_do


def test_a_red_guard_at_the_start_is_refused_unless_accepted(tmp_path: Path) -> None:
    red = TASK.replace("[sh, check.sh], must_notice: src/a.txt", "[sh, -c, 'exit 1']")
    world = World(tmp_path / "r", task=red)
    with pytest.raises(ConfigError, match=r"sound.*red"):
        go(world, [])
    world.file.write_text(red.replace("'exit 1']", "'exit 1'], baseline: accept"))
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed


def test_a_guard_that_does_not_see_the_worktree_is_refused(tmp_path: Path) -> None:
    blind = TASK.replace("[sh, check.sh]", "['true']")
    world = World(tmp_path / "r", task=blind)
    with pytest.raises(ConfigError, match="stays green"):
        go(world, [])
    world.file.write_text(blind.replace(", must_notice: src/a.txt", ""))
    assert go(world, [*WORK, finish()]).outcome is Outcome.completed, "control: without the proof it passes"


def test_ask_blocks_and_an_answer_goes_on_without_a_launch(world: World) -> None:
    end = go(world, [action("ask", {"question": "Which colour?"})])
    assert end.outcome is Outcome.blocked and "Which colour?" in end.record.halt.say
    assert go(world, []).outcome is Outcome.blocked
    entry = stored(world).queue[0].id
    store = SqliteStore(world.root / ".agent-runtime/state.db")
    anyio.run(store.post, "tidy", Answer(entry=entry, text="blue-ish", by="ana", at=1.0))
    end = go(world, [*WORK, finish()])
    assert end.outcome is Outcome.completed
    assert "blue-ish" in world.prompts[0], "the answer is the observation"
    assert end.record.spent.launches == 4


def test_stop_ends_after_the_step_and_run_goes_on(world: World) -> None:
    async def stopping(_: Any) -> dict[str, Any]:
        store = SqliteStore(world.root / ".agent-runtime/state.db")
        await store.post("tidy", StopRequest(by="ana", at=1.0))
        store.close()
        return WORK[0]

    end = go(world, [stopping, WORK[1]])
    assert end.outcome is Outcome.interrupted
    launched = len(world.prompts)
    assert launched <= 2, "the step at hand, and at most one more that had begun"
    assert go(world, [*WORK[launched:], finish()]).outcome is Outcome.completed


@pytest.mark.parametrize(
    ("cls", "outcome", "launches"),
    [
        (ReplyClass.AUTH, Outcome.config_error, 1),
        (ReplyClass.SCHEMA_REFUSED, Outcome.config_error, 1),
        (ReplyClass.LIMIT_PERMANENT, Outcome.blocked, 1),
        (ReplyClass.LIMIT_WITH_RESET, Outcome.waiting, 1),
        (ReplyClass.TRANSIENT, Outcome.waiting, 1),
        (ReplyClass.CONTEXT_TOO_LONG, Outcome.stuck, 1),
        (ReplyClass.INVALID, Outcome.stuck, 5),
        (ReplyClass.MISSING, Outcome.stuck, 5),
        (ReplyClass.REFUSAL, Outcome.stuck, 5),
        (ReplyClass.CRASHED, Outcome.failed, 3),
        (ReplyClass.HANG, Outcome.failed, 3),
        (ReplyClass.UNKNOWN, Outcome.failed, 3),
        (ReplyClass.BUDGET, Outcome.budget_exhausted, 1),
    ],
)
def test_every_class_of_reply_has_its_outcome(
    world: World, cls: ReplyClass, outcome: Outcome, launches: int
) -> None:
    reply = AgentReply(
        cls=cls, message=f"the {cls} message", not_before=4e9 if cls is ReplyClass.LIMIT_WITH_RESET else None
    )
    before = go(world, [], limit=0).record.state
    end = go(world, [reply] * launches)
    assert end.outcome is outcome and len(world.prompts) == launches
    assert end.record.state == before
    assert f"the {cls} message" in end.record.halt.say or outcome is Outcome.stuck


def test_a_transient_failure_is_asked_again_and_forgotten_when_it_passes(world: World) -> None:
    crash = AgentReply(cls=ReplyClass.CRASHED, message="died")
    end = go(world, [crash, crash, WORK[0], crash, crash, WORK[1], finish()])
    assert end.outcome is Outcome.completed and end.record.spent.launches == 7


def test_the_same_read_for_ever_ends_stuck_and_is_said_first(world: World) -> None:
    read = action("read_files", {"files": [{"path": "src/b.txt"}]})
    end = go(world, [read] * 12)
    assert end.outcome is Outcome.stuck
    assert "times" in part(world.prompts[-1], "budget")


def test_the_same_run_for_ever_ends_stuck_although_its_times_differ(tmp_path: Path) -> None:
    slow = '    slow: {run: "echo took $(date +%N) ms"}\n    sums: {run: "echo $(date +%N) apples"}\n'
    world = World(tmp_path / "r", task=TASK.replace("checks:\n", slow + "checks:\n", 1))
    end = go(world, [action("run", {"command": "slow"})] * 9)
    assert (end.outcome, end.record.step) == (Outcome.stuck, 8), "the second is the first to say: unchanged"
    counted = World(tmp_path / "c", task=TASK.replace("checks:\n", slow + "checks:\n", 1))
    end = go(counted, [action("run", {"command": "sums"})] * 9, limit=9)
    assert end.outcome is None, "what differs in more than times is no repetition"


def test_the_stable_part_is_byte_identical_in_every_step(world: World) -> None:
    go(world, [*WORK, finish()])
    assert world.agent is not None
    assert len({prompt.stable for prompt in world.agent.prompts}) == 1


def test_the_audit_has_a_row_per_step_end_and_its_chain_holds(world: World) -> None:
    end = go(world, [WORK[0], action("nope"), WORK[1], finish()])
    store = SqliteStore(world.root / ".agent-runtime/state.db")

    async def story() -> None:
        rows = [row async for _, _, _, row in store.log(end.record.run)]
        assert [(row.kind, row.validator_result) for row in rows] == [
            ("opened", None), ("step", "allow"), ("reply", "schema.tool"), ("step", "allow"), ("step", "allow"),
        ]  # fmt: skip
        assert [row.score_delta for row in rows[1:]] == [None, None, None, {"goal": 1, "guard": 0}]
        assert rows[1].commit and rows[1].prompt_tokens == 1000 and rows[1].agent == "mine"
        assert await store.verify(end.record.run) == []

    anyio.run(story)


def test_new_opens_another_run(world: World) -> None:
    first = go(world, [*WORK, finish()])
    world.git("merge", "-q", "--ff-only", "skill-state/tidy")
    (world.root / "src/b.txt").write_text("old again\n")
    world.git("commit", "-q", "-am", "again")
    second = go(world, [edit("src/b.txt", "old", "new"), finish()], new=True)
    assert second.outcome is Outcome.completed
    assert second.record.number == 2 and second.record.run != first.record.run


def test_a_setup_that_a_step_broke_is_told_to_the_agent_and_nothing_finishes_on_it(tmp_path: Path) -> None:
    setup = "  setup: {run: [[sh, -c, 'grep -q two src/a.txt && echo made > .made']], when: [src/a.txt]}\n"
    world = World(tmp_path / "r", task=TASK.replace("  base: main\n", "  base: main\n" + setup))
    broken = action("edit_files", {"edits": [{"op": "write", "path": "src/a.txt", "content": "new\n"}]})
    mended = action("edit_files", {"edits": [{"op": "write", "path": "src/a.txt", "content": "new\ntwo\n"}]})
    end = go(world, [broken, WORK[1], finish(), mended, finish()])
    assert end.outcome is Outcome.completed
    assert "setup: failed" in world.prompts[1] and "setup" not in part(world.prompts[0], "state") + part(
        world.prompts[0], "authorities"
    )
    assert "finish.setup" in world.prompts[3]
    assert (world.worktree / ".made").exists()


def test_a_sandbox_that_is_asked_for_is_not_silently_left_out(tmp_path: Path) -> None:
    world = World(tmp_path / "r", task=TASK.replace("sandbox: {mode: none}\n", ""))
    assert world.rig().sandbox not in ("none", "")
    world = World(tmp_path / "s", task=TASK.replace("{mode: none}", "{mode: required, read: [/]}"))
    with pytest.raises(ConfigError, match="sandbox"):
        go(world, [])


@pytest.mark.parametrize("planted", ["hook", "config"])
def test_a_planted_hook_or_config_blocks_until_a_person_looked(world: World, planted: str) -> None:
    def plants(_: Any) -> dict[str, Any]:
        if planted == "hook":
            (world.root / ".git/hooks").mkdir(exist_ok=True)
            (world.root / ".git/hooks/post-commit").write_text("#!/bin/sh\nexit 0\n")
        else:
            world.git("config", "core.pager", "evil")
        return WORK[0]

    end = go(world, [plants])
    assert end.outcome is Outcome.blocked and "hooks" in end.record.halt.say and world.branch_log() == []
    assert go(world, []).outcome is Outcome.blocked
    assert go(world, [*WORK, finish()], retry=True).outcome is Outcome.completed


def test_a_task_in_a_subfolder_has_its_scope_and_commands_relative_to_it(tmp_path: Path) -> None:
    world = World(
        tmp_path / "r", files={f"pkg/{name}": text for name, text in FILES.items()} | {"src/a.txt": "old\n"}
    )
    world.file = world.file.rename(world.root / "pkg/task.yaml")
    runtime = world.root / "pkg/.agent-runtime"
    outside = edit("src/a.txt", "old", "new")
    inside = [edit(f"pkg/src/{name}.txt", "old", "new") for name in "ab"]
    end = go(world, [outside, *inside, finish()])
    assert end.outcome is Outcome.completed and runtime.is_dir()
    assert "policy.path.scope" in world.prompts[1]
    assert world.branch_file("pkg/src/a.txt") == "one new\ntwo\n"
