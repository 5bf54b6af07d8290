"""What compilers and linters complain of, grouped by file. Pure.

Understood: gcc, clang, javac, go build and vet, rustc and cargo check, tsc, eslint (stylish, unix), mypy, ruff (full,
concise, grouped), flake8, pylint, and whatever else prints `path:line:col: error: message`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from contracts.base import digest
from contracts.readings import Problems
from contracts.text import clean, cut, line

MAX_MARKS = 400
_CODES = 12
_FILES, _EACH = 20, 5  # files that are shown, complaints of each
_WIDTH = 300
_LONGEST = 2000  # characters of a line that is looked at

_PLACE = re.compile(r"([^\s:(][^:(]*)(?::(\d+)(?::(\d+))?|\((\d+)(?:,(\d+))?\))(?::| -) +(\S.*)$")
_ARROW = re.compile(r" *--> (\S[^:]*):(\d+):(\d+)$")
_LEVEL = re.compile(
    r"(fatal error|error|warning|note|info|remark|help|hint)(?:\[(\w+)\]| ([A-Z]{1,4}\d+))?: (.+)$"
)
_RULE = re.compile(r"([A-Z]{1,5}\d{1,5}|invalid-syntax):? (.+)$")
_UNIX = re.compile(r"(.+) \[(Error|Warning)(?:/([^\]\s]+))?\]$")
_CODE_AFTER = re.compile(r"(.*\S) +[\[(]([\w@/=-]*[a-z][\w@/=-]*)[\])]$")
_ROW = re.compile(r" +(\d+):(\d+) +(?:(error|warning) +(.*\S)|([A-Z]{1,5}\d{1,5}|invalid-syntax):? (.+))$")
_ROW_RULE = re.compile(r"(.*\S) {2,}(\S+)$")
_HEADING = re.compile(r"(\S.*\.\w+):?$")


@dataclass(frozen=True)
class Complaint:
    """One diagnostic. `at` is `line` or `line:column`; `code` the rule, where the tool names one."""

    path: str
    at: str
    message: str
    code: str = ""
    warning: bool = False

    @property
    def mark(self) -> str:
        """What tells it from others, whatever line it has moved to."""
        return digest(f"{self.path}\n{self.code}\n{self.message}")[:8]

    def __str__(self) -> str:
        level = "warning " if self.warning else ""
        return line(f"{self.at} {level}{self.code + ' ' if self.code else ''}{self.message}", _WIDTH)


def complaints(text: str | bytes, root: str = "") -> tuple[Complaint, ...]:
    """The diagnostics in an output, in order, without repeats and notes; paths below `root` relative to it."""
    top = f"{root.rstrip('/')}/" if root else ""
    found: dict[Complaint, None] = {}
    for each in _found(clean(text)):
        path = each.path.removeprefix(top) if top else each.path
        found[Complaint(path.removeprefix("./"), each.at, each.message, each.code, each.warning)] = None
    return tuple(found)


def _found(text: str) -> Iterator[Complaint]:
    title = heading = ""
    for row in text.split("\n"):
        row = row.rstrip()
        if not row or len(row) > _LONGEST:
            continue
        if arrow := _ARROW.match(row):
            if title and (one := _titled(title, arrow[1], f"{arrow[2]}:{arrow[3]}")):
                yield one
            title = ""
        elif row[0] in " \t":
            if heading and (cell := _ROW.match(row)):
                yield _row(heading, cell)
        else:
            place = _PLACE.match(row)
            title = row
            found = _HEADING.match(row) if place is None else None
            heading = found[1] if found else ""
            if place and (one := _placed(place)):
                yield one


def _row(path: str, cell: re.Match[str]) -> Complaint:
    """A row below its file's name: `  1:5  error  message  rule`, or `  1:5 F401 message`."""
    at = f"{cell[1]}:{cell[2]}"
    if cell[5]:
        return Complaint(path, at, cell[6].removeprefix("[*] "), cell[5])
    rule = _ROW_RULE.match(cell[4])
    message, code = (rule[1], rule[2]) if rule else (cell[4], "")
    return Complaint(path, at, message.rstrip(), code, cell[3] == "warning")


