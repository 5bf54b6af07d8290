"""What is shown of a file is what it holds: control characters, line ends and redacted lines, read and written back."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.commands import Command
from tests.tool_adapters.test_actions_edits import delete, edit, refused, replace, write
from tests.tool_adapters.test_actions_reads import at, read
from tests.tool_adapters.test_actions_secrets import KEY, TOKEN
from tests.tool_adapters.worktree import Worktree, call, run
from tool_adapters.actions.apply_patch import ApplyPatch
from tool_adapters.actions.list_files import ListFiles
from tool_adapters.actions.preview import preview
from tool_adapters.actions.run import Run
from tool_adapters.actions.search import Search

C = b'char *red = "\x1b[31m";\n\x0cint page;\na\rb \xe2\x80\xae\xe2\x80\xa8 \xc2\x85 \x7f\n'
SHOWN = ['char *red = "␛[31m";', "␌int page;", "a␍b ⟨U+202E⟩⟨U+2028⟩ ⟨U+0085⟩ ␡"]


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(
        tmp_path,
        {
            "c.c": C,
            "mixed.txt": b"a\r\nb\nc\r\nd\r\n",
            "dos.txt": b"one\r\ntwo\r\n",
            "unix.txt": "one\ntwo\n",
            "signs.md": "␛ is escape\n",
            "conf.py": f"a = 1\ntoken = '{TOKEN}'\nb = 2\n",
            "key.txt": "\n".join(["before", *KEY, "after", ""]),
        },
    )


def patch(tree: Worktree, text: str):  # type: ignore[no-untyped-def]
    return run(ApplyPatch(tree.context()), {"patch": text})


# ---- control characters --------------------------------------------------------------------------------------
def test_a_read_shows_every_control_character_and_says_so(tree: Worktree) -> None:
    (block,) = read(tree, at("c.c"))
    assert block.text.split("\n") == [f"{n}|{line}" for n, line in enumerate(SHOWN, 1)]
    assert "control characters are shown as ␛ ␌ ␍ ⟨U+202E⟩ …: write them so" in block.title
    (block,) = read(tree, at("c.c", 2, 2))
    assert "shown as ␌:" in block.title
    assert "control" not in read(tree, at("dos.txt"))[0].title


def test_what_was_read_can_be_written_back_without_loss(tree: Worktree) -> None:
    assert edit(tree, write("c.c", "\n".join(SHOWN) + "\nmore\n")).ok
    assert tree.read("c.c") == C + b"more\n"
    assert edit(tree, replace("c.c", '␛[31m";\n␌int', '␛[32m";\n␌long')).ok
    assert tree.read("c.c") == C.replace(b"31", b"32").replace(b"int", b"long") + b"more\n"
    body = f"--- a/c.c\n+++ b/c.c\n@@ -2,2 +2,2 @@\n ␌long page;\n-{SHOWN[2]}\n+{SHOWN[2]}!\n"
    assert patch(tree, body).ok
    assert tree.read("c.c").endswith(b"\x7f!\nmore\n")


def test_a_write_that_loses_control_characters_says_which(tree: Worktree) -> None:
    result = edit(tree, write("c.c", 'char *red = "[31m";\n␌int page;\n'))
    assert "control characters that it held are gone: ␛ ␍ ⟨U+202E⟩ ⟨U+2028⟩ …" in result.blocks[0].text


def test_a_stand_in_in_the_file_itself_stays_what_it_is(tree: Worktree) -> None:
    assert edit(tree, replace("signs.md", "␛ is", "␛ means")).ok
    assert tree.read("signs.md").decode() == "␛ means escape\n"


def test_a_stand_in_in_a_file_without_the_character_is_said(tree: Worktree) -> None:
    result = edit(tree, replace("unix.txt", "two", "␛two"))
    assert "unix.txt: holds ␛ as such, no control character: write that as \\u001b" in result.blocks[0].text
    assert (
        edit(tree, replace("unix.txt", "␛two", "\x1btwo")).ok and tree.read("unix.txt") == b"one\n\x1btwo\n"
    )


def test_search_finds_and_shows_them(tree: Worktree) -> None:
    (block,) = run(Search(tree.context()), {"pattern": '"␛[31m"'}).blocks
    assert block.text == f"c.c:1|{SHOWN[0]}" and "shown as ␛" in block.title
    (block,) = run(Search(tree.context()), {"pattern": "␛", "ignore_case": True}).blocks
    assert {line.split(":")[0] for line in block.text.split("\n")} == {"c.c", "signs.md"}


def test_corrections_show_what_differs(tree: Worktree) -> None:
    result = refused(tree, "edit.no_match", replace("c.c", 'char *red = "[31m";', "x"))
    assert f"1|{SHOWN[0]}" in result.excerpt
    wanted = "--- a/c.c\n+++ b/c.c\n@@ -2,1 +2,1 @@\n-int page;\n+x\n"
    assert "- expected|int page;\n+ 2|␌int page;" in patch(tree, wanted).excerpt
    tree.write("nbsp.txt", "a\u00a0b\nplain\n")
    result = refused(tree, "edit.no_match", replace("nbsp.txt", "a b\nplain\n", "x"))
    assert "(character 2: you gave U+0020 SPACE, the file has U+00A0 NO-BREAK SPACE)" in result.excerpt
    result = refused(tree, "edit.no_match", replace("nbsp.txt", "a b", "x"))
    assert "the file has U+00A0 NO-BREAK SPACE" in result.excerpt
    wanted = "--- a/nbsp.txt\n+++ b/nbsp.txt\n@@ -1 +1 @@\n-a b\n+x\n"
    assert "the file has U+00A0 NO-BREAK SPACE" in patch(tree, wanted).excerpt


# ---- line ends -----------------------------------------------------------------------------------------------
def test_mixed_line_ends_are_said(tree: Worktree) -> None:
    (mixed, dos, unix) = read(tree, at("mixed.txt"), at("dos.txt"), at("unix.txt"))
    assert "(mixed line ends: CRLF, but LF at line 2)" in mixed.title and mixed.text == "1|a\n2|b\n3|c\n4|d"
    assert "(CRLF line ends)" in dos.title and "line ends" not in unix.title


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("b\nc\n", "B\nC\n", b"a\r\nB\nC\r\nd\r\n"),
        ("a\nb\nc\n", "a\nb\nnew\nc\n", b"a\r\nb\nnew\r\nc\r\nd\r\n"),
        ("b\nc", "b\r\nc", b"a\r\nb\r\nc\r\nd\r\n"),
        ("b", "b\nb2", b"a\r\nb\nb2\nc\r\nd\r\n"),
        ("d", "d\ne", b"a\r\nb\nc\r\nd\r\ne\r\n"),
    ],
)
def test_each_line_keeps_its_own_end(tree: Worktree, old: str, new: str, after: bytes) -> None:
    assert edit(tree, replace("mixed.txt", old, new)).ok
    assert tree.read("mixed.txt") == after


def test_a_patch_keeps_each_lines_own_end(tree: Worktree) -> None:
    assert patch(tree, "--- a/mixed.txt\n+++ b/mixed.txt\n@@ -1,4 +1,4 @@\n-a\n-b\n+A\n+B\n c\n+n\n d\n").ok
    assert tree.read("mixed.txt") == b"A\r\nB\nc\r\nn\r\nd\r\n"


def test_a_write_keeps_the_ends_and_does_not_say_what_is_not_true(tree: Worktree) -> None:
    result = refused(tree, "edit.unchanged", write("dos.txt", "one\ntwo\n"))
    assert "it keeps its CRLF line ends: to convert it, delete it and write it anew" in result.say
    assert edit(tree, delete("dos.txt"), write("dos.txt", "one\ntwo\n")).ok
    assert tree.read("dos.txt") == b"one\ntwo\n"
    result = edit(tree, write("mixed.txt", "a\nb\nC\nd\n"))
    assert tree.read("mixed.txt") == b"a\r\nb\nC\r\nd\r\n" and "keeps its CRLF" in result.blocks[0].text
    result = refused(tree, "edit.unchanged", replace("mixed.txt", "C\r\nd\r\n", "C\nd\n"))
    assert "keeps its CRLF line ends" in result.say


def test_copied_lines_get_the_ends_of_their_new_file(tree: Worktree) -> None:
    assert edit(tree, {"op": "copy", "path": "unix.txt", "source": "dos.txt"}).ok
    assert tree.read("unix.txt") == b"one\ntwo\none\ntwo\n"
    assert edit(tree, {"op": "copy", "path": "dos.txt", "source": "unix.txt", "from": 1, "to": 1}).ok
    assert tree.read("dos.txt") == b"one\r\ntwo\r\none\r\n"


def test_a_patch_that_would_only_convert_line_ends_says_how(tree: Worktree) -> None:
    result = patch(tree, "--- a/dos.txt\n+++ b/dos.txt\n@@ -1,2 +1,2 @@\n-one\r\n-two\r\n+one\n+two\n")
    assert result.code == "edit.unchanged" and "delete it and write it anew" in result.say
    assert tree.read("dos.txt") == b"one\r\ntwo\r\n"


# ---- what is redacted ----------------------------------------------------------------------------------------
def test_a_redacted_line_is_not_said_to_differ_from_itself(tree: Worktree) -> None:
    (block,) = read(tree, at("conf.py"))
    line = block.text.split("\n")[1].removeprefix("2|")
    for old in (line, f"{line}\nb = 2\n"):
        result = refused(tree, "edit.no_match", replace("conf.py", old, "x"))
        assert "holds something redacted, which can't be matched or written" in result.excerpt
    result = patch(tree, f"--- a/conf.py\n+++ b/conf.py\n@@ -1,3 +1,3 @@\n a = 1\n {line}\n-b = 2\n+b = 3\n")
    assert (
        "line 2 of the file holds something redacted, which can't be matched: leave that line out"
        in result.say
    )
    assert TOKEN not in result.excerpt and "read the lines anew" not in result.say


def test_a_correction_shows_no_line_of_a_key(tree: Worktree) -> None:
    """A key is known by its first line, which need not be among those that a correction shows."""
    result = patch(tree, "--- a/key.txt\n+++ b/key.txt\n@@ -3,4 +3,4 @@\n x\n y\n z\n-after\n+then\n")
    assert not result.ok and not [line for line in KEY if line in result.excerpt]
    assert "redacted" in result.say


# ---- what is cut and can be read on --------------------------------------------------------------------------
def test_a_long_line_can_be_read_to_its_end(tree: Worktree) -> None:
    text = "".join(f"<{number:05}>" for number in range(3000))
    tree.write("long.js", f"short\n{text}\nlast\n")
    (block,) = read(tree, at("long.js", 1, 3))
    assert "long lines are cut: `from` 2, `at` 1001 reads on" in block.title
    got, place, reads = "", 1, 0
    while place <= len(text):
        (block,) = read(tree, at("long.js", 2) | {"at": place})
        assert block.title.startswith(f"long.js line 2 characters {place:,}–")
        got += block.text.removeprefix("2|")
        place, reads = len(got) + 1, reads + 1
        assert (f"`at` {place} reads on" in block.title) == (place <= len(text))
    assert got == text and reads == 3
    assert read(tree, at("long.js", 2) | {"at": 99_999})[0].title == "long.js line 2 has 21,000 characters"
    tree.write("wide.js", "\u202e" * 20_000)
    (block,) = read(tree, at("wide.js", 1) | {"at": 1})
    assert block.title.startswith("wide.js line 1 characters 1–682 of 20,000") and len(block.text) < 8192


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_a_long_line_that_was_printed_names_its_artifact(tree: Worktree, size: int) -> None:
    command = Command(run=f"head -c {size} /dev/zero | tr '\\0' x", timeout=60)
    result = run(Run(tree.context(commands={"big": command})), {"command": "big"})
    title = next(block.title for block in result.blocks if block.title.startswith("stdout"))
    assert f"{size:,} bytes: artifact:" in title and "all" not in title
    id = "artifact:" + title.rpartition("artifact:")[2].partition(";")[0]
    (block,) = read(tree, {"path": id, "from": 1, "at": size - 9})
    assert block.text == "1|" + "x" * 10


def test_what_had_to_pass_names_the_artifact_of_what_it_printed(tree: Worktree) -> None:
    command = Command(run="seq 1 5000; exit 1", must="pass", timeout=60)
    result = run(Run(tree.context(commands={"must": command})), {"command": "must"})
    assert result.code == "run.must_pass" and "(all that it printed: artifact:" in result.excerpt
    command = Command(run="echo no; exit 1", must="pass", timeout=60)
    assert run(Run(tree.context(commands={"must": command})), {"command": "must"}).excerpt == "no"


# ---- names ---------------------------------------------------------------------------------------------------
def test_a_link_to_nothing_says_so(tree: Worktree) -> None:
    (tree.root / "inner").symlink_to("nowhere/at/all")
    tree.commit()
    (block,) = read(tree, at("inner"))
    assert block.title == "'inner' is a symlink to 'nowhere/at/all', which does not exist"


def test_a_name_with_a_line_break_is_one_entry(tree: Worktree) -> None:
    tree.write("odd\tname\nwith.txt", "x\n")
    tree.commit()
    (block,) = run(ListFiles(tree.context()), {"path": "."}).blocks
    assert "odd␉name␊with.txt" in block.text.split("\n")
    (block,) = run(ListFiles(tree.context()), {"glob": "odd*"}).blocks
    assert block.text == "odd␉name␊with.txt"


def test_search_says_that_it_passed_over_secrets(tree: Worktree) -> None:
    tree.write(".env", "one=1\n")
    tree.commit()
    (block,) = run(Search(tree.context()), {"pattern": "one"}).blocks
    assert "(7 files searched; 1 that may hold secrets not searched)" in block.title


def test_colours_of_what_was_printed_stay_away(tree: Worktree) -> None:
    name = tree.artifacts.put(b"\x1b[31mred\x1b[0m\r\nplain\n")
    (block,) = read(tree, at(f"artifact:{name}"))
    assert block.text == "1|red\n2|plain" and "control" not in block.title
    (block,) = read(tree, at(f"artifact:{name}", 1) | {"at": 2})
    assert block.text == "1|ed"


def test_a_plan_shows_them_too(tree: Worktree) -> None:
    args = {"edits": [replace("c.c", "\u240cint", "\u240clong")]}
    diff = preview(tree.context(), call("edit_files", args))
    assert "-\u240cint page;\n+\u240clong page;\n" in diff and SHOWN[2] in diff
    tree.write("bare.txt", "a\nb")
    diff = preview(tree.context(), call("edit_files", {"edits": [replace("bare.txt", "b", "c")]}))
    assert diff.endswith(" a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n")
