"""`super(Class, self)` is `super()` inside a method of that class."""

from __future__ import annotations

import re

from tests.scenarios.upkeep.answers import Answer, Case, Change, Look, Span
from tests.scenarios.upkeep.python import headers

GOAL = "super()"
_CALL = re.compile(r"\bsuper\((\w+), ?(\w+)\)")


def rule(case: Case) -> Answer:
    """Only when the class named is the one around it, and the object the method's own first argument."""
    call = _CALL.search(case.line)
    heads = headers(case.file, case.at, "class")
    if isinstance(heads, Look):
        return heads
    methods = [text for _, text in heads if re.match(r"\s*def\b", text)]
    owner = re.match(r"\s*class\s+(\w+)", heads[-1][1]) if heads else None
    own = re.match(r"\s*def\s+\w+\(\s*(\w+)", methods[0]) if methods else None
    if not (call and owner and own and (call[1], call[2]) == (owner[1], own[1])):
        return None
    fresh = _CALL.sub("super()", case.line)
    return Change("super without arguments", (Span(case.at, case.at, (fresh,)),))
