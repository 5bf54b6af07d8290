"""Stand-ins for control characters, and line ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.controls import either, exact, lost, named, restored, shown_diff, visible
from contracts.line_ends import fitted, like, replaced, said
from contracts.text import clean

STAND_INS = {"⟨", *map(chr, range(0x2400, 0x2422))}
ANY = st.text(
    alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("\x00\x1b\r\n\t\x7f\u202e\ufeff"))
)


@given(ANY)
def test_nothing_vanishes_and_all_comes_back(text: str) -> None:
    shown = visible(text)
    assert clean(shown) == shown.replace("\r\n", "\n")
    assert len(shown.encode()) <= 12 * len(text.encode())
    if not set(text) & STAND_INS:
        assert restored(shown, text.encode()) == text


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "cc"]), st.sampled_from(["\n", "\r\n"])), max_size=8))
def test_an_unchanged_text_keeps_every_line_end(rows: list[tuple[str, str]]) -> None:
    data = "".join(line + end for line, end in rows).encode()
    assert fitted(data, data.replace(b"\r\n", b"\n")) == data or (b"\r\n" in data and b"\n" not in data)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "cc"]), st.sampled_from(["\n", "\r\n"])), max_size=8),
    st.text("abc\n", min_size=1, max_size=4),
)
def test_a_text_is_found_as_it_is_read(rows: list[tuple[str, str]], old: str) -> None:
    data = "".join(line + end for line, end in rows).encode()
    read = data.replace(b"\r\n", b"\n")
    after, lines = replaced(data, old.encode(), b"X")
    assert after.replace(b"\r\n", b"\n") == read.replace(old.encode(), b"X") and len(lines) == read.count(
        old.encode()
    )


def test_said() -> None:
    assert said(b"a\nb\n") == "" and said(b"a\r\n") == "CRLF line ends"
    assert said(b"a\n" * 5 + b"b\r\n") == "mixed line ends: LF, but CRLF at line 6"
    assert said(b"a\r\n" * 9 + b"b\n" * 7) == "mixed line ends: CRLF, but LF at lines 10, 11, 12, 13, 14 …"
    assert like(b"a\r\nb", b"x\n") == b"a\nb" and like(b"a\n", b"x\r\n") == b"a\r\n" == like(b"a\r\n", None)


def test_a_diff_of_line_ends_alone_shows_them() -> None:
    assert shown_diff(b"@@ -1 +1 @@\n-a\r\n+a\n") == "@@ -1 +1 @@\n-a␍\n+a\n"
    assert shown_diff(b"@@ -1 +1 @@\n-a\r\n+b\x1b\r\n") == "@@ -1 +1 @@\n-a\n+b␛\n"
    assert shown_diff(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n c\r\n-a\r\n+b\r\n").count("␍") == 0


def test_names_and_patterns() -> None:
    assert named("a\tb\nc\x1b") == "a␉b␊c␛"
    assert either("plain") is None and either("a.␛") == r"a\.(?:␛|" + "\x1b)"
    assert lost(b"\x1ba\x1b\x0c", b"\x1ba\x1b") == "␌" and lost(b"\x1b", b"\x1b") == ""


def test_nothing_in_an_exact_text_goes_unseen() -> None:
    assert (
        exact("a\u202eb\U000e0041c\u200dd\u00ade\ufe0f") == "a⟨U+202E⟩b⟨U+E0041⟩c⟨U+200D⟩d⟨U+00AD⟩e⟨U+FE0F⟩"
    )
    assert exact("plain, é, 日本語\n\ttext") == "plain, é, 日本語\n\ttext"
