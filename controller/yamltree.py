"""YAML text -> plain data with the place of every key and value. YAML 1.2 core schema, and nothing that
surprises: no aliases, no tags, no second document, no word that another YAML version reads differently."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from contracts.task_problems import Problem

Loc = tuple[str | int, ...]

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_NODES = 20_000

_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORD = re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")
_ODD_NUMBER = re.compile(r"[-+]?(0[0-9][0-9_]*|[0-9]+(_[0-9]+)+(\.[0-9_]*)?|[0-9]+(:[0-5]?[0-9])+|0b[01_]+)")


@dataclass(frozen=True)
class Place:
    """Where a key or value stands: line and column from 1; `raw` is a plain scalar as written."""

    line: int
    column: int
    raw: str = ""


@dataclass
class Tree:
    """`data` is plain dict, list, str, int, float, bool, None. `values` and `keys`: places by location."""

    data: Any = None
    values: dict[Loc, Place] = field(default_factory=dict)
    keys: dict[Loc, Place] = field(default_factory=dict)
    problems: list[tuple[Place, Problem]] = field(default_factory=list)

    def place(self, loc: Loc, *, key: bool = False) -> Place:
        """The place of `loc`, or of the nearest thing above it that stands in the file."""
        if key and loc in self.keys:
            return self.keys[loc]
        if loc in self.values:
            return self.values[loc]
        while loc and loc not in self.values:
            loc = loc[:-1]
        return self.keys.get(loc) or self.values.get(loc, Place(1, 1))


class _Refused(Exception):
    """Reading can't go on."""


