"""`run` and `step`: open or resume the newest run and go on until an outcome."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic_core import PydanticCustomError

from contracts.errors import ConfigError, ControllerError, Moved, NoRoom, Temporary
from contracts.events import Begun, Ended, Event, Note, StepEnded
from contracts.record import RunRecord
from contracts.units import seconds
from controller import loop
from controller.assemble import assemble
from controller.candidate import heirs, unusable
from controller.deadline import Deadline
from controller.fallback import chosen
from controller.opening import Options
from controller.places import Places
from controller.rig import Rig
from controller.surfaces.call import call
from controller.surfaces.changes import diffstat, repository
from controller.surfaces.clean import with_remedy
from controller.surfaces.events import ended, ending, json_line, step_ended
from controller.surfaces.failures import failure
from controller.surfaces.grown import put_down, taken_over
from controller.surfaces.land import landed
from controller.surfaces.locate import load, task_path, wait_for
from controller.surfaces.outlook import TEMPLATE, untouched
from controller.surfaces.progress import Lines, for_stderr, on_terminal
from controller.surfaces.repair import refuse_lost
from controller.surfaces.reports import Reports
from controller.surfaces.watched import watched
from controller.surfaces.who import who
from controller.surfaces.words import plain
from controller.taskfile import LoadedTask
from tool_adapters.descendants import sole_parent

AT_TERMINAL = 6 * 3600.0  # seconds of a wait that somebody watches: the limits of plans are of five hours
MOVES = 32  # times that a call is assembled anew
Until = Literal["waiting", "deadline", "blocked"]
NO_SANDBOX = "sandbox: none: commands and checks run with your rights, in the run's own worktree"


class Reporter(Lines):
    """Tells the watcher on stderr, and with `as_json` each event on stdout."""

    def __init__(self, shown: Lines, as_json: bool) -> None:
        super().__init__(shown.stream)
        self.shown, self.as_json = shown, as_json
        self.steps: list[StepEnded] = []
        self.phase, self.output, self.close = shown.phase, shown.output, shown.close  # type: ignore[method-assign]
        self.waiting = shown.waiting  # type: ignore[method-assign]

    def note(self, line: str) -> None:
        self.shown.note(line)
        self.tell(Note(say=line))

    def tell(self, event: Event) -> None:
        """An event: on stdout, with --json."""
        if isinstance(event, StepEnded):
            self.steps.append(event)
        if not self.as_json:
            return
        try:
            print(json_line(event), flush=True)
        except BrokenPipeError:
            unheard()
            raise KeyboardInterrupt from None  # nobody listens any more: the run ends as by Ctrl-C


@dataclass(frozen=True)
class Asked:
    """What a call of `run` was asked for, as on its command line."""

    agent: str | None = None
    new: bool = False
    retry: bool = False
    accept: bool = False
    steps: int | None = None
    until: Until | None = None
    deadline: str | None = None
    wait_limit: str | None = None
    as_json: bool = False
    junit: Path | None = None
    github: bool = False

    def options(self) -> Options:
        """The same for the loop. Raises ConfigError."""
        if self.until == "deadline" and self.deadline is None:
            raise ConfigError("--until deadline needs --deadline", hint="such as `--deadline 50m`")
        return Options(
            new=self.new,
            retry=self.retry,
            accept=self.accept,
            limit=self.steps,
            patience=self.patience(),
            deadline=Deadline.of(self.deadline) if self.deadline is not None else None,
            swaps=self.agent is None,
            by=who(),
        )

    def patience(self) -> float:
        """Seconds of a wait that is slept through, else it ends the call: none where nobody watches, as in CI, where
        the machine is paid for. Raises ConfigError."""
        if self.wait_limit is not None and self.until == "waiting":
            raise ConfigError("--until waiting ends every wait", hint="leave --wait-limit out, or --until")
        if self.wait_limit is not None:
            try:
                return seconds(self.wait_limit)
            except PydanticCustomError as error:
                raise ConfigError(f"--wait-limit {self.wait_limit!r}: {error.message()}") from None
        if self.until is not None:
            return 0.0 if self.until == "waiting" else math.inf
        return AT_TERMINAL if on_terminal(sys.stderr) else 0.0


def run(task: Path | None, asked: Asked) -> int:
    """Run the task to an outcome, or as far as `asked` says, and report it. Returns the exit code. Raises
    ControllerError."""
    reporter, reports = Reporter(for_stderr(), asked.as_json), Reports(asked.junit, asked.github)
    try:
        told = _told(task, asked, reporter)
    except BaseException as error:
        reports.write(failure(error), reporter.steps)
        raise
    finally:
        reporter.close()
    told = told.model_copy(update={"exit": call.exit_code(told.outcome)})
    reports.write(told, reporter.steps)
    reporter.tell(told)
    if not asked.as_json:
        try:
            print(plain(ending(told)), flush=True)
        except BrokenPipeError:
            unheard()
    return told.exit


def _told(task: Path | None, asked: Asked, reporter: Reporter) -> Ended:
    options, loaded, path = asked.options(), load(task), task_path(task)
    refuse_lost(loaded)
    for where, hint in untouched(loaded):
        raise loaded.error(TEMPLATE, *where, hint=f"write {hint}, then run again")
    again = partial(_rig, loaded, asked.agent, reporter, asked.steps)
    return wait_for(lambda: _worked(again, loaded, path, reporter, options))


def unheard() -> None:
    """stdout has no reader: what is printed from here on goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def assembled(loaded: LoadedTask, agent: str | None, reporter: Lines, steps: int | None = None) -> Rig:
    """The rig, telling `reporter` what goes on. Raises ConfigError, with what mends it."""
    sole_parent()
    return watched(assemble(loaded, agent=agent, watch=reporter, steps=steps))


