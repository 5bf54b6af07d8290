"""staging: an allowed transition with all that carrying it out, proving it and finding it again needs. Pure."""

from __future__ import annotations

from contracts import waiting
from contracts.base import JsonObject, digest
from contracts.charter import Charter
from contracts.commands import run_id
from contracts.deeds import DEEDS
from contracts.forge_reading import NAME
from contracts.forget import Forgotten
from contracts.freshness import learned, stale
from contracts.grammar import inner_actions, paths_of
from contracts.marks import bound
from contracts.paths import reached
from contracts.readings import Need, Printed, Readings
from contracts.record import Before, RunRecord, Staged
from contracts.reported import evidence_fields
from controller import deeds
from controller.basis import outside, rested_on
from controller.standstill import fingerprint

PATIENCE = 86_400.0  # seconds that evidence may take to come


def staged_of(
    record: RunRecord,
    step: int,
    seen: Readings,
    fresh: Readings,
    transition: JsonObject,
    candidate: JsonObject,
    gone: Forgotten,
    task: Charter,
) -> Staged:
    """The staged form of a transition whose layers all said yes, on the readings `fresh`; `seen` is what the prompt
    showed."""
    action, tool = transition["action"], str(transition["action"]["tool"])
    spec = task.spec(tool)
    return Staged(
        run=record.run,
        step=step,
        transition=transition,
        candidate=candidate,
        tool=tool,
        args=action["args"],
        key=digest([record.run, step, 0, action]),
        fingerprint=fingerprint(action, record.observation, candidate),
        proof=_proof(tool, action["args"], spec.effect if spec else "none", task),
        before=_before(fresh, tool, action["args"], task),
        deadline=fresh.at + waiting.until(action["args"] if tool == "wait" else {}, PATIENCE),
        policy=task.paths,
        boundaries=task.task.approvals.boundaries,
        forgotten=gone,
        secrets=task.schema.secrets,
        printed=_printed(record, tool, action["args"]),
        rests=bound(fresh, transition),
        learned=learned(task.schema, candidate, transition["state_patch"], seen, step),
        points=evidence_fields(task.schema),
        stale=tuple(each.place for each in stale(task.schema, record, seen, step)),
        outside=outside(tool, action["args"], task),
    )


def _printed(record: RunRecord, tool: str, args: JsonObject) -> dict[str, Printed]:
    """What the commands of this action printed last."""
    ids = [run_id(given) for name, given in inner_actions(tool, args) if name == "run"]
    return {id: record.printed[id] for id in ids if id in record.printed}


def _proof(tool: str, args: JsonObject, effect: str, task: Charter) -> Need:
    if tool == "wait":
        return Need(names=(str(args["authority"]),))
    # What is done outside may change what the authorities say: their next word is the evidence of it.
    read = rested_on(task) if outside(tool, args, task) else ()
    if tool in DEEDS:  # no file changes, so nothing is checked again
        return Need(names=("git", NAME, *read))
    if tool == "finish":
        setup = ("setup",) if task.task.workspace.setup.run else ()
        return Need(names=("git", *setup, *task.checks))
    if effect in ("edit", "command", "outside"):
        return Need(names=("git", *task.edit_checks, *read))
    return Need()


def _before(fresh: Readings, tool: str, args: JsonObject, task: Charter) -> Before:
    git = fresh.git
    links = git.links if git else {}
    files = dict.fromkeys(each for path in paths_of(tool, args) for each in reached(path, links))
    basis = deeds.basis(tool, fresh)
    if tool == "wait":
        basis = waiting.begun(args, fresh, task.task.waits)
    if git is None:
        return Before(head="", tree="", files=tuple(files), basis=basis)
    dirty = tuple(sorted(git.dirty))
    return Before(head=git.head, tree=git.tree, dirty=dirty, files=tuple(files), basis=basis)
