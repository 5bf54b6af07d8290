"""confirm: what needs a person before it is done, how it is parked, and whether their yes still holds. Pure.

The basis of an entry says what it acts on. `head`: the commit itself (a command with an effect outside, a plan);
another HEAD makes the yes stale. `file PATH`: that file, as it was in the commit named; other commits don't. `command
NAME`: the command as the task defines it. `intent`: what the user wants. `outside NAME/ID`: a text of the outside, by
its mark: what is done outside rests on it, and so does a proposal that names it. `forge …`: the branch, the pull
request or the runs of CI that a deed is for."""

from __future__ import annotations

from fnmatch import fnmatchcase

from contracts.approvals import Boundary
from contracts.base import JsonObject, canonical, digest
from contracts.changes import GROWTH, BadChange, Proposed, proposed
from contracts.charter import Charter
from contracts.conflicts import Conflict, told
from contracts.criteria import Criterion, unproven
from contracts.deeds import DEEDS
from contracts.forge_reading import NAME
from contracts.grammar import globs_of, inner_actions, paths_of
from contracts.intent import in_force
from contracts.marks import moved
from contracts.outcomes import Outcome
from contracts.patch import PatchError, parse
from contracts.paths import matches
from contracts.queue import FILE, MAX_QUEUE, OUTSIDE, Entry, EntryKind, Refusal
from contracts.readings import Readings
from contracts.record import Correction, Halt, RunRecord, Staged
from contracts.submitted import GONE, SUBMIT
from contracts.text import line, size
from contracts.verdicts import Allow, Confirm, Defer, Reject, Stop, Verdict
from controller import deeds
from controller.basis import AGAIN, AUTHORITY, outside

INTENT = "intent"  # in a basis: the digest of the contract in force
CRITERIA = "unproven criteria"  # the digest of those that a person was asked about
COMMAND = "command "  # before a name in a basis: the digest of that command's definition
PREFIX = {"ask": "q", "approval": "a", "change": "c", "conflict": "d", "plan": "p", "finish": "f"}


def crossed(staged: Staged, task: Charter) -> str:
    """The boundary that this action is beyond, in words; empty for none."""
    for boundary in task.task.approvals.boundaries:
        if said := _crossed(boundary, staged.tool, staged.args, staged.before.files):
            return said
    return ""


def _crossed(boundary: Boundary, tool: str, args: JsonObject, files: tuple[str, ...]) -> str:
    inner = [*inner_actions(tool, args)]
    if boundary.tool and boundary.tool in (tool, *(name for name, _ in inner)):
        return f"{boundary.tool} needs a person's yes"
    if boundary.run:
        for name, given in inner:
            command = str(given.get("command", ""))
            if name == "run" and fnmatchcase(command, boundary.run):
                return f"command {command} needs a person's yes"
    if boundary.paths:
        named = [path for path in files if matches(path, boundary.paths)]
        if named or (globs := globs_of(tool, args)):
            what = named[0] if named else globs[0]
            return f"a change of {what} needs a person's yes ({', '.join(boundary.paths)})"
    if boundary.deletes is not None and (count := deletes(tool, args)) > boundary.deletes:
        return f"deleting {count} files needs a person's yes (more than {boundary.deletes})"
    return ""


def deletes(tool: str, args: JsonObject) -> int:
    """How many files the action deletes."""
    total = 0
    for name, given in inner_actions(tool, args):
        if name == "edit_files":
            edits = [edit for edit in given.get("edits", ()) if isinstance(edit, dict)]
            total += sum(edit.get("op") == "delete" for edit in edits)
        elif name == "apply_patch":
            try:
                total += sum(file.kind == "delete" for file in parse(str(given.get("patch", ""))))
            except PatchError:
                continue
        elif name == SUBMIT:
            total += sum(each.get("mode") == GONE for each in given.get("files", ()))
    return total


def basis(tool: str, args: JsonObject, staged: Staged, task: Charter) -> dict[str, str]:
    """What the action acts on."""
    head, found = staged.before.head, dict[str, str]()
    commands = task.task.actions.commands
    for name, given in inner_actions(tool, args):
        command = commands.get(str(given.get("command", ""))) if name == "run" else None
        spec = task.spec(name)
        if name in DEEDS:
            found |= staged.before.basis
        elif (command is not None and command.effects) or (spec is not None and spec.effect == "outside"):
            found["head"] = head
        if command is not None:
            found[COMMAND + str(given["command"])] = digest(command.model_dump(mode="json"))
    if globs_of(tool, args):
        found["head"] = head
    if outside(tool, args, task):
        found |= _outside(staged)
    return found | {FILE + path: head for path in staged.before.files}


