"""The built-in tools as data: what their schemas take, what an action writes and reads, what the model is told."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from contracts.base import JsonObject
from contracts.commands import Command
from contracts.dialects import compile_dialect
from contracts.grammar import batch_problem, describe, globs_of, paths_of, problem, reads_of, specs
from contracts.lint_strict import lint_claude, lint_strict
from contracts.state import StateSchema
from contracts.tools import SPECS

COMMANDS = {
    "test_file": Command.model_validate(
        {"run": ["pytest", "{path}"], "params": {"path": {"pattern": "^tests/[a-z_/]+\\.py$"}}}
    ),
    "lint": Command.model_validate(
        {"run": "ruff check {what}", "params": {"what": {"enum": ["src", "tests"]}}}
    ),
    "build": Command.model_validate({"run": ["make"], "must": "pass"}),
    "publish": Command.model_validate({"run": ["make", "publish"], "effects": ["registry"]}),
}
ALL = specs(SPECS, COMMANDS)
BY_NAME = {spec.name: spec for spec in ALL}
EDIT: JsonObject = {"edits": [{"op": "replace", "path": "a.py", "old": "x", "new": "y"}]}
RUN: JsonObject = {"command": "test_file", "params": {"path": "tests/test_a.py"}}
READ: JsonObject = {"files": [{"path": "a.py"}]}


def act(tool: str, args: JsonObject) -> JsonObject:
    return {"tool": tool, "args": args}


def fits(tool: str, args: Any) -> bool:
    return bool(Draft202012Validator(BY_NAME[tool].args).is_valid(args))


GOOD: list[tuple[str, JsonObject]] = [
    ("read_files", {"files": [{"path": "a.py", "from": 3, "to": 9}, {"path": "artifact:ab12"}]}),
    ("list_files", {}),
    ("search", {"pattern": "x", "paths": ["src/**"], "regex": True, "ignore_case": False}),
    ("edit_files", EDIT),
    ("edit_files", {"edits": [{"op": "write", "path": "b", "content": ""}, {"op": "delete", "path": "c"}]}),
    (
        "edit_files",
        {"edits": [{"op": "replace_all", "glob": "**/*.py", "old": "a", "new": "b", "expect": 3}]},
    ),
    ("apply_patch", {"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}),
    ("run", RUN),
    ("run", {"command": "lint", "params": {"what": "src"}}),
    ("run", {"command": "publish"}),
    ("ask", {"question": "Which?", "options": ["a", "b"]}),
    ("finish", {"summary": "done"}),
    ("batch", {"actions": [act("edit_files", EDIT), act("run", RUN), act("read_files", READ)]}),
]


@pytest.mark.parametrize(("tool", "args"), GOOD)
def test_taken(tool: str, args: JsonObject) -> None:
    assert fits(tool, args)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_files", {"files": []}),
        ("read_files", {"files": [{"path": f"f{i}"} for i in range(7)]}),
        ("read_files", {"files": [{"path": "a", "from": 0}]}),
        ("read_files", {"files": [{"path": "a", "line": 1}]}),
        ("edit_files", {"edits": [{"op": "replace", "path": "a", "old": "", "new": "y"}]}),
        ("edit_files", {"edits": [{"op": "move", "path": "a", "to": "b"}]}),
        ("edit_files", {"edits": [{"op": "write", "path": "a", "content": "x" * 65537}]}),
        ("run", {"command": "rm"}),
        ("run", {"command": "test_file"}),
        ("run", {"command": "test_file", "params": {"path": "/etc/passwd"}}),
        ("run", {"command": "test_file", "params": {"path": "tests/a.py", "more": "x"}}),
        ("run", {"command": "build", "params": {"x": "y"}}),
        ("ask", {"question": "?", "options": ["a"] * 7}),
        ("finish", {}),
        ("batch", {"actions": [act("ask", {"question": "?"})]}),
        ("batch", {"actions": [act("run", {"command": "publish"})]}),
        ("batch", {"actions": [act("batch", {"actions": [act("read_files", READ)]})]}),
        ("batch", {"actions": [act("read_files", READ)] * 9}),
    ],
)
def test_not_taken(tool: str, args: JsonObject) -> None:
    assert not fits(tool, args)


def test_a_pattern_holds_for_the_whole_value_also_with_alternatives() -> None:
    loose = {"c": Command.model_validate({"run": ["x", "{p}"], "params": {"p": {"pattern": "^a|b$"}}})}
    (run,) = (spec for spec in specs(["run"], loose) if spec.name == "run")
    check = Draft202012Validator(run.args)
    assert check.is_valid({"command": "c", "params": {"p": "a"}})
    assert not check.is_valid({"command": "c", "params": {"p": "a; rm -rf /"}})


def test_only_what_is_allowed_and_possible() -> None:
    assert [spec.name for spec in specs(["finish", "run", "batch"], {})] == ["finish"]
    assert [spec.name for spec in specs(["finish", "search", "batch", "mine"], {})] == [
        "finish",
        "search",
        "batch",
    ]
    (batch,) = (spec for spec in specs(["search", "batch"], COMMANDS) if spec.name == "batch")
    check = Draft202012Validator(batch.args)
    assert check.is_valid({"actions": [act("search", {"pattern": "x"})]})
    assert not check.is_valid({"actions": [act("read_files", READ)]})


@pytest.mark.parametrize("kind", ["merge", "strict"])
def test_every_dialect_takes_the_grammar_and_gives_it_back(kind: Any) -> None:
    dialect = compile_dialect(kind, StateSchema.builtin("coding"), ALL)
    assert (lint_strict if kind == "strict" else lint_claude)(dialect.schema) == []
    for tool, args in GOOD:
        transition = {"state_patch": {}, "action": act(tool, args)}
        assert dialect.decode(dialect.encode(transition)) == transition


# ---- batches -----------------------------------------------------------------------------------------------


def batch(*actions: JsonObject) -> str | None:
    return batch_problem({"actions": list(actions)}, COMMANDS)


def test_the_order_within_a_batch() -> None:
    edit, patch, run, read = (
        act("edit_files", EDIT),
        act("apply_patch", {"patch": ""}),
        act("run", RUN),
        act("search", {}),
    )
    assert batch(edit, patch, run, read, read) is None
    assert batch(run) is None and batch(read) is None and batch(edit, read) is None
    assert "comes too late" in str(batch(run, edit))
    assert "comes too late" in str(batch(read, run))
    assert "second run" in str(batch(run, run))
    assert "can't stand" in str(batch(act("finish", {})))
    assert "1 to 8" in str(batch()) and "1 to 8" in str(batch(*[read] * 9))
    assert "stands alone" in str(batch(act("run", {"command": "publish"})))
    assert batch_problem({}) and batch_problem({"actions": ["x"]}) and batch_problem({"actions": 3})


def test_problems_beyond_the_schema() -> None:
    assert problem("batch", {"actions": [act("run", RUN), act("edit_files", EDIT)]}) is not None
    big = {"edits": [{"op": "write", "path": f"{i}", "content": "x" * 20_000} for i in range(4)]}
    assert problem("edit_files", big) == (
        "edit.too_large",
        "the edits are larger than 64 KiB: split them over steps, or use a named command",
    )
    found = problem("batch", {"actions": [act("apply_patch", {"patch": "nope"})]})
    assert found is not None and found[0] == "patch.invalid"
    assert all(problem(tool, args, COMMANDS) is None for tool, args in GOOD)


# ---- paths -------------------------------------------------------------------------------------------------


def test_paths_that_are_written_and_read() -> None:
    patch = "--- a/p.py\n+++ b/p.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+a\n"
    edits = {
        "edits": [
            {"op": "write", "path": "w", "content": ""},
            {"op": "delete", "path": "d"},
            {"op": "replace", "path": "w", "old": "a", "new": "b"},
            {"op": "replace_all", "glob": "src/**", "old": "a", "new": "b", "expect": 1},
        ]
    }
    args = {
        "actions": [
            act("edit_files", edits),
            act("apply_patch", {"patch": patch}),
            act("read_files", {"files": [{"path": "r"}, {"path": "artifact:ab"}]}),
        ]
    }
    assert paths_of("batch", args) == ("w", "d", "p.py", "new.py")
    assert globs_of("batch", args) == ("src/**",)
    assert reads_of("batch", args) == ("r",)
    assert paths_of("edit_files", edits) == ("w", "d")
    assert paths_of("run", RUN) == paths_of("finish", {"summary": "x"}) == ()
    assert "../x" in paths_of("apply_patch", {"patch": "--- a/../x\n+++ b/../x\nrubbish"})


# ---- what the model reads ----------------------------------------------------------------------------------


# What a description says of COMMANDS.
OF_COMMANDS = (
    '"command":"test_file"',
    "/^tests/",
    '"what":"src|tests"',
    "must exit 0",
    "stands alone",
    "ruff check",
)


def test_the_description_names_every_tool_command_and_parameter() -> None:
    text = describe(ALL, COMMANDS)
    for spec in ALL:
        assert f"- {spec.name}: " in text
    for word in OF_COMMANDS:
        assert word in text
    assert len(text.encode()) < 4096
    assert describe(ALL, COMMANDS) == text


def test_every_example_of_the_description_fits_its_schema() -> None:
    lines = describe(specs(SPECS, {}), {}).split("\n")
    tool, seen = "", 0
    for line in lines:
        if line.startswith("- "):
            tool = line[2:].split(":")[0]
        elif "{…}" not in line:
            assert fits(tool, orjson.loads(line.strip().removeprefix("args "))), line
            assert problem(tool, orjson.loads(line.strip().removeprefix("args "))) is None
            seen += 1
    assert seen == 17
