"""When a patch becomes Σ: the three commit modes, on a real repository and store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from contracts.base import canonical
from contracts.bounds import worst_case_bytes
from contracts.errors import ConfigError
from contracts.outcomes import Outcome
from contracts.queue import StopRequest
from contracts.record import RunRecord
from contracts.versions import Chain
from controller import step as stepping
from controller.act import act
from controller.assemble import charter
from controller.history import versions
from controller.migrate import planned
from controller.modes import SAID
from controller.recover import recover
from controller.render import worst_case
from controller.stores.sqlite import SqliteStore
from controller.surfaces import state
from controller.surfaces.events import step_ended
from tests.bench.modes import tried
from tests.controller.test_forgetting import keyed, rows, world
from tests.controller.test_replay import replayed
from tests.controller.test_step import WORK, go, stored
from tests.controller.world import TASK, World, action, edit, finish, part

MODES = ("staged", "optimistic", "dual")
LOOK = action("list_files", {"depth": 1})
WRONG = edit("src/a.txt", "no such text", "new", notes={"a": "done"})
RIGHT = edit("src/a.txt", "old", "new", notes={"a": "done"})


def made(root: Path, mode: str, more: str = "") -> World:
    return World(root, task=f"{TASK}commit_mode: {mode}\n{more}")


# ---- Σ and the world ------------------------------------------------------------------------------------------
def test_where_one_action_in_ten_fails_the_modes_part_as_they_say(tmp_path: Path) -> None:
    def one(name: str, mode: str, reading: bool = False) -> Any:
        return tried(tmp_path / name, mode, 20, 1, reading=reading)

    tally, doer, record = one("s", "staged")
    assert (tally.false_steps, record.outcome) == (0, Outcome.completed) and doer.failures > 1
    tally, doer, record = one("o", "optimistic")
    assert tally.at_end == doer.failures > 1, "who believes Σ never comes back to what failed"
    assert record.outcome is Outcome.stuck and "no-old" in record.halt.say  # type: ignore[union-attr]
    tally, doer, record = one("r", "optimistic", reading=True)
    assert tally.false_steps == doer.failures and (tally.at_end, record.outcome) == (0, Outcome.completed)
    tally, doer, record = one("d", "dual")
    assert tally.false_steps == doer.failures, "desired, for one step each"
    assert (tally.confirmed_false_steps, tally.unreported, record.outcome) == (0, 0, Outcome.completed)
    assert record.confirmed is None, "all is confirmed in the end"


def test_staged_says_what_it_always_said(tmp_path: Path) -> None:
    default, staged = World(tmp_path / "a"), made(tmp_path / "b", "staged")
    for each in (default, staged):
        go(each, [WRONG, RIGHT], limit=2)
    one, other = (re.sub("[0-9a-f]{12}", "SHA", each.prompts[0]) for each in (default, staged))
    assert one == other and "commit" not in part(
        one, "actions"
    )  # two repositories, made at different seconds
    assert all(row.extra.get("mode") is None for row in rows(staged))


def test_optimistic_keeps_the_patch_of_a_failed_action_and_consumes_the_observation(tmp_path: Path) -> None:
    each = made(tmp_path / "r", "optimistic")
    go(each, [LOOK, WRONG, LOOK], limit=3)
    first, after = each.prompts[1], each.prompts[2]
    assert SAID["optimistic"] in part(first, "actions")
    assert "step 1 list_files" in part(first, "observation") and re.search(
        '"?a"?[:=]"?done', part(after, "state")
    )
    assert part(after, "observation").startswith("step 2 edit_files: failed (edit.") and not part(
        after, "correction"
    )
    assert each.branch_log() == [] and (each.worktree / "src/a.txt").read_text() == "one old\ntwo\n"
    record = stored(each)
    assert record.spent.steps == 3 and record.rejections == 0
    assert [(row.kind, row.validator_result) for row in rows(each)[3:5]] == [
        ("reply", "allow"),
        ("step", "allow"),
    ]


def test_a_failed_action_is_told_as_refuted(tmp_path: Path) -> None:
    each = made(tmp_path / "r", "optimistic")
    go(each, [WRONG], limit=1)
    told = step_ended(None, stored(each), 0.1, None)  # type: ignore[arg-type]
    assert (told.result, told.layer, told.code) == ("refuted", "evidence", stored(each).observation.failed)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", MODES)
def test_a_finish_that_is_refused_again_and_again_ends_stuck_in_every_mode(tmp_path: Path, mode: str) -> None:
    each = made(tmp_path / "r", mode)
    end = go(each, [finish()] * 5)
    assert (end.outcome, len(each.prompts)) == (Outcome.stuck, 5) and "no-old is red" in end.record.halt.say


# ---- dual -----------------------------------------------------------------------------------------------------
def test_dual_shows_what_is_desired_and_only_what_is_not_confirmed_of_it(tmp_path: Path) -> None:
    each = made(tmp_path / "r", "dual")
    look = action("list_files", {"depth": 1}, notes={"b": "seen"})
    go(each, [LOOK | {"state_patch": {"notes": {"b": "to see"}}}, WRONG, look, RIGHT, finish()], limit=5)
    assert "not confirmed" not in part(each.prompts[1], "state")
    refused = part(each.prompts[2], "state")
    assert 'notes: {"b":"to see","a":"done"}' in refused
    assert refused.endswith('not confirmed:\n {"notes":{"a":null}}'), "no entry of it is confirmed"
    assert "its state_patch is not confirmed" in part(each.prompts[2], "correction")
    assert "step 1 list_files" in part(each.prompts[2], "observation"), "O stays until a step is committed"
    later = part(each.prompts[3], "state")
    assert re.search('"?b"?[:=]"?seen', later) and later.endswith('{"notes":{"a":null}}'), (
        "other evidence says nothing of it"
    )
    assert "not confirmed" not in part(each.prompts[4], "state"), "set again with an action that succeeded"
    assert stored(each).confirmed is None


def test_what_is_desired_can_be_given_up(tmp_path: Path) -> None:
    each = made(tmp_path / "r", "dual")
    go(each, [WRONG, LOOK | {"state_patch": {"notes": {"a": None}}}, LOOK], limit=3)
    assert "not confirmed" in each.prompts[1] and "not confirmed:" not in each.prompts[2]


def test_what_is_confirmed_is_a_valid_state_at_any_time(tmp_path: Path) -> None:
    item = {
        "type": "object", "additionalProperties": False, "required": ["at"],
        "properties": {"at": {"type": "integer", "minimum": 0, "maximum": 9},
                       "text": {"type": "string", "maxLength": 9}},
    }  # fmt: skip
    rule = {"name": "known", "say": "a use names an item", "refers": "/uses/*", "to": "/items/#"}
    each = world(
        tmp_path / "r",
        {"items": keyed(item, 3, **{"x-evict": "oldest"}), "uses": keyed({"type": "string", "maxLength": 9}, 3)},
        TASK.replace("goal:", "contract: .agent-contract\ngoal:") + "commit_mode: dual\nbudgets: {rejections: 50}\n",
        **{"x-invariants": [rule]},
    )  # fmt: skip
    bad, law = WRONG["action"], charter(each.loaded)

    def does(deed: Any, **patch: Any) -> dict[str, Any]:
        return {"state_patch": patch, "action": deed}

    looks = [{"tool": "list_files", "args": {"depth": depth}} for depth in range(1, 12)]
    moves = [
        does(bad, items={"x": {"at": 1}}),
        does(looks[0], items={"x": {"text": "half"}}),  # speaks of an entry that never was
        does(looks[1], uses={"u": "x"}),  # and so does this
        does(looks[2], items={"y": {"at": 2}}),
        does(bad, items={"z": {"at": 3}}, uses={"u": None}),
        does(looks[3], items={"p": {"at": 4}}),  # x goes
        does(bad, items={"y": None}),
        does(looks[4], items={"q": {"at": 5}}),
    ]
    seen = []
    for move in moves:
        go(each, [move], limit=1)
        record = stored(each)
        for known in (record.state, record.known):
            assert law.schema.errors(known) == [] and law.schema.broken(None, known) == []
        seen.append(record.known["items"])
    assert seen[2] == {}, "what was never there is not confirmed by half"
    assert (
        seen[3] == {"y": {"at": 2}}
        and "p" in seen[5]
        and seen[7] == {"y": {"at": 2}, "p": {"at": 4}, "q": {"at": 5}}
    )
    assert stored(each).state["items"].keys() == {"z", "p", "q"}
    assert rebuilt(each) == both(stored(each))


def test_a_view_is_no_claim(tmp_path: Path) -> None:
    each = made(tmp_path / "r", "dual")
    opened = {"v": {"path": "src/a.txt", "from": 1, "to": 2}}
    go(
        each,
        [edit("src/a.txt", "no such", "x", view=opened), edit("src/a.txt", "one", "zero\none"), LOOK],
        limit=3,
    )
    assert "one old" in part(each.prompts[1], "views") and "not confirmed" not in part(
        each.prompts[1], "state"
    )
    record = stored(each)
    assert record.state["view"]["v"]["to"] == 3 and record.confirmed is None and rebuilt(each) == both(record)


def test_the_prompt_keeps_its_bound_with_both_in_it(tmp_path: Path) -> None:
    each = world(
        tmp_path / "r",
        {"items": keyed({"type": "string", "maxLength": 900}, 8)},
        TASK.replace("goal:", "contract: .agent-contract\ngoal:")
        + "commit_mode: dual\nlimits: {state: 8KiB}\n",
    )
    go(each, [LOOK | {"state_patch": {"items": {f"a-{n}": "\n" * 450 for n in range(8)}}}], limit=1)
    gone = {f"a-{n}": None for n in range(8)} | {f"b-{n}": "\n" * 450 for n in range(8)}
    go(each, [WRONG | {"state_patch": {"items": gone}}, LOOK], limit=2)
    law = charter(each.loaded)
    most = worst_case(law, worst_case_bytes(law.schema.source))
    shown = part(each.prompts[1], "state")
    assert shown.count("a-") >= 7 and len(shown.encode()) <= most["state"]


def test_dual_is_not_left_while_something_is_not_confirmed(tmp_path: Path, capsys: Any) -> None:
    each = made(tmp_path / "r", "dual")
    go(each, [WRONG], limit=1)
    assert (
        state.show(each.file, None, False) == 0
        and '"a": null' in capsys.readouterr().out.partition("not confirmed")[2]
    )
    assert state.export(each.file, None) == 0
    assert orjson.loads(capsys.readouterr().out)["not_confirmed"] == {"notes": {"a": None}}
    law = charter(each.loaded)
    with pytest.raises(ConfigError, match="not confirmed: notes"):
        planned(stored(each), Chain({1: law.schema}, ()), 1, 10_000)
    each.file.write_text(each.file.read_text().replace("mode: dual", "mode: staged"))
    with pytest.raises(ConfigError, match="not confirmed"):
        go(each, [LOOK], limit=1)
    each.file.write_text(each.file.read_text().replace("mode: staged", "mode: dual"))
    go(each, [RIGHT], limit=1)
    each.file.write_text(each.file.read_text().replace("mode: dual", "mode: staged"))
    assert go(each, [WORK[1], finish()]).outcome is Outcome.completed


# ---- crashes --------------------------------------------------------------------------------------------------
def both(record: RunRecord) -> tuple[bytes, bytes]:
    return canonical(record.state), canonical(record.known)


def rebuilt(each: World) -> tuple[bytes, bytes]:
    """Σ, and what is confirmed of it, from the audit alone; every version of it as it was stored then."""
    found = list(versions(rows(each)))
    assert all(version.sound for version in found)
    last = found[-1]
    return canonical(last.state), canonical(last.state if last.confirmed is None else last.confirmed)


def dies(each: World, answer: Any, patch: pytest.MonkeyPatch, when: str) -> RunRecord:
    """The record as a controller leaves it that dies where the step is allowed, or where its deed is done."""

    async def dying(staged: Any, actions: Any) -> Any:
        if when == "done":
            await act(staged, actions)
        raise KeyboardInterrupt

    with patch.context() as patched:
        patched.setattr(stepping, "act", dying)
        with pytest.raises(KeyboardInterrupt):
            go(each, [answer])
    return stored(each)


@pytest.mark.parametrize("when", ["allowed", "done"])
@pytest.mark.parametrize("mode", MODES)
def test_a_step_that_died_half_way_goes_on_in_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, when: str
) -> None:
    each = made(tmp_path / "r", mode)
    go(each, [WRONG], limit=1)
    before = stored(each)
    record = dies(each, RIGHT | {"state_patch": {"notes": {"a": "done", "c": "3"}}}, monkeypatch, when)
    assert record.staged is not None and rebuilt(each) == both(record), (
        "the audit knows Σ in the middle of a step too"
    )
    expected = {"staged": {}, "optimistic": {"a": "done", "c": "3"}, "dual": {"a": "done", "c": "3"}}
    assert record.state["notes"] == expected[mode] and record.known["notes"] == (
        expected[mode] if mode != "dual" else {}
    )
    each.file.write_text(
        each.file.read_text().replace(f"mode: {mode}", "mode: dual")
    )  # carried with the step
    end = go(each, [WORK[1], finish()])
    assert end.outcome is Outcome.completed and len(each.prompts) == 2
    assert end.record.state["notes"] == {"a": "done", "b": "done", "c": "3"} and end.record.confirmed is None
    assert end.record.spent.launches == before.spent.launches + 3
    assert each.branch_log() == ["step 3: edit_files src/b.txt", "step 2: edit_files src/a.txt"]
    assert rebuilt(each) == both(end.record)


@pytest.mark.parametrize("mode", MODES)
def test_what_was_kept_is_enough_in_every_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    each = made(tmp_path / "r", mode)
    view = {"v": {"path": "src/a.txt", "from": 1, "to": 2}}
    go(each, [WRONG | {"state_patch": {"notes": {"a": "done"}, "view": view}}, action("nope"), LOOK], limit=3)
    go(
        each,
        [edit("src/a.txt", "one", "zero\none", notes={"z": "1"}), action("run", {"command": "mess"}), WRONG],
        limit=3,
    )
    again = replayed(each)
    assert (again.wrong, again.skipped) == ((), ()) and again.gated == 6
    assert again.steps == stored(each).spent.steps == (3 if mode == "staged" else 5)
    half = dies(each, edit("src/b.txt", "old", "new", notes={"b": "done"}), monkeypatch, "allowed")
    again = replayed(each)
    assert again.wrong == () and again.steps == half.spent.steps
    path = each.root / ".agent-runtime/state.db"
    for file in path.parent.glob("state.db*"):
        file.unlink()
    anyio.run(recover, path, "tidy", half.head)
    after = stored(each)
    assert (both(after), after.spent.steps) == (both(half), half.spent.steps)
    assert after.spent.launches == half.spent.launches - (mode == "staged"), (
        "a verdict without a row was lost"
    )
    end = go(
        each,
        [RIGHT, *([] if mode == "x" else [edit("src/b.txt", "old", "new", notes={"b": "done"})]), finish()],
    )
    assert end.outcome is Outcome.completed and rebuilt(each) == both(end.record)


@pytest.mark.parametrize("mode", MODES)
def test_a_wish_to_stop_waits_for_the_end_of_the_step(tmp_path: Path, mode: str) -> None:
    each = made(tmp_path / "r", mode)

    async def stopping(_: Any) -> dict[str, Any]:
        store = SqliteStore(each.root / ".agent-runtime/state.db")
        await store.post("tidy", StopRequest(by="ana", at=1.0))
        store.close()
        return RIGHT

    end = go(each, [stopping, WORK[1]])
    assert end.outcome is Outcome.interrupted and end.record.staged is None
    assert each.branch_log()[-1] == "step 1: edit_files src/a.txt"
