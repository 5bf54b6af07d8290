"""What an agent can't change because a check rests on it, and what is no work at all."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from contracts.checks import Check
from contracts.outcomes import Outcome
from controller.pins import RUNNER_CONFIG, pins
from tests.controller.test_step import WORK, go, world
from tests.controller.world import FILES, TASK, World, action, edit, finish

__all__ = ["world"]


@pytest.mark.parametrize(
    ("role", "argv", "pinned"),
    [
        ("goal", ["git", "grep", "-q", "x", "--", "src/a.py", "setup.cfg"], []),
        ("goal", ["python3", "tools/check.py", "src/a.py"], ["tools/check.py"]),
        ("goal", ["./check.sh"], ["./check.sh"]),
        ("guard", ["python3.11", "-m", "pytest", "tests/unit"], ["tests/unit"]),
        ("guard", [".venv/bin/python", "run.py"], ["run.py"]),
    ],
)
def test_default_pins_are_what_a_check_runs(role: str, argv: list[str], pinned: list[str]) -> None:
    check = Check.model_validate_json(orjson.dumps({"name": "c", "role": role, "run": argv}))
    assert [pin for pin in pins(check) if pin not in RUNNER_CONFIG] == pinned


def test_a_file_whose_name_is_not_utf8_is_left_alone(world: World) -> None:
    (world.root / os.fsdecode(b"src/bad\xffname.txt")).write_text("old\n")
    world.git("add", "-A", "src")
    world.git("commit", "-qm", "odd name")
    every = {"op": "replace_all", "glob": "src/**", "old": "old", "new": "new", "expect": 2}
    end = go(world, [action("edit_files", {"edits": [every]}), action("run", {"command": "mess"})], limit=2)
    assert end.record.step == 2
    assert world.branch_log() == ["step 2: run src/a.txt", "step 1: edit_files src/a.txt and 1 more"]


def test_pins_of_the_task_come_beside_what_the_check_runs(tmp_path: Path) -> None:
    def pinned(**more: object) -> tuple[str, ...]:
        run = ["python3", "tools/check.py"]
        raw = {"name": "c", "role": "guard", "run": run, **more}
        return pins(Check.model_validate_json(orjson.dumps(raw)))

    assert {"tests/**", "tools/check.py", "unittest.py"} <= set(pinned(pins=["tests/**"]))
    assert pinned(pins=[]) == ()
    assert "Makefile" in pinned(run=["make", "test"])


def test_caches_that_a_command_leaves_are_not_committed(tmp_path: Path) -> None:
    mess = 'mess: {run: "mkdir -p src/__pycache__; echo x > src/__pycache__/a.pyc; echo more >> src/a.txt"}'
    task = TASK.replace('mess: {run: "echo junk > junk.txt; echo more >> src/a.txt"}', mess)
    world = World(tmp_path / "r", task=task)
    go(world, [action("run", {"command": "mess"})], limit=1)
    assert "pycache" not in world.git("ls-tree", "-r", "--name-only", "skill-state/tidy")


@pytest.mark.parametrize(
    "plant", ["git init -q src", "echo gitdir: /nowhere > src/.git"], ids=["folder", "file"]
)
def test_a_repository_planted_where_a_check_looks_is_taken_away(tmp_path: Path, plant: str) -> None:
    """`git grep` there finds nothing: the goal would be green, and nothing done."""
    goal = '{name: no-old, role: goal, run: "cd src && git grep -q old", pass_exit: [1, 128]}'
    lines = [f"  - {goal}" if "no-old" in line else line for line in TASK.splitlines()]
    task = (
        "\n".join(lines).replace("checks:", f'    plant: {{run: "{plant}"}}\nchecks:', 1)
        + "\nbudgets: {steps: 2}\n"
    )
    world = World(tmp_path / "r", task=task)
    end = go(world, [action("run", {"command": "plant"}), finish()])
    assert "src/.git" in world.prompts[1] and "put back" in world.prompts[1]
    assert end.outcome is not Outcome.completed
    assert not (world.worktree / "src/.git").exists()


FORGE = """
import importlib.util as u, marshal, os, struct
source = b"def ok(): return True\\n"
found = os.stat("src/mod.py")
head = u.MAGIC_NUMBER + struct.pack("<III", 0, int(found.st_mtime), found.st_size)
os.makedirs("src/__pycache__", exist_ok=True)
with open(u.cache_from_source("src/mod.py"), "wb") as file:
    file.write(head + marshal.dumps(compile(source, "src/mod.py", "exec")))
"""


def test_bytecode_that_a_command_forges_is_not_what_a_check_runs(tmp_path: Path) -> None:
    files = FILES | {
        "src/mod.py": "def ok(): return True\n",
        "forge.py": FORGE,
        ".gitignore": "__pycache__\n",
    }
    guard = '  - {name: works, role: guard, pins: [], run: [python3, -c, \'import sys; sys.path.insert(0, "src"); '
    guard += "import mod; sys.exit(0 if mod.ok() else 9)']}\n"
    task = TASK.replace("checks:\n", "    forge: {run: [python3, forge.py]}\nchecks:\n" + guard, 1)
    world = World(tmp_path / "r", files=files, task=task + "budgets: {steps: 5}\n")
    broken = edit("src/mod.py", "True", "None")
    end = go(world, [*WORK, broken, action("run", {"command": "forge"}), finish()])
    assert (world.worktree / "src/__pycache__").is_dir(), "forged"
    assert end.outcome is not Outcome.completed and "exit 9" in end.record.checks["works"].why
