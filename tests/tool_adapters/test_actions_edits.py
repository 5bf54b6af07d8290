"""edit_files on a real worktree: all or nothing, exact promises, nothing outside."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from contracts.base import JsonObject
from contracts.paths import PathPolicy
from tests.tool_adapters.worktree import Worktree, probe, run, sha
from tool_adapters.actions.edit_files import EditFiles

CODE = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 1\n"
FILES = {
    "src/a.py": CODE,
    "src/b.py": "x = old_name(1)\ny = old_name(old_name(2))\n",
    "docs/read.md": "uses old_name\n",
    "empty": "",
    ".gitignore": "build/\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(tmp_path, FILES)


def replace(path: str, old: str, new: str, **more: Any) -> JsonObject:
    return {"op": "replace", "path": path, "old": old, "new": new, **more}


def write(path: str, content: str) -> JsonObject:
    return {"op": "write", "path": path, "content": content}


def delete(path: str) -> JsonObject:
    return {"op": "delete", "path": path}


def edit(tree: Worktree, *edits: JsonObject, policy: PathPolicy | None = None) -> Any:
    return run(EditFiles(tree.context(policy)), {"edits": list(edits)})


def refused(tree: Worktree, code: str, *edits: JsonObject, policy: PathPolicy | None = None) -> Any:
    """The edits fail with `code` and leave every byte and mode as it was."""
    before = tree.snapshot()
    result = edit(tree, *edits, policy=policy)
    assert (result.ok, result.code) == (False, code), result
    assert result.promised == {} and result.say
    assert tree.snapshot() == before
    return result


def test_replace_write_and_delete_with_their_promises(tree: Worktree) -> None:
    result = edit(
        tree,
        replace("src/a.py", "import os\n\n\n", ""),
        write("new/deep/c.py", "C = 1\n"),
        delete("docs/read.md"),
    )
    after = CODE.removeprefix("import os\n\n\n")
    assert result.ok
    assert result.promised == {"src/a.py": sha(after), "new/deep/c.py": sha("C = 1\n"), "docs/read.md": None}
    assert tree.read("src/a.py").decode() == after and tree.read("new/deep/c.py") == b"C = 1\n"
    assert not (tree.root / "docs").exists()
    (block,) = result.blocks
    assert "src/a.py: 1 replacement, line 1" in block.text and "new/deep/c.py: created" in block.text


def test_edits_of_one_file_build_on_each_other(tree: Worktree) -> None:
    result = edit(tree, replace("src/a.py", "first", "third"), replace("src/a.py", "third", "fourth"))
    assert result.ok and b"def fourth" in tree.read("src/a.py")
    assert result.promised == {"src/a.py": sha(tree.read("src/a.py"))}


def test_the_count_must_be_exact(tree: Worktree) -> None:
    result = refused(tree, "edit.count", replace("src/a.py", "return 1", "return 2"))
    assert "lines 5, 9" in result.say and "2 times" in result.say
    assert edit(tree, replace("src/a.py", "return 1", "return 2", count=2)).ok
    assert tree.read("src/a.py").count(b"return 2") == 2


def test_one_failing_edit_undoes_all(tree: Worktree) -> None:
    result = refused(
        tree, "edit.no_match", write("new.py", "x"), delete("empty"), replace("src/a.py", "nope", "x")
    )
    assert result.say.startswith("edit 3 (replace)") and "No file was changed" in result.say


def test_no_match_shows_the_nearest_lines(tree: Worktree) -> None:
    result = refused(tree, "edit.no_match", replace("src/a.py", "def frist():", "x"))
    assert "4|def first():" in result.excerpt
    result = refused(tree, "edit.no_match", replace("src/a.py", "def first():\n  return 1\n", "x"))
    assert "only in its blanks" in result.excerpt and "5|    return 1" in result.excerpt
    assert len(result.excerpt.encode()) <= 1800


def test_a_hidden_character_is_written_out(tree: Worktree) -> None:
    tree.write("bom.py", "\ufeffx = 1\u2028 # odd\n")
    result = refused(tree, "edit.no_match", replace("bom.py", "x = 1 # odd", "y"))
    assert "1|⟨U+FEFF⟩x = 1⟨U+2028⟩ # odd" in result.excerpt


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([replace("src/a.py", "os", "os")], "edit.unchanged"),
        ([write("src/a.py", CODE)], "edit.unchanged"),
        ([replace("src/a.py", "first", "x"), replace("src/a.py", "def x", "def first")], "edit.unchanged"),
        ([delete("nope.py")], "edit.missing_file"),
        ([replace("src/A.py", "x", "y")], "edit.missing_file"),
        ([write("src", "x")], "path.not_a_file"),
        ([write("src/a.py/x", "x")], "path.missing"),
        ([write("build/out.py", "x")], "path.ignored"),
        ([write("x.py", "\ud800")], "edit.text"),
        ([write(f"{i}.txt", "x" * 30_000) for i in range(3)], "edit.too_large"),
        ([write("n" * 300, "x")], "path.io"),
    ],
)
def test_refused_with_a_reason(tree: Worktree, edits: list[JsonObject], code: str) -> None:
    refused(tree, code, *edits)


def test_a_missing_file_names_its_neighbours(tree: Worktree) -> None:
    assert "src/a.py" in refused(tree, "edit.missing_file", replace("source/a.py", "x", "y")).say


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../out.txt", "path.outside"),
        ("src/../../out.txt", "path.outside"),
        ("/etc/passwd", "path.outside"),
        ("~/x", "path.outside"),
        ("a\x00b", "path.name"),
        ("a\\b", "path.outside"),
        (".", "path.outside"),
        (".git/config", "path.protected"),
        (".GIT/config", "path.protected"),
        ("src/.git/hooks/x", "path.protected"),
        (".gitignore", "path.protected"),
        (".github/workflows/x.yml", "path.protected"),
        ("task.yaml", "path.protected"),
        (".env", "path.secret"),
        ("deploy/id_rsa", "path.secret"),
    ],
)
def test_hostile_paths(tree: Worktree, path: str, code: str) -> None:
    outside = sorted(tree.root.parent.iterdir())
    refused(tree, code, write(path, "x"))
    assert sorted(tree.root.parent.iterdir()) == outside


def test_symlinks_are_never_written_through(tree: Worktree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("safe")
    (tree.root / "out").symlink_to(outside)
    (tree.root / "file").symlink_to(outside / "f")
    (tree.root / "inner").symlink_to("src")
    (tree.root / "dangling").symlink_to("nowhere")
    (tree.root / "etc").symlink_to("/etc")
    for path in ("out/f", "out/new", "file", "etc/hostname", "dangling"):
        refused(tree, "path.symlink", write(path, "x"))
    assert "'src/a.py'" in refused(tree, "path.symlink", replace("inner/a.py", "os", "re")).say
    refused(tree, "path.symlink", delete("file"))
    assert (outside / "f").read_text() == "safe" and list(outside.iterdir()) == [outside / "f"]


def test_a_submodule_is_not_ours(tree: Worktree, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Worktree(tmp_path / "other", {"f": "x\n"})
    tree.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "sub")
    tree.commit()
    result = edit(tree, write("sub/f", "y\n"))
    assert (result.ok, result.code) == (False, "path.not_ours") and tree.read("sub/f") == b"x\n"


def test_a_pipe_is_no_file_and_does_not_hang(tree: Worktree) -> None:
    os.mkfifo(tree.root / "pipe")
    result = edit(tree, replace("pipe", "a", "b"))
    assert (result.ok, result.code) == (False, "path.not_a_file")


def test_scope_protected_and_pins(tree: Worktree) -> None:
    policy = PathPolicy(scope=["src/**"], protected=["src/b.py"], pins=["src/a.py"])
    refused(tree, "path.scope", write("docs/x.md", "x"), policy=policy)
    refused(tree, "path.protected", delete("src/b.py"), policy=policy)
    refused(tree, "path.pinned", delete("src/a.py"), policy=policy)
    assert edit(tree, write("src/c.py", "x = 1\n"), policy=policy).ok


def test_modes_are_kept(tree: Worktree) -> None:
    script = tree.root / "run.sh"
    script.write_text("echo a\n")
    script.chmod(0o754)
    assert edit(tree, replace("run.sh", "a", "b")).ok
    assert stat.S_IMODE(script.stat().st_mode) == 0o754
    assert not list(tree.root.glob(".*.tmp"))


def test_crlf_files_keep_their_line_ends(tree: Worktree) -> None:
    tree.write("dos.txt", b"one\r\ntwo\r\nthree\r\n")
    assert edit(tree, replace("dos.txt", "one\ntwo\n", "1\n2\n2b\n")).ok
    assert tree.read("dos.txt") == b"1\r\n2\r\n2b\r\nthree\r\n"
    assert edit(tree, write("dos.txt", "all\nnew\n")).ok
    assert tree.read("dos.txt") == b"all\r\nnew\r\n"
    tree.write("mixed.txt", b"a\nb\nc\r\nd\r\ne\nf\n")
    assert edit(tree, replace("mixed.txt", "c\nd\n", "C\nD\n")).ok
    assert tree.read("mixed.txt") == b"a\nb\nC\r\nD\r\ne\nf\n"


def test_undecodable_bytes_are_kept(tree: Worktree) -> None:
    tree.write("latin.txt", b"caf\xe9\nprice 1\n\xff\xfe\n")
    result = edit(tree, replace("latin.txt", "price 1", "price €2"))
    assert result.ok and tree.read("latin.txt") == b"caf\xe9\nprice \xe2\x82\xac2\n\xff\xfe\n"
    assert result.promised["latin.txt"] == sha(tree.read("latin.txt"))
    refused(tree, "edit.no_match", replace("latin.txt", "café", "x"))


def test_binary_files_are_left_alone(tree: Worktree) -> None:
    tree.write("blob", b"a\0b" * 10)
    refused(tree, "edit.binary", replace("blob", "a", "b", count=10))


def test_unicode_names_and_contents(tree: Worktree) -> None:
    assert edit(tree, write("naïve/日本 語.txt", "déjà\n")).ok
    assert edit(tree, replace("naïve/日本 語.txt", "déjà", "vu 🎉")).ok
    assert tree.read("naïve/日本 語.txt").decode() == "vu 🎉\n"


def test_an_empty_file_and_a_file_of_one_huge_line(tree: Worktree) -> None:
    refused(tree, "edit.no_match", replace("empty", "x", "y"))
    assert edit(tree, write("empty", "")).code == "edit.unchanged"
    tree.write("huge.txt", "a" * 1_000_000 + "NEEDLE" + "b" * 1_000_000)
    assert edit(tree, replace("huge.txt", "NEEDLE", "pin")).ok
    assert len(refused(tree, "edit.no_match", replace("huge.txt", "aaaNOPE", "x")).excerpt) < 1800


def test_a_file_may_become_a_folder(tree: Worktree) -> None:
    assert edit(tree, delete("empty"), write("empty/now.txt", "x")).ok
    assert tree.read("empty/now.txt") == b"x"
    refused(tree, "path.not_a_file", write("empty", "y"))


def test_a_syntax_error_is_feedback_and_no_failure(tree: Worktree) -> None:
    result = edit(tree, replace("src/a.py", "def first():", "def first("), write("c.json", '{"a": }'))
    text = result.blocks[0].text
    assert result.ok and "src/a.py: SYNTAX line 4" in text and "c.json: SYNTAX" in text
    result = edit(tree, write("ok.py", "x = 1\n"), write("c.toml", "a = \n"), write("d.yaml", "a: [1\n"))
    text = result.blocks[0].text
    assert "ok.py: SYNTAX" not in text and "c.toml: SYNTAX" in text and "d.yaml: SYNTAX" in text
    result = edit(tree, replace("src/a.py", "second", "other"))
    assert "did not parse before either" in result.blocks[0].text


# ---- replace_all -------------------------------------------------------------------------------------------


def everywhere(glob: str, expect: int, old: str = "old_name", new: str = "new_name") -> JsonObject:
    return {"op": "replace_all", "glob": glob, "old": old, "new": new, "expect": expect}


def test_replace_all(tree: Worktree) -> None:
    result = edit(tree, everywhere("**", 4))
    assert result.ok and sorted(result.promised) == ["docs/read.md", "src/b.py"]
    assert tree.read("src/b.py") == b"x = new_name(1)\ny = new_name(new_name(2))\n"


def test_replace_all_sees_files_made_before_it(tree: Worktree) -> None:
    assert edit(tree, write("src/new.py", "old_name()\n"), everywhere("src/**", 4)).ok
    assert tree.read("src/new.py") == b"new_name()\n"


def test_replace_all_with_a_wrong_number_counts_by_file(tree: Worktree) -> None:
    result = refused(tree, "edit.count", everywhere("**", 3))
    assert "4 times" in result.say and "src/b.py: 3, lines 1, 2, 2" in result.excerpt
    assert refused(tree, "edit.no_match", everywhere("nowhere/**", 1))
    assert refused(tree, "edit.no_match", everywhere("src/**", 1, old="absent"))


def test_replace_all_leaves_nothing_out_silently(tree: Worktree) -> None:
    policy = PathPolicy(scope=["src/**"])
    result = refused(tree, "edit.blocked", everywhere("**", 3), policy=policy)
    assert "docs/read.md" in result.excerpt
    assert edit(tree, everywhere("src/**", 3), policy=policy).ok


def test_replace_all_passes_over_symlinks_and_binaries(tree: Worktree, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("old_name")
    (tree.root / "link").symlink_to(tmp_path / "outside")
    tree.write("blob", b"\0old_name")
    assert edit(tree, everywhere("**", 4)).ok
    assert (tmp_path / "outside").read_text() == "old_name" and tree.read("blob") == b"\0old_name"


def test_probe_of_edits_that_could_never_work(tree: Worktree) -> None:
    action = EditFiles(tree.context())
    for edits in ([replace("src/a.py", "nope", "x")], [write("../x", "y")], [delete("gone")]):
        assert probe(action, {"edits": edits}, head=tree.head).kind == "not_yet"


def test_a_write_that_fails_midway_puts_everything_back(tree: Worktree) -> None:
    result = refused(
        tree, "path.missing", delete("empty"), write("new/x.py", "x"), write("z", "x"), write("z/y", "x")
    )
    assert "a part of the path is a file" in result.say and not (tree.root / "new").exists()