async def _rig(
    loaded: LoadedTask, agent: str | None, reporter: Lines, steps: int | None, out: Collection[str]
) -> Rig:
    """The rig with `agent`, or with the one of the task's that is to make the next step."""
    rig = assembled(loaded, agent, reporter, steps)
    if agent is not None or not loaded.task.agent.fallback:
        return rig
    record = await rig.store.load(loaded.task.name)
    going_on = None if record is not None and record.finished else record
    name = chosen(going_on, loaded.task.agent, time.time(), out)
    if name == loaded.task.agent.use:
        return rig
    if close := getattr(rig.store, "close", None):
        close()
    return assembled(loaded, name, reporter, steps)


async def _worked(
    again: Callable[[Collection[str]], Awaitable[Rig]],
    loaded: LoadedTask,
    path: Path,
    reporter: Reporter,
    options: Options,
) -> Ended:
    out = unusable(loaded, Places.of(loaded).runtime) if options.swaps and loaded.task.agent.fallback else {}
    rig = await again(out.keys() - {loaded.task.agent.use})  # the first one is for a person to mend
    steps, new = options.limit, options.new
    before = await rig.store.load(rig.task.task.name)
    if put_down(loaded, before):
        rig = await again(out.keys() - {loaded.task.agent.use})
    out.pop(rig.agent.profile.name, None)
    options = replace(options, unusable=out)
    opens = before is None or (before.finished and new)
    reporter.tell(_begun(rig, None if opens else before))
    if before is None or not before.finished or new or rig.task.task.repeat != "never":
        reporter.note(NO_SANDBOX if rig.sandbox == "none" else f"sandbox: {rig.sandbox}")
        if options.swaps:
            for said in heirs(loaded, rig.agent.profile.name, Places.of(loaded).runtime):
                reporter.note(said)
            for name, why in out.items():
                reporter.note(f"agent {name} can't take over: {why}"[:400])
    last: list[RunRecord | None] = [None if opens else before]
    began, left = [time.monotonic()], [steps]

    def after_step(record: RunRecord) -> None:
        left[0] = None if left[0] is None else left[0] - 1
        now = time.monotonic()
        if last[0] is not None and last[0].run != record.run:  # this call opened another one
            last[0] = None
        told = step_ended(last[0], record, now - began[0], rig.task.price_known)
        only_ended = told.result == "halted" and last[0] is not None and record.step == last[0].step
        began[0], last[0] = now, record
        if not only_ended:  # no launch, nothing done: the outcome says it
            reporter.shown.step(told)
            reporter.tell(told)

    try:
        for _ in range(MOVES):
            if not new and (said := await taken_over(loaded, rig.store, options.by)):
                reporter.note(said)
            try:
                end = await loop.run(rig, replace(options, limit=left[0]), after_step)
                break
            except Moved as moved:
                reporter.note(moved.message)
                rig, new = await again(out), False
                options = replace(options, new=False)
        else:
            raise Temporary(f"the task moved {MOVES} times in one call", hint="run again")
    except NoRoom as error:
        raise await with_remedy(error, loaded) from None
    record = end.record
    outcome = None if end.outcome is None and steps is not None else end.outcome
    told = ended(record, outcome, rig.task, path, _diffstat(loaded, record), end.halt)
    return told.model_copy(update={"next": ""}) if _landed(loaded, record) else told


def _begun(rig: Rig, before: RunRecord | None) -> Begun:
    """What is told at the start: the run that goes on, none for a new one, and what it goes on with."""
    return Begun(
        task=rig.task.task.name,
        run=before.run if before else None,
        step=before.step if before else 0,
        agent=rig.agent.profile.name,
        model=rig.agent.profile.model,
        credential=rig.agent.profile.credential,
        sandbox=rig.sandbox,
    )


def _landed(loaded: LoadedTask, record: RunRecord) -> bool:
    try:
        return record.finished and landed(repository(loaded, record), record, loaded.task.workspace.base)
    except ControllerError:
        return False


def _diffstat(loaded: LoadedTask, record: RunRecord) -> str:
    try:
        return diffstat(repository(loaded, record), record.base, record.head)
    except ControllerError as error:  # the outcome stands even when nothing can be said of the diff
        print(f"controller: no diffstat: {error}", file=sys.stderr)
        return ""
