"""The sections of a prompt: how their headings are written, and how a stored prompt is taken apart again. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from contracts.text import size

# Only a heading of ours begins in the first column: what comes from outside is moved in by one space.
_HEADING = re.compile(r"^=== ([A-Z][A-Z ]*) ===$", re.MULTILINE)
# A line of a skill may look like the short form (`[tool]`), so that is one of our names.
_SHORT = re.compile(
    r"^\[(skill|intent|actions|state|authorities|views|notes from the user|correction|observation|budget)\]$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Section:
    """`name` in lower case, `text` with its heading; `bytes` as UTF-8."""

    name: str
    text: str

    @property
    def bytes(self) -> int:
        return size(self.text)


def section(name: str, text: str, short: bool = False) -> str:
    """A section as it stands in a prompt, `short` in the layout `compact`; an empty one prints nothing."""
    if not text:
        return ""
    return f"[{name}]\n{text}\n" if short else f"=== {name.upper()} ===\n{text}\n\n"


def heading(line: str) -> str | None:
    """The name of the section whose heading this line is, in either form; None where it is none."""
    found = _HEADING.fullmatch(line) or _SHORT.fullmatch(line)
    return found[1].lower() if found else None


def sections(prompt: str) -> Iterator[Section]:
    """The sections of a whole prompt, in order; together they are the prompt. What stands before the first heading
    is called `preface`. The first heading says in which form all are written."""
    first = [match for form in (_HEADING, _SHORT) if (match := form.search(prompt))]
    found = list(min(first, key=re.Match.start).re.finditer(prompt)) if first else []
    borders = [*(match.start() for match in found), len(prompt)]
    if preface := prompt[: borders[0]]:
        yield Section("preface", preface)
    for heading, end in zip(found, borders[1:], strict=True):
        yield Section(heading[1].lower(), prompt[heading.start() : end])
