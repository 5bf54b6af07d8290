"""Secrets stop at every door: the gate, the evidence, the prompt, the audit, the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.outcomes import Outcome
from controller.replay import replay
from controller.stores.sqlite import SqliteStore
from tests.controller.world import FILES, TASK, World, action, edit

HALF = "a1B2c3D4e5F6g7H8i9"
TOKEN = f"ghp_{HALF}{HALF[::-1]}"
MAKE = f"echo ghp_'{HALF}'{HALF[::-1]}"
COMMANDS = f"""\
    tell: {{run: "{MAKE}"}}
    plant: {{run: "{MAKE} >> src/a.txt"}}
    env: {{run: "echo A=1 > src/.env"}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    task = TASK.replace("    show:", COMMANDS + "    show:")
    files = FILES | {"src/held.txt": f"one\ntoken = {TOKEN}\nold three\n"}
    return World(tmp_path / "repo", files=files, task=task)


def go(world: World, answers: list[Any]) -> Any:
    """One step for each answer."""
    world.file.write_text(world.file.read_text() + f"budgets: {{steps: {len(answers)}}}\n")

    async def story() -> Any:
        return await world.run(answers)

    return anyio.run(story)


def everything(world: World) -> bytes:
    """All that was stored or shown: the database, its rows, the artifacts, the prompts."""
    runtime = world.root / ".agent-runtime"
    kept = [path.read_bytes() for path in runtime.rglob("*") if path.is_file() and "work" not in path.parts]
    return b"".join(kept) + "".join(world.prompts).encode()


def rows(world: World) -> list[Any]:
    async def story() -> list[Any]:
        store = SqliteStore(world.root / ".agent-runtime/state.db")
        record = await store.load("tidy")
        assert record is not None
        return [row async for *_, row in store.log(record.run)]

    return anyio.run(story)


def test_an_edit_with_a_secret_is_refused_at_the_gate(world: World) -> None:
    answers = [edit("src/a.txt", "old", f"new\ntoken = {TOKEN}"), edit("src/a.txt", "old", "new")]
    go(world, answers)
    assert "policy.secret" in world.prompts[1] and "github_token" in world.prompts[1]
    assert world.branch_file("src/a.txt") == "one new\ntwo\n"
    assert any(row.validator_result == "policy.secret" for row in rows(world))
    assert TOKEN.encode() not in everything(world)


def test_the_state_holds_no_secret(world: World) -> None:
    go(world, [action("read_files", {"files": [{"path": "src/a.txt"}]}, notes={"k": TOKEN})] * 2)
    assert "invariants.secret" in world.prompts[1]
    assert TOKEN.encode() not in everything(world)


PASSWORD = "correct horse battery 7"  # like no pattern: known only because a child gets it


@pytest.mark.parametrize(
    "answer",
    [
        edit("src/a.txt", "old", f"new {PASSWORD}"),
        action("read_files", {"files": [{"path": "src/a.txt"}]}, notes={"k": PASSWORD}),
        action("read_files", {"files": [{"path": "src/a.txt"}], PASSWORD: 1}),
        {"state_patch": {"nope": PASSWORD}, "action": {"tool": PASSWORD, "args": {}}},
    ],
    ids=["edit", "state", "key", "tool"],
)
def test_a_known_secret_in_a_refused_reply_is_stored_and_shown_nowhere(
    world: World, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr("controller.assemble.given", lambda *_: {"PASSWORD": PASSWORD})
    go(world, [answer, edit("src/a.txt", "old", "new")])
    assert any(row.validator_result not in ("allowed", "proven", "", None) for row in rows(world))
    assert PASSWORD.encode() not in everything(world)


def test_what_a_command_plants_is_undone(world: World) -> None:
    go(world, [action("run", {"command": "plant"}), edit("src/a.txt", "old", "new")])
    assert "evidence.secret" in world.prompts[1]
    assert world.branch_file("src/a.txt") == "one new\ntwo\n"
    assert TOKEN not in world.git("log", "-p", "main..skill-state/tidy")


def test_what_a_command_says_is_redacted(world: World) -> None:
    go(world, [action("run", {"command": "tell"}), edit("src/a.txt", "old", "new")])
    assert "[redacted:github_token]" in world.prompts[1]
    assert TOKEN.encode() not in everything(world)


def test_a_file_with_a_secret_is_worked_on_around_it(world: World) -> None:
    view = {"held": {"path": "src/held.txt", "from": 1, "to": 3}}
    answers = [
        action("read_files", {"files": [{"path": "src/held.txt"}]}, view=view),
        edit("src/held.txt", "old three", "new three"),
        edit("src/a.txt", "old", "new"),
    ]
    go(world, answers)
    assert "token = [redacted:github_token]" in world.prompts[1]
    # The diff of the step shows the line as context.
    assert "+new three" in world.prompts[2] and "redacted" in world.prompts[2]
    assert world.branch_file("src/held.txt") == f"one\ntoken = {TOKEN}\nnew three\n"
    assert TOKEN.encode() not in everything(world)


def test_an_env_file_is_not_committed(world: World) -> None:
    end = go(world, [action("run", {"command": "env"}), edit("src/a.txt", "old", "new")])
    assert "put back" in world.prompts[1] and end.outcome is not Outcome.completed
    assert ".env" not in world.git("ls-tree", "-r", "--name-only", "skill-state/tidy")


def test_a_refused_secret_is_no_difference_in_a_replay(world: World) -> None:
    go(world, [edit("src/b.txt", "an old", TOKEN), edit("src/b.txt", "an old", "a new")])
    rig = world.rig()
    found = replay(rows(world), rig.task, rig.artifacts)
    assert found.wrong == () and len(found.skipped) == 1 and "redacted before it was kept" in found.skipped[0]
