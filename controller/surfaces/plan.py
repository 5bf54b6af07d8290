"""`plan` and `apply`: one step of the agent, looked at before anything is done; then exactly that, or nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import orjson

from contracts.actions import ActionCall
from contracts.base import JsonObject
from contracts.controls import exact
from contracts.errors import ConfigError, Lost
from contracts.queue import Decision, Entry
from contracts.record import RunRecord
from contracts.veil import veiled
from controller import loop
from controller.assemble import Tools, assemble
from controller.opening import Options
from controller.rig import Rig
from controller.surfaces.approvals import Fields, found
from controller.surfaces.events import ended, ending
from controller.surfaces.locate import load, newest, open_existing, task_path, wait_for
from controller.surfaces.progress import for_stderr
from controller.surfaces.repair import refuse_lost
from controller.surfaces.run import assembled
from controller.surfaces.watched import watched
from controller.surfaces.who import who
from controller.surfaces.words import command, money, plain
from controller.taskfile import LoadedTask
from tool_adapters.actions.preview import preview
from tool_adapters.descendants import sole_parent

NOT_PLANNED = REFUTED = 3


def plan(task: Path | None, *, agent: str | None, as_json: bool) -> int:
    """Ask the agent for its next step and park it as a plan: the launch is paid for, nothing is done. 0, or 3 when
    the reply was refused, or the code of a run that is halted. Raises ControllerError."""
    loaded = load(task)
    refuse_lost(loaded)
    watch = for_stderr()
    try:
        sole_parent()
        rig = assemble(loaded, agent=agent, watch=watch, steps=1)
        assert isinstance(rig.actions, Tools)
        context = rig.actions.context
        record, entry = wait_for(lambda: _asked(watched(rig), task))
        diff = ""
        if entry is not None:
            call = _call(entry, record)
            diff = wait_for(lambda: anyio.to_thread.run_sync(preview, context, call))
    finally:
        watch.close()
    if entry is None:
        return _unplanned(loaded, record, rig, task, as_json)
    told = _told(entry, record, diff, task, rig.task.schema.secrets)
    print(orjson.dumps(told).decode() if as_json else plain(exact(_text(told))))
    return 0


async def _asked(rig: Rig, task: Path | None) -> tuple[RunRecord, Entry | None]:
    """The record after one launch, and what was parked by it."""
    before = await rig.store.load(rig.task.task.name)
    if before is not None and (before.staged is not None or before.approved is not None):
        raise ConfigError(
            "a step is half-done, or approved and not yet done", hint=f"`{command('run', task)}` first"
        )
    rig.task = replace(rig.task, planning=True)
    record = (await loop.run(rig, Options(limit=1, by=who()))).record
    known = {entry.id for entry in before.queue} if before is not None and before.run == record.run else set()
    return record, next((entry for entry in record.queue if entry.id not in known), None)


def _call(entry: Entry, record: RunRecord) -> ActionCall:
    action = entry.transition["action"]
    return ActionCall(tool=action["tool"], args=action["args"], key="", step=entry.step, head=record.head)


def _told(entry: Entry, record: RunRecord, diff: str, task: Path | None, secrets: Fields) -> JsonObject:
    verb = "apply" if entry.kind == "plan" else "answer" if entry.kind == "ask" else "approve"
    more = ("--task", str(task)) if task is not None else ()
    return {
        "plan": entry.id,
        "kind": entry.kind,
        "run": record.run,
        "step": entry.step,
        "why": entry.why,
        "state_patch": veiled(entry.transition["state_patch"], secrets),
        "action": entry.transition.get("action"),
        "diff": diff or entry.diff,
        "basis": entry.basis,
        "hash": entry.hash,
        "expires": entry.expires,
        "usd_micro": record.spent.usd_micro,
        "estimated": record.spent.estimated,
        "tokens": record.spent.tokens,
        "next": command(verb, None, entry.id, *more),
    }


def _text(told: JsonObject) -> str:
    form = orjson.OPT_INDENT_2
    cost = money(told["usd_micro"], told["estimated"])
    lines = [
        f"{told['plan']}: step {told['step']} of run {told['run']} ({told['why']}); nothing was done",
        "state_patch",
        *(f"  {line}" for line in orjson.dumps(told["state_patch"], option=form).decode().splitlines()),
        "action",
        *(f"  {line}" for line in orjson.dumps(told["action"], option=form).decode().splitlines()),
        *(["diff", *(f"  {line}" for line in told["diff"].splitlines())] if told["diff"] else []),
        f"spent    {cost}, {told['tokens']:,} tokens in this run so far",
        f"next     {told['next']}",
    ]
    return "\n".join(lines)


def _unplanned(loaded: LoadedTask, record: RunRecord, rig: Rig, task: Path | None, as_json: bool) -> int:
    """The reply was refused, or the run is halted."""
    told = ended(record, record.outcome, rig.task, task_path(task), "")
    wrong = record.correction if record.correction and record.correction.step == record.step else None
    if as_json:
        more = {"rejected": wrong.model_dump(mode="json")} if wrong else {}
        print(orjson.dumps(told.model_dump(mode="json") | more).decode())
    elif wrong:
        print(plain(f"nothing was planned: {wrong.layer}, {wrong.code}: {wrong.say}"))
    else:
        print(plain(ending(told)))
    return told.exit if record.outcome else NOT_PLANNED


def apply(task: Path | None, id: str, as_json: bool) -> int:
    """Do what plan `id` says, exactly. Raises Lost (7) when what it rests on moved, ConfigError when there is no
    such plan."""
    loaded = load(task)
    store = open_existing(loaded)
    entry = found(wait_for(lambda: newest(store, loaded.task.name)), id)
    by, now = who(), time.time()
    if entry.kind != "plan":
        raise ConfigError(f"{id} is no plan but an {entry.kind}", hint=f"`controller approvals show {id}`")
    if refused := entry.refuses(by, entry.hash, now):
        raise ConfigError(refused)
    word = Decision(entry=id, hash=entry.hash, yes=True, by=by, at=now)
    wait_for(lambda: store.post(loaded.task.name, word))
    watch = for_stderr()
    try:
        rig = assembled(loaded, None, watch)
        end = wait_for(lambda: loop.run(rig, Options(limit=1, by=by)))
    finally:
        watch.close()
    record = end.record
    wrong = record.correction if record.correction and record.correction.step == record.step else None
    if wrong is not None and wrong.code.startswith("policy.approval_"):
        raise Lost(wrong.say, hint=f"`{command('plan', task)}` makes another one")
    told = ended(record, record.outcome, rig.task, task_path(task), "")
    if as_json:
        print(told.model_dump_json())
    elif wrong is not None:
        print(plain(f"{id} was done, and put back: {wrong.layer}, {wrong.code}: {wrong.say}"))
    else:
        print(plain(f"{id} is done: step {record.step}\n{ending(told)}"))
    return told.exit if record.outcome else REFUTED if wrong else 0
