"""Views: file ranges that the state asks for, current in every prompt, followed when the file changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.outcomes import Outcome
from tests.controller.test_step import go, stored
from tests.controller.world import FILES, World, action, edit, finish, part

LONG = "".join(f"line {n}\n" for n in range(1, 401))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "r", files=FILES | {"src/long.txt": LONG, "src/.env": "KEY=value-of-a-secret\n"})


def views(prompt: str) -> str:
    shown = part(prompt, "views")
    return shown and f"{shown}\n"


def opens(**more: Any) -> dict[str, Any]:
    return action(
        "list_files", {}, view={name: {"path": p, "from": a, "to": b} for name, (p, a, b) in more.items()}
    )


def test_a_view_is_shown_from_the_next_step_on_until_it_is_closed(world: World) -> None:
    closes = action("list_files", {"depth": 3}, view={"l": None})
    go(
        world,
        [opens(l=("src/long.txt", 10, 12)), action("list_files", {"depth": 2}), closes, finish()],
        limit=4,
    )
    assert [bool(views(prompt)) for prompt in world.prompts] == [False, True, True, False]
    assert (
        views(world.prompts[1])
        == "--- l: src/long.txt lines 10–12 of 400\n 10|line 10\n 11|line 11\n 12|line 12\n"
    )


def test_a_view_is_current_and_follows_the_edits_above_and_inside_it(world: World) -> None:
    above = edit("src/long.txt", "line 3\n", "line 3\nthree more\nlines\nhere\n")
    inside = edit("src/long.txt", "line 11\n", "eleven\nand a half\n")
    go(world, [opens(l=("src/long.txt", 10, 12)), above, inside, finish()], limit=4)
    assert "13–15 of 403" in views(world.prompts[2]) and " 13|line 10\n" in views(world.prompts[2])
    assert "13–16 of 404" in views(world.prompts[3]) and "|eleven\n" in views(world.prompts[3])
    assert stored(world).state["view"]["l"] == {"path": "src/long.txt", "from": 13, "to": 16}


def test_a_command_that_changes_the_file_moves_the_view_too(world: World) -> None:
    go(world, [opens(a=("src/a.txt", 2, 2)), action("run", {"command": "mess"}), finish()], limit=3)
    assert views(world.prompts[2]) == "--- a: src/a.txt lines 2–2 of 3\n 2|two\n"


def test_an_open_range_can_be_edited_without_reading_it_again(world: World) -> None:
    seen = opens(a=("src/a.txt", 1, 9), b=("src/b.txt", 1, 9))

    def edits(prompt: Any) -> dict[str, Any]:
        lines = [
            line.partition("|")[2] for line in views(prompt.text).split("\n") if "|" in line and "old" in line
        ]
        changes = [
            {"op": "replace", "path": path, "old": line, "new": line.replace("old", "new")}
            for path, line in zip(("src/a.txt", "src/b.txt"), lines, strict=True)
        ]
        return action("edit_files", {"edits": changes})

    assert go(world, [seen, edits, finish()]).outcome is Outcome.completed


def test_what_can_not_be_shown_says_why(world: World) -> None:
    wrong = opens(
        gone=("src/none.txt", 1, 2), late=("src/a.txt", 90, 99), out=("../../etc/passwd", 1, 2),
        git=(".git", 1, 2), env=("src/.env", 1, 2), folder=("src", 1, 2),
    )  # fmt: skip
    go(world, [wrong, finish()], limit=2)
    shown = views(world.prompts[1])
    for told in (
        "there is no such file",
        "the range is gone: the file has 2 lines",
        "no path inside",
        "may hold secrets",
        "no file",
    ):
        assert told in shown, told
    assert "value-of-a-secret" not in world.prompts[1] and "root:" not in shown


def test_a_link_out_of_the_worktree_is_not_followed(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside\n")
    (world.root / "src/link").symlink_to(tmp_path / "secret.txt")
    world.git("add", "src/link")
    world.git("commit", "-qm", "link")
    go(world, [opens(a=("src/link", 1, 2)), finish()], limit=2)
    assert "leads out" in views(world.prompts[1]) and "outside\n" not in world.prompts[1]


def test_all_views_together_keep_their_bound(world: World) -> None:
    wide = "".join(f"{n} " + "é" * 300 + "\n" for n in range(400))
    (world.root / "src/wide.txt").write_text(wide)
    world.git("add", "-A", "src")
    world.git("commit", "-qm", "wide")
    go(world, [opens(**{f"v{n}": ("src/wide.txt", 1 + n, 400) for n in range(6)}), finish()], limit=2)
    shown = views(world.prompts[1])
    assert 8 * 1024 < len(shown.encode()) <= 16 * 1024 + 1024
    assert shown.count("narrow the range") == 6
