"""A check: a command with a pass rule. What passes here is the only proof that something is done."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread

from contracts.checks import Check
from contracts.counts import say_counts
from contracts.coverage import printed, reported
from contracts.feedback import Feedback, feedback
from contracts.junit import BadReport
from contracts.paths import generated, matches
from contracts.ports import Ask, Ran, Runner
from contracts.readings import CheckReading, check_id
from contracts.repository import GitReader
from contracts.text import NO_WORSE, cut
from contracts.units import argv_of
from reconcilers.command import left_running, output

CAP = 4 * 1024 * 1024
TEXT = 8 * 1024
LAST_LINES, FEW_LINES = 40, 10
# What a command that runs nothing prints about itself; such a command proves nothing, whatever it exits with.
_NOTHING_RAN = re.compile(
    r"\b(?:no tests? (?:ran|were run|collected|executed|to run|found|files?)|collected 0 items|"
    r"(?:ran|running) 0 tests?)\b",
    re.I,
)


# Python takes no bytecode from beside the sources, where whatever ran in the worktree may have put it: it is written
# nowhere, and so made of the sources each time.
_FROM_SOURCE = {"PYTHONPYCACHEPREFIX": "/dev/null/none"}


class CheckReconciler:
    """Runs one check of the task in `cwd`.

    pins    globs of files (relative to `cwd`) that the check rests on; `check.may_edit` releases some. A pin
            that differs from the base fails the check, whatever the command says.
    env     the whole environment of the command. git: read-only, of the worktree.
    """

    def __init__(
        self,
        check: Check,
        *,
        pins: tuple[str, ...],
        cwd: Path,
        env: Mapping[str, str],
        runner: Runner,
        git: GitReader,
    ) -> None:
        self.name, self.role = check.name, check.role
        self.when: tuple[str, ...] = {"finish": ("finish",), "edit": ("edit", "finish")}.get(
            check.when, ("step", "edit", "finish")
        )
        self._check, self._pins, self._cwd, self._env = check, pins, cwd, env
        self._runner, self._git = runner, git

    async def read(self, ask: Ask) -> CheckReading:
        """The reading. A command that is missing or runs out of time has failed, which is known."""
        began = time.monotonic()
        check = self._check
        broken = await anyio.to_thread.run_sync(self._broken_pins, ask.base)
        if broken:
            return self._reading(
                ask, began, False, f"it rests on files that were changed: {_named(broken)}", broken
            )
        ran = await self._runner.run(
            argv_of(check.run or ()),
            cwd=self._cwd,
            env={**self._env, **_FROM_SOURCE},
            timeout=check.timeout,
            idle=check.idle,
            cap=CAP,
            keep=True,
            reports=tuple(each for each in (check.report, check.coverage) if each),
        )
        said = output(ran)
        told = self._told(ran, said, ask)
        counts = told.counts
        failed = self._failed(ran, told, said, ask)
        artifact = ran.out.artifact or ran.err.artifact
        reached, thin = self._reached(ran, said, ask)
        if failed and not thin and self._no_worse(ran, told, ask):
            failed, why = None, f"{NO_WORSE}: {failed}"
        else:
            failed = failed or thin or None
            reaches = f"; {reached:.1f} % of the lines covered" if reached is not None else ""
            why = failed or f"{told.said or f'exit {ran.exit}'}{reaches}"
        reading = self._reading(ask, began, failed is None, why + left_running(ran))
        return reading.model_copy(
            update={
                "exit": ran.exit,
                "timed_out": ran.timed_out or ran.idle,
                "counts": counts,
                "coverage": reached,
                "printed": told.printed,
                "text": excerpt(said, told, artifact, failed is None, ran.err.artifact),
                "total": ran.out.total + ran.err.total,
                "artifact": artifact,
            }
        )

    def _told(self, ran: Ran, said: str, ask: Ask) -> Feedback:
        return feedback(
            said,
            exit=ran.exit,
            step=ask.step,
            last=ask.printed.get(check_id(self.name)),
            whole=max(ran.out.total, ran.err.total) <= CAP,
            report=self._check.report or "",
            reports=_of(self._check.report, ran),
            root=str(self._cwd),
        )

    def _reached(self, ran: Ran, said: str, ask: Ask) -> tuple[float | None, str]:
        """The percentage of lines that are covered, where it is asked for, and why that is too little."""
        check = self._check
        if check.coverage is None and check.min_coverage is None:
            return None, ""
        try:
            files = _of(check.coverage, ran)
            if check.coverage and not files:
                return None, f"the coverage report {check.coverage} was not written by this run"
            reached = reported(files) if files else printed(said)
        except BadReport as error:
            return None, str(error)
        if reached is None:
            return None, "it printed no coverage that is known: name the report that it writes (`coverage`)"
        least = ask.floor.get(f"{check.name}.coverage")
        floor = (
            check.min_coverage if check.min_coverage is not None else least / 10 if least is not None else 0.0
        )
        if reached < floor:
            return reached, f"only {reached:.1f} % of the lines are covered, {floor:g} % are asked for"
        return reached, ""

    def _reading(
        self, ask: Ask, began: float, passed: bool, why: str, broken: tuple[str, ...] = ()
    ) -> CheckReading:
        return CheckReading(
            name=self.name,
            role=self.role,
            passed=passed,
            why=_line(why),
            exit=None,
            pins_broken=broken[:20],
            tree=ask.head,
            took=time.monotonic() - began,
        )

    def _failed(self, ran: Ran, told: Feedback, said: str, ask: Ask) -> str | None:
        """Why the check is red, or None."""
        check, counts = self._check, told.counts
        if ran.refused:
            return f"it could not be run: {ran.refused}"
        if ran.timed_out:
            return f"not done after {check.timeout:g} s"
        if ran.idle:
            return f"it printed nothing for {check.idle:g} s and was ended"
        if ran.flooded:
            return "it wrote more than 64 MiB and was ended"
        if ran.exit is None:
            return "it was ended before it was done"
        if ran.signal is not None:
            return f"it was killed by signal {ran.signal}"
        if ran.exit not in check.pass_exit:
            why = f": {told.said}" if told.said else _last(said)
            return f"exit {ran.exit}{why}" + (f"; {told.trouble}" if told.trouble else "")
        if told.trouble:
            return told.trouble
        floor = check.min_tests or ask.floor.get(f"{check.name}.passed")
        if counts is None:
            if floor:
                return f"it printed no count of tests, {floor:,} passed tests are asked for"
            return _NONE if _nothing_ran(said) else None
        if counts.passed + counts.failed + counts.errors + counts.skipped == 0:
            return _NONE
        if 0 in check.pass_exit and counts.failed + counts.errors:
            return f"exit {ran.exit}, but {say_counts(counts)}"
        if floor and counts.passed < floor:
            return f"only {counts.passed:,} tests passed, {floor:,} are asked for"
        most = ask.floor.get(f"{check.name}.skipped")
        if most is not None and counts.skipped > most:
            return f"{counts.skipped:,} tests were skipped, at the start it was {most:,}"
        return None

    def _no_worse(self, ran: Ran, told: Feedback, ask: Ask) -> bool:
        """Whether a guard that was red at the start, and accepted so, is red in no other way than then: no test fails
        that did not, no complaint is new, and where it prints neither, it says the very same (times aside)."""
        start, now = ask.start.get(self.name), told.printed
        if not ask.floor.get(f"{self.name}.accepted") or start is None or told.trouble:
            return False
        if ran.exit is None or ran.timed_out or ran.idle:
            return False
        if start.counts is not None:
            then, counts = start.counts, now.counts
            return (
                counts is not None
                and counts.passed >= then.passed
                and counts.skipped <= then.skipped
                and counts.failed + counts.errors <= then.failed + then.errors
                and set(counts.marks) <= set(then.marks)
            )
        if start.problems is not None:
            problems = now.problems
            return problems is not None and set(problems.marks) <= set(start.problems.marks)
        return bool(start.digest) and (start.digest, start.exit) == (now.digest, now.exit)

    def _broken_pins(self, base: str) -> tuple[str, ...]:
        """Pinned files that differ from `base`, new ones included. One or two git processes; none without
        pins."""
        if not self._pins or not base:
            return ()
        prefix = _prefix(self._cwd, self._git.root)
        different = {*self._git.changed(base), *self._git.status().untracked}
        inner = (path[len(prefix) :] for path in different if path.startswith(prefix))
        return tuple(
            sorted(
                path
                for path in inner
                if matches(path, self._pins)
                and not matches(path, self._check.may_edit)
                and not generated(path)
            )
        )


_NONE = "it ran 0 tests"


def _nothing_ran(said: str) -> bool:
    return len(said) < 4000 and _NOTHING_RAN.search(said) is not None


def _of(pattern: str | None, ran: Ran) -> dict[str, bytes]:
    """The reports of a run that a path or glob names."""
    return {path: data for path, data in ran.reports.items() if pattern and matches(path, (pattern,))}


def _named(paths: tuple[str, ...]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def _prefix(cwd: Path, root: Path) -> str:
    inside = posixpath.relpath(cwd, root)
    return "" if inside == "." or inside.startswith("..") else f"{inside}/"


def _last(said: str) -> str:
    last = next((line.strip() for line in reversed(said.split("\n")) if line.strip()), "")
    return f": {last}" if last else ""


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def excerpt(said: str, told: Feedback, artifact: str | None, passed: bool, errors: str | None = None) -> str:
    """What the agent reads of a check, at most 8 KiB: counts and what changed, up to 20 failures by name, the
    complaints by file, the text of the first failure (60 lines), the last 40 lines; of a passed one only counts
    and the last lines, of one that says what it said before no last lines. `errors` is standard error's artifact."""
    parts = [part for part in (told.since, told.said, told.names, told.problems(TEXT // 2)) if part]
    rows = said.rstrip().split("\n")
    most = 0 if told.same and told.said else 5 if passed and told.counts else LAST_LINES
    if told.found or told.same:
        most = min(most, FEW_LINES)
    last = "\n".join(rows[-most:]) if most else ""
    if not passed and told.trace and (told.trace not in last):
        parts.append(cut(f"first failure:\n{told.trace}", TEXT // 2))
    used = sum(len(part.encode("utf-8", "replace")) + 2 for part in parts)
    if last.strip():
        parts.append(cut(f"end of the output:\n{last}", max(TEXT - used, 512), artifact=artifact))
    elif artifact and most == 0:
        parts.append(f"{len(rows):,} lines: artifact:{artifact}")
    if errors and errors != artifact and not passed:
        parts.append(f"standard error: artifact:{errors}")
    return cut("\n\n".join(parts), TEXT, artifact=artifact)
