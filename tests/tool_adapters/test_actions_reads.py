"""read_files, list_files and search on a real worktree: exact line numbers and counts, limits, nothing secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contracts.actions import ActionResult, Block
from contracts.base import JsonObject
from contracts.paths import PathPolicy
from contracts.task import Limits
from contracts.text import share
from tests.tool_adapters.worktree import Worktree, bytes_of, probe, run
from tool_adapters.actions import search as search_module
from tool_adapters.actions.list_files import ListFiles
from tool_adapters.actions.outline import outline
from tool_adapters.actions.read_files import ReadFiles
from tool_adapters.actions.search import Search

LONG = "".join(f"line {i}\n" for i in range(1, 1850))
MODULE = (
    "import os\n\nclass A:\n    def m(self):\n        pass\n\nasync def go():\n    pass\n" + "x = 1\n" * 900
)


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    return Worktree(
        tmp_path,
        {
            "src/long.txt": LONG,
            "src/module.py": MODULE,
            "src/small.py": "a = 1\nb = 2\n",
            "src/sub/deep/x.py": "six\n",
            "README.md": "# Title\nsix and six\n",
            ".env": "TOKEN=1\n",
            ".gitignore": "build/\n",
        },
    )


def read(tree: Worktree, *files: JsonObject, **more: object) -> tuple[Block, ...]:
    result = run(ReadFiles(tree.context(**more)), {"files": list(files)})  # type: ignore[arg-type]
    assert result.ok
    return result.blocks


def at(path: str, begin: int | None = None, end: int | None = None) -> JsonObject:
    return {"path": path} | ({"from": begin} if begin else {}) | ({"to": end} if end else {})


# ---- read_files --------------------------------------------------------------------------------------------


def test_a_small_file_whole(tree: Worktree) -> None:
    (block,) = read(tree, at("src/small.py"))
    assert block.title == "src/small.py lines 1–2 of 2"
    assert block.text == "1|a = 1\n2|b = 2"


def test_ranges(tree: Worktree) -> None:
    one, two, three = read(
        tree, at("src/long.txt", 500, 502), at("src/long.txt", 1848), at("src/long.txt", end=2)
    )
    assert (one.title, one.text) == (
        "src/long.txt lines 500–502 of 1,849",
        "500|line 500\n501|line 501\n502|line 502",
    )
    assert two.title == "src/long.txt lines 1,848–1,849 of 1,849"
    assert three.text == "1|line 1\n2|line 2"


def test_a_range_has_at_most_400_lines(tree: Worktree) -> None:
    (block,) = read(tree, at("src/long.txt", 1, 1849))
    assert block.title == "src/long.txt lines 1–400 of 1,849" and block.text.count("\n") == 399


def test_a_range_has_at_most_12_kib_in_whole_lines(tree: Worktree) -> None:
    tree.write("wide.txt", "".join("é" * 400 + "\n" for _ in range(100)))
    (block,) = read(tree, at("wide.txt", 1, 100))
    shown = block.text.split("\n")
    assert block.title == f"wide.txt lines 1–{len(shown)} of 100"
    assert 11_000 < len(block.text.encode()) <= 12 * 1024 and all(line.endswith("é") for line in shown)


def test_six_large_ranges_share_the_room(tree: Worktree) -> None:
    wide = "".join(f"{i} " + "z" * 90 + "\n" for i in range(1, 401))
    for i in range(5):
        tree.write(f"w{i}.txt", wide)
    blocks = read(tree, at("src/small.py"), *(at(f"w{i}.txt", 1, 400) for i in range(5)))
    assert blocks[0].text == "1|a = 1\n2|b = 2"
    for block in blocks[1:]:
        last = block.text.rsplit("\n", 1)[-1].split("|")[0]
        assert block.title.endswith(f"lines 1–{last} of 400") and int(last) >= 25
    assert sum(len((block.title + block.text).encode()) for block in blocks) <= 16 * 1024


def test_the_room_follows_the_limits(tree: Worktree) -> None:
    (block,) = read(tree, at("src/long.txt", 1, 400), limits=Limits(observation=3072))
    assert len(block.text.encode()) <= 2048 and block.title.startswith("src/long.txt lines 1–")


def test_a_large_file_without_a_range_gives_its_outline_and_its_beginning(tree: Worktree) -> None:
    skeleton, head = read(tree, at("src/module.py"))
    assert skeleton.title == "src/module.py outline of 908 lines"
    assert skeleton.text == "3|class A:\n4|    def m(self):\n7|async def go():"
    assert head.title == "src/module.py lines 1–80 of 908" and head.text.startswith("1|import os\n")
    (only,) = read(tree, at("src/long.txt"))
    assert only.title == "src/long.txt lines 1–80 of 1,849"


def test_what_is_not_there_is_said_with_its_neighbours(tree: Worktree) -> None:
    missing, folder, beyond, backwards, part = read(
        tree,
        at("src/smal.py"),
        at("src"),
        at("src/small.py", 9),
        at("src/small.py", 2, 1),
        at("src/small.py/x"),
    )
    assert "does not exist" in missing.title and "src/small.py" in missing.title
    assert "folder" in folder.title
    assert beyond.title == "src/small.py has 2 lines: nothing at line 9"
    assert "`to` comes before `from`" in backwards.title
    assert "does not exist" in part.title


def test_nothing_secret_or_outside_is_shown(tree: Worktree, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("TOP SECRET")
    (tree.root / "link").symlink_to(tmp_path / "outside")
    (tree.root / "dir").symlink_to(tmp_path)
    (tree.root / "innocent").symlink_to(".env")
    (tree.root / "gitlink").symlink_to(".git/config")
    (tree.root / "fine").symlink_to("src/small.py")
    paths = [
        "link",
        "dir/outside",
        "innocent",
        "gitlink",
        ".env",
        ".git/config",
        "/etc/passwd",
        "../outside",
        "a\0b",
    ]
    for batch in (paths[:5], paths[5:]):
        for block in read(tree, *map(at, batch)):
            assert block.text == "" and "SECRET" not in block.title and "TOKEN" not in block.title
    assert read(tree, at("fine"))[0].text == "1|a = 1\n2|b = 2"
    (shown,) = read(tree, at(".env"), policy=PathPolicy(secrets=[".env"]))
    assert shown.text == "1|TOKEN=1"


def test_odd_contents(tree: Worktree) -> None:
    tree.write("empty", b"")
    tree.write("blob", b"\0\1")
    tree.write("dos", b"a\r\nb\r\n")
    tree.write("latin", b"caf\xe9")
    tree.write("ansi", b"\x1b[31mred\x1b[0m \xe2\x80\xae evil\n")
    tree.write("huge", b"a" * 1_000_000 + b"\n")
    os.mkfifo(tree.root / "pipe")
    empty, blob, dos, latin, ansi, pipe = read(
        tree, *map(at, ("empty", "blob", "dos", "latin", "ansi", "pipe"))
    )
    assert empty.title == "empty is empty" and "binary" in blob.title and "no regular file" in pipe.title
    assert dos.text == "1|a\n2|b" and "(CRLF line ends)" in dos.title
    assert latin.text == "1|caf�" and "not UTF-8, no newline at the end" in latin.title
    assert ansi.text == "1|␛[31mred␛[0m ⟨U+202E⟩ evil"
    assert "control characters are shown as ␛ ⟨U+202E⟩" in ansi.title
    (huge,) = read(tree, at("huge", 1))
    assert huge.text == "1|" + "a" * 1000 + "… +999,000 characters"


def test_artifacts_by_range(tree: Worktree) -> None:
    name = tree.artifacts.put(LONG.encode())
    (block,) = read(tree, at(f"artifact:{name}", 1000, 1001))
    assert block.title == f"artifact:{name} lines 1,000–1,001 of 1,849"
    assert block.text == "1000|line 1000\n1001|line 1001"
    for path in ("artifact:0123456789abcdef", "artifact:../../etc/passwd", "artifact:"):
        (block,) = read(tree, at(path))
        assert "artifact" in block.title and block.text == ""


def test_reads_are_done_again_after_a_crash(tree: Worktree) -> None:
    assert probe(ReadFiles(tree.context()), {"files": [at("README.md")]}).kind == "not_yet"


def test_share_fills_the_small_first() -> None:
    assert share([10, 1000, 1000], 500) == [10, 245, 245]
    assert share([1, 2], 100) == [1, 2] and share([], 5) == []
    assert sum(share([7, 900, 33, 120], 300)) <= 300


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("a.py", "def f():\n  pass\nclass (:\n", [1, 3]),
        ("a.go", "package x\nfunc A() {\n}\ntype T struct {\n", [1, 2, 4]),
        ("a.rs", "pub(crate) fn f() {}\nimpl T {\n  fn g() {}\n}\nstruct S;\n", [1, 2, 5]),
        ("a.ts", "export default class A {\n}\nexport const x = () => 1\nlet y\nfoo()\n", [1, 3, 4]),
        ("a.c", "int x;\nstatic int f(int a)\n{\n}\nstruct s {\n", [2, 5]),
        ("a.md", "# A\ntext\n## B\n", [1, 3]),
        ("a.cfg", "[a]\nx = 1\n[b]\n", [1, 3]),
        ("a.yaml", "a:\n  b: 1\nc: 2\n", [1, 3]),
    ],
)
def test_outlines(path: str, text: str, lines: list[int]) -> None:
    assert [number for number, _ in outline(path, text)] == lines


# ---- list_files --------------------------------------------------------------------------------------------


def listed(tree: Worktree, **args: object) -> Block:
    result = run(ListFiles(tree.context()), dict(args))
    assert result.ok
    return result.blocks[0]


def test_the_tree_with_counts(tree: Worktree) -> None:
    tree.write("build/out", "ignored")
    tree.write("untracked.txt", "x")
    block = listed(tree)
    assert block.title == ".: 8 files"
    assert block.text.split("\n") == [
        ".env",
        ".gitignore",
        "README.md",
        "src/ (4)",
        "  long.txt",
        "  module.py",
        "  small.py",
        "  sub/ (1)",
        "untracked.txt",
    ]
    assert listed(tree, path="src", depth=1).text == "long.txt\nmodule.py\nsmall.py\nsub/ (1)"
    assert listed(tree, path="src/sub/", depth=5).text == "deep/ (1)\n  x.py"
    assert listed(tree, path="./").title == ".: 8 files"


def test_deleted_files_are_not_listed(tree: Worktree) -> None:
    (tree.root / "README.md").unlink()
    assert "README" not in listed(tree).text


def test_a_glob_lists_paths(tree: Worktree) -> None:
    block = listed(tree, glob="**/*.py")
    assert block.title == "3 files match '**/*.py'"
    assert block.text == "src/module.py\nsrc/small.py\nsrc/sub/deep/x.py"
    assert listed(tree, path="src", glob="*.py").text == "src/module.py\nsrc/small.py"


def test_what_can_not_be_listed(tree: Worktree) -> None:
    assert "no such file or folder" in listed(tree, path="scr/small.py").title
    assert "src/small.py" in listed(tree, path="scr/small.py").title
    for path in ("/etc", "..", "a\0"):
        assert "not a path inside" in listed(tree, path=path).title


def test_many_files_stay_within_200_lines_with_exact_counts(tree: Worktree) -> None:
    for i in range(30):
        for j in range(12):
            tree.write(f"many/d{i:02}/f{j:02}.txt", "x")
    block = listed(tree, path="many", depth=3)
    assert block.title == "many: 360 files" and "d29/ (12)" in block.text
    assert len(block.text.split("\n")) <= 200
    flat = listed(tree, path="many", glob="**/*.txt")
    assert flat.title.startswith("360 files") and len(flat.text.split("\n")) <= 200
    for i in range(300):
        tree.write(f"wide/f{i}", "x")
    rows = listed(tree, path="wide").text.split("\n")
    assert len(rows) == 200 and rows[-1] == "… and 101 more: give a path or a glob"


# ---- search ------------------------------------------------------------------------------------------------


def found(tree: Worktree, pattern: str, **args: object) -> Block:
    result: ActionResult = run(Search(tree.context()), {"pattern": pattern, **args})
    assert result.ok and bytes_of(result) <= 16 * 1024 + 200
    return result.blocks[0]


def test_a_text(tree: Worktree) -> None:
    tree.write("build/out", "six")
    tree.write("new.txt", "a six.\r\n")
    block = found(tree, "six")
    assert block.title.startswith("search 'six': 3 hits in 3 files")
    assert set(block.text.split("\n")) == {
        "README.md:2|six and six",
        "src/sub/deep/x.py:1|six",
        "new.txt:1|a six.",
    }
    assert found(tree, "si.").title.startswith("search 'si.': 0 hits")
    assert found(tree, "SIX", ignore_case=True).title.startswith("search 'SIX': 3 hits")


def test_a_regular_expression_in_globs(tree: Worktree) -> None:
    assert found(tree, r"^(a|b) = \d$", regex=True).text == "src/small.py:1|a = 1\nsrc/small.py:2|b = 2"
    assert found(tree, r"SIX$", regex=True, ignore_case=True, paths=["src"]).text == "src/sub/deep/x.py:1|six"
    assert "0 hits in 0 files (0 files" in found(tree, "six", paths=["nope/**"]).title


def test_counts_are_exact_where_hits_are_cut(tree: Worktree) -> None:
    for i in range(70):
        tree.write(f"n/f{i:02}.txt", "NEEDLE\n" * 9)
    block = found(tree, "NEEDLE")
    rows = block.text.split("\n")
    hits = [row for row in rows if "|" in row]
    assert block.title.startswith("search 'NEEDLE': 630 hits in 70 files")
    assert (
        len(hits) == 80
        and max(sum(row.startswith(f"n/f{i:02}.txt:") for row in hits) for i in range(70)) == 5
    )
    assert "n/f00.txt: 4 more" in rows and "n/f20.txt: 9 more" in rows and rows[-1] == "… and 30 more files"


def test_long_lines_are_cut_around_the_hit(tree: Worktree) -> None:
    tree.write("huge.txt", "a" * 500_000 + "NEEDLE" + "b" * 500_000)
    text = found(tree, "NEEDLE").text
    assert (
        text.startswith("huge.txt:1|…aaa")
        and "aNEEDLEb" in text
        and text.endswith("bbb…")
        and len(text) < 400
    )


def test_secrets_binaries_and_links_are_passed_over(tree: Worktree, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("TOKEN here")
    (tree.root / "link").symlink_to(tmp_path / "outside")
    tree.write("blob", b"\0TOKEN")
    block = found(tree, "TOKEN")
    assert block.text == "" and "1 could not be searched" in block.title


def test_bad_patterns_are_said(tree: Worktree) -> None:
    assert "not a Python regular expression" in found(tree, "a(", regex=True).title
    assert "not a Python regular expression" in found(tree, "(?<=a+)b", regex=True).title
    assert "line break" in found(tree, "a\nb").title


def test_a_pattern_without_end_is_ended(tree: Worktree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "SECONDS", 1.0)
    tree.write("evil.txt", "a" * 60 + "!")
    block = found(tree, "(a+)+$", regex=True)
    assert "not done after 1 s" in block.title
