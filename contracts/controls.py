"""Control characters of files, shown by visible stand-ins and put back from them, so that nothing of a file vanishes
between what is read and what is written. Pure. For files only: of what a command prints, `contracts.text.clean` takes
them away."""

from __future__ import annotations

import re
import unicodedata

_C0 = {chr(code): chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"} | {"\x7f": "␡"}
# Beside what `clean` takes away: marks that nobody sees. Joiners stay: scripts and emoji are written with them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
    "|\r(?!\n)"
)
# What stays in files, and may hide something in a text that a person says yes to: joiners, fillers, tags.
_HIDING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u2061-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_SHOWN = re.compile("[\u2400-\u2408\u240b-\u241f\u2421]|⟨U\\+([0-9A-F]{4})⟩")
_BACK = {shown: char for char, shown in _C0.items()}
_NAMED = 4
_SEEN = 240  # characters of a line that a correction shows
_HEADS = ("+++", "---")


def visible(text: str) -> str:
    """`text` with a stand-in for every control character but tab and line ends: `␛` for ESC, `⟨U+202E⟩` for what
    has no picture. At most 12 bytes stand for one character."""
    return _UNSEEN.sub(lambda found: _stand_in(found[0]), text)


def exact(text: str) -> str:
    """As `visible`, with a stand-in also for what joins or fills unseen: two texts that differ never look alike."""
    return _HIDING.sub(lambda found: _stand_in(found[0]), visible(text))


def named(path: str) -> str:
    """A path in one line."""
    return visible(path).replace("\t", "␉").replace("\n", "␊").replace("\r", "␍")


def shown_diff(data: bytes) -> str:
    """A unified diff to be read. Where the lines in it have both kinds of ends, CRLF is shown as `␍`: no two lines
    that differ look alike."""
    text = data.decode("utf-8", "replace")
    ends = {
        line.endswith("\r") for line in text.split("\n") if line[:1] in ("+", "-") and line[:3] not in _HEADS
    }
    return visible(text.replace("\r\n", "␍\n") if len(ends) == 2 else text).replace("\r\n", "\n")


def restored(text: str, like: bytes) -> str:
    """`text` with the control characters back that `like`, the file it is meant for, holds; a stand-in that stands
    in the file itself stays what it is."""
    wanted = {found[0]: _char(found) for found in _SHOWN.finditer(text)}
    for shown, char in wanted.items():
        if char and char.encode("utf-8", "surrogatepass") in like and shown.encode() not in like:
            text = text.replace(shown, char)
    return text


def either(text: str) -> str | None:
    """A regular expression for `text` in which each stand-in also matches what it stands for; None without any."""
    parts, at = [], 0
    for found in _SHOWN.finditer(text):
        if char := _char(found):
            parts += [re.escape(text[at : found.start()]), f"(?:{re.escape(found[0])}|{re.escape(char)})"]
            at = found.end()
    return "".join([*parts, re.escape(text[at:])]) if parts else None


def marks(text: str) -> str:
    """The stand-ins that `visible` puts into `text`: the first 4, then an ellipsis; empty when there are none."""
    kinds = list(dict.fromkeys(_UNSEEN.findall(text)))
    return " ".join([*map(_stand_in, kinds[:_NAMED]), *(["…"] if len(kinds) > _NAMED else [])])


def lost(before: bytes, after: bytes) -> str:
    """The stand-ins of the control characters that a file held and holds no more."""
    was, now = before.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    kinds = dict.fromkeys(_UNSEEN.findall(was))
    return marks("".join(kind + " " for kind in kinds if was.count(kind) > now.count(kind)))


def unlike(wanted: str, found: str) -> str:
    """Where two lines differ first, when that can't be seen: blanks, look-alikes, the end. Else empty."""
    at = next((at for at, (one, other) in enumerate(zip(wanted, found, strict=False)) if one != other), -1)
    at = at if at >= 0 else min(len(wanted), len(found))
    one, other = wanted[at : at + 1], found[at : at + 1]
    if wanted == found or (at < _SEEN and all("!" <= char <= "~" for char in (one or " ") + (other or " "))):
        return ""
    return f"(character {at + 1}: you gave {_told(one)}, the file has {_told(other)})"


def literal(before: bytes, after: bytes) -> str:
    """The stand-ins that a file holds as such and did not hold before."""
    kinds = dict.fromkeys(
        found[0] for found in _SHOWN.finditer(after.decode("utf-8", "replace")) if _char(found)
    )
    return " ".join([kind for kind in kinds if kind.encode() not in before][:_NAMED])


def _told(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, visible(char))}" if char else "the line's end"


def _stand_in(char: str) -> str:
    return _C0.get(char) or f"⟨U+{ord(char):04X}⟩"


def _char(shown: re.Match[str]) -> str:
    """What a stand-in stands for; empty when it is none of ours."""
    if shown[1] is None:
        return _BACK[shown[0]]
    char = chr(int(shown[1], 16))
    return char if char not in _C0 and _UNSEEN.fullmatch(char) else ""
