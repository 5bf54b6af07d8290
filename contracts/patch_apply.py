"""A parsed unified diff applied to bytes, without fuzz, pure."""

from __future__ import annotations

import re

from contracts.patch import FilePatch, Hunk

_COMMON = 5  # places of one line that are looked at: a brace alone says little


class HunkError(ValueError):
    """A hunk that does not fit its file. `diff` shows expected (-) against found (+) lines."""

    def __init__(self, say: str, diff: str = "") -> None:
        super().__init__(say)
        self.diff = diff


def apply(patch: FilePatch, before: bytes | None) -> bytes | None:
    """The file after the patch; None when it is deleted. `before` is None for a file that is not there.

    A hunk fits where its header says, or at the only other place with exactly its lines. In a file with CRLF
    line ends, line ends are not compared and new lines get CRLF. Raises HunkError.
    """
    if patch.kind == "new":
        if before is not None:
            raise HunkError(f"{patch.path} is there already: change it instead of creating it")
        lines: list[bytes] = []
    elif before is None:
        raise HunkError(f"{patch.path} does not exist")
    else:
        lines = _split(before)
    crlf = is_crlf(before or b"")
    have = [_bare(line, crlf) for line in lines]
    floor, shift = 0, 0
    for number, hunk in enumerate(patch.hunks, start=1):
        at = _place(patch, number, hunk, lines, have, floor, shift, crlf)
        made = _replaced(hunk, lines, at, crlf)
        shift = at - max(hunk.start - 1, 0) + len(made) - len(hunk.old)
        lines[at : at + len(hunk.old)] = made
        have[at : at + len(hunk.old)] = [_bare(line, crlf) for line in made]
        floor = at + len(made)
    after = b"".join(lines)
    if patch.kind == "delete":
        if after and patch.hunks:
            raise HunkError(f"the patch deletes {patch.path} but leaves {len(lines)} of its lines")
        return None
    return after


def is_crlf(data: bytes) -> bool:
    """Whether most line ends are CRLF."""
    ends = data.count(b"\n")
    return ends > 0 and data.count(b"\r\n") * 2 > ends


def _split(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _bare(line: bytes, crlf: bool) -> bytes:
    line = line.removesuffix(b"\n")
    return line.removesuffix(b"\r") if crlf else line


def _place(
    patch: FilePatch,
    number: int,
    hunk: Hunk,
    lines: list[bytes],
    have: list[bytes],
    floor: int,
    shift: int,
    crlf: bool,
) -> int:
    """The 0-based line at which the hunk's old lines stand."""
    old = hunk.old
    which = f"hunk {number} of {patch.path} (line {hunk.at} of the patch)"
    if not old:
        if lines and patch.kind != "new":
            raise HunkError(f"{which} has no line of context: give at least one line of the file around it")
        return len(lines)
    wanted = [_bare(line.text, crlf) for line in old]
    named = max(hunk.start - 1, 0) + shift
    if hunk.start and named >= floor and _fits(hunk, lines, have, wanted, named):
        return named
    places = [at for at in range(floor, len(have) - len(wanted) + 1) if _fits(hunk, lines, have, wanted, at)]
    if len(places) == 1:
        return places[0]
    if places:
        shown = ", ".join(str(at + 1) for at in places[:10])
        raise HunkError(f"{which} fits at lines {shown}: give more context, so that it fits once")
    raise HunkError(f"{which} does not fit", _difference(have, wanted, named))


def _fits(hunk: Hunk, lines: list[bytes], have: list[bytes], wanted: list[bytes], at: int) -> bool:
    if at >= len(have) or have[at] != wanted[0] or have[at : at + len(wanted)] != wanted:
        return False
    # The mark "no newline at end of file" must be true of the file.
    last = lines[at + len(wanted) - 1]
    return not (hunk.old[-1].bare and last.endswith(b"\n"))


def _replaced(hunk: Hunk, lines: list[bytes], at: int, crlf: bool) -> list[bytes]:
    end = b"\r\n" if crlf else b"\n"
    out: list[bytes] = []
    for line in hunk.lines:
        if line.tag != "+":
            if line.tag == " ":
                out.append(lines[at])
            at += 1
        else:
            out.append(_bare(line.text, crlf) + (b"" if line.bare else end))
    # A line that is not the file's last one needs its line end.
    bare = len(out) - 1 if at == len(lines) else len(out)
    return [each if each.endswith(b"\n") or i == bare else each + end for i, each in enumerate(out)]


def _difference(have: list[bytes], wanted: list[bytes], named: int) -> str:
    """Expected lines against those of the best place in the file, near where the header points."""
    best, most = min(max(named, 0), max(len(have) - 1, 0)), 0
    rows: dict[bytes, list[int]] = {}
    for offset, line in enumerate(wanted):
        if line.strip():
            rows.setdefault(line, []).append(offset)
    votes: dict[int, int] = {}
    for at, line in enumerate(have):
        for offset in rows.get(line, ())[:_COMMON]:
            votes[at - offset] = votes.get(at - offset, 0) + 1
    for at, count in votes.items():
        if (count, -abs(at - named)) > (most, -abs(best - named)):
            best, most = at, count
    out: list[str] = []
    for offset, line in enumerate(wanted):
        at = best + offset
        found = have[at] if 0 <= at < len(have) else None
        if found == line:
            out.append(f"  {at + 1}|{_shown(line)}")
        else:
            out.append(f"- expected|{_shown(line)}")
            out.append(
                f"+ {at + 1}|{_shown(found)}" if found is not None else "+ (the file has no such line)"
            )
    return "\n".join(out[:24])


def _shown(line: bytes) -> str:
    return line[:240].decode("utf-8", "replace")
