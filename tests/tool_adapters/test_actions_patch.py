"""apply_patch on a real worktree, and the probes of both kinds of edits."""

from __future__ import annotations

import pytest

from contracts.base import JsonObject
from tests.tool_adapters.test_actions_edits import CODE, delete, edit, everywhere, replace, tree, write
from tests.tool_adapters.worktree import Worktree, probe, run, sha
from tool_adapters.actions.apply_patch import ApplyPatch
from tool_adapters.actions.edit_files import EditFiles

__all__ = ["tree"]  # the fixture

PATCH = """\
--- a/src/a.py
+++ b/src/a.py
@@ -1,5 +1,2 @@
-import os
-
-
 def first():
     return 1
--- /dev/null
+++ b/src/n.py
@@ -0,0 +1 @@
+N = 1
--- a/docs/read.md
+++ /dev/null
@@ -1 +0,0 @@
-uses old_name
"""


def test_apply_patch(tree: Worktree) -> None:
    result = run(ApplyPatch(tree.context()), {"patch": PATCH})
    assert result.ok, result
    assert result.promised == {
        "src/a.py": sha(CODE.removeprefix("import os\n\n\n")),
        "src/n.py": sha("N = 1\n"),
        "docs/read.md": None,
    }
    assert "src/a.py: changed, 1 hunk, +0 −3" in result.blocks[0].text
    assert not (tree.root / "docs/read.md").exists()


def test_what_git_diff_wrote_gives_the_same_tree(tree: Worktree) -> None:
    start = tree.head
    edit(
        tree,
        replace("src/a.py", "return 1", "return 3", count=2),
        write("src/é.py", "E = 1\n"),
        delete("empty"),
    )
    (tree.root / "run.sh").write_text("x\n")
    (tree.root / "run.sh").chmod(0o755)
    wanted, _ = tree.snapshot(), tree.commit()
    diff = tree.git("diff", start, "HEAD").decode()
    tree.git("reset", "-q", "--hard", start)
    assert tree.snapshot() != wanted
    assert run(ApplyPatch(tree.context()), {"patch": diff}).ok
    assert tree.snapshot() == wanted


def test_a_failing_patch_changes_nothing(tree: Worktree) -> None:
    before = tree.snapshot()
    bad = PATCH.replace("-uses old_name", "-uses other_name")
    result = run(ApplyPatch(tree.context()), {"patch": bad})
    assert (result.ok, result.code) == (False, "patch.failed")
    assert "+ 1|uses old_name" in result.excerpt
    for text, code in (
        ("nothing", "patch.invalid"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "path.outside"),
        ("--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n", "path.protected"),
        ("--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-a\n+b\n", "edit.missing_file"),
    ):
        result = run(ApplyPatch(tree.context()), {"patch": text})
        assert (result.ok, result.code) == (False, code), result
    assert tree.snapshot() == before


# ---- probes ------------------------------------------------------------------------------------------------

EDITS = {
    "edits": [
        replace("src/a.py", "first", "uno"),
        write("n.py", "x = 1\n"),
        delete("empty"),
        everywhere("src/**", 3),
    ]
}


@pytest.mark.parametrize(("kind", "args"), [(EditFiles, EDITS), (ApplyPatch, {"patch": PATCH})])
def test_probe(tree: Worktree, kind: type[EditFiles] | type[ApplyPatch], args: JsonObject) -> None:
    head, action = tree.head, kind(tree.context())
    assert probe(action, args, head=head).kind == "not_yet"
    done = run(action, args)
    found = probe(action, args, head=head)
    assert found.kind == "happened" and found.result is not None
    assert found.result.promised == done.promised and found.result.blocks == done.blocks
    tree.commit()  # the crash may also come after the commit
    assert probe(action, args, head=head).kind == "happened"
    (tree.root / "src/a.py").write_text("torn")
    assert probe(action, args, head=head).kind == "not_yet"
