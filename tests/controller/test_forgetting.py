"""What the state lets go of in a run: bounds hold, it is said, found again, replayed, and secrets stay unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from contracts.base import JsonObject
from contracts.bounds import worst_case_bytes
from contracts.outcomes import Outcome
from controller.assemble import assemble, charter
from controller.history import versions
from controller.recover import recover
from controller.render import worst_case
from controller.surfaces import explain, land, log, repair, state
from tests.controller.test_recall import found, observed
from tests.controller.test_replay import replayed
from tests.controller.test_step import WORK, go, stored
from tests.controller.world import TASK, World, action, edit, finish

STEPS = 200
LONG = TASK.replace("finish]", "finish, recall]").replace("goal:", "contract: .agent-contract\ngoal:")
TEXT: JsonObject = {"type": "string", "maxLength": 60}


def keyed(entry: JsonObject, most: int, **more: Any) -> JsonObject:
    keys = {"propertyNames": {"pattern": "^[a-z0-9-]{1,12}$"}, "default": {}}
    return {"type": "object", "maxProperties": most, **keys, "additionalProperties": entry, **more}


def world(root: Path, properties: JsonObject, task: str = LONG, **more: Any) -> World:
    made = World(root, task=task)
    closed = {"type": "object", "additionalProperties": False, "properties": properties, **more}
    (root / ".agent-contract").mkdir()
    (root / ".agent-contract/state.schema.json").write_bytes(orjson.dumps(closed))
    return made


def look(number: int = 0, **patch: Any) -> dict[str, Any]:
    """A cheap step; every tenth one changes a file, so that the run does not stand still."""
    if number % 10:
        return action("list_files", {"depth": 1 + number % 12}, **patch)
    edits = [{"op": "write", "path": "src/log.txt", "content": f"line {number}\n"}]
    return action("edit_files", {"edits": edits}, **patch)


def rows(made: World) -> list[Any]:
    run = stored(made).run

    async def story() -> list[Any]:
        return [row async for *_, row in assemble(made.loaded).store.log(run)]

    return anyio.run(story)


# ---- what it is for ---------------------------------------------------------------------------------------
@pytest.mark.long
def test_a_collection_grows_in_200_steps_and_the_prompt_does_not(tmp_path: Path) -> None:
    notes, recent = keyed(TEXT, 8, **{"x-evict": "oldest"}), keyed(TEXT, 60, **{"x-ttl-steps": 5})
    made = world(
        tmp_path / "r",
        {"notes": notes, "recent": recent},
        LONG + "budgets: {steps: 400, tokens: 100000000}\n",
    )
    grow = [
        look(n, notes={f"n-{n}": f"gateway {n} answers on port {4000 + n}"}, recent={f"r-{n}": "x"})
        for n in range(1, STEPS + 1)
    ]
    ask = action("recall", {"query": "gateway 7 port", "kinds": ["state"]})
    end = go(made, [*grow, ask, *WORK, finish()])
    assert end.outcome is Outcome.completed and end.record.spent.steps == STEPS + 4

    law = charter(made.loaded)
    bound = worst_case(law, worst_case_bytes(law.schema.source))
    assert all(prompt.bytes <= bound["total"] for prompt in made.agent.prompts)  # type: ignore[union-attr]
    states = [prompt.partition("=== STATE ===\n")[2].partition("\n=== ")[0] for prompt in made.prompts]
    assert max(map(len, states)) < len(states[12]) + 60, "it stopped growing where its bound is"
    assert max(map(len, states)) <= bound["state"]

    said = observed(made.prompts[100])
    assert (
        "evicted from /notes: n-92; not set for long and dropped from /recent: r-95 (recall finds them)"
        in said
    )
    shown = observed(made.prompts[STEPS + 1])
    assert "gateway 7 answers on port 4007" in shown and "/notes/n-7, evicted at step 15" in shown
    assert not any("port 4007" in prompt for prompt in made.prompts[16 : STEPS + 1])
    (hit,) = found(made, "4150").hits
    assert hit.kind == "state" and hit.place == "/notes/n-150, evicted at step 158"

    held = stored(made)
    places = {f"/{field}/{key}" for field in ("notes", "recent") for key in held.state[field]}
    assert held.ages.keys() == places and len(places) == 9, "what is known of the entries is bounded too"
    again = replayed(made)
    assert again.wrong == () and again.skipped == () and (again.steps, again.gated) == (STEPS + 4, STEPS + 4)
    step = next(row for row in rows(made) if row.step == 100)
    assert step.extra["evicted"] == {"/notes/n-92": "gateway 92 answers on port 4092", "/recent/r-95": "x"}


def test_a_full_collection_that_is_needed_is_refused_with_what_to_do(tmp_path: Path) -> None:
    facts = keyed(TEXT, 2, **{"x-evict": "oldest"})
    rule = {"name": "known", "say": "a use names a fact", "refers": "/uses/*", "to": "/facts/#"}
    made = world(tmp_path / "r", {"facts": facts, "uses": keyed(TEXT, 4)}, **{"x-invariants": [rule]})
    go(
        made,
        [look(facts={"a": "1", "b": "2"}, uses={"u": "a", "v": "b"}), look(1, facts={"c": "3"}), look(2)],
        limit=3,
    )
    assert (
        "schema.full" in made.prompts[2]
        and "/facts is full, and what else is in it is needed" in made.prompts[2]
    )
    go(made, [look(3, facts={"c": "3"}, uses={"v": "nothing"}), look(4)], limit=2)
    assert "a use names a fact (/uses/v names 'nothing', which is not in /facts/#)" in made.prompts[1]
    assert "invariants.known" in made.prompts[1]
    end = go(made, [look(5, facts={"c": "3"}, uses={"u": None})], limit=1)
    assert end.record.state == {"facts": {"b": "2", "c": "3"}, "uses": {"v": "b"}}
    assert replayed(made).wrong == ()


def test_a_refused_or_refuted_step_lets_nothing_go(tmp_path: Path) -> None:
    made = world(tmp_path / "r", {"notes": keyed(TEXT, 2, **{"x-evict": "oldest", "x-ttl-steps": 3})})
    wrong = [{"op": "replace", "path": "src/a.txt", "old": "not there", "new": "b"}]
    go(made, [look(1, notes={"a": "1"}), look(2, notes={"b": "2"})], limit=2)
    refuted, refused = (
        action("edit_files", {"edits": wrong}, notes={"c": "3"}),
        action("nope", notes={"c": "3"}),
    )
    end = go(made, [refuted, refused, refuted, look(3, notes={"c": "3"})], limit=4)
    assert end.record.state == {"notes": {"b": "2", "c": "3"}}, "steps that were not committed do not count"
    assert end.record.ages == {"/notes/b": (2, 2), "/notes/c": (3, 3)}
    assert [row.step for row in rows(made) if "evicted" in row.extra] == [6]


def test_a_store_rebuilt_from_its_audit_knows_the_ages(tmp_path: Path) -> None:
    made = world(tmp_path / "r", {"notes": keyed(TEXT, 3, **{"x-evict": "oldest"})})
    before = go(made, [look(n, notes={f"n{n}": "x"}) for n in range(1, 6)], limit=5).record
    for leftover in (made.root / ".agent-runtime").glob("state.db*"):
        leftover.unlink()
    head = made.git("rev-parse", "skill-state/tidy").strip()
    again = anyio.run(recover, made.root / ".agent-runtime/state.db", "tidy", head).record
    assert again.state == before.state and before.ages.items() <= again.ages.items()
    end = go(made, [look(6, notes={"n6": "x"})], limit=1)
    assert end.record.state == {"notes": {"n4": "x", "n5": "x", "n6": "x"}}
    assert end.record.ages.keys() == {"/notes/n4", "/notes/n5", "/notes/n6"}


def test_the_next_run_begins_with_what_is_kept_for_the_task(tmp_path: Path) -> None:
    kept = keyed(TEXT, 3, **{"x-retention": "task", "x-evict": "oldest"})
    made = world(tmp_path / "r", {"rules": kept, "notes": keyed(TEXT, 3)})
    first = look(1, rules={"r1": "old"}, notes={"n": "x"})
    go(made, [first, look(2, rules={"r2": "newer"}), *WORK, finish()])
    end = go(made, [look(3, rules={"r3": "x", "r4": "y"})], new=True, limit=1)
    assert '"r1":"old"' in made.prompts[0] and '"n":' not in made.prompts[0]
    assert end.record.state == {"rules": {"r2": "newer", "r3": "x", "r4": "y"}, "notes": {}}
    assert replayed(made).wrong == ()


# ---- secrets ----------------------------------------------------------------------------------------------
SECRET = 'tea"cosy-4711'
STAND_IN = "[secret: 13 bytes]"


@pytest.fixture
def keeping(tmp_path: Path) -> World:
    keys = keyed({**TEXT, "x-sensitivity": "secret"}, 2, **{"x-evict": "oldest", "x-retention": "task"})
    made = world(tmp_path / "r", {"notes": keyed(TEXT, 4), "keys": keys})
    go(made, [look(1, keys={"door": SECRET}, notes={"n": "see /keys/door"}), look(2)], limit=2)
    return made


def everything(made: World) -> str:
    """All that is on the disk of the run, but the record and what SQLite keeps of its earlier versions."""
    kept = [
        path
        for path in (made.root / ".agent-runtime").rglob("*")
        if path.is_file() and "state.db" not in path.name
    ]
    chain = [row.model_dump_json() for row in rows(made)]
    return "\n".join([*(path.read_bytes().decode("utf-8", "replace") for path in kept), *chain])


def test_a_secret_is_in_the_record_and_nowhere_else(
    keeping: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stored(keeping).state["keys"] == {"door": SECRET}
    assert {path.stat().st_mode & 0o77 for path in (keeping.root / ".agent-runtime").glob("state.db*")} == {0}
    assert STAND_IN in keeping.prompts[1] and "cosy" not in keeping.prompts[1]
    task = keeping.file
    state.show(task, None, False), state.show(task, None, True), state.history(task, None, True)
    state.diff(task, None, 0, None), state.export(task, None)
    log.log(task, None, as_json=True, verify=False), explain.explain(task, 1, None, False)
    assert repair.replayed(task, None, None, False) == 0, (
        "the rebuilt state is the stored one, less the secret"
    )
    said = capsys.readouterr().out
    assert "cosy" not in said and said.count(STAND_IN) >= 6
    assert "cosy" not in everything(keeping) and STAND_IN in everything(keeping)
    assert not found(keeping, "cosy").hits


def test_a_stand_in_that_is_sent_back_changes_nothing(keeping: World) -> None:
    go(keeping, [look(3, keys={"door": STAND_IN, "gate": "other-secret"})], limit=1)
    assert stored(keeping).state["keys"] == {"door": SECRET, "gate": "other-secret"}
    go(keeping, [look(4, keys={"yard": "third-secret"}), look(5)], limit=2)
    assert stored(keeping).state["keys"].keys() == {"gate", "yard"}
    assert "evicted from /keys: door" in keeping.prompts[1]
    (gone,) = [row.extra["evicted"] for row in rows(keeping) if "evicted" in row.extra]
    assert gone == {"/keys/door": STAND_IN}
    assert replayed(keeping).wrong == ()


def test_a_refused_reply_is_kept_without_its_secret(keeping: World) -> None:
    go(
        keeping,
        [look(3, keys={"door": SECRET + "!" * 60}), action("nope", keys={"gate": SECRET}), look(4)],
        limit=3,
    )
    assert (
        "=== CORRECTION ===" in keeping.prompts[1]
        and "/keys/door: is 73 characters long" in keeping.prompts[1]
    )
    assert not any("cosy" in prompt for prompt in keeping.prompts)
    assert "cosy" not in everything(keeping)


@pytest.mark.parametrize(
    "said",
    [
        edit("src/a.txt", "old", SECRET),
        edit("src/a.txt", "old", "gate-4711", keys={"gate": "gate-4711"}),
        action("ask", {"question": f"Is it {SECRET}?"}),
        action("list_files", {"path": SECRET}),
    ],
    ids=["held", "set in the same reply", "asked", "a path"],
)
def test_an_action_can_not_show_a_secret(keeping: World, said: Any) -> None:
    go(keeping, [said, look(4)], limit=2)
    assert "policy.secret" in keeping.prompts[1] and not stored(keeping).queue
    assert not any(each in everything(keeping) for each in ("cosy", "gate-4711"))
    assert replayed(keeping).wrong == ()


def test_what_is_surely_a_secret_may_stand_in_such_a_field_only(keeping: World) -> None:
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    end = go(keeping, [look(3, keys={"gh": token}), look(4, notes={"gh": token})], limit=2)
    assert end.record.state["keys"]["gh"] == token
    assert end.record.correction is not None and end.record.correction.code == "invariants.secret"


def test_the_next_run_keeps_the_secret_and_its_audit_does_not(keeping: World) -> None:
    go(keeping, [*WORK, finish()])
    go(keeping, [look(3)], new=True, limit=1)
    assert stored(keeping).state["keys"] == {"door": SECRET}
    assert "cosy" not in everything(keeping) and replayed(keeping).wrong == ()


def test_a_rebuilt_store_says_that_secrets_are_lost(keeping: World) -> None:
    for leftover in (keeping.root / ".agent-runtime").glob("state.db*"):
        leftover.unlink()
    head = keeping.git("rev-parse", "skill-state/tidy").strip()
    again = anyio.run(recover, keeping.root / ".agent-runtime/state.db", "tidy", head)
    assert again.record.state["keys"] == {"door": STAND_IN} and any(
        "secret fields" in line for line in again.lost
    )


@pytest.mark.parametrize("mark", ["internal", "secret"])
def test_a_ledger_that_is_not_for_outside_is_not_in_the_landing(tmp_path: Path, mark: str) -> None:
    ledger = keyed({**TEXT, "x-sensitivity": mark}, 4)
    made = world(tmp_path / "r", {"decision_ledger": ledger, "notes": keyed(TEXT, 3)})
    go(made, [look(1, decision_ledger={"d": "because of Zanzibar"}), *WORK, finish()])
    assert ("Zanzibar" in made.prompts[1]) == (mark == "internal"), "the agent sees what is internal"
    kept = rows(made)
    assert "Zanzibar" not in land._message(stored(made), charter(made.loaded), kept)
    assert [version.sound for version in versions(kept)] == [True] * 5
