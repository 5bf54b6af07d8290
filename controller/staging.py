"""staging: an allowed transition with all that carrying it out, proving it and finding it again needs. Pure."""

from __future__ import annotations

from contracts.base import JsonObject, digest
from contracts.charter import Charter
from contracts.commands import run_id
from contracts.forget import Forgotten
from contracts.grammar import inner_actions, paths_of
from contracts.marks import bound
from contracts.paths import reached
from contracts.readings import GitReading, Need, Printed, Readings
from contracts.record import Before, RunRecord, Staged
from controller.standstill import fingerprint


def staged_of(
    record: RunRecord,
    step: int,
    fresh: Readings,
    transition: JsonObject,
    candidate: JsonObject,
    gone: Forgotten,
    task: Charter,
) -> Staged:
    """The staged form of a transition whose layers all said yes, on the readings `fresh`."""
    action, tool = transition["action"], str(transition["action"]["tool"])
    git = fresh.git
    spec = task.spec(tool)
    return Staged(
        step=step,
        transition=transition,
        candidate=candidate,
        tool=tool,
        args=action["args"],
        key=digest([record.run, step, 0, action]),
        fingerprint=fingerprint(action, record.observation, candidate),
        proof=_proof(tool, spec.effect if spec else "none", task),
        before=_before(git, tool, action["args"]),
        policy=task.paths,
        boundaries=task.task.approvals.boundaries,
        forgotten=gone,
        secrets=task.schema.secrets,
        printed=_printed(record, tool, action["args"]),
        rests=bound(fresh, transition),
    )


def _printed(record: RunRecord, tool: str, args: JsonObject) -> dict[str, Printed]:
    """What the commands of this action printed last."""
    ids = [run_id(given) for name, given in inner_actions(tool, args) if name == "run"]
    return {id: record.printed[id] for id in ids if id in record.printed}


def _proof(tool: str, effect: str, task: Charter) -> Need:
    if tool == "finish":
        setup = ("setup",) if task.task.workspace.setup.run else ()
        return Need(names=("git", *setup, *task.checks))
    if effect in ("edit", "command", "outside"):
        return Need(names=("git", *task.edit_checks))
    return Need()


def _before(git: GitReading | None, tool: str, args: JsonObject) -> Before:
    links = git.links if git else {}
    files = dict.fromkeys(each for path in paths_of(tool, args) for each in reached(path, links))
    if git is None:
        return Before(head="", tree="", files=tuple(files))
    return Before(head=git.head, tree=git.tree, dirty=tuple(sorted(git.dirty)), files=tuple(files))
