"""Rules for six: what its names stand for in Python 3, and how its imports go."""

from __future__ import annotations

import re

from tests.scenarios.policy.blocks import without
from tests.scenarios.policy.prompt import File, Found
from tests.scenarios.policy.steps import Answer, Change, Find, GoTo, Look

NAMES = {
    "text_type": "str",
    "string_types": "str",
    "binary_type": "bytes",
    "integer_types": "int",
    "class_types": "type",
    "unichr": "chr",
    "advance_iterator": "next",
    "next": "next",
    "callable": "callable",
}
METHODS = {  # six.name(x, …) is x.method(…)
    "iteritems": "items",
    "iterkeys": "keys",
    "itervalues": "values",
    "assertRaisesRegex": "assertRaisesRegex",
    "assertRegex": "assertRegex",
    "assertCountEqual": "assertCountEqual",
}
VERSIONS = ("PY2", "PY3")
BUILT_IN = ("filter", "input", "map", "range", "zip")  # what six.moves gives back of the builtins
RENAMED = {"xrange": "range", "cPickle": "pickle", "StringIO": "io", "builtins": "builtins"}
IMPORT = re.compile(r"\s*(?:import\s+six\b|from\s+six\b)")
_FROM = re.compile(r"(\s*)from\s+six\s+import\s+([\w\s,]+?)\s*$")
_MOVES = re.compile(r"(\s*)from\s+six\.moves(\.[\w.]+)?\s+import\s+([\w\s,]+?)\s*$")
_NUMBER = re.compile(r"\bsix\b(?!\.)")


def searches(line: str) -> tuple[str, ...]:
    """The texts whose places must be known before an import of six can go."""
    if re.match(r"\s*import\s+six\s*$", line):
        return ("six.",)
    found = _FROM.match(line)
    return tuple(name.strip() for name in found[2].split(",")) if found else ()


def line_rule(file: File, at: int, found: dict[str, Found]) -> Answer:
    """What becomes of line `at`; `found` tells where texts stand in this file. None: no rule fits."""
    line = file.rows[at]
    if needed := tuple(text for text in searches(line) if text not in found):
        return Find(needed)
    if re.match(r"\s*import\s+six\s*$", line):
        return without(file, "six import", at, at) if found["six."].count == 0 else None
    if imported := _FROM.match(line):
        return _from_six(file, at, imported, found)
    if moved := _MOVES.match(line):
        return _moves(file, at, moved)
    if re.match(r"\s*@six\.add_metaclass\(", line):
        return _metaclass(file, at)
    if "six.raise_from(" in line:
        return _raise_from(file, at)
    return _requirement(file, at) or _within(line, at)


# ---- imports -----------------------------------------------------------------------------------------------
def _from_six(file: File, at: int, imported: re.Match[str], found: dict[str, Found]) -> Answer:
    everywhere: list[tuple[str, str, int]] = []
    for name in (part.strip() for part in imported[2].split(",")):
        hits = [hit for hit in found[name].hits if hit.line != at]
        uses = found[name].count - 1
        if not uses:
            continue
        if name in VERSIONS:
            return GoTo(hits[0].line)
        if name in NAMES:
            everywhere.append((name, NAMES[name], uses))
        elif name in METHODS and (first := re.search(rf"\b{name}\((\w+), ", hits[0].text if hits else "")):
            everywhere.append((first[0], f"{first[1]}.{METHODS[name]}(", uses))
        else:
            return None
    gone = without(file, "six import", at, at)
    return (
        gone
        if isinstance(gone, Look)
        else Change(gone.kind, gone.first, gone.last, gone.new, tuple(everywhere))
    )


def _moves(file: File, at: int, moved: re.Match[str]) -> Answer:
    space, inner = moved[1], (moved[2] or "").lstrip(".")
    lines: list[str] = []
    for part in (piece.strip() for piece in moved[3].split(",")):
        name, _, alias = part.partition(" as ")
        if inner:
            lines.append(f"{space}from {inner} import {part}")
        elif name in RENAMED:
            return None
        elif name not in BUILT_IN:
            lines.append(f"{space}import {name}" + (f" as {alias}" if alias else ""))
    return Change("six import", at, at, tuple(lines)) if lines else without(file, "six import", at, at)


# ---- uses --------------------------------------------------------------------------------------------------
def _metaclass(file: File, at: int) -> Answer:
    meta = re.match(r"\s*@six\.add_metaclass\(([\w.]+)\)\s*$", file.rows[at])
    for number in range(at + 1, at + 12):
        if number not in file.rows:
            return Look(at - 8, at + 12)
        head = re.match(r"(\s*class\s+\w+\s*)(?:\(([^()]*)\))?(\s*:.*)$", file.rows[number])
        if head and meta:
            bases = [
                part.strip() for part in (head[2] or "").split(",") if part.strip() not in ("", "object")
            ]
            fresh = f"{head[1].rstrip()}({', '.join([*bases, f'metaclass={meta[1]}'])}){head[3]}"
            between = tuple(file.rows[each] for each in range(at + 1, number))
            return Change("six metaclass", at, number, (*between, fresh))
    return None


def _raise_from(file: File, at: int) -> Answer:
    line = file.rows[at]
    begin = line.index("six.raise_from(")
    parts, end = _arguments(line, begin + len("six.raise_from("))
    if len(parts) != 2:
        return None
    return Change("six call", at, at, (f"{line[:begin]}raise {parts[0]} from {parts[1]}{line[end:]}",))


def _arguments(line: str, at: int) -> tuple[list[str], int]:
    """The arguments of a call that ends in this line, and the place after its closing bracket."""
    parts, depth, quote, begin = [], 0, "", at
    for place in range(at, len(line)):
        letter = line[place]
        if quote:
            quote = "" if letter == quote and line[place - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif letter == ")":
            parts.append(line[begin:place].strip())
            return parts, place + 1
        elif letter == "," and not depth:
            parts.append(line[begin:place].strip())
            begin = place + 1
    return [], at


def _requirement(file: File, at: int) -> Answer:
    """A line that only says that six is needed."""
    if re.match(
        r"\s*(?:install_requires\s*=\s*)?six\s*(?:[<>=!~]=?\s*[\w.*]+\s*,?\s*)*(?:;.*)?$", file.rows[at]
    ):
        return without(file, "six requirement", at, at)
    return None


def _within(line: str, at: int) -> Answer:
    code, hash_, comment = line.partition("#")

    def meaning(use: re.Match[str]) -> str:
        return NAMES.get(use[1], use[0])

    fresh = re.sub(r"\bsix\.(\w+)", meaning, code)
    fresh = re.sub(
        r"\bsix\.(iteritems|iterkeys|itervalues)\((\w[\w.]*)\)",
        lambda use: f"{use[2]}.{METHODS[use[1]]}()",
        fresh,
    )
    if fresh != code:
        return Change("six name", at, at, (fresh + hash_ + comment,))
    if hash_ and _NUMBER.search(comment) and not _NUMBER.search(code):
        return Change("six, the number", at, at, (code + hash_ + _NUMBER.sub("6", comment),))
    return None
