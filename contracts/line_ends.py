"""Line ends of files: which they are, texts looked for without regard to them, and each line keeping its own. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

CONVERT = "to convert it, delete it and write it anew, in one edit_files"
_LISTED = 5
_ENDS = re.compile(rb"\r?\n")


def is_crlf(data: bytes) -> bool:
    """Whether most line ends are CRLF."""
    ends = data.count(b"\n")
    return ends > 0 and data.count(b"\r\n") * 2 > ends


def said(data: bytes) -> str:
    """What a reader can't see of the line ends: empty where all are LF."""
    dos, ends = data.count(b"\r\n"), data.count(b"\n")
    if not dos:
        return ""
    if dos == ends:
        return "CRLF line ends"
    crlf = is_crlf(data)
    rows = data.split(b"\n")[:-1]
    odd = [number for number, row in enumerate(rows, start=1) if row.endswith(b"\r") != crlf]
    most, few = ("CRLF", "LF") if crlf else ("LF", "CRLF")
    more = " …" if len(odd) > _LISTED else ""
    return f"mixed line ends: {most}, but {few} at line{'s' * (len(odd) > 1)} " + (
        ", ".join(map(str, odd[:_LISTED])) + more
    )


def with_crlf(data: bytes) -> bytes:
    """Every line end as CRLF."""
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def like(data: bytes, target: bytes | None) -> bytes:
    """`data` with the line ends that most lines of `target` have; unchanged where it has none."""
    if not target or b"\n" not in target:
        return data
    return with_crlf(data) if is_crlf(target) else data.replace(b"\r\n", b"\n")


def replaced(data: bytes, old: bytes, new: bytes) -> tuple[bytes, list[int]]:
    """`data` with `new` for every place of `old`, and the numbers of the lines at which they begin. Line ends are
    not compared; in a file with CRLF the lines of `new` get the ends of those they replace."""
    dos = b"\r\n" in data
    if not dos and b"\r\n" in old:
        old, new = old.replace(b"\r\n", b"\n"), new.replace(b"\r\n", b"\n")
    pattern = rb"\r?\n".join(map(re.escape, _ENDS.split(old))) if dos else re.escape(old)
    parts: list[bytes] = []
    lines: list[int] = []
    seen, line = 0, 1
    for found in re.finditer(pattern, data):
        start, end = found.span()
        line += data.count(b"\n", seen, start)
        lines.append(line)
        parts += [data[seen:start], fitted(found[0], new, _end_at(data, end)) if dos else new]
        line += data.count(b"\n", start, end)
        seen = end
    return b"".join([*parts, data[seen:]]), lines


def fitted(was: bytes, new: bytes, end: bytes | None = None) -> bytes:
    """`new` with the line ends of `was`: equal lines at its begin and end keep theirs, those between take the ones
    of the lines they replace, more lines the last of them (`end`, where `was` has none; absent: what most have). A
    text with CRLF only says itself what it wants."""
    if b"\r\n" in new and new.count(b"\r\n") == new.count(b"\n"):
        return new
    ends = _ENDS.findall(was)
    usual = end or (b"\r\n" if is_crlf(was) else b"\n")
    have, want = _ENDS.split(was), _ENDS.split(new)
    out: list[bytes] = []
    for number, at in enumerate(_aligned(have, want)):
        out.append(want[number])
        if number < len(want) - 1:
            out.append(ends[at] if 0 <= at < len(ends) else ends[-1] if ends and end else usual)
    return b"".join(out)


def _aligned(have: Sequence[bytes], want: Sequence[bytes]) -> list[int]:
    """For each line of `want` the line of `have` whose place it takes, -1 for a new one."""
    most = min(len(have), len(want))
    head = next((at for at in range(most) if have[at] != want[at]), most)
    tail = next((at for at in range(most - head) if have[-1 - at] != want[-1 - at]), most - head)
    middle = len(want) - head - tail
    spare = len(have) - head - tail
    return [
        *range(head),
        *(head + at if at < spare else -1 for at in range(middle)),
        *range(len(have) - tail, len(have)),
    ]


def _end_at(data: bytes, at: int) -> bytes:
    """The end of the line in which `at` lies; of the last line what most others have."""
    found = _ENDS.search(data, at)
    if found:
        return found[0]
    return b"\r\n" if is_crlf(data) else b"\n"