def _outside(staged: Staged) -> dict[str, str]:
    """What a deed rests on of the forge stands in its own basis."""
    own = f"{NAME}/" if staged.tool in DEEDS else None
    return {
        OUTSIDE + name: mark for name, mark in staged.rests.items() if own is None or not name.startswith(own)
    }


def change_of(
    record: RunRecord, tool: str, args: JsonObject, candidate: object, task: Charter
) -> Proposed | Reject | None:
    """What a `request_change` proposes, or why it can't be approved; None for any other action."""
    if tool != "request_change" or task.spec(tool) is None or task.arguments(tool, args):
        return None
    state = candidate if isinstance(candidate, dict) else record.state
    origin = f"step:{record.run}/{record.step + 1}"  # where it will stand in the audit once it is approved
    try:
        longest = size(task.intent.render()) + GROWTH
        return proposed(args, state, in_force(record.intent, task.intent), task.schema, origin, longest)
    except BadChange as error:
        return Reject(layer="intent", code="intent.change", say=str(error))


def needed(
    record: RunRecord,
    staged: Staged,
    now: float,
    change: Proposed | None,
    clash: tuple[Conflict, ...],
    task: Charter,
) -> Verdict | None:
    """The verdict that parks what a person must decide on; None when nobody need be asked. `clash` are the facts that
    the patch would overwrite from another source."""
    if clash and (change is not None or staged.tool == "ask"):
        return _apart(clash)
    if staged.tool == "ask":
        why = str(staged.args.get("question", ""))
        return parked(record, staged, now, "ask", why, task, on={})
    if change is not None:
        if (no := next((each for each in record.refused if each.proposes == change.key), None)) is not None:
            return _refused(no)
        why, against = f"{change.say} (because {staged.args.get('why', '')})", staged.args.get("source")
        kind: EntryKind = "conflict" if against else "change"
        why = f"{against} speaks against it: {why}" if against else why
        on = _outside(staged) if against else {}
        return parked(record, staged, now, kind, why, task, on=on, diff=change.diff, key=change.key)
    beyond = crossed(staged, task)
    if clash:
        why = f"two sources disagree on {', '.join(each.at for each in clash)}"
        why += f"; and {beyond}" if beyond else ""
        return parked(record, staged, now, "conflict", why, task, diff=told(clash))
    if beyond:
        return parked(record, staged, now, "approval", beyond, task)
    if task.planning:
        return parked(record, staged, now, "plan", "planned", task, on=_whole(record, staged, task))
    return None


def finishing(record: RunRecord, verdict: Verdict, now: float, entry: Entry | None, task: Charter) -> Verdict:
    """The verdict; an allowed `finish` with the success criteria that no check proves, and where one of them is locked
    with the question that goes to a person once every check is green. `entry` is what they said yes to already."""
    if not isinstance(verdict, Allow) or verdict.staged.tool != "finish":
        return verdict
    left = open_criteria(record, task)
    staged = verdict.staged.model_copy(update={"unproven": tuple(map(str, left)), "asks": None})
    locked = [str(each) for each in left if each.locked]
    asked = {CRITERIA: digest(locked)}
    if not locked or (entry is not None and entry.kind == "finish" and asked.items() <= entry.basis.items()):
        return Allow(staged=staged)
    why = f"every check is green, and no check proves {'; '.join(locked)}: look yourself whether it holds"
    asking = parked(record, staged, now, "finish", why, task, on=_whole(record, staged, task) | asked)
    if isinstance(asking, Confirm):
        return Allow(staged=staged.model_copy(update={"asks": asking.entry}))
    return asking


def _whole(record: RunRecord, staged: Staged, task: Charter) -> dict[str, str]:
    """The basis of what rests on everything: the commit, what the user wants, and the commands as they are."""
    named = basis(staged.tool, staged.args, staged, task)
    commands = {name: sha for name, sha in named.items() if name.startswith(COMMAND)}
    return commands | _outside(staged) | {"head": staged.before.head, INTENT: _wanted(record, task)}


