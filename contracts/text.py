"""Text that is safe to show, cut exactly, and said to be cut."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(data: bytes | str) -> str:
    """Anything as text that is safe to show and to store: UTF-8 with replacement, no ANSI escape sequences,
    no control characters but newline and tab, no bidirectional overrides, no lone surrogates, CRLF as
    newline."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return _UNSAFE.sub("", _ANSI.sub("", text.replace("\r\n", "\n")))


def shown_json(value: bytes) -> str:
    """JSON text that is safe to show and no longer than it was: what `clean` takes away becomes a `?`."""
    return _UNSAFE.sub("?", value.decode("utf-8"))


def line(text: str, limit: int) -> str:
    """Any text as one clean line of at most `limit` bytes."""
    flat = " ".join(clean(text).split())
    raw = flat.encode("utf-8")
    return flat if len(raw) <= limit else raw[: max(0, limit - 3)].decode("utf-8", "ignore") + "…"


def size(text: str) -> int:
    """Bytes of the text's UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def cut(
    text: str, limit: int, *, artifact: str | None = None, first: int | None = None, head: float = 0.3
) -> str:
    """`text` in at most `limit` bytes: the first 30 % and the last 70 % of the room, whole characters, with one
    line between them that says what is missing and how to read it. Unchanged when it fits. `first` is the number
    that the text's first line has in the artifact, where that is known."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    read = f"; read artifact:{artifact}" if artifact else ""
    note = f"\n… cut {len(raw):,} of {len(raw):,} bytes{read} from {(first or 0) + raw.count(10)} …\n"
    room = limit - size(note) - 8
    if room <= 0:
        return raw[:limit].decode("utf-8", "ignore")
    ahead = int(room * head)
    front = raw[:ahead].decode("utf-8", "ignore")
    back = raw[len(raw) - (room - ahead) :].decode("utf-8", "ignore")
    missing = len(raw) - size(front) - size(back)
    if artifact and first is not None:
        read += f" from {first + front.count(chr(10))}"
    return f"{front}\n… cut {missing:,} of {len(raw):,} bytes{read} …\n{back}"


def share(sizes: Sequence[int], room: int) -> list[int]:
    """How much of `room` each of `sizes` gets: the small ones all they need, the large ones equal parts."""
    given = [0] * len(sizes)
    left = sorted(range(len(sizes)), key=lambda i: sizes[i])
    while left:
        part = room // len(left)
        first = left.pop(0)
        given[first] = min(sizes[first], part)
        room -= given[first]
    return given


NO_WORSE = "no worse than at the start"


def standing(passed: bool, why: str = "") -> str:
    """How a check stands, in a word or two: green, red, or, of a guard that was red from the start and was accepted so,
    still red and no worse."""
    if passed and why.startswith(NO_WORSE):
        return "red, no worse"
    return "green" if passed else "red"


def indented(text: str) -> str:
    """Every line moved in by one space. Data from outside is shown only so: what stands in the first column
    of a prompt was written by the controller, and a line of data can't pose as a heading."""
    return "\n".join(f" {line}" for line in text.split("\n"))
