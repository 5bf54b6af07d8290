"""What actions show of files that hold secrets, and what edits may do to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.actions import Block
from contracts.base import JsonObject
from tests.tool_adapters.worktree import Worktree, run
from tool_adapters.actions.batch import Batch
from tool_adapters.actions.edit_files import EditFiles
from tool_adapters.actions.list_files import ListFiles
from tool_adapters.actions.read_files import ReadFiles
from tool_adapters.actions.search import Search

TOKEN = "ghp_" + "a1B2" * 9
KEY = [
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQ" + "a1B2" * 14,
    "Zz9Yy8" + "c3D4" * 14,
    "-----END PRIVATE KEY-----",
]
CONFIG = f"host = 'db'\ntoken = '{TOKEN}'\nport = 1\n"


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(
        tmp_path,
        {
            "config.py": CONFIG,
            "key.txt": "\n".join(["before", *KEY, "after", ""]),
            "wide.js": "x" * 400 + f"='{TOKEN}';" + "y" * 400 + "\n",
            "plain.py": "a = 1\n",
            ".Env": "PASSWORD=hunter2Xyz9\n",
            "deploy/prod.env": "PASSWORD=hunter2Xyz9\n",
            ".env.example": "PASSWORD=\n",
        },
    )


def read(tree: Worktree, *files: JsonObject) -> tuple[Block, ...]:
    return run(ReadFiles(tree.context()), {"files": list(files)}).blocks


def found(tree: Worktree, pattern: str, **more: object) -> Block:
    (block,) = run(Search(tree.context()), {"pattern": pattern, **more}).blocks
    return block


def edit(tree: Worktree, **fields: object) -> tuple[bool, str, str]:
    result = run(EditFiles(tree.context()), {"edits": [fields]})
    return result.ok, result.code, result.say + result.excerpt


def test_a_read_shows_no_secret_and_says_so(tree: Worktree) -> None:
    config, plain = read(tree, {"path": "config.py"}, {"path": "plain.py"})
    assert config.text == "1|host = 'db'\n2|token = '[redacted:github_token]'\n3|port = 1"
    assert "secrets are redacted" in config.title and config.title.startswith("config.py lines 1–3 of 3")
    assert plain.title == "plain.py lines 1–1 of 1"
    (beside,) = read(tree, {"path": "config.py", "from": 3, "to": 3})
    assert beside.text == "3|port = 1" and "redacted" not in beside.title


def test_a_part_of_a_key_is_known_by_the_whole(tree: Worktree) -> None:
    (middle,) = read(tree, {"path": "key.txt", "from": 3, "to": 4})
    assert middle.text == "3|\n4|"
    (end,) = read(tree, {"path": "key.txt", "from": 4, "to": 6})
    assert end.text == "4|\n5|\n6|after"  # line numbers stay those of the file
    (whole,) = read(tree, {"path": "key.txt"})
    assert whole.text.startswith("1|before\n2|[redacted:private_key]\n3|")


@pytest.mark.parametrize("more", [{}, {"regex": True}])
def test_a_search_shows_no_secret(tree: Worktree, more: dict[str, object]) -> None:
    block = found(tree, "token", **more)
    assert block.text == "config.py:2|token = '[redacted:github_token]'"
    assert (
        "a1B2" not in found(tree, "MIIEvQ", **more).text and "1 hits" in found(tree, "MIIEvQ", **more).title
    )
    wide = found(tree, "ghp_a1B2a1B2", paths=["wide.js"], **more).text
    assert "a1B2" not in wide and "[redacted:github_token]" in wide and len(wide) < 400
    assert found(tree, "port", **more).text == "config.py:3|port = 1"


def test_files_of_secrets_are_listed_but_not_looked_into(tree: Worktree) -> None:
    assert found(tree, "hunter2").text == ""
    upper, deep, example = read(tree, {"path": ".Env"}, {"path": "deploy/prod.env"}, {"path": ".env.example"})
    assert upper.text == deep.text == "" and "not shown" in upper.title and "not shown" in deep.title
    assert example.text == "1|PASSWORD="
    (listed,) = run(ListFiles(tree.context()), {}).blocks
    assert "prod.env" in listed.text
    assert edit(tree, op="write", path="deploy/prod.env", content="A=1\n")[1] == "path.secret"


def test_an_edit_beside_a_secret_leaves_it(tree: Worktree) -> None:
    assert edit(tree, op="replace", path="config.py", old="port = 1", new="port = 2")[0]
    assert tree.read("config.py").decode() == CONFIG.replace("port = 1", "port = 2")


def test_what_stands_for_a_secret_can_not_take_its_place(tree: Worktree) -> None:
    shown = CONFIG.replace(TOKEN, "[redacted:github_token]")
    ok, code, said = edit(tree, op="write", path="config.py", content=shown.replace("db", "db2"))
    assert not ok and code == "edit.redacted" and "config.py" in said
    move = [{"op": "write", "path": "other.py", "content": shown}, {"op": "delete", "path": "config.py"}]
    assert run(EditFiles(tree.context()), {"edits": move}).code == "edit.redacted"
    assert tree.read("config.py").decode() == CONFIG
    # A file of one's own may speak of the marks.
    assert edit(tree, op="write", path="doc.md", content="it prints [redacted:jwt]\n")[0]


def test_a_failed_edit_shows_no_secret(tree: Worktree) -> None:
    ok, code, said = edit(tree, op="replace", path="config.py", old="token = 'x'\nport = 1", new="y")
    assert (ok, code) == (False, "edit.no_match") and "a1B2" not in said and "[redacted:github_token]" in said
    batch = {"actions": [{"tool": "edit_files", "args": {"edits": [{"op": "replace", "path": "key.txt", "old": "MIIEvQa1B2 x", "new": "y"}]}}]}  # fmt: skip  # noqa: E501
    result = run(Batch(tree.context()), batch)
    assert not result.ok and "a1B2a1B2" not in result.say + result.excerpt
