"""run, batch, ask and finish with real processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from contracts.actions import ActionResult
from contracts.base import JsonObject
from contracts.paths import PathPolicy
from tests.tool_adapters.worktree import Worktree, bytes_of, probe, run, sha
from tool_adapters.actions.ask import Ask
from tool_adapters.actions.batch import Batch
from tool_adapters.actions.finish import Finish
from tool_adapters.actions.run import Run

PY = sys.executable
SAY = "import sys; print(*sys.argv[1:], sep='|')"
ANY = {"pattern": ".*"}
PYTEST = [PY, "-m", "pytest", "-q", "-p", "no:cacheprovider", "{path}"]
UPPER = "import pathlib; p = pathlib.Path('a.py'); p.write_text(p.read_text().upper())"
COMMANDS: dict[str, Any] = {
    "say": {"run": [PY, "-c", SAY, "{one}", "x-{two}"], "params": {"one": ANY, "two": {"enum": ["a", "b"]}}},
    "shell": {"run": "printf '%s|' {one} end", "params": {"one": ANY}},
    "fail": {"run": "echo out; echo err >&2; exit 3"},
    "strict": {"run": "echo broken; exit 3", "must": "pass"},
    "slow": {"run": ["sleep", "30"], "timeout": "500ms"},
    "gone": {"run": ["no-such-program-here"]},
    "loud": {"run": [PY, "-c", "for i in range(60000): print('row', i)"]},
    "wide": {"run": [PY, "-c", "print('w' * 1000000)"]},
    "odd": {"run": [PY, "-c", r"import os; os.write(1, b'\xff\x00\x1b[31mred\x1b[0m\n')"]},
    "tests": {"run": PYTEST, "params": {"path": {"pattern": r"^t/\w+\.py$"}}},
    "format": {"run": [PY, "-c", UPPER]},
    "push": {"run": "true", "effects": ["remote"]},
    "probed": {"run": "true", "effects": ["remote"], "probe": ["sh", "-c", "exit $(cat answer)"]},
    "where": {"run": "pwd; env"},
}
TESTS = "from a import f\n\ndef test_f():\n    assert f() == 1\n\ndef test_g():\n    pass\n"


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(tmp_path, {"a.py": "def f():\n    return 1\n", "t/test_a.py": TESTS, "conftest.py": ""})


def command(tree: Worktree, name: str, **params: str) -> ActionResult:
    args: JsonObject = {"command": name} | ({"params": params} if params else {})
    return run(Run(tree.context(commands=COMMANDS)), args)


def text(result: ActionResult) -> str:
    return "\n".join(f"--- {block.title}\n{block.text}" for block in result.blocks)


# ---- run ---------------------------------------------------------------------------------------------------


def test_an_exit_code_is_an_observation(tree: Worktree) -> None:
    result = command(tree, "fail")
    assert result.ok
    (ran,) = result.ran
    assert (ran.name, ran.exit, ran.timed_out, ran.must) == ("fail", 3, False, "any")
    assert "run fail: exit 3" in text(result)
    assert "--- stdout, all\nout" in text(result) and "--- stderr, all\nerr" in text(result)


def test_params_are_one_word_and_never_code(tree: Worktree) -> None:
    hostile = "a b; touch pwned $(touch pwned) `touch pwned` ' \" *"
    for name, more in (("say", {"two": "b"}), ("shell", {})):
        result = command(tree, name, one=hostile, **more)
        assert hostile in text(result)
    assert not (tree.root / "pwned").exists()


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("say", {"one": "x", "two": "c"}, "run.params"),
        ("say", {"one": "x"}, "run.params"),
        ("say", {"one": "a\nb", "two": "a"}, "run.params"),
        ("tests", {"path": "../t/test_a.py"}, "run.params"),
        ("fail", {"extra": "1"}, "run.params"),
        ("rm", {}, "run.unknown"),
        ("gone", {}, "run.missing"),
        ("slow", {}, "run.timeout"),
        ("strict", {}, "run.must_pass"),
    ],
)
def test_failures(tree: Worktree, name: str, params: dict[str, str], code: str) -> None:
    result = command(tree, name, **params)
    assert (result.ok, result.code) == (False, code)
    assert name in result.say and bool(result.ran) == (code in ("run.timeout", "run.must_pass"))


def test_what_must_pass_shows_why_it_did_not(tree: Worktree) -> None:
    result = command(tree, "strict")
    assert "broken" in result.excerpt and "exit 3" in result.say
    ran = result.ran[0]
    assert (ran.name, ran.exit, ran.must, ran.id) == ("strict", 3, "pass", "run strict")


def test_test_results_are_boiled_down(tree: Worktree) -> None:
    tree.write("a.py", "def f():\n    return 2\n")
    filler = "".join(f"def test_{i}():\n    assert {i} < 0, 'no {i}'\n" for i in range(30))
    tree.write("t/test_b.py", "from a import f\n" + filler)
    result = command(tree, "tests", path="t/test_b.py")
    shown = text(result)
    assert "counts: 0 passed, 30 failed (pytest)" in shown
    assert shown.count("\n  t/test_b.py::test_") == 20 and "… and 10 more" in shown
    assert "first failure:\n" in shown and "no 0" in shown
    assert "last 40 of " in shown and bytes_of(result) <= 16 * 1024
    artifact = next(block.artifact for block in result.blocks if block.artifact)
    assert artifact in shown and b"no 29" in tree.artifacts.get(artifact)


def test_long_outputs_are_kept_and_cut(tree: Worktree) -> None:
    result = command(tree, "loud")
    block = result.blocks[-1]
    assert block.text.split("\n")[-1] == "row 59999" and len(block.text.split("\n")) == 40
    assert block.artifact and tree.artifacts.get(block.artifact).startswith(b"row 0\n")
    wide = command(tree, "wide")
    assert bytes_of(wide) <= 16 * 1024 and "characters" in text(wide)


def test_undecodable_output(tree: Worktree) -> None:
    assert "�red" in text(command(tree, "odd")) and "\x1b" not in text(command(tree, "odd"))


def test_the_environment_is_the_given_one_and_the_folder_the_tasks_own(tree: Worktree) -> None:
    tree.write("pkg/x", "")
    action = Run(tree.context(PathPolicy(prefix="pkg"), COMMANDS))
    shown = text(run(action, {"command": "where"}))
    assert str(tree.root / "pkg") in shown and "PYTEST_CURRENT_TEST" not in shown


def test_run_probes(tree: Worktree) -> None:
    action = Run(tree.context(commands=COMMANDS))
    assert probe(action, {"command": "fail"}).kind == "not_yet"
    assert probe(action, {"command": "push"}).kind == "unknown"
    assert probe(action, {"command": "never heard of"}).kind == "not_yet"
    for answer, kind in (("0", "happened"), ("1", "not_yet"), ("2", "unknown")):
        tree.write("answer", answer)
        found = probe(action, {"command": "probed"})
        assert found.kind == kind
        assert (found.result is not None) == (kind == "happened")


# ---- batch -------------------------------------------------------------------------------------------------


def act(tool: str, **args: Any) -> JsonObject:
    return {"tool": tool, "args": args}


def edit(old: str, new: str, path: str = "a.py") -> JsonObject:
    return act("edit_files", edits=[{"op": "replace", "path": path, "old": old, "new": new}])


RUN_TESTS = act("run", command="tests", params={"path": "t/test_a.py"})
READ = act("read_files", files=[{"path": "a.py"}])


def batch(tree: Worktree, *actions: JsonObject) -> ActionResult:
    return run(Batch(tree.context(commands=COMMANDS)), {"actions": list(actions)})


def test_edits_then_a_run_then_reads(tree: Worktree) -> None:
    patch = act("apply_patch", patch="--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+N = 1\n")
    result = batch(
        tree,
        edit("return 1", "return 2"),
        patch,
        RUN_TESTS,
        READ,
        act("search", pattern="return"),
        act("list_files"),
    )
    assert result.ok and result.ran[0].exit == 1
    assert result.promised == {"a.py": sha("def f():\n    return 2\n"), "n.py": sha("N = 1\n")}
    shown = text(result)
    assert "counts: 1 passed, 1 failed (pytest)" in shown and "2|    return 2" in shown
    assert "a.py:2|    return 2" in shown and "n.py" in shown and bytes_of(result) <= 16 * 1024


def test_edits_of_several_actions_are_one_transaction(tree: Worktree) -> None:
    before = tree.snapshot()
    result = batch(tree, edit("return 1", "return 2"), edit("nope", "x"), RUN_TESTS)
    assert (result.ok, result.code, result.ran) == (False, "edit.no_match", ())
    assert tree.snapshot() == before
    assert batch(tree, edit("return 1", "return 2"), edit("return 2", "return 3")).ok
    assert b"return 3" in tree.read("a.py")


def test_a_wrong_order_does_nothing(tree: Worktree) -> None:
    before = tree.snapshot()
    for actions in (
        [READ, edit("return 1", "return 2")],
        [RUN_TESTS, RUN_TESTS],
        [act("run", command="push")],
    ):
        result = batch(tree, *actions)
        assert (result.ok, result.code) == (False, "batch.order")
    assert tree.snapshot() == before


def test_a_run_that_must_pass_fails_the_batch(tree: Worktree) -> None:
    result = batch(tree, edit("return 1", "return 2"), act("run", command="strict"), READ)
    assert (result.ok, result.code) == (False, "run.must_pass") and result.ran[0].exit == 3


def test_what_a_command_rewrites_is_no_longer_promised(tree: Worktree) -> None:
    new = act("edit_files", edits=[{"op": "write", "path": "b.py", "content": "b = 1\n"}])
    result = batch(tree, edit("return 1", "return 2"), new, act("run", command="format"), READ)
    assert result.promised == {"b.py": sha("b = 1\n")}
    assert "changed by the command after the edits\na.py" in text(result) and "RETURN 2" in text(result)


def test_large_results_share_the_room(tree: Worktree) -> None:
    tree.write("big.txt", "".join(f"{i} {'z' * 90}\n" for i in range(2000)))
    reads = [
        act("read_files", files=[{"path": "big.txt", "from": 1 + 100 * i, "to": 400 + 100 * i}])
        for i in range(6)
    ]
    result = batch(tree, act("run", command="loud"), *reads)
    assert bytes_of(result) <= 16 * 1024
    for i in range(6):
        assert f"big.txt lines {1 + 100 * i:,}–" in text(result)


def test_batch_probes(tree: Worktree) -> None:
    action, head = Batch(tree.context(commands=COMMANDS)), tree.head
    quiet = {"actions": [edit("return 1", "return 2"), READ]}
    assert probe(action, quiet, head=head).kind == "not_yet"
    done = run(action, quiet)
    found = probe(action, quiet, head=head)
    assert found.kind == "happened" and found.result is not None
    assert (found.result.promised, found.result.blocks) == (done.promised, done.blocks)
    assert probe(action, {"actions": [edit("return 1", "return 2"), RUN_TESTS]}, head=head).kind == "not_yet"
    assert probe(action, {"actions": [READ]}, head=head).kind == "not_yet"


# ---- ask and finish ----------------------------------------------------------------------------------------


def test_ask_shows_the_answer(tree: Worktree) -> None:
    ask = Ask(tree.context())
    result = run(ask, {"question": "Keep\nPython 2?"}, answer="no\x1b[31m, drop it")
    assert result.ok and (result.blocks[0].title, result.blocks[0].text) == (
        "answer to: Keep Python 2?",
        "no, drop it",
    )
    assert run(ask, {"question": "?"}).code == "ask.unanswered"


def test_finish_acts_on_nothing(tree: Worktree) -> None:
    before = tree.snapshot()
    assert run(Finish(tree.context()), {"summary": "done"}) == ActionResult()
    assert tree.snapshot() == before
