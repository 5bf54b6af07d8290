"""`new Buffer(x)` is `Buffer.alloc(x)` of a length, and `Buffer.from(x)` of anything else."""

from __future__ import annotations

import re

from tests.scenarios.policy.prompt import File
from tests.scenarios.upkeep.answers import AFTER, FURTHER, Answer, Case, Change, Look, Span
from tests.scenarios.upkeep.javascript import closes, code

GOAL = "new Buffer"
_CALL = re.compile(r"\bnew Buffer\(")
_NUMBER = re.compile(r"-?[\d.]+$|.*\.length$|\w[\w.]*(?:\(.*\))? *[-*/%] *\S+")
_NAME = re.compile(r"[A-Za-z_$][\w$]*$")
_DEPTH = 4  # names that stand for names


def rule(case: Case) -> Answer:
    """Every call that begins in the line; of a name the definition must be seen."""
    seen, fresh = code(case.line), case.line
    calls = list(_CALL.finditer(seen))
    for hit in reversed(calls):
        end = closes(seen, hit.end() - 1)
        if end == len(seen):
            return None
        kind = _kind(case.file, case.at, case.line[hit.end() : end].strip(), _DEPTH)
        if not isinstance(kind, str):
            return kind
        fresh = f"{fresh[: hit.start()]}Buffer.{kind}({fresh[hit.end() :]}"
    return Change("buffer", (Span(case.at, case.at, (fresh,)),)) if calls else None


def _kind(file: File, at: int, value: str, depth: int) -> str | Look | None:
    """`alloc` or `from`."""
    if value[:1] in ("'", '"', "`", "[") or re.search(r"\.toString\(|\+ *['\"]", value):
        return "from"
    if _NUMBER.match(value):
        return "alloc"
    if not _NAME.match(value):
        return "from" if "," in value else None
    return _defined(file, at, value, depth - 1) if depth else None


def _defined(file: File, at: int, name: str, depth: int) -> str | Look | None:
    """What the nearest definition above says that the name is."""
    defined = re.compile(rf"(?:^|[\s,;(]){re.escape(name)}\s*=(?!=)\s*(.+?)\s*[,;]?\s*$")
    for number in range(at, 0, -1):
        line = file.rows.get(number)
        if line is None:
            return Look(((max(1, number - FURTHER), at + AFTER // 3),))
        if found := defined.search(line):
            return _kind(file, number, found[1], depth)
    return None
