"""How much of the code the tests reach, from the reports and lines that coverage tools write. Pure.

Reports: Cobertura, JaCoCo and Clover XML, lcov, Go cover profiles, JSON of coverage.py, Istanbul and llvm-cov. Lines,
or statements where a tool counts those. What is not understood is no coverage, never full coverage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.parsers import expat

from contracts.junit import BadReport, readable

Counted = tuple[int, int]  # covered, of how many
_MAX_DEPTH = 60
# The percentage of the whole in a tool's text, by tool; of several packages without a whole the lowest counts.
_PRINTED = (
    re.compile(r"^TOTAL\b[^\n%]*?(\d+(?:\.\d+)?)%[ \t]*$", re.MULTILINE),  # coverage.py, gcovr
    re.compile(
        r"^TOTAL\b(?:[^\n%]*%){2}[^\n%]*?(\d+(?:\.\d+)?)%", re.MULTILINE
    ),  # llvm-cov: regions, functions, lines
    re.compile(r"\b(\d+(?:\.\d+)?)% coverage, \d+/\d+ lines covered"),  # tarpaulin
    re.compile(r"^Lines[ \t]*:[ \t]*(\d+(?:\.\d+)?)%", re.MULTILINE),  # Istanbul, summary
    re.compile(r"^All files[ \t]*\|[ \t]*(\d+(?:\.\d+)?)[ \t]*\|", re.MULTILINE),  # Istanbul, vitest: a table
    re.compile(r"^total:[ \t]+\(statements\)[ \t]+(\d+(?:\.\d+)?)%", re.MULTILINE),  # go tool cover -func
    re.compile(r"\bcoverage: (\d+(?:\.\d+)?)% of statements"),  # go test -cover
)


def printed(text: str) -> float | None:
    """The percentage that a tool printed; None where none did."""
    for form in _PRINTED:
        if found := form.findall(text):
            return min(float(each) for each in found)
    return None


def reported(files: Mapping[str, bytes]) -> float:
    """The percentage of all reports (path -> content) together. Raises BadReport, which names the file."""
    covered = total = 0
    for path, data in files.items():
        try:
            one, of = _counted(readable(path, data))
        except (BadReport, expat.ExpatError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise BadReport(
                f"the coverage report {path} can't be read: {error or 'not one that is known'}"
            ) from None
        covered, total = covered + one, total + of
    if total <= 0 or covered > total:
        raise BadReport("the coverage report counts no line")
    return 100 * covered / total


def _counted(data: bytes) -> Counted:
    text = data.decode("utf-8", "replace").lstrip("\ufeff \r\n\t")
    if text.startswith("<"):
        return _xml(data)
    if text.startswith("mode:"):
        return _go(text.split("\n")[1:])
    if text.startswith("{"):
        return _json(json.loads(text))
    found = re.findall(r"^(LF|LH):(\d+)\r?$", text, re.MULTILINE)
    if not found:
        raise BadReport("it has none of the forms that are known")
    return sum(int(n) for kind, n in found if kind == "LH"), sum(int(n) for kind, n in found if kind == "LF")


def _go(rows: Iterable[str]) -> Counted:
    """A block that several packages ran counts once."""
    blocks: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row.strip():
            place, statements, ran = row.rsplit(None, 2)
            blocks[place] = (int(statements), max(int(ran), blocks.get(place, (0, 0))[1]))
    return sum(n for n, ran in blocks.values() if ran), sum(n for n, _ in blocks.values())


def _json(said: Any) -> Counted:
    if "totals" in said:  # coverage.py
        return int(said["totals"]["covered_lines"]), int(said["totals"]["num_statements"])
    if "total" in said:  # Istanbul, json-summary
        return int(said["total"]["lines"]["covered"]), int(said["total"]["lines"]["total"])
    if "data" in said:  # llvm-cov export
        lines = [each["totals"]["lines"] for each in said["data"]]
        return sum(int(each["covered"]) for each in lines), sum(int(each["count"]) for each in lines)
    hits = [int(count) for each in said.values() for count in each["s"].values()]  # Istanbul, coverage-final
    return sum(count > 0 for count in hits), len(hits)


def _xml(data: bytes) -> Counted:
    reader, parser = _Reader(), expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.EntityDeclHandler = _no_entities
    parser.StartDoctypeDeclHandler = _no_subset
    parser.Parse(data, True)
    found = reader.whole or reader.lines
    if found[1] == 0 and reader.whole is None:
        raise BadReport("it is neither Cobertura, JaCoCo nor Clover")
    return found


def _no_entities(*_: object) -> None:
    raise BadReport("it declares entities: they are not taken")


def _no_subset(name: str, system: str | None, public: str | None, subset: int) -> None:
    """A document type that is only named is never loaded; one that is written out may hold anything."""
    if subset:
        raise BadReport("it writes out a document type: that is not taken")


class _Reader:
    """`whole` where the report says it itself, else `lines` counted one by one."""

    def __init__(self) -> None:
        self.whole: Counted | None = None
        self.lines: Counted = (0, 0)
        self._path: list[str] = []

    def start(self, name: str, given: dict[str, str]) -> None:
        self._path.append(name)
        if len(self._path) > _MAX_DEPTH:
            raise BadReport(f"it is nested deeper than {_MAX_DEPTH} levels")
        match self._path:
            case ["coverage"] if "lines-valid" in given and "lines-covered" in given:  # Cobertura
                self.whole = int(given["lines-covered"]), int(given["lines-valid"])
            case ["coverage", *_, "line"] if "hits" in given and "method" not in self._path:
                covered, total = self.lines
                self.lines = covered + (int(given["hits"]) > 0), total + 1
            case ["coverage", "project", "metrics"]:  # Clover
                self.whole = int(given["coveredstatements"]), int(given["statements"])
            case ["report", "counter"] if given.get("type") == "LINE":  # JaCoCo
                covered = int(given["covered"])
                self.whole = covered, covered + int(given["missed"])

    def end(self, name: str) -> None:
        self._path.pop()
