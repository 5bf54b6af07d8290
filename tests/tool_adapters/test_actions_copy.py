"""Lines that go from one file to another without being written out in a reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.base import JsonObject
from contracts.paths import PathPolicy
from tests.tool_adapters.worktree import Worktree, probe, run, sha
from tool_adapters.actions.edit_files import EditFiles

LARGE = "".join(f"def f{n:04}():\n    return {n}  # {'x' * 30}\n" for n in range(2000))  # 104 KB
FILES = {
    "a.py": LARGE,
    "b.py": "import os",
    "dos.txt": b"one\r\ntwo\r\n",
    "z.bin": b"a\0b\n",
    ".env": "K=v\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(tmp_path, FILES)


def copy(
    path: str, source: str, first: int | None = None, last: int | None = None, **more: Any
) -> JsonObject:
    span = {"from": first, "to": last}
    return {"op": "copy", "path": path, "source": source, **{k: v for k, v in span.items() if v}, **more}


def edit(tree: Worktree, *edits: JsonObject, policy: PathPolicy | None = None) -> Any:
    return run(EditFiles(tree.context(policy)), {"edits": list(edits)})


def test_a_file_of_100_kb_is_split_by_two_small_edits(tree: Worktree) -> None:
    head = tree.head
    edits = {"edits": [copy("c/new.py", "a.py", 1001, 4000, move=True), copy("b.py", "a.py", 1, 2)]}
    action = EditFiles(tree.context())
    result = run(action, edits)
    rows = LARGE.splitlines(keepends=True)
    assert result.ok, result
    assert tree.read("c/new.py").decode() == "".join(rows[1000:])
    assert tree.read("a.py").decode() == "".join(rows[:1000])
    assert tree.read("b.py").decode() == "import os\n" + "".join(rows[:2])
    assert result.promised == {path: sha(tree.read(path)) for path in ("a.py", "b.py", "c/new.py")}
    told = result.blocks[0].text
    size = len("".join(rows[1000:]))
    assert f"c/new.py: created from lines 1,001–4,000 of a.py ({size:,} bytes, taken out there)\n" in told
    assert "  def f0500():\n  …\n  return 1999" in told
    found = probe(action, edits, head=head)
    assert found.kind == "happened" and found.result is not None and found.result.promised == result.promised


def test_a_whole_file_is_renamed_byte_for_byte(tree: Worktree) -> None:
    assert edit(tree, copy("unix.txt", "dos.txt", move=True)).ok
    assert tree.read("unix.txt") == b"one\r\ntwo\r\n" and not (tree.root / "dos.txt").exists()


def test_edits_before_and_after_in_the_same_action(tree: Worktree) -> None:
    result = edit(
        tree,
        {"op": "write", "path": "d.py", "content": "# head\n"},
        copy("d.py", "a.py", 1, 2),
        {"op": "replace", "path": "d.py", "old": "f0000", "new": "g"},
        {"op": "write", "path": "b.py", "content": "1\n2\n3\n"},
        copy("d.py", "b.py", 3, 3),
    )
    assert result.ok and tree.read("d.py").decode().startswith("# head\ndef g():\n    return 0")
    assert tree.read("d.py").endswith(b"\n3\n")


def test_from_an_artifact(tree: Worktree) -> None:
    id = tree.artifacts.put(b"made by a generator\nsecond\nthird\n")
    assert edit(tree, copy("gen.txt", f"artifact:{id}", 2, 3)).ok
    assert tree.read("gen.txt") == b"second\nthird\n"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("edit.range", copy("n.py", "a.py", 3990, 4001)),
        ("edit.range", copy("n.py", "a.py", 9, 8)),
        ("path.missing", copy("n.py", "nope.py")),
        ("edit.source", copy("a.py", "./a.py", 1, 2)),
        ("edit.source", copy("n.py", "artifact:abcd", move=True)),
        ("artifact.unknown", copy("n.py", "artifact:ffff0000")),
        ("path.secret", copy("n.py", ".env")),
        ("path.outside", copy("n.py", "../../etc/passwd")),
        ("path.protected", copy("n.py", ".git/config")),
        ("edit.binary", copy("n.py", "z.bin")),
        ("edit.binary", copy("z.bin", "a.py", 1, 1)),
        ("path.scope", copy("out.py", "a.py", 1, 1)),
        ("path.scope", copy("c/n.py", "b.py", move=True)),
    ],
)
def test_refused_and_nothing_changed(tree: Worktree, code: str, what: JsonObject) -> None:
    before = tree.snapshot()
    scope = ("n.py", "a.py", "z.bin", "c/**")
    result = edit(tree, what, policy=PathPolicy(scope=scope))
    assert (result.ok, result.code) == (False, code), result
    assert tree.snapshot() == before


def test_what_was_redacted_is_not_written_back(tree: Worktree) -> None:
    id = tree.artifacts.put(b"token = [redacted: api key]\nplain\n")
    from_label = edit(tree, copy("n.txt", f"artifact:{id}"))
    assert (from_label.ok, from_label.code) == (False, "edit.redacted")
    assert edit(tree, copy("m.txt", f"artifact:{id}", 2, 2)).ok
