"""A parsed unified diff applied to bytes, without fuzz, pure."""

from __future__ import annotations

import re
from dataclasses import replace

from contracts.controls import restored, unlike, visible
from contracts.line_ends import is_crlf
from contracts.patch import FilePatch, Hunk, HunkLine

_COMMON = 5  # places of one line that are looked at: a brace alone says little


class HunkError(ValueError):
    """A hunk that does not fit its file. `diff` shows expected (-) against found (+) lines; `hidden`: a line of the
    hunk is one that was shown redacted."""

    def __init__(self, say: str, diff: str = "", *, hidden: bool = False) -> None:
        super().__init__(say)
        self.diff, self.hidden = diff, hidden


def apply(patch: FilePatch, before: bytes | None, safe: bytes | None = None) -> bytes | None:
    """The file after the patch; None when it is deleted. `before` is None for a file that is not there, `safe` the
    same lines as they may be shown.

    A hunk fits where its header says, or at the only other place with exactly its lines. In a file with CRLF
    line ends, line ends are not compared; new lines get those of the lines around them. Raises HunkError.
    """
    if patch.kind == "new":
        if before is not None:
            raise HunkError(f"{patch.path} is there already: change it instead of creating it")
        lines: list[bytes] = []
    elif before is None:
        raise HunkError(f"{patch.path} does not exist")
    else:
        lines = _split(before)
    crlf = b"\r\n" in (before or b"")
    usual = b"\r\n" if is_crlf(before or b"") else b"\n"
    seen = _split(before if safe is None else safe) if before else []
    have = [_bare(line, crlf) for line in lines]
    floor, shift = 0, 0
    for number, meant in enumerate(patch.hunks, start=1):
        hunk = _restored(meant, before or b"")
        at = _place(patch, number, hunk, (lines, have, seen), floor, shift, crlf)
        made = _replaced(hunk, lines, at, usual)
        shift = at - max(hunk.start - 1, 0) + len(made) - len(hunk.old)
        lines[at : at + len(hunk.old)] = made
        have[at : at + len(hunk.old)] = [_bare(line, crlf) for line in made]
        seen[at : at + len(hunk.old)] = made
        floor = at + len(made)
    after = b"".join(lines)
    if patch.kind == "delete":
        if after and patch.hunks:
            raise HunkError(f"the patch deletes {patch.path} but leaves {len(lines)} of its lines")
        return None
    return after


def _restored(hunk: Hunk, before: bytes) -> Hunk:
    """The hunk with the file's own control characters where their stand-ins were given."""
    return replace(hunk, lines=tuple(replace(line, text=_back(line.text, before)) for line in hunk.lines))


def _back(text: bytes, before: bytes) -> bytes:
    return restored(text.decode("utf-8", "surrogatepass"), before).encode("utf-8", "surrogatepass")


def _split(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _bare(line: bytes, crlf: bool) -> bytes:
    line = line.removesuffix(b"\n")
    return line.removesuffix(b"\r") if crlf else line


def _place(
    patch: FilePatch,
    number: int,
    hunk: Hunk,
    rows: tuple[list[bytes], list[bytes], list[bytes]],
    floor: int,
    shift: int,
    crlf: bool,
) -> int:
    """The 0-based line at which the hunk's old lines stand; `rows` are the file's lines, without their ends, and as
    they may be shown."""
    lines, have, seen = rows
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
    diff, hidden = _difference(have, [_bare(line, True) for line in seen], wanted, named)
    if hidden:
        say = (
            f"line {hidden} of the file holds something redacted, which can't be matched: leave that line out"
        )
        raise HunkError(f"{which} does not fit: {say}", diff, hidden=True)
    raise HunkError(f"{which} does not fit", diff)


def _fits(hunk: Hunk, lines: list[bytes], have: list[bytes], wanted: list[bytes], at: int) -> bool:
    if at >= len(have) or have[at] != wanted[0] or have[at : at + len(wanted)] != wanted:
        return False
    # The mark "no newline at end of file" must be true of the file.
    last = lines[at + len(wanted) - 1]
    return not (hunk.old[-1].bare and last.endswith(b"\n"))


def _replaced(hunk: Hunk, lines: list[bytes], at: int, usual: bytes) -> list[bytes]:
    """New lines get the ends of the lines that they take the place of, further ones that of the line before."""
    out: list[bytes] = []
    taken: list[bytes] = []
    end = _end(lines[at - 1], usual) if 0 < at <= len(lines) else usual
    for line in hunk.lines:
        if line.tag != "+":
            end = _end(lines[at], usual)
            if line.tag == " ":
                out.append(lines[at])
                taken = []
            else:
                taken.append(end)
            at += 1
        else:
            own = b"\r\n" if line.text.endswith(b"\r") and lines else taken.pop(0) if taken else end
            out.append(_added(line, own))
    # A line that is not the file's last one needs its line end.
    bare = len(out) - 1 if at == len(lines) else len(out)
    return [each if each.endswith(b"\n") or i == bare else each + end for i, each in enumerate(out)]


def _end(line: bytes, usual: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else usual


def _added(line: HunkLine, end: bytes) -> bytes:
    if line.bare:
        return line.text
    return (line.text.removesuffix(b"\r") if end == b"\r\n" else line.text) + end


def _difference(have: list[bytes], seen: list[bytes], wanted: list[bytes], named: int) -> tuple[str, int]:
    """Expected lines against those of the best place in the file, near where the header points, as they may be
    shown; and the first of those lines that is not shown as it is (0: none)."""
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
    hidden = 0
    for offset, line in enumerate(wanted):
        at = best + offset
        found = have[at] if 0 <= at < len(have) else None
        safe = seen[at] if 0 <= at < len(seen) else found
        if found == line:
            out.append(f"  {at + 1}|{_shown(line)}")
            continue
        out.append(f"- expected|{_shown(line)}")
        out.append(
            f"+ {at + 1}|{_shown(safe or b'')}" if found is not None else "+ (the file has no such line)"
        )
        if found is not None and safe != found.removesuffix(b"\r"):
            hidden = hidden or at + 1
        elif found is not None and (why := unlike(_text(line), _text(found))):
            out.append(f"  {why}")
    return "\n".join(out[:24]), hidden


def _shown(line: bytes) -> str:
    return visible(_text(line[:240]))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")
