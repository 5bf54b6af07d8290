"""The suite: every case of an agent, launched, judged, and held against what is known of its version."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from contracts.base import JsonObject
from contracts.ports import Runner
from controller.conformance.cases import Case, cases_of
from controller.conformance.known import Known, differing
from controller.conformance.launches import Ask, Seen, launch
from controller.conformance.subject import Place, Subject
from tool_adapters.process import ProcessRunner

Verdict = Literal["good", "flawed", "changed", "bad", "untried"]
PATIENCE = 120.0  # seconds: a launch that should end by itself and has not, has hung


@dataclass(frozen=True)
class Row:
    """What came of one case. `flawed`: a promise is broken, and known to be. `expected` of the known version and `seen`
    are facts; `why`: what is broken, which facts changed, or why it was not tried."""

    case: str
    about: str
    verdict: Verdict
    expected: JsonObject | None = None
    seen: JsonObject | None = None
    why: tuple[str, ...] = ()


@dataclass
class Report:
    """All rows, and what they were held against: `known` is None where nothing is known of this adapter, `mode` how
    it was asked (see Subject)."""

    agent: str
    kind: str
    version: str
    known: str | None
    mode: str
    rows: list[Row] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return all(row.verdict in ("good", "flawed", "untried") for row in self.rows)

    @property
    def facts(self) -> dict[str, JsonObject]:
        """Case -> what was seen; `broken` is among it where the promise is not kept."""
        return {row.case: row.seen for row in self.rows if row.seen is not None}


def run_suite(
    subject: Subject,
    *,
    known: Known | None = None,
    only: Collection[str] = (),
    patience: float = PATIENCE,
    told: Callable[[Row], None] = lambda row: None,
) -> Report:
    """Runs the cases (`only` these, where some are named). `told` gets each row as it is known. Raises ConfigError when
    the agent can't be started at all."""
    known = Known.of(subject.kind) if known is None else known
    with bench() as (place, runner):
        agent = subject.agent(place, runner, "http://127.0.0.1:1", patience)
        agent.preflight()
        version = agent.profile.version
        report = Report(subject.name, subject.kind.kind, version, known.near(version), subject.mode)
        expected = known.facts(report.known, report.mode)
        launches = _Launches(subject, place, runner, patience)
        for case in cases_of(subject):
            if only and case.name not in only:
                continue
            row = _row(case, subject, launches, expected.get(case.name))
            report.rows.append(row)
            told(row)
            if case.name == "round_trip" and row.verdict == "bad" and not only:
                launches.lost = "not even a right reply came through"
    return report


@contextmanager
def bench() -> Iterator[tuple[Place, Runner]]:
    """Folders of its own, and what starts processes there; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="controller-agents-", ignore_cleanup_errors=True) as folder:
        place = Place(Path(folder))
        place.make()
        yield place, ProcessRunner(place.root / "spool")


class _Launches:
    """The launches of one suite: each kind of them once. `lost`: why there is no use in another."""

    def __init__(self, subject: Subject, place: Place, runner: Runner, patience: float) -> None:
        self._subject, self._place, self._runner, self._patience = subject, place, runner, patience
        self._seen: list[tuple[Ask, Seen]] = []
        self.lost = ""

    def seen(self, ask: Ask) -> Seen | None:
        """What was seen of this launch; None when it is not worth one."""
        found = next((seen for asked, seen in self._seen if asked == ask), None)
        if found is None and not self.lost:
            found = launch(self._subject, ask, self._place, self._runner, self._limit(ask))
            self._seen.append((ask, found))
        return found

    def _limit(self, ask: Ask) -> float:
        """A deadline that is waited for is a few times what a launch takes here: one whose answer is right, where none
        has shown that yet."""
        if ask.end != "deadline":
            return self._patience
        if not any(seen.ask.end == "itself" for _, seen in self._seen):
            self.seen(Ask(self._subject.reply, ask.prompt))
        took = max(seen.took for _, seen in self._seen if seen.ask.end == "itself")
        return min(self._patience, 3 * took + 3)


def _row(case: Case, subject: Subject, launches: _Launches, expected: JsonObject | None) -> Row:
    if not case.offline and not subject.at_loopback:
        why = "it can't be pointed at the loopback"
        return Row(case.name, case.about, "untried", why=(why,))
    seen = launches.seen(case.ask)
    if seen is None:
        return Row(case.name, case.about, "untried", expected, why=(launches.lost,))
    facts, broken = case.facts(seen), tuple(case.broken(seen))
    if broken:
        facts["broken"] = True
    # A flaw that shows now and then: what else is seen beside it depends on whether it does.
    sometimes = (expected or {}).get("broken") == "sometimes"
    changed = () if sometimes else tuple(differing(expected or {}, facts))
    if broken and not (expected or {}).get("broken"):
        return Row(case.name, case.about, "bad", expected, facts, broken)
    if changed:
        return Row(case.name, case.about, "changed", expected, facts, changed)
    return Row(case.name, case.about, "flawed" if broken else "good", expected, facts, broken)
