"""Unified diffs: parsed and applied without fuzz, pure. Renames, copies, modes and binary parts are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FORM = "give a unified diff: `--- a/PATH`, `+++ b/PATH`, then hunks that begin with `@@ -12,4 +12,5 @@`"

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LOOSE_HUNK = re.compile(r"@@(?: .*)?$")
_QUIET = re.compile(r"(index [0-9a-f]|diff -|```|-- ?$|From |Only in )")
_REFUSED = (
    (
        re.compile(r"(rename|copy) (from|to) |(dis)?similarity index "),
        "renames and copies are not taken: delete the old file and create the new one",
    ),
    (re.compile(r"(old|new) mode "), "changes of a file's mode are not taken"),
    (re.compile(r"GIT binary patch|Binary files "), "binary patches are not taken"),
    (re.compile(r"\*\*\* (Begin Patch|Update File|Add File|Delete File)"), FORM),
)
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, '"': 34, "\\": 92}


_COMMON = 5  # places of one line that are looked at: a brace alone says little


class PatchError(ValueError):
    """No unified diff, or one with a part that is refused; the text says where and what to do instead."""


class HunkError(ValueError):
    """A hunk that does not fit its file. `diff` shows expected (-) against found (+) lines."""

    def __init__(self, say: str, diff: str = "") -> None:
        super().__init__(say)
        self.diff = diff


@dataclass(frozen=True)
class HunkLine:
    """`tag` is " ", "-" or "+"; `text` has no line end; `bare` means no newline at the end of the file."""

    tag: str
    text: bytes
    bare: bool = False


@dataclass(frozen=True)
class Hunk:
    """`start` is the 1-based line of the old file as the header says it; `at` the line in the patch."""

    start: int
    lines: tuple[HunkLine, ...]
    at: int

    @property
    def old(self) -> tuple[HunkLine, ...]:
        return tuple(line for line in self.lines if line.tag != "+")


@dataclass(frozen=True)
class FilePatch:
    """What a patch does to one file. `executable` only for a new one."""

    path: str
    kind: Literal["modify", "new", "delete"]
    hunks: tuple[Hunk, ...] = ()
    executable: bool = False


# ---- parsing -----------------------------------------------------------------------------------------------


def headers(text: str) -> tuple[str, ...]:
    """The paths that the patch would change. Of an invalid patch, every path that a header could mean."""
    try:
        return tuple(dict.fromkeys(file.path for file in parse(text)))
    except PatchError:
        pass
    found: dict[str, None] = {}
    for line in text.splitlines():
        if line.startswith(("--- ", "+++ ")):
            name = _name(line[4:])
            found.update({name: None, _strip(name): None})
        elif line.startswith("diff --git ") and (pair := _git_pair(line)):
            found.update(dict.fromkeys(pair))
    found.pop("/dev/null", None)
    return tuple(found)


def parse(text: str) -> tuple[FilePatch, ...]:
    """The files of a unified diff, in order. Raises PatchError."""
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    files: list[FilePatch] = []
    position = 0
    while position < len(lines):
        if _begins_file(lines, position):
            file, position = _file(lines, position)
            files.append(file)
            continue
        _refuse(lines[position], position)
        if (
            files
            and lines[position].strip()
            and not _QUIET.match(lines[position])
            and lines[position - 1] != "-- "
        ):
            raise PatchError(
                f"line {position + 1} of the patch belongs to no hunk: every line of a hunk begins with "
                "a space, + or -"
            )
        position += 1
    if not files:
        raise PatchError(f"no file header found; {FORM}")
    return tuple(files)


def _begins_file(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    return line.startswith("diff --git ") or (
        line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
    )


def _refuse(line: str, at: int) -> None:
    for pattern, say in _REFUSED:
        if pattern.match(line):
            raise PatchError(f"line {at + 1} of the patch: {say}")


def _file(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    """The file whose header begins at `at`, and the position after it."""
    begin, pair, kind, executable = at, None, None, False
    if lines[at].startswith("diff --git "):
        pair = _git_pair(lines[at])
        at += 1
        while at < len(lines) and not _begins_file(lines, at) and not lines[at].startswith("@@"):
            _refuse(lines[at], at)
            if mode := re.match(r"(new|deleted) file mode (\d+)$", lines[at]):
                kind, executable = mode[1], mode[2] == "100755"
                if mode[2] not in ("100644", "100755"):
                    raise PatchError(f"line {at + 1} of the patch: only regular files are taken")
            elif lines[at].strip() and not _QUIET.match(lines[at]):
                break
            at += 1
    if at < len(lines) and lines[at].startswith("--- ") and _begins_file(lines, at):
        old, new = _name(lines[at][4:]), _name(lines[at + 1][4:])
        at += 2
    elif pair and kind:
        old, new = ("/dev/null", pair[1]) if kind == "new" else (pair[0], "/dev/null")
    else:
        raise PatchError(f"line {begin + 1} of the patch: no `---` and `+++` lines follow; {FORM}")
    hunks: list[Hunk] = []
    while at < len(lines) and lines[at].startswith("@@"):
        hunk, at = _hunk(lines, at)
        hunks.append(hunk)
    return _made(old, new, tuple(hunks), executable, begin), at


def _made(old: str, new: str, hunks: tuple[Hunk, ...], executable: bool, at: int) -> FilePatch:
    if old != "/dev/null" != new:
        if old.startswith("a/") and new.startswith("b/"):
            old, new = old[2:], new[2:]
        if old != new:
            raise PatchError(
                f"line {at + 1} of the patch: {old!r} becomes {new!r}; renames are not taken: delete the old file "
                "and create the new one"
            )
        if not hunks:
            raise PatchError(f"line {at + 1} of the patch: no hunk for {new!r}; {FORM}")
        return FilePatch(new, "modify", hunks)
    if old == new:
        raise PatchError(f"line {at + 1} of the patch: both sides are /dev/null")
    path, kind = (_strip(new), "new") if old == "/dev/null" else (_strip(old), "delete")
    return FilePatch(path, "new" if kind == "new" else "delete", hunks, executable)


def _hunk(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    head = _HUNK.match(lines[at])
    if not head and not _LOOSE_HUNK.match(lines[at]):
        raise PatchError(f"line {at + 1} of the patch: {lines[at][:60]!r} is no hunk header; {FORM}")
    # Without numbers, or with wrong ones, the content alone decides: it must occur once, exactly.
    olds = int(head[2] or 1) if head else 0
    news = int(head[4] or 1) if head else 0
    begin = at
    found: list[HunkLine] = []
    at += 1
    while at < len(lines):
        line = lines[at]
        if line.startswith("\\") and found:
            found[-1] = HunkLine(found[-1].tag, found[-1].text, bare=True)
        elif _ends_hunk(lines, at, counted=olds > 0 or news > 0):
            break
        elif line[:1] in (" ", "+", "-", ""):
            tag = line[:1] or " "
            found.append(HunkLine(tag, line[1:].encode("utf-8", "surrogatepass")))
            olds -= tag != "+"
            news -= tag != "-"
        else:
            break
        at += 1
    if not any(line.tag != " " for line in found):
        raise PatchError(f"line {begin + 1} of the patch: the hunk changes nothing: mark lines with + or -")
    return Hunk(int(head[1]) if head else 0, tuple(found), begin + 1), at


def _ends_hunk(lines: Sequence[str], at: int, *, counted: bool) -> bool:
    """Whether a hunk ends before line `at`; `counted`: its header promises more lines."""
    line = lines[at]
    if _begins_file(lines, at) and (not counted or lines[min(at + 2, len(lines) - 1)].startswith("@@ -")):
        return True  # also where the counts are wrong: no hunk swallows the next file's header
    if counted:
        return False
    return (
        line.startswith(("@@", "diff --git ", "```"))
        or line == "-- "
        or (line == "" and _only_blank(lines, at))
    )


def _only_blank(lines: Sequence[str], at: int) -> bool:
    """Whether no hunk line follows the blank ones at `at`: then they end the hunk."""
    while at < len(lines) and lines[at] == "":
        at += 1
    return at == len(lines) or lines[at].startswith(("@@", "diff --git ", "```")) or _begins_file(lines, at)


def _name(rest: str) -> str:
    """A path of a header line: Git's quoting undone, a timestamp after a tab cut off."""
    rest = rest.rstrip("\r")
    if rest.startswith('"') and (end := re.match(r'"((?:[^"\\]|\\.)*)"', rest)):
        return _unquoted(end[1])
    return rest.split("\t", 1)[0].rstrip()


def _unquoted(text: str) -> str:
    out = bytearray()
    for part in re.finditer(r"\\([0-7]{3})|\\(.)|([^\\]+)", text):
        if part[1]:
            out.append(int(part[1], 8) & 0xFF)
        elif part[2]:
            out.append(_ESCAPES.get(part[2], ord(part[2][:1]) & 0xFF))
        else:
            out += part[3].encode("utf-8", "surrogatepass")
    return out.decode("utf-8", "replace")


def _strip(path: str) -> str:
    return path[2:] if path.startswith(("a/", "b/")) else path


def _git_pair(line: str) -> tuple[str, str] | None:
    rest = line.removeprefix("diff --git ")
    quoted = re.match(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$', rest)
    if quoted:
        return _strip(_name(quoted[1])), _strip(_name(quoted[2]))
    half = len(rest) // 2  # unquoted names with spaces: both halves are the same path
    if (
        rest[:half].startswith("a/")
        and rest[half + 1 :].startswith("b/")
        and rest[2:half] == rest[half + 3 :]
    ):
        return rest[2:half], rest[2:half]
    return None


# ---- applying ----------------------------------------------------------------------------------------------


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
