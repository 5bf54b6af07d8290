"""Unified diffs against what real git and diff write, and against what models get wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.patch import PatchError, headers, parse
from contracts.patch_apply import HunkError, apply

TEN = b"".join(b"line %d\n" % i for i in range(1, 11))


def one(text: str, before: bytes | None) -> bytes | None:
    (file,) = parse(text)
    return apply(file, before)


def patch(body: str, path: str = "f") -> str:
    return f"--- a/{path}\n+++ b/{path}\n{body}"


def test_a_plain_hunk() -> None:
    text = patch("@@ -2,3 +2,3 @@ ctx\n line 2\n-line 3\n+LINE 3\n line 4\n")
    assert one(text, TEN) == TEN.replace(b"line 3\n", b"LINE 3\n")
    assert headers(text) == ("f",)


def test_the_place_may_move_when_the_content_is_unique() -> None:
    text = patch("@@ -40,3 +40,3 @@\n line 2\n-line 3\n+LINE 3\n line 4\n")
    assert one(text, TEN) == TEN.replace(b"line 3\n", b"LINE 3\n")


def test_two_possible_places_are_refused_with_their_lines() -> None:
    before = b"a\nx\nb\na\nx\nb\n"
    with pytest.raises(HunkError, match="lines 1, 4"):
        one(patch("@@ -9,2 +9,2 @@\n a\n-x\n+y\n"), before)
    assert one(patch("@@ -4,2 +4,2 @@\n a\n-x\n+y\n"), before) == b"a\nx\nb\na\ny\nb\n"


def test_a_hunk_that_does_not_fit_shows_expected_and_found() -> None:
    with pytest.raises(HunkError, match="does not fit") as caught:
        one(patch("@@ -2,3 +2,3 @@\n line 2\n-line three\n+LINE 3\n line 4\n"), TEN)
    assert "- expected|line three" in caught.value.diff
    assert "+ 3|line 3" in caught.value.diff


def test_no_fuzz() -> None:
    with pytest.raises(HunkError):
        one(patch("@@ -2,3 +2,3 @@\n line 2x\n-line 3\n+LINE 3\n line 4\n"), TEN)


@pytest.mark.parametrize("counts", ["-2,9 +2,1", "-2,1 +2,9", "-2 +2", ""])
def test_wrong_counts_do_not_matter_when_the_content_fits(counts: str) -> None:
    head = f"@@ {counts} @@" if counts else "@@"
    text = patch(f"{head}\n line 2\n-line 3\n+LINE 3\n line 4\n")
    assert one(text, TEN) == TEN.replace(b"line 3\n", b"LINE 3\n")


def test_wrong_counts_do_not_swallow_the_next_file() -> None:
    text = patch("@@ -2,9 +2,9 @@\n line 2\n-line 3\n+L\n", "f") + patch("@@ -1 +1 @@\n-a\n+b\n", "g")
    assert [file.path for file in parse(text)] == ["f", "g"]


def test_new_deleted_and_executable_files() -> None:
    header = "diff --git a/n.sh b/n.sh\nnew file mode 100755\nindex 0000000..1\n"
    new = header + "--- /dev/null\n+++ b/n.sh\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    (file,) = parse(new)
    assert (file.path, file.kind, file.executable) == ("n.sh", "new", True)
    assert apply(file, None) == b"a\nb\n"
    with pytest.raises(HunkError, match="there already"):
        apply(file, b"x")
    gone = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert one(gone, b"a\nb\n") is None
    with pytest.raises(HunkError, match="leaves 1"):
        one(gone, b"a\nb\nc\n")
    with pytest.raises(HunkError, match="does not exist"):
        one(gone, None)


def test_empty_new_file_by_its_git_header_only() -> None:
    (file,) = parse(
        "diff --git a/pkg/__init__.py b/pkg/__init__.py\nnew file mode 100644\nindex 0..e69de29\n"
    )
    assert (file.path, file.kind, apply(file, None)) == ("pkg/__init__.py", "new", b"")


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ("diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n", "renames"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "renames"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "mode"),
        (
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
            "regular",
        ),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 0\n", "binary"),
        ("*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n", "unified diff"),
        ("just words", "no file header"),
        ("", "no file header"),
        (patch("@@ -1 +1 @@\n-a\n+b\nforgotten blank\n more\n"), "line 6"),
        (patch("@@ -1,2 +1,2 @@\n a\n b\n"), "changes nothing"),
        (patch(""), "no hunk"),
        (patch("@@ nonsense\n"), "changes nothing"),
        (patch("@@@ -1 +1 @@@\n-a\n"), "no hunk header"),
    ],
)
def test_refused(text: str, say: str) -> None:
    with pytest.raises(PatchError, match=say):
        parse(text)


def test_an_insertion_without_context_is_refused_except_into_an_empty_file() -> None:
    text = patch("@@ -3,0 +4,1 @@\n+new\n")
    with pytest.raises(HunkError, match="context"):
        one(text, TEN)
    assert one(text, b"") == b"new\n"


def test_crlf_files_keep_their_line_ends() -> None:
    dos = TEN.replace(b"\n", b"\r\n")
    text = patch("@@ -2,3 +2,4 @@\n line 2\n-line 3\n+LINE 3\n+more\n line 4\n")
    expected = TEN.replace(b"line 3\n", b"LINE 3\nmore\n").replace(b"\n", b"\r\n")
    assert one(text, dos) == expected
    assert one(text.replace("\n", "\r\n"), dos) == expected
    assert one(text.replace("\n", "\r\n"), TEN) == expected.replace(b"\r\n", b"\n")


def test_no_newline_at_the_end() -> None:
    mark = "\\ No newline at end of file\n"
    assert one(patch(f"@@ -1 +1 @@\n-a\n{mark}+b\n{mark}"), b"a") == b"b"
    assert one(patch(f"@@ -1 +1 @@\n-a\n{mark}+b\n"), b"a") == b"b\n"
    assert one(patch(f"@@ -1 +1 @@\n-a\n+b\n{mark}"), b"a\n") == b"b"
    assert one(patch("@@ -1 +1,2 @@\n a\n+b\n"), b"a") == b"a\nb\n"
    with pytest.raises(HunkError):
        one(patch(f"@@ -1 +1 @@\n-a\n{mark}+b\n"), b"a\n")


def test_undecodable_bytes_around_a_hunk_stay() -> None:
    before = b"caf\xe9\n" + TEN
    text = patch("@@ -3,2 +3,2 @@\n line 2\n-line 3\n+LINE 3\n")
    assert one(text, before) == before.replace(b"line 3\n", b"LINE 3\n")


def test_removed_lines_that_look_like_headers() -> None:
    before = b"-- a comment\n++ b\nx\n"
    assert one(patch("@@ -1,3 +1,1 @@\n--- a comment\n-++ b\n x\n"), before) == b"x\n"


def test_quoted_and_spaced_paths() -> None:
    text = '--- "a/f\\303\\251 x.py"\n+++ "b/f\\303\\251 x.py"\n@@ -1 +1 @@\n-a\n+b\n'
    assert parse(text)[0].path == "fé x.py"
    assert parse("--- a/f x\t2020-01-01\n+++ b/f x\t2020-01-02\n@@ -1 +1 @@\n-a\n+b\n")[0].path == "f x"
    assert parse("--- x/f\n+++ x/f\n@@ -1 +1 @@\n-a\n+b\n")[0].path == "x/f"


def test_headers_of_an_invalid_patch_name_every_path_they_could_mean() -> None:
    text = "--- a/../../etc/passwd\n+++ b/.git/config\n@@ nothing"
    assert {"../../etc/passwd", ".git/config"} <= set(headers(text))


LINES = st.lists(st.sampled_from(["a", "b", "c", "", " x", "-y", "+z", "é", "-- q", "@@ r"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(old=LINES, new=LINES, ends=st.tuples(st.booleans(), st.booleans()), context=st.sampled_from([1, 3]))
def test_what_git_diff_writes_is_applied_exactly(
    old: list[str],
    new: list[str],
    ends: tuple[bool, bool],
    context: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder: Path = tmp_path_factory.mktemp("diff")
    texts = []
    for name, lines, end in (("old", old, ends[0]), ("new", new, ends[1])):
        data = "\n".join(lines).encode() + (b"\n" if end and lines else b"")
        (folder / name).mkdir()
        (folder / name / "f").write_bytes(data)
        texts.append(data)
    done = subprocess.run(
        ["git", "diff", "--no-index", f"-U{context}", "old/f", "new/f"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if texts[0] == texts[1]:
        return
    text = done.stdout.decode().replace("a/old/f", "a/f").replace("b/new/f", "b/f")
    try:
        assert one(text, texts[0]) == texts[1]
    except HunkError as error:
        # Without context (an end of the file, or -U1 beside equal lines) a place may be open: never a wrong one.
        assert "context" in str(error)
