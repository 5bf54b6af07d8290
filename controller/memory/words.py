"""words: a question in anybody's words as an FTS5 expression that can't be wrong, and names in code taken apart.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from contracts.text import clean

MAX_WORDS, MAX_WORD = 12, 100
SHORTEST_STEM = 3  # from this length on the beginning of a word is enough

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
# Where the index's tokenizer sees one word and a person sees several: parseCounts, HTTPServer, text without spaces.
_SEAM = re.compile(
    rf"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[{_CJK}])(?=\w)|(?<=\w)(?=[{_CJK}])"
)
_CAMEL = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9]{0,60}?(?:[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z]))[A-Za-z0-9]{1,60}"
)
_WRITTEN_ON = re.compile(rf"(?<!\w)\w{{0,60}}?[{_CJK}]\w*")
_HAS_CJK = re.compile(f"[{_CJK}]")


def words_of(query: str) -> tuple[str, ...]:
    """The words of a question, at most 12, without repeats: what holds a letter or a digit."""
    found = dict.fromkeys(
        word[:MAX_WORD] for word in clean(query).replace('"', " ").split() if _searchable(word)
    )
    return tuple(found)[:MAX_WORDS]


def expression(words: Sequence[str], *, all_words: bool) -> str:
    """The FTS5 expression for at least one word: each is a phrase of the pieces that the tokenizer makes of it
    (`src/foo.py`, `Foo::bar`, `parse_counts`) or of those that `parts` makes, its last piece a beginning."""
    return (" AND " if all_words else " OR ").join(
        f"({' OR '.join(map(_phrase, _forms(word)))})" for word in words
    )


def parts(text: str) -> str:
    """The pieces of those words of `text` that the tokenizer would leave whole, to be indexed beside it."""
    found = _CAMEL.findall(text)
    if _HAS_CJK.search(text):
        found += _WRITTEN_ON.findall(text)
    return " ".join(apart(word) for word in dict.fromkeys(found))


def apart(word: str) -> str:
    """`parseCounts` as `parse Counts`."""
    return _SEAM.sub(" ", word)


def pieces(word: str) -> list[str]:
    """The lower-case pieces of a word: a line that holds them all is one that the word was found in."""
    return [piece.lower() for piece in re.findall(r"[^\W_]+", apart(word))]


def _forms(word: str) -> Iterable[str]:
    return dict.fromkeys((word, apart(word)))


def _phrase(form: str) -> str:
    return f'"{form}"' + ("*" if len(form) >= SHORTEST_STEM or _HAS_CJK.search(form) else "")


def _searchable(word: str) -> bool:
    return any(char.isalnum() for char in word)
