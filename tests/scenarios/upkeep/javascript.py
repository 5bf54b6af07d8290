"""JavaScript by letters: code apart from strings, comments and regular expressions, and where a bracket closes."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)"""
    r"""|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<regex>/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*)""",
    re.S,
)
_OPENS, _CLOSES = "([{", ")]}"


def code(text: str) -> str:
    """The text, as long as it was, with strings, comments and regular expressions blanked."""
    out, at = "", 0
    while hit := _TOKEN.search(text, at):
        out += text[at : hit.start()]
        if hit.lastgroup == "regex" and not _may_be_regex(out):
            out += "/"  # a division
            at = hit.start() + 1
        else:
            out += re.sub(r"[^\n]", " ", hit[0])
            at = hit.end()
    return out + text[at:]


def closes(text: str, at: int) -> int:
    """The place of the bracket that closes the one at `at`, in text as `code` gives it; the end when it is not
    there."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in _OPENS) - (text[place] in _CLOSES)
        if not depth:
            return place
    return len(text)


def block(text: str, at: int) -> tuple[int, int]:
    """The innermost braces around `at`, as a slice of text as `code` gives it; all of it where there are none."""
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += (text[place] == "}") - (text[place] == "{")
        if depth < 0:
            return place, closes(text, place) + 1
    return 0, len(text)


def _may_be_regex(before: str) -> bool:
    """Whether a slash after this begins a regular expression, and not a division."""
    before = before.rstrip()
    return (
        not before
        or before[-1] in "(,=:[!&|?{};+-*%<>~^"
        or bool(re.search(r"\b(?:return|typeof|in|of)$", before))
    )
