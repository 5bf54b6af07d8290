"""JUnit XML reports: the same counts, names and first trace as from a runner's text. Pure.

The parser is expat with document types refused: no entity is ever expanded, nothing outside is ever loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from contracts.counts import MAX_NAMES
from contracts.readings import TestCounts
from contracts.text import clean

MAX_REPORT = 16 * 1024 * 1024  # bytes of all reports of one run together
MAX_REPORTS = 200
# What stands for the content of a report that was written and not taken.
TOO_LARGE = b"\0too large"
TOO_MANY = b"\0too many"
_LEFT_OUT = {
    TOO_LARGE: f"more than {MAX_REPORT // 2**20} MiB, the most that the reports of one run may have together",
    TOO_MANY: f"more than {MAX_REPORTS} reports, the most that one run may write",
}
_MAX_DEPTH = 40
_MAX_TRACE = 64 * 1024
_OUTCOMES = {"failure": "failed", "error": "errors", "skipped": "skipped"}


class BadReport(ValueError):
    """No JUnit XML; the text says why."""


@dataclass(frozen=True)
class Report:
    """What the reports of one run say. `traces` is failed test -> its text, in order."""

    counts: TestCounts
    traces: Mapping[str, str] = field(default_factory=dict)


def parse_reports(files: Mapping[str, bytes]) -> Report:
    """The reports `files` (path -> content) as one. Raises BadReport, which names the file."""
    readers = []
    for path, data in files.items():
        readable(path, data)
        try:
            readers.append(_read(data))
        except (BadReport, expat.ExpatError) as error:
            raise BadReport(f"the report {path} can't be read: {error}") from None
    traces: dict[str, str] = {}
    for reader in readers:
        for name, text in reader.traces:
            traces.setdefault(name, text)

    def total(word: str) -> int:
        return sum(reader.counts[word] for reader in readers)

    counts = TestCounts(
        passed=total("passed"),
        failed=total("failed"),
        errors=total("errors"),
        skipped=total("skipped"),
        failures=tuple(traces)[:MAX_NAMES],
        runner="JUnit XML",
    )
    return Report(counts, traces)


def readable(path: str, data: bytes) -> bytes:
    """The content of a report that was written. Raises BadReport when it was not taken."""
    if data in _LEFT_OUT:
        raise BadReport(f"the report {path} was written and not read: {_LEFT_OUT[data]}")
    return data


def worse(said: TestCounts | None, report: TestCounts) -> TestCounts:
    """Both as one; where the output and the report disagree, the worse number of each."""
    if said is None:
        return report
    names = said.failures if len(said.failures) >= len(report.failures) else report.failures
    return TestCounts(
        passed=min(said.passed, report.passed),
        failed=max(said.failed, report.failed),
        errors=max(said.errors, report.errors),
        skipped=max(said.skipped, report.skipped),
        failures=names,
        runner=f"{said.runner} and {report.runner}",
    )


def trace_of(report: Report, prefer: Iterable[str] = ()) -> str:
    """The text of the first failure, of those in `prefer` if one of them is there."""
    wanted = [name for name in prefer if name in report.traces] or list(report.traces)
    return f"{wanted[0]}\n{report.traces[wanted[0]]}".strip() if wanted else ""


def _read(data: bytes) -> _Reader:
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = _no_doctype
    parser.EntityDeclHandler = _no_doctype
    parser.Parse(data, True)
    if not reader.known:
        raise BadReport("it has no <testsuite>")
    return reader


def _no_doctype(*_: object) -> None:
    raise BadReport("it has a document type or entities: they are not taken")


class _Reader:
    def __init__(self) -> None:
        self.counts = dict.fromkeys(("passed", *_OUTCOMES.values()), 0)
        self.traces: list[tuple[str, str]] = []
        self.known = False
        self._depth = 0
        self._case: str | None = None
        self._outcome = ""
        self._said: list[str] | None = None
        self._room = 0

    def start(self, name: str, given: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise BadReport(f"it is nested deeper than {_MAX_DEPTH} levels")
        name = name.rsplit(":", 1)[-1]
        if name in ("testsuite", "testsuites"):
            self.known = True
        elif name == "testcase":
            place, own = given.get("classname", ""), given.get("name", "").strip()
            self._case = clean(
                f"{place} › {own}" if place and place != own and not own.startswith(place) else own
            )
            self._outcome = ""
        elif self._case is not None and name in _OUTCOMES and self._outcome in ("", "skipped"):
            # A test with an error at teardown has two outcomes: the first that is a failure counts.
            self._outcome = name
            self._said, self._room = [given.get("message", "")], _MAX_TRACE

    def text(self, data: str) -> None:
        if self._said is not None and self._room > 0:
            self._said.append(data[: self._room])
            self._room -= len(data)

    def end(self, name: str) -> None:
        self._depth -= 1
        name = name.rsplit(":", 1)[-1]
        if name in _OUTCOMES and self._said is not None and name == self._outcome:
            message, body = self._said[0].strip(), "".join(self._said[1:]).strip("\n")
            if name != "skipped" and len(self.traces) < MAX_NAMES:
                shown = body if not message or message.split("\n")[0] in body else f"{message}\n{body}"
                self.traces.append((" ".join((self._case or "").split())[:200], clean(shown)))
            self._said = None
        elif name == "testcase":
            self.counts[_OUTCOMES.get(self._outcome, "passed")] += 1
            self._case = None
