"""A decision record in Markdown: its title and its status, in the forms that are usual. Pure.

Status is a line `Status: …` (also in a list, in bold, or in YAML front matter), or what stands first below a heading
`Status`. One that names what superseded it is superseded, whatever else it says.
"""

from __future__ import annotations

import re

OVER = ("superseded", "rejected", "deprecated")  # no longer, or never, in force
UNSAID = "no status"
_FRONT = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$")
_TITLE = re.compile(r"^(?:ADR[- ]?)?\d+[.:)]?[ \t]+(?:[-–—:][ \t]*)?", re.IGNORECASE)
_LINE = re.compile(
    r"^[ \t]{0,3}(?:[-*+][ \t]+)?[*_]{0,2}status[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*(.+)$", re.IGNORECASE
)
_KEY = re.compile(r"^(title|status)[ \t]*:[ \t]*(.*)$", re.IGNORECASE)
_OVER = re.compile(r"\bsuper[sc]eded\b(?:[ \t]+by\b)?", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z -]*")


def described(text: str, name: str) -> tuple[str, str]:
    """(title, status) of a record; `name` stands for a title that is not there. The status is in lower case, its first
    words where it says more; `no status` where there is none."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(text)
    keys = {}
    for row in front[1].split("\n") if front else ():
        if found := _KEY.match(row):
            keys[found[1].lower()] = found[2].split(" #")[0].strip("\"' \t")
    rows = (text[front.end() :] if front else text).split("\n")
    title = keys.get("title") or next((found[1] for row in rows if (found := _HEADING.match(row))), name)
    said = keys.get("status") or _said(rows)
    return _TITLE.sub("", title).strip() or name, _status(said)


def _said(rows: list[str]) -> str:
    """What a record says of its status."""
    below: list[str] = []
    inside = False
    for row in rows:
        heading = _HEADING.match(row)
        if heading:
            if below:
                break
            inside = heading[1].strip("*_: ").lower() == "status"
        elif inside and row.strip():
            below.append(row.strip())
        elif not inside and (found := _LINE.match(row)):
            return found[1]
    return " ".join(below)


def _status(said: str) -> str:
    if _OVER.search(said):
        return OVER[0]
    word = _WORD.search(said)
    return " ".join(word[0].lower().split()[:3]) if word else UNSAID