def decode(raw: bytes) -> tuple[str, list[tuple[Place, Problem]]]:
    """UTF-8 bytes as text, without a leading byte order mark; or what is wrong with them."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "", [(Place(1, 1), Problem((), "this is UTF-16", "save the file as UTF-8"))]
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _place(raw[: error.start].decode("utf-8"))
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        return "", [(place, Problem((), message, "save the file as UTF-8"))]
    if found := re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
        message = f"a control character (0x{ord(found[0]):02x}) stands here"
        return "", [(_place(text[: found.start()]), Problem((), message, "remove it"))]
    return text, []


def _place(before: str) -> Place:
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def parse(text: str) -> Tree:
    """The one document of `text`. What is wrong goes to `problems`; after a syntax error `data` is None."""
    tree = Tree()
    reader = _Reader(tree)
    try:
        reader.document(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        tree.data = None
        tree.problems.append(_syntax(error, text))
    except YAMLError as error:
        tree.data = None
        tree.problems.append((Place(1, 1), Problem((), " ".join(str(error).split())[:300])))
    except _Refused:
        tree.data = None
    return tree


class _Reader:
    """Builds the tree from parser events: here tags, anchors and duplicate keys are still visible."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.nodes = tree, 0

    def document(self, events: Iterator[Any]) -> None:
        for event in events:
            match type(event).__name__:
                case "StreamStartEvent" | "StreamEndEvent" | "DocumentEndEvent":
                    continue
                case "DocumentStartEvent" if self.nodes:
                    self.stop(event, "a second document starts here", "a task file holds one document")
                case "DocumentStartEvent" if event.version or event.tags:
                    self.stop(event, "a % directive stands here", "remove it: the file is read as YAML 1.2")
                case "DocumentStartEvent":
                    continue
                case _:
                    self.tree.data = self.node(event, events, ())

    def node(self, event: Any, events: Iterator[Any], loc: Loc) -> Any:
        self.nodes += 1
        kind = type(event).__name__
        if self.nodes > MAX_NODES:
            self.stop(event, f"more than {MAX_NODES} values", "a task file is small; move data into files")
        if len(loc) > MAX_DEPTH:
            self.stop(event, f"nested deeper than {MAX_DEPTH} levels", "a task file is flat")
        if kind == "AliasEvent":
            self.stop(event, "aliases (*name) are not read", "write the value out")
        if event.anchor:
            self.say(event, "anchors (&name) are not read", "write the value out where it is needed")
        if event.tag is not None and event.tag != "!":
            self.say(event, f"tags ({event.tag[:80]}) are not read", "write plain values")
        self.tree.values[loc] = _at(event, event.value if kind == "ScalarEvent" and not event.style else "")
        if kind == "ScalarEvent":
            return self.scalar(event)
        if kind == "SequenceStartEvent":
            return self.sequence(events, loc)
        return self.mapping(events, loc)

    def sequence(self, events: Iterator[Any], loc: Loc) -> list[Any]:
        found: list[Any] = []
        for event in events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            found.append(self.node(event, events, (*loc, len(found))))
        return found

    def mapping(self, events: Iterator[Any], loc: Loc) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in events:
            if type(event).__name__ == "MappingEndEvent":
                break
            key = self.key(event, events, loc)
            here = (*loc, key)
            if key in found:
                first = self.tree.keys[here].line
                self.say(
                    event, f"the key `{key}` stands here again; first in line {first}", "keep one of them"
                )
            else:
                self.tree.keys[here] = _at(event)
            value = self.node(next(events), events, here)
            found.setdefault(key, value)
        return found

    def key(self, event: Any, events: Iterator[Any], loc: Loc) -> str:
        if type(event).__name__ == "AliasEvent":
            self.stop(event, "aliases (*name) are not read", "write the key out")
        if type(event).__name__ != "ScalarEvent":
            self.stop(event, "a key must be plain text", "did you forget quotes around a value with { or [ ?")
        if event.value == "<<" and not event.style:
            self.stop(event, "merge keys (<<) are not read", "write the values out")
        self.node(event, events, (*loc, ""))  # for its problems: an anchor, a tag, an ambiguous word
        del self.tree.values[(*loc, "")]
        return str(event.value)

    def scalar(self, event: Any) -> Any:
        text = event.value
        if event.style or event.tag == "!":
            # JSON writes a character beyond the first plane as two escapes: "\\ud83d\\ude00".
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
            if re.search("[\x00\ud800-\udfff]", text):
                self.say(event, "the text holds a NUL or half of a character", "remove the escape")
            return text
        if _WORD.fullmatch(text):
            truth = "true" if text.lower() in ("yes", "on") else "false"
            self.say(
                event,
                f"`{text}` is text in YAML 1.2 and {truth} in YAML 1.1",
                f'write {truth} if you mean that, or "{text}" in quotes for the text',
            )
            return text
        if _ODD_NUMBER.fullmatch(text):
            digits = text.replace("_", "")
            hint = f"write {digits} for the number, or " if "_" in text and digits.isdigit() else ""
            self.say(
                event,
                f"`{text}` is read as different values by YAML 1.1 and 1.2",
                f'{hint}"{text}" for the text',
            )
            return int(digits) if hint else text
        return self.number(event, text)

    def number(self, event: Any, text: str) -> Any:
        for pattern, value in ((_NULL, None), (_TRUE, True), (_FALSE, False)):
            if pattern.fullmatch(text):
                return value
        if _INT.fullmatch(text) or _BASED.fullmatch(text):
            if len(text) > 18:
                self.say(event, f"`{text[:40]}` is too long for a number", "put it in quotes if it is text")
                return 0
            return int(text, 10 if _INT.fullmatch(text) else 0)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _SPECIAL.fullmatch(text):
            return float(text.replace(".", ""))
        return text

    def say(self, event: Any, message: str, hint: str) -> None:
        self.tree.problems.append((_at(event), Problem((), message, hint)))

    def stop(self, event: Any, message: str, hint: str) -> None:
        self.say(event, message, hint)
        raise _Refused


def _at(event: Any, raw: str = "") -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1, raw[:200])


def _syntax(error: MarkedYAMLError, text: str) -> tuple[Place, Problem]:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    rows = text.splitlines()
    row = rows[line] if line < len(rows) else ""
    place = Place(line + 1, column + 1)
    if "\t" in row[: column + 1]:
        return place, Problem((), "a tab stands here", "YAML is indented with spaces")
    said = " ".join(part for part in (error.context, error.problem) if part)
    return place, Problem((), f"this is no YAML: {' '.join(said.split())[:300]}", _syntax_hint(said, row))


def _syntax_hint(said: str, row: str) -> str:
    if "mapping values are not allowed" in said or "cannot start any token" in said:
        return "put a value that holds ': ', or starts with @, `, % or *, in quotes"
    if "flow" in said:
        return "a [ or { is not closed, or a comma is missing"
    return f"look at: {row.strip()[:80]}" if row.strip() else ""