def _wanted(record: RunRecord, task: Charter) -> str:
    return digest(in_force(record.intent, task.intent).model_dump_json())


def _commands(staged: Staged, task: Charter) -> str:
    """The commands of an action as they would be started, for whoever decides; of a candidate how it is looked at."""
    if staged.tool == SUBMIT:
        return f"what it changes: git diff {staged.args['base'][:12]} {staged.args['kept']}"
    commands = task.task.actions.commands
    named = [
        str(given.get("command")) for name, given in inner_actions(staged.tool, staged.args) if name == "run"
    ]
    known = [(name, commands[name]) for name in named if name in commands]
    return "\n".join(
        f"command {name}: {each.run if isinstance(each.run, str) else ' '.join(each.run)}"
        for name, each in known
    )


def _apart(clash: tuple[Conflict, ...]) -> Reject:
    say = (
        f"{', '.join(each.at for each in clash)} would be overwritten from another source, which is a question of its "
        "own: leave it out of this state_patch"
    )
    return Reject(layer="intent", code="intent.conflict", say=say)


def _refused(no: Refusal) -> Reject:
    why = f", saying: {no.why}" if no.why else ""
    by = no.by or "a person"
    say = f"{by} said no to this very change before ({no.entry}{why}): do without it, or propose another"
    return Reject(layer="intent", code="intent.refused", say=say)


def open_criteria(record: RunRecord, task: Charter) -> tuple[Criterion, ...]:
    """The success criteria in force that no check proves."""
    return unproven(in_force(record.intent, task.intent), task.checks)


def granted(
    entry: Entry, staged: Staged, change: Proposed | None, clash: tuple[Conflict, ...]
) -> Allow | Reject:
    """What a person said yes to, allowed; unless it would change something else now than they were shown."""
    shown = entry.diff if change is not None or entry.kind == "conflict" else ""
    if shown != (change.diff if change is not None else told(clash)):
        return _no(entry, "moved", "what it changes is another value now")
    intent = (
        change.intent.model_dump(mode="json", exclude_defaults=True) if change and change.intent else None
    )
    said = {
        "entry": entry.id,
        "answer": entry.answer,
        "intent": intent,
        "changed": change.patch if change else None,
        "files": change.files if change else {},
        "boundaries": (),
    }
    return Allow(staged=staged.model_copy(update=said))


def parked(
    record: RunRecord,
    staged: Staged,
    now: float,
    kind: EntryKind,
    why: str,
    task: Charter,
    *,
    on: dict[str, str] | None = None,
    diff: str = "",
    key: str = "",
) -> Verdict:
    """The verdict that parks a staged transition. With `on_blocked: continue` the run goes on with other work; what
    comes a second time then means that there is none."""
    approvals, waiting = task.task.approvals, [entry for entry in record.queue if entry.status == "open"]
    subject = canonical(staged.transition if kind == "conflict" else staged.transition["action"])
    twin = next(
        (each for each in waiting if canonical(each.subject) == subject or (key and each.proposes == key)),
        None,
    )
    if twin is not None:
        say = f"nothing is left to do but what waits for a person: {twin.id}: {twin.why}"
        return Stop(outcome=Outcome.blocked, cause=twin.kind, say=say[:2000], entry=twin.id)
    if kind == "conflict" and (same := next((entry for entry in waiting if entry.diff == diff), None)):
        say = f"{same.id} waits for a person with the same already: leave it out of your state_patch"
        return Reject(layer="intent", code="intent.conflict", say=say)
    if len(waiting) >= MAX_QUEUE:
        say = f"{MAX_QUEUE} things wait for a person already: go on with what needs none"
        return Reject(layer="policy", code="policy.queue_full", say=say)
    entry = Entry(
        id=f"{PREFIX[kind]}{staged.step}",
        kind=kind,
        step=staged.step,
        transition=staged.transition,
        why=why[:2000],
        basis=basis(staged.tool, staged.args, staged, task) if on is None else on,
        target=", ".join((*paths_of(staged.tool, staged.args), *globs_of(staged.tool, staged.args)))[:400],
        diff=diff or _commands(staged, task),
        proposes=key,
        opened=now,
        expires=None if kind == "ask" else now + approvals.expire,
        who=approvals.who,
    ).sealed(task.schema.secrets)
    return Confirm(entry=entry, wait=approvals.on_blocked == "wait")


