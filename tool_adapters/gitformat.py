"""What git prints, as data. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.repository import FileStat, Hit, Status
from contracts.text import clean


def text(raw: bytes) -> str:
    """A path or ref as text; bytes that are not UTF-8 survive as lone surrogates (as Python's own paths)."""
    return raw.decode("utf-8", "surrogateescape")


def raw(value: str) -> bytes:
    """The inverse of `text`."""
    return value.encode("utf-8", "surrogateescape")


def status(data: bytes) -> Status:
    """`status --porcelain=v2 -z --branch --no-renames`."""
    head = branch = None
    staged, unstaged, untracked, unmerged = [], [], [], []
    for entry in data.split(b"\0"):
        kind = entry[:2]
        if kind == b"1 ":
            fields = entry.split(b" ", 8)
            path = text(fields[8])
            if fields[1][:1] != b".":
                staged.append(path)
            if fields[1][1:] != b".":
                unstaged.append(path)
        elif kind == b"? ":
            untracked.append(text(entry[2:]))
        elif kind == b"u ":
            unmerged.append(text(entry.split(b" ", 10)[10]))
        elif entry.startswith(b"# branch.oid "):
            head = None if entry.endswith(b"(initial)") else text(entry[13:])
        elif entry.startswith(b"# branch.head "):
            branch = None if entry.endswith(b"(detached)") else text(entry[14:])
    return Status(head, branch, tuple(staged), tuple(unstaged), tuple(untracked), tuple(unmerged))


@dataclass(frozen=True)
class Logged:
    """One commit of `log --raw -z` in LOG_FORMAT. `changes` maps each path to its new mode (000000: gone)
    against the only parent; empty for a merge."""

    oid: str
    parents: tuple[str, ...]
    tags: tuple[str, ...]
    changes: Mapping[str, str]


LOG_FORMAT = "--format=tformat:%H%x00%P%x00%D%x00"


def logged(data: bytes) -> Logged:
    """The first commit of the output."""
    oid, parents, names, *rest = data.split(b"\0")
    changes, fields = {}, iter(rest)
    for field in fields:
        field = field.lstrip(b"\n")
        if field.startswith(b":"):
            changes[text(next(fields))] = text(field.split(b" ")[1])
    tags = re.findall(r"tag: refs/tags/([^,]+)(?:, |$)", text(names))
    return Logged(text(oid), tuple(text(parents).split()), tuple(sorted(tags)), changes)


@dataclass(frozen=True)
class Setting:
    """One line of the configuration: where it stands, its name (lower case but for the middle part)."""

    origin: str
    name: str
    value: str


def settings(data: bytes) -> tuple[Setting, ...]:
    """`config --list -z --show-origin`, what was given on the command line left out."""
    fields = data.split(b"\0")
    found = []
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = entry.partition(b"\n")
        if not origin.startswith(b"command line:"):
            found.append(Setting(text(origin).removeprefix("file:"), text(name), text(value)))
    return tuple(found)


def grep(data: bytes, width: int = 400) -> tuple[Hit, ...]:
    """`grep -n -z`: path NUL line NUL text."""
    hits = []
    for line in data.split(b"\n"):
        path, found, rest = line.partition(b"\0")
        number, found, shown = rest.partition(b"\0")
        if found and number.isdigit():
            hits.append(Hit(text(path), int(number), clean(shown[: 4 * width])[:width]))
    return tuple(hits)


def numstat(data: bytes) -> tuple[FileStat, ...]:
    """`diff --numstat -z --no-renames`."""
    found = []
    for entry in data.split(b"\0"):
        fields = entry.split(b"\t", 2)
        if len(fields) == 3:
            added, removed = (int(field) if field.isdigit() else None for field in fields[:2])
            found.append(FileStat(text(fields[2]), added, removed))
    return tuple(found)


def paths(data: bytes) -> tuple[str, ...]:
    """NUL-separated paths."""
    return tuple(text(each) for each in data.split(b"\0") if each)


def fed(data: bytes) -> bytes:
    """A block of data, as `fast-import` is fed with it."""
    return b"data %d\n%s\n" % (len(data), data)


def fed_file(path: str, data: bytes) -> bytes:
    """The same of a plain file."""
    return f"M 100644 inline {path}\n".encode() + fed(data)
