"""`var` is `const` where the name keeps its first value, else `let`."""

from __future__ import annotations

import re

from tests.scenarios.policy.prompt import File
from tests.scenarios.upkeep.answers import (
    AFTER,
    FURTHER,
    Answer,
    Case,
    Change,
    Find,
    Look,
    Range,
    Span,
    indent,
)
from tests.scenarios.upkeep.javascript import block, closes, code

GOAL = "let and const"
_VAR = re.compile(r"\bvar\s+")
_LOOP = re.compile(r"\bfor\s*\($")
_EACH = re.compile(r"(?<=\s)(?:in|of)\s")


def rule(case: Case) -> Answer:
    """The first `var` of the line, its function seen whole: what a name is given, and where else it is used."""
    hit = _VAR.search(case.line)
    if not hit:
        return None
    if not indent(case.line):
        return _outermost(case, hit.end())
    extent = _function(case.file, case.at)
    if not isinstance(extent, tuple):
        return extent
    first, last = extent
    rows = [case.file.rows[number] for number in range(first, last + 1)]
    text = code("\n".join(rows))
    place = sum(len(row) + 1 for row in rows[: case.at - first]) + hit.start()
    word = _word(text, place)
    return None if word is None else _change(case, hit.end(), word)


def _change(case: Case, end: int, word: str) -> Change:
    fresh = _VAR.sub(f"{word} ", case.line[:end], count=1) + case.line[end:]
    return Change(word, (Span(case.at, case.at, (fresh,)),))


def _outermost(case: Case, end: int) -> Answer:
    """A name of the whole file: where it is given a value is searched for."""
    name = re.match(r"[\w$]+", case.line[end:])
    if not name:
        return None
    wanted = rf"\b{name[0]}\b *(=[^=]|[-+*/%]=|\+\+|--)"
    found = case.found.get(wanted)
    if found is None:
        return Find((wanted,), (case.at, case.at + 2))
    return _change(case, end, "const" if found.count == 1 else "let")


def _function(file: File, at: int) -> Range | Look | None:
    """First and last line of the function around line `at`, as its indentation tells."""
    depth, head = indent(file.rows[at]), at - 1
    while True:
        line = file.rows.get(head)
        if line is None:
            return Look(((max(1, head - FURTHER), at + AFTER // 3),)) if head else None
        if line.strip() and indent(line) < depth:
            depth = indent(line)
            if re.search(r"\bfunction\b.*\{\s*$", line):
                break
        head -= 1
    last = at + 1
    while True:
        line = file.rows.get(last)
        if line is None:
            past = file.total and last > file.total
            return None if past else Look(((head, last + FURTHER),))
        if line.strip() and indent(line) <= depth:
            return head, last
        last += 1


def _word(text: str, place: int) -> str | None:
    """What stands for the `var` at `place` of a function's code; None when its names are used where neither
    word would let them be seen."""
    loop = _LOOP.search(text[:place])
    begin, end = block(text, place) if not loop else _of_loop(text, loop.start())
    stop = _stop(text, place)
    names = _names(text[place + 3 : stop])
    constant = True
    for name, valued in names:
        word = re.compile(rf"(?<![\w$.]){re.escape(name)}(?![\w$])")
        declared = re.compile(rf"\b(?:var|let|const)\b[^;]*?(?<![\w$.]){re.escape(name)}(?![\w$])")
        for use in word.finditer(text):
            if begin <= use.start() < end:
                if use.start() < place:
                    return None
            elif not declared.search(text[slice(*block(text, use.start()))]) and not _in_loop(
                text, use.start(), declared
            ):
                return None
        inner = text[stop:end]
        again = rf"(?<![\w$.]){re.escape(name)}\s*(?:=(?!=)|[-+*/%|&^]=|<<=|>>=|\+\+|--)|(?:\+\+|--){re.escape(name)}\b"
        constant = constant and (valued or bool(_EACH.match(text, stop)))
        constant = constant and not re.search(again, inner)
    return "const" if constant else "let"


def _of_loop(text: str, at: int) -> Range:
    """The `for` at `at`, header and body."""
    header = text.index("(", at)
    after = closes(text, header) + 1
    body = re.match(r"\s*\{", text[after:])
    end = closes(text, after + body.end() - 1) if body else text.find(";", after)
    return at, end + 1


def _in_loop(text: str, use: int, declared: re.Pattern[str]) -> bool:
    """Whether a `for` around the use declares the name in its header."""
    for loop in re.finditer(r"\bfor\s*\(", text[:use]):
        begin, end = _of_loop(text, loop.start())
        if begin <= use < end and declared.search(text[begin : closes(text, loop.end() - 1)]):
            return True
    return False


def _stop(text: str, place: int) -> int:
    """Where the declaration ends: at its semicolon, at `in` or `of`, or at the bracket around it."""
    depth = 0
    for at in range(place, len(text)):
        letter = text[at]
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (not depth and (letter == ";" or _EACH.match(text, at))):
            return at
    return len(text)


def _names(declaration: str) -> list[tuple[str, bool]]:
    """The names that a declaration gives, each with whether it has a value."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(declaration):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append(declaration[begin:at])
            begin = at + 1
    parts.append(declaration[begin:])
    found = [re.match(r"\s*([\w$]+)\s*(=)?", part) for part in parts]
    return [(each[1], bool(each[2])) for each in found if each]
