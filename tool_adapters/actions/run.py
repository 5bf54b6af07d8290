"""run: one of the task's named commands, its output boiled down to what decides the next step."""

from __future__ import annotations

import time
from collections.abc import Mapping

from contracts.actions import ActionCall, ActionResult, Block, Probed, RanCommand
from contracts.base import JsonObject
from contracts.commands import Command, run_id
from contracts.feedback import Feedback, feedback
from contracts.ports import Captured, Ran
from contracts.text import cut, size
from contracts.tools import SPECS
from contracts.traces import first_trace
from tool_adapters.actions.context import ActionContext
from tool_adapters.actions.files import Refused

LAST_LINES = 40
FEW_LINES = 10
CAP = 1024 * 1024  # bytes of each stream that are looked at
_EXCERPT = 1800
_LONG_LINE = 500
_PROBE_SECONDS = 60.0


class Run:
    """A command that is declared to have no effect outside the worktree is simply run again after a crash (the
    controller first puts the worktree back); one with effects is asked about by its declared probe, and
    without one nobody can tell: a person must look."""

    spec = SPECS["run"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    def lasting(self, call: ActionCall) -> bool:
        """Whether the command acts outside the worktree: ended midway, nobody knows what it left there."""
        command = self.ctx.commands.get(str(call.args.get("command")))
        return command is not None and bool(command.effects)

    async def run(self, call: ActionCall) -> ActionResult:
        return await self.within(call.args, self.ctx.room, call)

    async def within(self, args: JsonObject, room: int, call: ActionCall | None = None) -> ActionResult:
        """The result in at most `room` bytes. Ok when the command ended by itself, whatever its exit code,
        unless it must pass."""
        begun = time.monotonic()
        try:
            name, command, values = self._named(args)
            line = command.filled(values)
        except Refused as refused:
            return ActionResult(ok=False, code=refused.code, say=refused.say)
        except ValueError as error:
            return ActionResult(ok=False, code="run.params", say=f"command {args.get('command')!r}: {error}")
        ran = await self._child(line, command, command.timeout, call, keep=True, idle=command.idle)
        told = self._told(args, command, ran, call)
        facts = RanCommand(
            name=name,
            exit=ran.exit,
            timed_out=ran.timed_out or ran.idle,
            must=command.must,
            took=ran.took,
            id=run_id(args),
            printed=told.printed,
        )
        failure = _failure(name, command, ran)
        if failure:
            code, say = failure
            return ActionResult(
                ok=False,
                code=code,
                say=say,
                excerpt=_excerpt(ran),
                ran=(facts,) if not ran.refused else (),
                took=time.monotonic() - begun,
            )
        blocks = _blocks(name, ran, told, room)
        return ActionResult(blocks=blocks, ran=(facts,), took=time.monotonic() - begun)

    def _told(self, args: JsonObject, command: Command, ran: Ran, call: ActionCall | None) -> Feedback:
        both = (ran.out.text.rstrip("\n"), ran.err.text.rstrip("\n"))
        return feedback(
            "\n".join(text for text in both if text),
            exit=ran.exit,
            step=call.step if call else 0,
            last=call.printed.get(run_id(args)) if call else None,
            whole=max(ran.out.total, ran.err.total) <= CAP,
            report=command.report or "",
            reports=ran.reports,
            root=str(self.ctx.cwd),
        )

    async def probe(self, call: ActionCall) -> Probed:
        try:
            name, command, values = self._named(call.args)
            if not command.effects:
                return Probed(kind="not_yet", why=f"{name} acts on the worktree only and is run again")
            argv = command.filled_probe(values)
        except (Refused, ValueError) as error:
            return Probed(kind="not_yet", why=str(error))
        if not argv:
            return Probed(
                kind="unknown",
                why=f"{name} acts outside the worktree ({', '.join(command.effects)}) and declares no probe",
            )
        ran = await self._child(argv, command, min(command.timeout, _PROBE_SECONDS), call, keep=False)
        match ran.exit:
            case 0:
                facts = RanCommand(name=name, exit=0, must=command.must)
                block = Block(title=f"run {name}: its probe says that it happened; its output is lost")
                return Probed(kind="happened", result=ActionResult(blocks=(block,), ran=(facts,)))
            case 1:
                return Probed(kind="not_yet", why=f"the probe of {name} says that it did not happen")
            case _:
                return Probed(kind="unknown", why=f"the probe of {name} ended with {_end(ran)}")

    def _named(self, args: JsonObject) -> tuple[str, Command, Mapping[str, str]]:
        name = str(args.get("command"))
        command = self.ctx.commands.get(name)
        if command is None:
            known = ", ".join(self.ctx.commands) or "none"
            raise Refused("run.unknown", f"{name[:60]!r} is no command of this task: {known}")
        return name, command, args.get("params") or {}

    async def _child(
        self,
        line: str | tuple[str, ...],
        command: Command,
        timeout: float,
        call: ActionCall | None,
        *,
        keep: bool,
        idle: float | None = None,
    ) -> Ran:
        """With the idempotency key of a step in its environment: a command that acts outside can leave it there,
        and its probe look for it."""
        argv = ("sh", "-c", line) if isinstance(line, str) else line
        key = {"SKILL_STATE_KEY": call.key, "SKILL_STATE_STEP": str(call.step)} if call else {}
        env = {**self.ctx.env, **key}
        runner = self.ctx.boxed(command.network) if self.ctx.boxed else self.ctx.runner
        return await runner.run(
            argv,
            cwd=self.ctx.cwd,
            env=env,
            timeout=timeout,
            idle=idle,
            cap=CAP,
            keep=keep,
            reports=(command.report,) if command.report and keep else (),
        )


def _failure(name: str, command: Command, ran: Ran) -> tuple[str, str] | None:
    """(code, what to do instead) when the command did not run to its end, or had to pass and did not."""
    if ran.missing:
        return "run.missing", (
            f"command {name!r}: the program {ran.missing!r} is not there; nothing was run. If the set-up should "
            "have made it, ask"
        )
    if ran.refused:
        return "run.refused", f"command {name!r} was not run: {ran.refused[:300]}"
    if ran.idle:
        return "run.timeout", f"command {name!r} printed nothing for {command.idle:g} s and was ended"
    if ran.timed_out:
        return "run.timeout", f"command {name!r} was ended after {ran.took:.0f} s: run less at once"
    if ran.flooded:
        return "run.flooded", f"command {name!r} was ended: it wrote {ran.out.total + ran.err.total:,} bytes"
    if command.must == "pass" and ran.exit != 0:
        return "run.must_pass", f"command {name!r} must exit 0 and ended with {_end(ran)}: mend that first"
    return None


def _end(ran: Ran) -> str:
    return f"signal {ran.signal}" if ran.exit is None and ran.signal else f"exit {ran.exit}"


def _excerpt(ran: Ran) -> str:
    """The first trace or the last lines, and where the rest is."""
    trace = first_trace(ran.out.text) or first_trace(ran.err.text)
    text = trace or "\n".join(part for part in (_last(ran.out, 15), _last(ran.err, 15)) if part)
    shown = cut(text, _EXCERPT - 200)
    kept = [f"artifact:{each.artifact}" for each in (ran.out, ran.err) if each.artifact]
    more = kept and ran.out.total + ran.err.total > size(shown) + 2
    return f"{shown}\n(all that it printed: {', '.join(kept)})" if more else shown


def _blocks(name: str, ran: Ran, told: Feedback, room: int) -> tuple[Block, ...]:
    """Counts and what changed, failed tests or complaints by file, the first failing trace; then the last lines
    of each stream: few where the rest was understood, none where the last run printed the same. The full output
    is an artifact."""
    parts = [told.since, told.trouble, f"counts: {told.said}" if told.said else "", told.names]
    parts.append(told.problems(room // 2))
    long = told.same or any(stream.text.count("\n") > LAST_LINES for stream in (ran.out, ran.err))
    if told.trace and long:
        parts.append("first failure:\n" + cut(_short(told.trace), room // 3))
    if ran.survivors:
        parts.append(f"left running and ended: {', '.join(ran.survivors)}"[:400])
    text = cut("\n".join(part for part in parts if part), room * 2 // 3)
    head = Block(title=f"run {name}: {_end(ran)}, {ran.took:.1f} s", text=text)
    room -= size(head.title) + size(head.text)
    most = LAST_LINES
    if told.said or told.same:
        most = 0 if told.said and told.same else FEW_LINES if told.same or told.found else LAST_LINES
    streams = [(word, each) for word, each in (("stdout", ran.out), ("stderr", ran.err)) if each.total]
    blocks = [head]
    for left, (word, stream) in zip(range(len(streams), 0, -1), streams, strict=True):
        block = _tail(word, stream, most, room // left - 100)
        room -= size(block.text) + 100
        blocks.append(block)
    return tuple(blocks)


def _tail(word: str, stream: Captured, most: int, room: int) -> Block:
    """The last `most` lines of a stream in `room` bytes. The whole of what was printed is in the artifact."""
    rows = stream.text.rstrip("\n").split("\n")
    kept = f", {stream.total:,} bytes: artifact:{stream.artifact}" if stream.artifact else ""
    whole = stream.total <= CAP
    long = any(len(row) > _LONG_LINE for row in rows[-most:]) if most else False
    if not whole:
        which = f"last {most} lines" if most else "not shown"
    elif len(rows) > most:
        which = f"last {most} of {len(rows):,} lines" if most else f"{len(rows):,} lines"
    elif long:
        which = f"{len(rows):,} line{'s' * (len(rows) > 1)}"
    else:
        which, kept = "all", ""
    kept += "; long lines are cut" if long else ""
    first = max(len(rows) - most, 0) + 1 if whole else None
    text = cut(_last(stream, most), max(room, 200), artifact=stream.artifact, first=first) if most else ""
    return Block(
        title=f"{word}, {which}{kept}", text=text, total=stream.total, artifact=stream.artifact, first=first
    )


def _last(stream: Captured, count: int) -> str:
    return _short("\n".join(stream.text.rstrip("\n").split("\n")[-count:]))


def _short(text: str) -> str:
    """Long lines keep their beginning and say how much is missing."""
    return "\n".join(
        line if len(line) <= _LONG_LINE else f"{line[:_LONG_LINE]}… +{len(line) - _LONG_LINE:,} characters"
        for line in text.split("\n")
    )
