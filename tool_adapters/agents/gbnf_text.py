"""Strings within a grammar for constrained decoding: bounded, in JSON's spelling, with the regular expressions that
schemas use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from re import _constants as sre  # type: ignore[attr-defined]  # no public module tells a pattern's structure
from re import _parser  # type: ignore[attr-defined]
from typing import Any


class CannotBound(ValueError):
    """What can't be said in a grammar."""


@dataclass(frozen=True)
class Chars:
    """A set of characters, as sorted ranges of code points."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Text:
    """Strings: a sequence of parts, each a set of characters, or a choice of Texts, from `least` to `most` times."""

    parts: tuple[tuple[Chars | tuple[Text, ...], int, int], ...]

    @property
    def most(self) -> int:
        """The most characters."""
        return sum(
            times * (1 if isinstance(part, Chars) else max(one.most for one in part))
            for part, _, times in self.parts
        )

    @property
    def least(self) -> int:
        """The fewest characters."""
        return sum(
            times * (1 if isinstance(part, Chars) else min(one.least for one in part))
            for part, times, _ in self.parts
        )

    def spelled(self, rule: Callable[[str], str]) -> str:
        """As a grammar's expression between the quotes of a JSON string; `rule` gives a body a name."""
        return " ".join(self._part(*part, rule) for part in self.parts) or '""'

    @staticmethod
    def _part(part: Chars | tuple[Text, ...], least: int, most: int, rule: Callable[[str], str]) -> str:
        if isinstance(part, Chars):
            one = rule(_char(part))
        else:
            one = rule(" | ".join(way.spelled(rule) for way in part))
        return one if least == most == 1 else f"{one}{{{least},{most}}}"


_ALL = (0x20, 0x10FFFF)
# What no text of ours holds, and what JSON or an engine would spell in a way of its own.
_NEVER = (
    (0, 0x8),
    (0xB, 0xC),
    (0xE, 0x1F),
    (0x7F, 0x9F),
    (0x2028, 0x2029),
    (0xD800, 0xDFFF),
    (0xFFFE, 0xFFFF),
)
_ESCAPED = {0x9: "t", 0xA: "n", 0xD: "r", 0x22: '"', 0x5C: "\\"}
_TEXT = Chars((((0x9, 0xA)), (0xD, 0xD), _ALL))


def any_text(least: int, most: int) -> Text:
    """Strings of any characters but control characters other than tab and line ends."""
    return Text(((_TEXT, least, most),))


def of_pattern(pattern: str, least: int, most: int) -> Text:
    """Strings that match a regular expression (which must be anchored) and have so many characters; what repeats
    without an end is bounded. Raises CannotBound for what a grammar can't say."""
    try:
        parsed = list(_parser.parse(pattern))
    except re.error as error:
        raise CannotBound(f"pattern {pattern!r}: {error}") from None
    if not parsed or not _anchor(parsed[0], sre.AT_BEGINNING) or not _anchor(parsed[-1], sre.AT_END):
        raise CannotBound(f"pattern {pattern!r} is not anchored by ^ and $")
    inner = parsed[1:-1]
    if len(inner) == 1 and inner[0][0] is sre.MAX_REPEAT:
        low, high, body = inner[0][1]
        part = _parts(body, most)
        if len(part) == 1 and isinstance(part[0][0], Chars) and part[0][1:] == (1, 1):
            bounds = max(least, int(low)), min(most, int(high) if high is not sre.MAXREPEAT else most)
            if bounds[0] > bounds[1]:
                raise CannotBound(f"pattern {pattern!r} and the length do not go together")
            return Text(((part[0][0], *bounds),))
    cap = most
    while cap:
        text = Text(_parts(inner, cap))
        if text.most <= most:
            if text.least < least:
                raise CannotBound(f"pattern {pattern!r} with minLength {least}")
            return text
        cap //= 2
    raise CannotBound(f"pattern {pattern!r} within {most} characters")


def quoted(text: str) -> str:
    """A literal of the grammar."""
    return '"' + "".join(f"\\{char}" if char in '"\\' else char for char in text) + '"'


def _anchor(item: Any, where: Any) -> bool:
    return bool(item[0] is sre.AT and item[1] is where)


def _parts(items: Iterable[Any], cap: int) -> tuple[tuple[Chars | tuple[Text, ...], int, int], ...]:
    """A parsed regular expression; what repeats without an end repeats at most `cap` times."""
    parts: list[tuple[Chars | tuple[Text, ...], int, int]] = []
    for kind, value in items:
        if kind is sre.LITERAL:
            parts.append((Chars(((value, value),)), 1, 1))
        elif kind is sre.IN:
            parts.append((_set(value), 1, 1))
        elif kind is sre.ANY:
            parts.append((Chars((_ALL,)), 1, 1))
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, body = value
            most = max(cap, int(low)) if high is sre.MAXREPEAT else int(high)
            inner = _parts(body, cap)
            if len(inner) == 1 and inner[0][1:] == (1, 1):
                parts.append((inner[0][0], int(low), most))
            else:
                parts.append(((Text(inner),), int(low), most))
        elif kind is sre.SUBPATTERN:
            parts.append(((Text(_parts(value[3], cap)),), 1, 1))
        elif kind is sre.BRANCH:
            parts.append((tuple(Text(_parts(way, cap)) for way in value[1]), 1, 1))
        else:
            raise CannotBound(f"{str(kind).lower()} in a pattern")
    return tuple(parts)


_CLASSES = {
    sre.CATEGORY_DIGIT: ((0x30, 0x39),),
    sre.CATEGORY_WORD: ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    sre.CATEGORY_SPACE: ((0x9, 0xA), (0xD, 0xD), (0x20, 0x20)),
}


def _set(items: Sequence[Any]) -> Chars:
    ranges: list[tuple[int, int]] = []
    negated = False
    for kind, value in items:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            ranges.append((value, value))
        elif kind is sre.RANGE:
            ranges.append(value)
        elif kind is sre.CATEGORY and value in _CLASSES:
            ranges += _CLASSES[value]
        else:
            raise CannotBound(f"{str(value).lower()} in a pattern")
    return Chars(tuple(_without([(0, _ALL[1])], ranges) if negated else sorted(ranges)))


def _without(ranges: Iterable[tuple[int, int]], holes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    left = list(ranges)
    for low, high in holes:
        split = [((a, min(b, low - 1)), (max(a, high + 1), b)) for a, b in left]
        left = [each for pair in split for each in pair if each[0] <= each[1]]
    return sorted(left)


def _char(chars: Chars) -> str:
    """One character of a set in JSON's spelling."""
    bare = _without(chars.ranges, [*_NEVER, *((code, code) for code in _ESCAPED)])
    escapes = [
        spelled
        for code, spelled in _ESCAPED.items()
        if any(low <= code <= high for low, high in chars.ranges)
    ]
    ways = []
    if bare:
        spans = (_code(low) if low == high else f"{_code(low)}-{_code(high)}" for low, high in bare)
        ways.append("[" + "".join(spans) + "]")
    if escapes:
        ways.append('"\\\\" [' + "".join("\\" + each if each in '"\\' else each for each in escapes) + "]")
    if not ways:
        raise CannotBound("no character of a set may stand in a text")
    return " | ".join(ways)


def _code(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
