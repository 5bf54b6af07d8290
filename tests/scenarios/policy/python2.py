"""Rules for what only Python 2 needs: future imports, `object` as a base, tests of the Python version."""

from __future__ import annotations

import ast
import operator
import re

from tests.scenarios.policy.blocks import arms, indent, moved_out, without
from tests.scenarios.policy.prompt import File
from tests.scenarios.policy.steps import Answer, Change, Look

Version = tuple[int, int]
NEWEST: Version = (3, 99)

_NAME = r"(?:\bsix\.)?\bPY(?P<major>[23])\b(?!\s*=[^=])"
_INFO = (
    r"sys\.version_info(?P<part>\[[^\]]*\]|\.major)?\s*(?P<op>==|!=|<=|>=|<|>)\s*"
    r"(?P<value>\([\d,\s]+\)|\d+)"
)
TEST = re.compile(rf"(?P<no>\bnot\s+)?(?:{_NAME}|{_INFO})")
_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def line_rule(file: File, at: int, oldest: Version) -> Answer:
    """What becomes of line `at` when `oldest` is the oldest Python that matters. None: no rule fits."""
    line = file.rows[at]
    if re.match(r"\s*from\s+__future__\s+import\b", line):
        return _future(file, at)
    base = re.match(r"(\s*class\s+\w+\s*)\(([^()]*)\)(\s*:.*)$", line)
    if base and "object" in [part.strip() for part in base[2].split(",")]:
        return _bases(at, base)
    if tests(line, oldest):
        return _version(file, at, oldest)
    return None


def _future(file: File, at: int) -> Answer:
    last = at
    if "(" in file.rows[at]:
        while ")" not in file.rows[last]:
            last += 1
            if last not in file.rows:
                return Look(at - 8, last + 30)
    text = " ".join(file.rows[number] for number in range(at, last + 1))
    if re.search(r"\bannotations\b", text):
        return None  # the one future import that still says something
    return without(file, "future import", at, last)


def _bases(at: int, base: re.Match[str]) -> Change:
    others = [part.strip() for part in base[2].split(",") if part.strip() not in ("", "object")]
    kept = f"({', '.join(others)})" if others else ""
    return Change("object base", at, at, (base[1].rstrip() + kept + base[3],))


# ---- tests of the version ----------------------------------------------------------------------------------
def tests(line: str, oldest: Version) -> bool:
    """Whether the line tests the version in a way that is decided for every Python that matters."""
    code = line.split("#")[0]
    return "import" not in code.split() and _decided(code, oldest) != code


def _decided(code: str, oldest: Version) -> str:
    """The code with every decided test of the version replaced by True or False."""

    def value(test: re.Match[str]) -> str:
        known = {_holds(test, oldest), _holds(test, NEWEST)}
        return str(known.pop() != bool(test["no"])) if len(known) == 1 else test[0]

    return TEST.sub(value, code)


def _holds(test: re.Match[str], version: Version) -> bool:
    if test["major"]:
        return test["major"] == "3"
    have: object = (*version, 0)
    if test["part"] == ".major":
        have = version[0]
    elif test["part"]:
        have = _part((*version, 0), test["part"][1:-1])
    return bool(_COMPARE[test["op"]](have, ast.literal_eval(test["value"])))


def _part(version: tuple[int, ...], index: str) -> object:
    if ":" not in index:
        return version[int(index)]
    start, _, stop = index.partition(":")
    return version[int(start or 0) : int(stop) if stop.strip() else None]


def _version(file: File, at: int, oldest: Version) -> Answer:
    line = file.rows[at]
    code, hash_, comment = line.partition("#")
    says = re.match(r"(\s*)if\s+(.*?)\s*:\s*$", code)
    known = _decided(says[2], oldest) if says else ""
    if known not in ("True", "False"):
        return Change("version test", at, at, (_decided(code, oldest) + hash_ + comment,))
    found = arms(file, at)
    if isinstance(found, Look):
        return found
    last = found[-1][2]
    depth = indent(line)
    if known == "True":
        body = moved_out(file, found[0][1], found[0][2], depth)
        return Change("version test", at, last, body)
    if len(found) == 1:
        return without(file, "version test", at, last)
    condition, first, end = found[1]
    if condition:  # the next arm becomes the first one
        head = file.rows[first - 1].replace("elif", "if", 1)
        rest = tuple(file.rows[number] for number in range(first, last + 1))
        return Change("version test", at, last, (head, *rest))
    return Change("version test", at, last, moved_out(file, first, end, depth))
