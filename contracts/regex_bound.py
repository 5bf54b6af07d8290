"""How long a text can be that matches a pattern, where that can be read off the pattern itself.

Only anchored sequences of characters and classes are understood (`^[a-z0-9-]{1,40}$`, `^#[0-9]{1,6}$`,
`^[ -~]*$`); every other pattern gives no bound, which is always a safe answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_CODE = 0x10FFFF
_CLASS = r"\[\^?(?:\\.|[^\]\[\\&])+\]"
_ATOM = re.compile(rf"(?P<set>{_CLASS})|(?P<char>\\[^A-Za-z0-9]|[A-Za-z0-9 _:@#=,;/~!%<>'\"-])")
_COUNT = re.compile(r"\{(?P<low>\d+)(?P<comma>,(?P<high>\d*))?\}|(?P<mark>[?*+])")
_MEMBER = re.compile(r"\\x(?P<x>[0-9a-fA-F]{2})|\\u(?P<u>[0-9a-fA-F]{4})|\\(?P<esc>.)|(?P<lit>[^\\])", re.S)
_ESCAPES = {"t": 9, "n": 10, "r": 13, "f": 12, "v": 11, "0": 0}


@dataclass(frozen=True)
class TextBound:
    """`chars`: most code points, None when endless. `char_bytes`: most bytes of one of them in JSON."""

    chars: int | None
    char_bytes: int


def code_bytes(low: int, high: int) -> int:
    """Most bytes that a code point of the closed range takes in compact UTF-8 JSON as orjson writes it."""
    short = (8, 9, 10, 12, 13)
    if any(low <= code <= high and code not in short for code in range(0x20)):
        return 6
    if high > 0xFFFF:
        return 4
    if high > 0x7FF:
        return 3
    return 2 if high > 0x7F or any(low <= code <= high for code in (*short, 0x22, 0x5C)) else 1


@lru_cache(maxsize=256)
def text_bound(pattern: str) -> TextBound:
    """The bound that `pattern` alone puts on a text; (None, 6) when it is not understood."""
    endless = TextBound(None, 6)
    if not (pattern.startswith("^") and pattern.endswith("$")) or pattern.endswith("\\$"):
        return endless
    body, position = pattern[1:-1], 0
    chars: int | None = 0
    widest = 1
    while position < len(body):
        atom = _ATOM.match(body, position)
        ranges = _ranges(atom) if atom else None
        if atom is None or ranges is None:
            return endless
        position = atom.end()
        count = _COUNT.match(body, position)
        most: int | None = 1
        if count:
            position = count.end()
            most = _most(count)
        chars = None if chars is None or most is None else chars + most
        widest = max([widest, *(code_bytes(low, high) for low, high in ranges)])
    return TextBound(chars, widest)


def _most(count: re.Match[str]) -> int | None:
    if count["mark"]:
        return 1 if count["mark"] == "?" else None
    if not count["comma"]:
        return int(count["low"])
    return int(count["high"]) if count["high"] else None


def _ranges(atom: re.Match[str]) -> list[tuple[int, int]] | None:
    """The code points of one atom as closed ranges, or None where the class is not understood."""
    if atom["char"]:
        code = ord(atom["char"][-1])
        return [(code, code)]
    inner = atom["set"][1:-1]
    negated = inner.startswith("^")
    inner = inner[1:] if negated else inner
    if "--" in inner or "~~" in inner:  # set operations of some engines
        return None
    members: list[int | None] = []  # None is an unescaped hyphen
    for member in _MEMBER.finditer(inner):
        if member["x"] or member["u"]:
            code = int(member["x"] or member["u"], 16)
            if 0xD800 <= code <= 0xDFFF:  # half of a pair, read differently by different engines
                return None
            members.append(code)
        elif member["esc"]:
            escape = member["esc"]
            if escape not in _ESCAPES and escape.isalnum():  # \w, \d, \p and the like
                return None
            members.append(_ESCAPES.get(escape, ord(escape)))
        else:
            members.append(None if member["lit"] == "-" else ord(member["lit"]))
    return _spans(members, negated)


def _spans(members: list[int | None], negated: bool) -> list[tuple[int, int]] | None:
    spans: list[tuple[int, int]] = []
    index = 0
    while index < len(members):
        low = members[index]
        low = ord("-") if low is None else low
        if index + 2 < len(members) and members[index + 1] is None:
            high = members[index + 2]
            if high is None or high < low:
                return None
            index += 3
        else:
            high = low
            index += 1
        spans.append((low, high))
    if not negated:
        return spans
    free, start = [], 0
    for low, high in sorted(spans):
        if low > start:
            free.append((start, low - 1))
        start = max(start, high + 1)
    return [*free, (start, MAX_CODE)] if start <= MAX_CODE else free
