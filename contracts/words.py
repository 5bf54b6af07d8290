"""A value of the state in few words, as the layout `compact` shows it: `tz=done win=2` for `{"tz":"done","win":2}`."""

from __future__ import annotations

import re
from typing import Any

import orjson

from contracts.text import shown_json

# What can't be taken for anything but a text: no number, none of JSON's words, nothing that needs quotes.
_WORD = re.compile(r"(?!(?:true|false|null)\b)[A-Za-z_][\w./@+-]*", re.ASCII)


def whole(value: Any) -> str:
    """One line of JSON."""
    return shown_json(orjson.dumps(value))


def worded(value: Any) -> str:
    """One line. An object whose keys are plain words, and whose values are plain words, numbers, true or false, as
    `key=value` with spaces between; everything else as JSON, and so is a text that could be taken for a number."""
    if isinstance(value, dict) and value:
        pairs = [_pair(key, each) for key, each in value.items()]
        if None not in pairs:
            return " ".join(pair for pair in pairs if pair is not None)
    return whole(value)


def _pair(key: str, value: Any) -> str | None:
    if not _WORD.fullmatch(key):
        return None
    if isinstance(value, str):
        return f"{key}={value}" if _WORD.fullmatch(value) else None
    return f"{key}={orjson.dumps(value).decode()}" if isinstance(value, bool | int | float) else None


def unworded(text: str) -> Any:
    """The value that a line of `worded` shows. Raises ValueError for a text that it never makes."""
    found = [pair.partition("=") for pair in text.split(" ")]
    if all(mark and _WORD.fullmatch(key) for key, mark, _ in found):
        return {key: value if _WORD.fullmatch(value) else orjson.loads(value) for key, _, value in found}
    return orjson.loads(text)
