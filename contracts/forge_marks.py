"""The mark that every text of ours carries on a forge: a comment that a page does not show. By its key a deed is found
again whose acknowledgement was lost. What an agent writes can't hold one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from contracts.base import digest

KEEP = 12  # keys that a text which is written several times holds
SHORT = 32  # hex digits of a key
_MARK = re.compile(r"\n*<!-- skill-state run=([a-z0-9-]{1,40}@[0-9a-f]{1,12}#\d+) keys=([0-9a-f,]+) -->")
_RUN = re.compile(r"([a-z0-9-]{1,40}@)([0-9a-f]+)(#\d+)")
_LIKE = re.compile(r"<!-+(?=\s*skill-state)", re.IGNORECASE)


def marked(text: str, run: str, key: str, before: Iterable[str] = ()) -> str:
    """A text of an agent or of ours with its mark; `before` are the keys that it held already."""
    keys = [*(each for each in before if each != key[:SHORT]), key[:SHORT]][-KEEP:]
    return f"{plain(text).rstrip()}\n\n<!-- skill-state run={short(run)} keys={','.join(keys)} -->"


def short(run: str) -> str:
    """A run as a mark names it: its base by 12 digits."""
    found = _RUN.fullmatch(run)
    return f"{found[1]}{found[2][:12]}{found[3]}" if found else run


def plain(text: str) -> str:
    """A text that holds no mark, and nothing that could be read as one."""
    return _LIKE.sub("<!-", text.replace("\r\n", "\n"))


def unmarked(text: str) -> str:
    """The text without the marks, as it was handed in."""
    return _MARK.sub("", text.replace("\r\n", "\n")).rstrip()


def keys(text: str) -> tuple[str, ...]:
    """The keys in the marks of a text."""
    return tuple(key for found in _MARK.finditer(text) for key in found[2].split(","))


def run_of(text: str) -> str:
    """The run in the last mark of a text; empty where it has none."""
    found = list(_MARK.finditer(text))
    return found[-1][1] if found else ""


def ours(text: str) -> bool:
    """Whether a text carries a mark: the controller wrote it."""
    return _MARK.search(text) is not None


def body_digest(text: str) -> str:
    """What a text is known by, whatever its marks and line ends."""
    return digest(unmarked(text))[:SHORT]
