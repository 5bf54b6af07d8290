"""Names of `typing` that the language has itself since 3.10: `list[int]`, `int | None`, `collections.abc`."""

from __future__ import annotations

import re

from tests.scenarios.policy.prompt import File, Item
from tests.scenarios.upkeep.answers import Answer, Case, Change, Look, Span, around

GOAL = "names of typing"
BUILT_IN = {
    "Dict": "dict",
    "List": "list",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Tuple": "tuple",
    "Type": "type",
}
ABC = {
    "Awaitable",
    "Callable",
    "Collection",
    "Container",
    "Coroutine",
    "Generator",
    "Hashable",
    "Iterable",
    "Iterator",
    "KeysView",
    "Mapping",
    "MutableMapping",
    "MutableSequence",
    "MutableSet",
    "Reversible",
    "Sequence",
    "Sized",
    "ValuesView",
}
_NAME = re.compile(r"(?<![\w.])(Dict|List|Set|FrozenSet|Tuple|Type|Optional|Union)\b(\[)?")
_IMPORT = re.compile(r"from\s+typing\s+import\b")
TOP = 40  # lines in which imports are looked for first


def waits(item: Item, others: tuple[Item, ...]) -> bool:
    """An import goes when nothing else of its file is left."""
    return _of_import(item) and not all(_of_import(other) for other in others)


def rule(case: Case) -> Answer:
    """A use is written anew where the file is seen to import the names from typing; an import loses them."""
    file, at = case.file, case.at
    known = imported(file)
    if _of_import(next(item for item in case.items if item.line == at)):
        own = [(first, last) for first, last in known if first <= at <= last]
        return _import(case, *own[0]) if own else Look((around(at), (max(1, at - TOP), at)))
    names = {name for name, _ in _NAME.findall(case.line)}
    said = {name for first, last in known for name in _names(file, first, last)}
    if not names <= said:
        top = next((number for number in range(1, 4 * TOP) if number not in file.rows), 0)
        return Look(((1, TOP if top <= TOP else 4 * TOP), around(at))) if top else None
    fresh = modern(case.line)
    return (
        Change("names of the language", (Span(at, at, (fresh,)),)) if fresh and fresh != case.line else None
    )


def imported(file: File) -> list[tuple[int, int]]:
    """First and last line of each import from typing that can be seen whole."""
    found: list[tuple[int, int]] = []
    for number in sorted(file.rows):
        if _IMPORT.match(file.rows[number].strip()):
            last = number
            while last in file.rows and not _ends("\n".join(file.rows[n] for n in range(number, last + 1))):
                last += 1
            if last in file.rows:
                found.append((number, last))
    return found


def modern(line: str) -> str | None:
    """The line with its names written anew; None when a bracket does not close in it."""
    code, hash_, comment = line.partition("#")
    fresh = _written(code)
    return None if fresh is None else fresh + hash_ + comment


def _of_import(item: Item) -> bool:
    return bool(re.match(r"\d+: (?:UP035|F401)\b", item.text))


def _ends(text: str) -> bool:
    return text.count("(") == text.count(")") and not text.rstrip().endswith("\\")


def _names(file: File, first: int, last: int) -> list[str]:
    text = " ".join(
        file.rows[number].split("#")[0].rstrip().rstrip("\\") for number in range(first, last + 1)
    )
    return re.findall(r"\w+", text.partition("import")[2])


def _import(case: Case, first: int, last: int) -> Answer:
    unused = {
        name
        for item in case.items
        if first <= item.line <= last
        for name in re.findall(r"F401 (?:\[\*\] )?`typing\.(\w+)`", item.text)
    }
    names = [name for name in _names(case.file, first, last) if name not in unused and name not in BUILT_IN]
    space = re.match(r"\s*", case.file.rows[first])
    margin = space[0] if space else ""
    lines = []
    for module, part in (
        ("collections.abc", [name for name in names if name in ABC]),
        ("typing", [name for name in names if name not in ABC]),
    ):
        if part:
            lines.append(f"{margin}from {module} import {', '.join(sorted(part))}")
    return Change("import", (Span(first, last, tuple(lines)),))


# ---- annotations ---------------------------------------------------------------------------------------------
def _written(text: str) -> str | None:
    found = _NAME.search(text)
    if not found:
        return text
    name, head, rest = found[1], text[: found.start()], text[found.end() :]
    if not found[2]:
        after = _written(rest)
        return None if after is None or name not in BUILT_IN else head + BUILT_IN[name] + after
    end = _closing(rest)
    if end < 0:
        return None
    inner, after = _written(rest[:end]), _written(rest[end + 1 :])
    if inner is None or after is None:
        return None
    if name in BUILT_IN:
        return f"{head}{BUILT_IN[name]}[{inner}]{after}"
    members = [part.strip() for part in _parts(inner)] + (["None"] if name == "Optional" else [])
    return head + _union(members) + after


def _union(members: list[str]) -> str:
    """`A | B`; in quotes as a whole where one of them is quoted, since a text can't be or-ed with a type."""
    bare = [member[1:-1] if member[:1] in ("'", '"') else member for member in members]
    return " | ".join(bare) if bare == members else f"'{' | '.join(bare)}'"


def _closing(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        if letter in "[(":
            depth += 1
        elif letter in "])":
            if not depth:
                return place
            depth -= 1
    return -1


def _parts(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]
