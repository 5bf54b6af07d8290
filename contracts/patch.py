"""Unified diffs as data: parsed, pure. Renames, copies, modes and binary parts are refused."""

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


class PatchError(ValueError):
    """No unified diff, or one with a part that is refused; the text says where and what to do instead."""


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
