"""Text that anybody may have written, made harmless to show: what nobody sees on a page is not shown here either. Pure.

Who prints it moves it in (`contracts.text.indented`): no line of it can then stand where the controller's own words
stand, so there is no mark that would end it. What it asks for is nothing that anybody follows: what may be done is
decided by the gate, which never reads it.
"""

from __future__ import annotations

import re
import unicodedata

from contracts.text import clean

# Joiners and one selector hold scripts and emoji together; in a row, or after plain letters, they hide bits.
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe0e\ufe0f"
_KEYCAPS = "#*0123456789©®"
_BLANK = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters and marks that print nothing
_VARIATIONS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_IGNORED = re.compile("[\u2065\ufdd0-\ufdef\ufff0-\uffff\U000e0000-\U0010ffff]")
_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CODE = re.compile(r" {0,3}(`{3,}|~{3,})")
_OPEN, _CLOSE = "<!--", "-->"


def fenced(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without what nobody sees of it on a page, and what was taken out, in our own words."""
    text, comments = _uncommented(_ENDS.sub("\n", text))
    seen = "".join(_seen(clean(text)))
    notes = [_taken(comments, "comment", "that a page does not show")] if comments else []
    notes += [_taken(lost, "character", "that nobody sees")] if (lost := len(text) - len(seen)) else []
    return seen, tuple(notes)


def _taken(count: int, what: str, which: str) -> str:
    return f"{count} {what}{'s' * (count != 1)} {which} taken out"


def _uncommented(text: str) -> tuple[str, int]:
    """Without HTML comments, those in a block of code aside, and how many there were."""
    kept: list[str] = []
    fence, hidden, count = "", False, 0
    for row in text.split("\n"):
        mark = "" if hidden else found[1] if (found := _CODE.match(row)) else ""
        if fence or mark:
            kept.append(row)
            ends = bool(fence) and mark.startswith(fence) and row.strip() == mark
            fence = "" if ends else fence or mark
            continue
        shown, comments, hidden = _shown(row, hidden)
        kept += [] if shown is None else [shown]
        count += comments
    return "\n".join(kept), count


def _shown(row: str, hidden: bool) -> tuple[str | None, int, bool]:
    """What is seen of a line (None: it lies in a comment), the comments that begin in it, and whether one goes on."""
    parts, count, inside = list[str](), 0, hidden
    while row:
        before, mark, row = row.partition(_CLOSE if inside else _OPEN)
        if not inside:
            parts.append(before)
            count += bool(mark)
        if mark:
            inside = not inside
    return (None if hidden and not parts else "".join(parts)), count, inside


def _seen(text: str) -> list[str]:
    kept: list[str] = []
    last = ""
    for char in text:
        if _visible(char, last):
            kept.append(char)
        last = char
    return kept


def _visible(char: str, last: str) -> bool:
    if char in "\n\t" or " " <= char <= "~":
        return True
    if char in _JOINERS:
        return bool(last) and not last.isascii() and last not in _JOINERS
    if char in _SELECTORS:
        return bool(last) and (last in _KEYCAPS if last.isascii() else not _VARIATIONS.match(last))
    if char in _BLANK or _VARIATIONS.match(char) or _IGNORED.match(char):
        return False
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
