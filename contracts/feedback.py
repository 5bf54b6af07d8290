"""What a command printed, boiled down to what decides the next step, and what changed since its last run. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contracts.base import digest
from contracts.counts import MAX_FAILURES, MAX_NAMES, parse_counts, say_counts
from contracts.diagnostics import Complaint, complaints, grouped, problems_of, say_problems
from contracts.junit import BadReport, Report, parse_reports, trace_of, worse
from contracts.readings import Printed, Problems, TestCounts
from contracts.text import clean
from contracts.traces import first_trace, shortened

SAME_TRACE = 20  # lines of the first failure when nothing changed
# What differs between two runs that say the same: durations, times of day, addresses, temporary folders, pids.
_PASSING = re.compile(
    r"\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds|m|min)\b(?: \(\d+:\d\d:\d\d\))?|\(cached\)"
    r"|\d{4}-\d\d-\d\d[T ]?|\d\d:\d\d:\d\d(?:[.,]\d+)?Z?|0x[0-9a-f]{6,}"
    r"|(?<=/)(?:tmp|pytest-)[\w.-]*|duration_ms:? [\d.]+|(?:time|timestamp)=\"[^\"]*\""
    r"|(?<=\()\d{2,}(?=\) panicked)|\b(?:pid|process) \d+",
    re.I,
)


@dataclass(frozen=True)
class Feedback:
    """`said` is one line (counts or problems, and the change), empty when nothing was recognised; `names` the
    failed tests, new ones first; `trace` the first failure of a new one, or else of any; `same` whether the
    output is that of the last run, `since` the step since which; `printed` what the next run is compared with;
    `trouble` what is wrong with the report that should have been written."""

    printed: Printed
    counts: TestCounts | None = None
    said: str = ""
    names: str = ""
    trace: str = ""
    found: tuple[Complaint, ...] = ()
    same: bool = False
    trouble: str = ""
    old: tuple[str, ...] | None = None

    @property
    def since(self) -> str:
        step = self.printed.step
        if not self.same:
            return ""
        return f"output unchanged since {f'step {step}' if step else 'the start'} (times aside)"

    def problems(self, room: int) -> str:
        """The complaints of a compiler or linter by file, or empty."""
        return grouped(self.found, room, self.old) if self.found and room > 0 else ""


def feedback(
    text: str,
    *,
    exit: int | None,
    step: int,
    last: Printed | None = None,
    whole: bool = True,
    report: str = "",
    reports: Mapping[str, bytes] | None = None,
    root: str = "",
) -> Feedback:
    """What `text` (both streams) and the JUnit reports of a run say. `last` is its last run; `whole` that the
    text is not cut; `report` the name that the task gives for a report, `reports` what was written by this run."""
    text = clean(text)
    counts, trouble, written = parse_counts(text, MAX_NAMES), "", None
    if report:
        trouble, written = _reported(report, reports or {})
        counts = worse(counts, written.counts) if written else counts
    found = () if counts else complaints(text, root)
    problems = problems_of(found)
    mark = digest([exit, normalised(text)]) if whole else ""
    same = bool(last and mark and last.digest == mark and last.exit == exit and not report)
    before = last.counts if last else None
    names, fresh = _names(counts, before) if counts else ("", ())
    trace = "" if exit == 0 and not _failures(counts) else _trace(text, written, fresh, same)
    kept = _kept(counts, fresh) if counts else None
    return Feedback(
        printed=Printed(
            step=last.step if same and last else step, exit=exit, digest=mark, counts=kept, problems=problems
        ),
        counts=kept,
        said=_said(kept, before, problems, last.problems if last else None, same),
        names=names,
        trace=trace if counts or not found else "",
        found=found,
        same=same,
        trouble=trouble,
        old=last.problems.marks if last and last.problems else () if last and problems else None,
    )


def normalised(text: str) -> str:
    """The text without what differs between two runs that say the same."""
    return _PASSING.sub("~", text)


def _reported(report: str, reports: Mapping[str, bytes]) -> tuple[str, Report | None]:
    if not reports:
        return f"the report {report} was not written by this run", None
    try:
        return "", parse_reports(reports)
    except BadReport as error:
        return str(error), None


def _failures(counts: TestCounts | None) -> int:
    return counts.failed + counts.errors if counts else 0


def _marks(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(digest(name)[:8] for name in names)


def _kept(counts: TestCounts, fresh: Sequence[str]) -> TestCounts:
    """As it is stored: 20 names, new ones first, and the marks of all."""
    ordered = tuple(dict.fromkeys([*fresh, *counts.failures]))[:MAX_FAILURES]
    return counts.model_copy(update={"failures": ordered, "marks": _marks(counts.failures)})


def _names(counts: TestCounts, before: TestCounts | None) -> tuple[str, tuple[str, ...]]:
    """(the failed tests as a list, new ones first; the new ones)."""
    every, total = counts.failures, _failures(counts)
    if not every:
        return "", ()
    known = set(before.marks) if before else set()
    fresh = tuple(name for name in every if digest(name)[:8] not in known) if before else ()
    old = [name for name in every if name not in set(fresh)]
    rows: list[str] = []
    if fresh:
        rows += ["failed, and did not before:", *(f"  {name}" for name in fresh[:MAX_FAILURES])]
        rows += [f"  … and {len(fresh) - MAX_FAILURES:,} more"] if len(fresh) > MAX_FAILURES else []
    room = MAX_FAILURES - len(fresh)
    rest = total - len(fresh)
    if rest > 0:
        rows.append(f"failed before too: {rest:,}" if before else "failed:")
        rows += [f"  {name}" for name in old[: max(room, 0)]]
        more = rest - min(len(old), max(room, 0))
        rows += [f"  … and {more:,} more"] if more > 0 and room > 0 else []
    return "\n".join(rows), fresh


def _trace(text: str, written: Report | None, fresh: Sequence[str], same: bool) -> str:
    found = first_trace(text, prefer=fresh) or (shortened(trace_of(written, fresh), 60) if written else "")
    return shortened(found, SAME_TRACE) if same else found


def _said(
    counts: TestCounts | None,
    before: TestCounts | None,
    problems: Problems | None,
    earlier: Problems | None,
    same: bool,
) -> str:
    if counts is not None:
        return say_counts(counts) + ("" if same else _since(counts, before))
    if problems is not None:
        change = "" if same or earlier is None else _moved(problems, earlier)
        return say_problems(problems) + change
    return ""


def _since(counts: TestCounts, before: TestCounts | None) -> str:
    """` (was 410 passed, 5 failed: 2 no longer fail, 0 new)`."""
    if before is None:
        return ""
    was = say_counts(before.model_copy(update={"runner": ""}))
    if not _failures(counts) and not _failures(before):
        return "" if counts.passed == before.passed else f" (was {was})"
    told = len(counts.marks) == _failures(counts) and len(before.marks) == _failures(before)
    if not told:
        return f" (was {was})"
    now, then = set(counts.marks), set(before.marks)
    return f" (was {was}: {len(then - now)} no longer fail, {len(now - then)} new)"


def _moved(problems: Problems, earlier: Problems) -> str:
    """` (was 7 errors in 3 files: 3 gone, 1 new)`."""
    now, then = set(problems.marks), set(earlier.marks)
    return f" (was {say_problems(earlier)}: {len(then - now)} gone, {len(now - then)} new)"