def park(record: RunRecord, verdict: Confirm) -> tuple[RunRecord, Halt | None]:
    """The record with an entry more, and the halt where the run waits for it. Where it goes on the agent is told so;
    that is no rejection."""
    entry = verdict.entry
    record = record.model_copy(update={"queue": (*record.queue, entry), "failures": 0})
    if entry.kind == "plan":
        return record, None
    if not verdict.wait:
        why = f"{entry.why[:500]}. It is done once they agree: go on with other work."
        say = f"parked as {entry.id} for a person: {why}"
        told = Correction(step=record.step, layer="policy", code="queue.parked", say=say)
        return record.model_copy(update={"correction": told}), None
    halt = Halt(
        outcome=Outcome.blocked,
        cause=entry.kind,
        say=f"{line(entry.why, 600)} ({how(entry)})",
        step=record.step,
        entry=entry.id,
    )
    return record.model_copy(update={"rejections": 0, "correction": None}), halt


def how(entry: Entry) -> str:
    """What a person does about it."""
    if entry.kind == "ask":
        return f"answer with: controller answer {entry.id} TEXT"
    return f"look: controller approvals show {entry.id}; then: controller approve {entry.id}, or reject {entry.id}"


def timely(record: RunRecord, now: float) -> RunRecord:
    """Without what nobody decided in time, and without plans that nobody applied before the run went on."""
    late = [
        entry
        for entry in record.queue
        if entry.status == "open"
        and (entry.kind == "plan" or (entry.expires is not None and now > entry.expires))
    ]
    if not late:
        return record
    said = tuple(f"nobody decided on {entry.id} in time" for entry in late if entry.kind != "plan")
    left = tuple(entry for entry in record.queue if entry not in late)
    return record.model_copy(update={"queue": left, "said": (*record.said, *said)})


def stale(entry: Entry, record: RunRecord, fresh: Readings, task: Charter) -> Reject | Defer | None:
    """Why a person's yes holds no more; None when it does."""
    if entry.seal(task.schema.secrets) != entry.hash:
        return _no(entry, "changed", "it is not what was approved")
    if entry.kind != "ask" and entry.expires is not None and fresh.at > entry.expires:
        return _no(entry, "expired", "the approval came too late or was not used in time")
    if others := _other(entry, fresh):
        return others
    if elsewhere := deeds.moved(entry, fresh):
        return _no(entry, "moved", elsewhere) if isinstance(elsewhere, str) else elsewhere
    git = fresh.git
    for name, then in entry.basis.items():
        if name == INTENT and then != _wanted(record, task):
            return _no(entry, "moved", "what the user wants was changed since")
        if name.startswith(COMMAND):
            command = task.task.actions.commands.get(name.removeprefix(COMMAND))
            if command is None or digest(command.model_dump(mode="json")) != then:
                return _no(entry, "moved", f"the task's {name} is another one now")
        if name == "head" and (git is None or git.head != then):
            return _no(entry, "moved", f"HEAD is not {then[:12]} any more, and the approval was for that")
        if name.startswith(FILE):
            changed = git.changed.get(then) if git is not None else None
            path = name.removeprefix(FILE)
            if changed is None or path in changed:
                return _no(entry, "moved", f"{path} changed since {then[:12]}, and the approval was for that")
    return None


def _other(entry: Entry, fresh: Readings) -> Reject | Defer | None:
    """Why a yes does not hold of the texts of the outside that it was given for."""
    told = (
        (name.removeprefix(OUTSIDE), mark) for name, mark in entry.basis.items() if name.startswith(OUTSIDE)
    )
    changed, unknown = moved(dict(told), fresh)
    if changed:
        what = ", ".join(changed[:8])
        return _no(entry, "moved", f"{what} changed since, and the approval was for it as it was")
    if unknown:
        say = f"{', '.join(unknown[:8])} can't be read now, and {entry.id} was approved for it as it was"
        return Defer(not_before=fresh.at + AGAIN, cause=AUTHORITY, say=say)
    return None


def _no(entry: Entry, code: str, say: str) -> Reject:
    return Reject(
        layer="policy",
        code=f"policy.approval_{code}",
        say=f"{entry.id}, approved by {entry.decider or 'a person'}, was not done: {say}. Propose it again if it is "
        "still right",
    )