def _titled(title: str, path: str, at: str) -> Complaint | None:
    """A title with its place in the next line, as rustc and ruff print them."""
    if level := _LEVEL.match(title):
        if level[1] in ("error", "warning"):
            return Complaint(path, at, level[4], level[2] or level[3] or "", level[1] == "warning")
    elif rule := _RULE.match(title):
        return Complaint(path, at, rule[2].removeprefix("[*] "), rule[1])
    return None


def _placed(place: re.Match[str]) -> Complaint | None:
    """A line that begins with a place; None for notes and for what is no diagnostic."""
    path, rest = place[1], place[6]
    row, column = place[2] or place[4], place[3] or place[5]
    at = f"{row}:{column}" if column else row
    if "/" not in path and "." not in path:
        return None
    if level := _LEVEL.match(rest):
        if level[1] not in ("fatal error", "error", "warning"):
            return None
        message, code = level[4], level[2] or level[3] or ""
        if not code and (after := _CODE_AFTER.match(message)):
            message, code = after[1], after[2]
        return Complaint(path, at, message, code, level[1] == "warning")
    if unix := _UNIX.match(rest):
        return Complaint(path, at, unix[1], unix[3] or "", unix[2] == "Warning")
    if rule := _RULE.match(rest):
        message = rule[2].removeprefix("[*] ")
        after = _CODE_AFTER.match(message)
        # pylint's own levels: convention, refactoring, warning; error, fatal.
        light = after is not None and rule[1][0] in "CRWI" and rest.startswith(f"{rule[1]}:")
        return Complaint(path, at, message, rule[1], light)
    if path.endswith(".go") and column:
        return Complaint(path, at, rest)
    return None


def problems_of(found: Sequence[Complaint]) -> Problems | None:
    """The counts that a later run is compared with; None when there is nothing to count."""
    if not found:
        return None
    warnings = sum(each.warning for each in found)
    codes = Counter(line(each.code, 60) for each in found if each.code)
    return Problems(
        errors=len(found) - warnings,
        warnings=warnings,
        files=len({each.path for each in found}),
        codes=dict(codes.most_common(_CODES)),
        marks=tuple(dict.fromkeys(each.mark for each in found))[:MAX_MARKS],
    )


def say_problems(problems: Problems) -> str:
    """`5 errors, 1 warning in 2 files`."""
    parts = [_many(problems.errors, "error")] if problems.errors or not problems.warnings else []
    parts += [_many(problems.warnings, "warning")] if problems.warnings else []
    return f"{', '.join(parts)} in {_many(problems.files, 'file')}"


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def grouped(found: Sequence[Complaint], room: int, old: Collection[str] | None = None) -> str:
    """The complaints by file in at most `room` bytes: those that are not among the marks `old` first and said
    to be new, errors before warnings, 20 files, 5 of each; then how many more, and the counts by rule."""
    files: dict[str, list[Complaint]] = {}
    for each in found:
        files.setdefault(each.path, []).append(each)

    def late(each: Complaint) -> tuple[bool, bool]:
        return (old is not None and each.mark in old, each.warning)

    order = sorted(files.items(), key=lambda item: (min(map(late, item[1])), -len(item[1])))
    rows: list[str] = []
    for path, inside in order[:_FILES]:
        rows.append(f"{line(path, 200)}: {len(inside):,}")
        for each in sorted(inside, key=late)[:_EACH]:
            new = "new " if old is not None and each.mark not in old else ""
            rows.append(f"  {new}{each}")
        if len(inside) > _EACH:
            rows.append(f"  … and {len(inside) - _EACH:,} more")
    if len(order) > _FILES:
        rest = sum(len(inside) for _, inside in order[_FILES:])
        rows.append(f"… and {rest:,} in {_many(len(order) - _FILES, 'more file')}")
    codes = Counter(each.code for each in found if each.code).most_common(_CODES)
    if codes:
        rows.append("by rule: " + ", ".join(f"{line(code, 60)} {count:,}" for code, count in codes))
    return cut("\n".join(rows), room)
