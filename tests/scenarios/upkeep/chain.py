"""An error raised while another one is handled names it as its cause."""

from __future__ import annotations

import re

from tests.scenarios.policy.prompt import Found
from tests.scenarios.upkeep.answers import Answer, Case, Change, Find, Look, Span
from tests.scenarios.upkeep.python import function, headers, statement

GOAL = "raise … from"
_EXCEPT = re.compile(r"(\s*except)(?:\s+(.*?))?\s*:(\s*(?:#.*)?)$")
_NAMES = ("error", "exc", "err", "problem", "cause")
LONG = 200  # lines of a function that are read to see which names it uses


def rule(case: Case) -> Answer:
    """`raise X(…)` becomes `raise X(…) from name`; a name that the function has no other use for is bound."""
    file, at = case.file, case.at
    end, heads = statement(file, at), headers(file, at, "except")
    for missing in (end, heads):
        if isinstance(missing, Look):
            return missing
    assert isinstance(end, int) and isinstance(heads, list)
    if not heads or not (says := _EXCEPT.match(heads[-1][1])):
        return None
    handler = heads[-1][0]
    bound = re.match(r"(.*)\s+as\s+(\w+)$", says[2] or "")
    if bound:
        return Change("cause named", (Span(end, end, (_caused(file.rows[end], bound[2]),)),))
    name = _free(case, handler, end)
    if not isinstance(name, str):
        return name
    head = f"{says[1]} {says[2] or 'BaseException'} as {name}:{says[3]}"
    spans = (
        Span(handler, handler, (head,)),
        Span(end, end, (_caused(file.rows[end], name),)),
    )
    return Change("cause bound and named", spans)


def _free(case: Case, handler: int, end: int) -> str | Look | Find | None:
    """A name that the function has no other use for. A function too long to be read is searched, as is its file."""
    if case.found:
        return next((name for name in _NAMES if _only_handlers(name, case.found.get(_word(name)))), None)
    heads = headers(case.file, handler, "def")
    last = function(case.file, end, heads[-1][0]) if isinstance(heads, list) and heads else heads
    if isinstance(last, Look):
        ((first, upto),) = last.ranges
        far = max(upto, end) - min(first, handler) > LONG
        return Find(tuple(_word(name) for name in _NAMES), (handler - 2, end + 2)) if far else last
    if not isinstance(last, int) or not isinstance(heads, list):
        return None
    head = heads[-1][0]
    words = set(re.findall(r"\w+", "\n".join(case.file.rows[n] for n in range(head, last + 1))))
    return next((name for name in _NAMES if name not in words), None)


def _only_handlers(name: str, found: Found | None) -> bool:
    """Whether every place where the name stands was found to be a handler's own."""
    own = re.compile(rf"\bas {name}:|\bfrom {name}$")
    return found is not None and found.count == sum(bool(own.search(hit.text)) for hit in found.hits)


def _word(name: str) -> str:
    return rf"\b{name}\b"


def _caused(line: str, name: str) -> str:
    return f"{line.rstrip()} from {name}"
