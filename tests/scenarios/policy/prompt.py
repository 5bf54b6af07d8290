"""What a prompt says, as data: sections, state, worklist, and the lines of files that views and observation show."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SECTION = re.compile(r"^=== ([A-Z]+) ===$", re.MULTILINE)
_WORD = re.compile(r"(?!(?:true|false)$)[A-Za-z_].*")
_SHORT = re.compile(r"^\[([a-z]+)\]$", re.MULTILINE)  # the layout `compact`
_ITEM = re.compile(r"^ (\S+?):(\d+):(.*)$")
_RANGE = re.compile(r"(?:^|[ :])(\S+) lines ([\d,]+)–([\d,]+) of ([\d,]+)")
_SEARCH = re.compile(r"search (['\"])(.*)\1: ([\d,]+) (?:hits?|lines?) in ")


@dataclass(frozen=True)
class Item:
    """A line of a worklist: where, and what it says stands there."""

    path: str
    line: int
    text: str


@dataclass
class File:
    """The lines of a file that can be seen, by number; `total` is how many it has, 0 when that is unknown."""

    rows: dict[int, str] = field(default_factory=dict)
    total: int = 0

    def sees(self, first: int, last: int) -> bool:
        """Whether every line of the range is there to see, as far as the file has it."""
        end = min(last, self.total) if self.total else last
        return all(number in self.rows for number in range(max(1, first), end + 1))


@dataclass
class Found:
    """The result of a search: the lines in all, and the hits that are shown."""

    count: int
    hits: list[Item] = field(default_factory=list)


@dataclass(frozen=True)
class Seen:
    """A prompt. `left` is the worklist's count, None without a worklist; `items` its lines before any cut."""

    sections: dict[str, str]
    state: dict[str, Any]
    left: int | None
    items: tuple[Item, ...]
    files: dict[str, File]
    found: dict[str, Found]

    @property
    def correction(self) -> str:
        return self.sections.get("CORRECTION", "")

    def file(self, path: str) -> File:
        """What can be seen of the file: nothing, when it is not shown."""
        return self.files.get(path, File())


def parse(prompt: str) -> Seen:
    """Reads a prompt as the controller renders it."""
    parts = (_SHORT if prompt.startswith("[") else _SECTION).split(prompt)
    sections = {name.upper(): text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    left, items = _worklist(sections.get("AUTHORITIES", ""))
    files = shown(sections.get("VIEWS", ""))
    found: dict[str, Found] = {}
    for title, lines in _blocks(sections.get("OBSERVATION", "")):
        _take(title, lines, files, found)
    return Seen(sections, _state(sections.get("STATE", "")), left, items, files, found)


def shown(text: str) -> dict[str, File]:
    """The files of which a section shows ranges: VIEWS, as views do."""
    files: dict[str, File] = {}
    for title, lines in _blocks(text):
        _take(title, lines, files, {})
    return files


def _state(text: str) -> dict[str, Any]:
    state: dict[str, Any] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(": ")
        if colon:
            state[name] = _value(value)
    return state


def _value(text: str) -> Any:
    """JSON, or an object in few words as the layout `compact` has it: `tz=done win=2`."""
    if text[0] in '{["' or "=" not in text:
        return json.loads(text)
    pairs = [pair.partition("=") for pair in text.split(" ")]
    return {key: value if _WORD.fullmatch(value) else json.loads(value) for key, _, value in pairs}


def _worklist(text: str) -> tuple[int | None, tuple[Item, ...]]:
    lines = text.splitlines()
    for at, line in enumerate(lines):
        head = re.match(r"^[\w-]+: ([\d,]+) left\b", line)
        if not head:
            continue
        items: list[Item] = []
        for row in lines[at + 1 :]:
            item = _ITEM.match(row)
            if not item:
                break  # the next authority, or the place where the list was cut
            items.append(Item(item[1], int(item[2]), item[3]))
        return _number(head[1]), tuple(items)
    return None, ()


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("--- "):
            blocks.append((line[4:], []))
        elif blocks and line.startswith(" "):
            blocks[-1][1].append(line[1:])
    return blocks


def _take(title: str, lines: list[str], files: dict[str, File], found: dict[str, Found]) -> None:
    search = _SEARCH.search(title)
    if search:
        result = found.setdefault(search[2].replace("\\\\", "\\"), Found(_number(search[3])))
        for line in lines:
            hit = re.match(r"^(\S+?):(\d+)\|(.*)$", line)
            if hit:
                result.hits.append(Item(hit[1], int(hit[2]), hit[3]))
                files.setdefault(hit[1], File()).rows[int(hit[2])] = hit[3]
        return
    shown = _RANGE.search(title)
    if shown:
        file = files.setdefault(shown[1], File())
        file.total = _number(shown[4])
        for line in lines:
            number, bar, text = line.partition("|")
            if bar and number.isdigit():
                file.rows[int(number)] = text


def _number(text: str) -> int:
    return int(text.replace(",", ""))
