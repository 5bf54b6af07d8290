"""Pointers to where something comes from: their forms, and what each names. Pure; `explain --source` looks it up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["artifact", "commit", "file", "step", "check", "issue", "url"]

FORMS = "artifact:ID, commit:SHA, PATH@SHA:LINE (or :LINE-LINE), step:N, check:NAME, issue:ID or url:ADDRESS"
MAX_POINTER = 200
_RANGE = r"(?::(?P<first>[1-9][0-9]{0,8})(?:-(?P<last>[1-9][0-9]{0,8}))?)?"
_FORMS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("artifact", re.compile(rf"artifact:(?P<name>[0-9a-f]{{4,16}}){_RANGE}")),
    ("commit", re.compile(r"commit:(?P<name>[0-9a-f]{7,64})")),
    ("step", re.compile(r"step:(?:(?P<run>[a-z0-9-]{1,40}@[0-9a-f]{4,64}#[0-9]{1,6})/)?(?P<name>[0-9]{1,6})")),
    ("check", re.compile(r"check:(?P<name>[A-Za-z0-9_.-]{1,64})")),
    ("issue", re.compile(r"issue:(?P<name>\S{1,190})")),
    ("url", re.compile(r"(?:url:)?(?P<name>https?://\S{1,190})")),
    ("file", re.compile(rf"(?P<name>[^\s:@][^\s:]{{0,180}})@(?P<commit>[0-9a-f]{{7,64}}){_RANGE}")),
)  # fmt: skip


@dataclass(frozen=True)
class Pointer:
    """`name` is an id, commit, path, step, check or address; `commit` that of a file, `run` that of a step of another
    run. Lines count from 1, both ends included; None: all of it."""

    kind: Kind
    name: str
    commit: str = ""
    run: str = ""
    first: int | None = None
    last: int | None = None


def pointer_of(text: str) -> Pointer | None:
    """What `text` points at; None when it has none of the forms."""
    if len(text) > MAX_POINTER:
        return None
    for kind, form in _FORMS:
        if found := form.fullmatch(text):
            said = found.groupdict()
            first = int(said["first"]) if said.get("first") else None
            last = int(said["last"]) if said.get("last") else first
            return Pointer(kind, said["name"], said.get("commit") or "", said.get("run") or "", first, last)
    return None


def misformed(text: str) -> str:
    """Why `text` is no pointer, in words for whoever wrote it; empty when it is one."""
    return "" if pointer_of(text) else f"{text[:60]!r} is no pointer: write {FORMS}"
