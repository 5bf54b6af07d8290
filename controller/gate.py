"""gate: may this reply be executed? Pure: a verdict from record, readings and reply; nothing is read or done.

A failed reply is mapped by its class first; then six layers in order: envelope, schema, patch, intent,
invariants, policy. Each refusal has its layer, a stable code and a sentence for the model."""

from __future__ import annotations

from typing import cast

from contracts import waiting
from contracts.base import JsonObject, canonical
from contracts.changes import Proposed
from contracts.charter import Charter
from contracts.conflicts import clashes
from contracts.forget import Forgotten, forget
from contracts.grammar import inner_actions, paths_of, problem
from contracts.merge import both, depth, merge, removed_paths, touched_paths, without
from contracts.outcomes import Outcome
from contracts.queue import Entry
from contracts.readings import Readings
from contracts.record import RunRecord
from contracts.reply import AHEAD, Reply
from contracts.reply_rules import FORM, RULES, Does
from contracts.reported import reported
from contracts.secret_scan import args_refused, edits_refused, state_refused
from contracts.submitted import SUBMIT, UNSUBMITTED, kept_back, refused
from contracts.veil import hidden, spoken, veiled
from contracts.verdicts import Allow, Defer, Gated, Reject, Stop, Verdict
from controller import deeds
from controller.basis import acts, outdated_source, unmoved
from controller.charge import facts
from controller.conceal import conceal, heard
from controller.confirm import change_of, finishing, granted, needed, stale
from controller.drifting import blocked
from controller.modes import claimed
from controller.staging import staged_of

MAX_TRANSITION = 256 * 1024
MAX_DEPTH = 32
# Of such a reply only the text is kept: it is no JSON, or it is not what was judged.
UNKEPT = ("envelope.depth", "envelope.json", "reply.unsubmitted")
EDITS = ("edit_files", "apply_patch", "batch")  # looked at edit by edit: the task may allow some of the files
GIT_CONFIG, MOVED = "git_config", "branch_moved"


def gate(record: RunRecord, seen: Readings, fresh: Readings, reply: Reply | Entry, task: Charter) -> Gated:
    """The verdict on a reply, or on an approved entry that takes a reply's place. `seen` are the readings
    that the prompt showed, `fresh` those after the agent answered."""
    if isinstance(reply, Entry):
        verdict = (
            _asked(record, reply)
            or hostile(record, fresh, task)
            or stale(reply, record, fresh, task)
            or judge(record, seen, fresh, reply.transition, task, reply)
        )
        told = Gated(
            verdict=verdict,
            transition=reply.transition,
            entry=reply.id,
            seen=seen,
            fresh=fresh,
            counts=seen.counts,
            at=fresh.at,
        )
        return conceal(told, record.state, task.schema.secrets, task.redactor)
    transition = heard(reply.transition, task.schema.secrets)
    verdict = (
        _reply(record, fresh, reply)
        or hostile(record, fresh, task)
        or judge(record, seen, fresh, transition, task)
    )
    if isinstance(verdict, Reject) and verdict.code in UNKEPT:
        transition = None
    raw, waited = reply.raw, {} if reply.raw.ahead is None else {AHEAD: reply.raw.ahead}
    told = Gated(
        verdict=verdict,
        launch=facts(record, reply, task),
        transition=transition,
        reply_text=raw.text,
        class_=str(raw.cls),
        seen=seen,
        fresh=fresh,
        counts=seen.counts,
        took={"launch": raw.took, "refresh": seen.took + fresh.took} | waited,
        at=fresh.at,
    )
    return conceal(told, record.state, task.schema.secrets, task.redactor)


def _asked(record: RunRecord, entry: Entry) -> Stop | None:
    """What a person must look at first; their answer to that is not held up."""
    if (held := blocked(record, entry.id)) is None:
        return None
    return Stop(outcome=held.outcome, cause=held.cause, say=held.say, entry=held.entry)


def hostile(record: RunRecord, fresh: Readings, task: Charter) -> Stop | None:
    """Somebody else moved the branch; or configuration, attributes or hooks of the repository changed during the
    run: our git runs none of it, but yours would. A person looks first."""
    git, known = fresh.git, task.config or record.digests.get(GIT_CONFIG)
    if git is not None and git.head != record.head:
        say = (
            f"the branch moved from {record.head[:12]} to {git.head[:12]} while the run was at work: "
            "`controller run --retry` goes on from there if it holds the run's work"
        )
        return Stop(outcome=Outcome.blocked, cause=MOVED, say=say)
    if git is None or known is None or git.config == known:
        return None
    say = (
        "the repository's Git configuration, attributes or hooks changed since the run began: look at "
        ".git/config and .git/hooks, then `controller run --retry` takes them as they are"
    )
    return Stop(outcome=Outcome.blocked, cause=GIT_CONFIG, say=say)


def judge(
    record: RunRecord,
    seen: Readings,
    fresh: Readings,
    transition: object,
    task: Charter,
    entry: Entry | None = None,
) -> Verdict:
    """The six layers over a canonical transition."""
    checked = _envelope(transition)
    if isinstance(checked, Reject):
        return checked
    patch, tool, args = checked
    whole: JsonObject = {"state_patch": patch, "action": {"tool": tool, "args": args}}
    kept, clock = _without_required_nulls(patch, task), record.spent.steps + 1
    candidate, gone = forget(task.schema, record.state, kept, record.ages, clock)
    change = change_of(record, tool, args, candidate, task)
    if isinstance(change, Proposed) and change.patch is not None:
        candidate = cast(JsonObject, merge(candidate, change.patch))
    told = reported(task.schema, candidate, fresh)  # what the controller itself keeps at what authorities say
    candidate = cast(JsonObject, merge(candidate, told))
    wrong = (
        _full(gone)
        or _schema(candidate, patch, tool, args, task)
        or _patch(patch, task)
        or _intent(patch, task)
        or (change if isinstance(change, Reject) else None)
        or _invariants(record.state, candidate, task)
        or _submitted(tool, args, fresh, entry)
        or _policy(record, tool, args, seen, fresh, task)
        or _spoken(args, record.state, patch, task)
        or unmoved(whole, seen, fresh, task)
        or outdated_source(whole, seen, fresh, task)
    )
    if wrong:
        return wrong
    step = record.step + (entry is not None)  # an approved entry is a step of its own, without a launch
    proposal = change if isinstance(change, Proposed) else None
    changed = both((proposal.patch if proposal else None) or {}, told)
    staged = staged_of(record, step, seen, fresh, whole, candidate, gone, task).model_copy(
        update={"reported": told} | claimed(record, kept, gone, candidate, cast(JsonObject, changed), task)
    )
    clash = clashes(task.schema, record.state, patch)
    staged = staged.model_copy(update={"superseded": {each.at: each.old for each in clash}})
    if entry is not None:
        verdict: Verdict = granted(entry, staged, proposal, clash)
    else:
        verdict = needed(record, staged, fresh.at, proposal, clash, task) or Allow(staged=staged)
    return finishing(record, verdict, fresh.at, entry, task)


# ---- the reply itself -------------------------------------------------------------------------------------
def _reply(record: RunRecord, fresh: Readings, reply: Reply) -> Verdict | None:
    """None for a reply that can be judged; else what the rule of its class says."""
    raw, rule = reply.raw, RULES[reply.raw.cls]
    excerpt, advice = raw.text[:600], f" ({rule.advice})" if rule.advice else ""
    say = raw.message or f"the agent {reply.agent.name} failed without a message: {rule.means}"
    match rule.does:
        case Does.JUDGE if kept_back(reply.transition, raw.submitted):
            return Reject(layer="reply", code="reply.unsubmitted", say=UNSUBMITTED)
        case Does.JUDGE if not reply.problems:
            return None
        case Does.JUDGE:
            wrong = "; ".join(reply.problems)
            return Reject(layer="envelope", code="envelope.form", say=wrong, excerpt=excerpt)
        case Does.CORRECT:
            wrong = f"{raw.message or rule.means}. {rule.advice}"
            return Reject(layer="reply", code=f"reply.{raw.cls}", say=wrong, excerpt=excerpt)
        case Does.RETRY if record.failures + 1 < rule.tries:
            due = fresh.at + rule.pause * 2**record.failures
            return Defer(not_before=due, cause=str(raw.cls), say=say)
        case Does.RETRY:
            say = f"{say} ({rule.tries} launches in a row failed)"
        case Does.WAIT:
            return Defer(not_before=rule.due(fresh.at, raw.not_before), cause=str(raw.cls), say=say)
        case Does.STOP | Does.ASK:
            say += advice
    assert rule.ends is not None, f"{raw.cls} ends nothing"
    return Stop(outcome=rule.ends, cause=str(raw.cls), say=say)


# ---- the six layers ---------------------------------------------------------------------------------------
def _envelope(transition: object) -> tuple[JsonObject, str, JsonObject] | Reject:
    def no(code: str, say: str) -> Reject:
        return Reject(layer="envelope", code=f"envelope.{code}", say=f"{say}. {FORM}")

    if not isinstance(transition, dict):
        return no("form", "the reply is not a JSON object")
    keys = set(transition)
    if keys != {"state_patch", "action"}:
        wrong = sorted(keys ^ {"state_patch", "action"})
        return no(
            "keys", f"exactly the keys state_patch and action are allowed, not {', '.join(wrong)[:200]}"
        )
    if depth(transition) > MAX_DEPTH:
        return no("depth", f"the reply is nested deeper than {MAX_DEPTH} levels")
    try:
        total = len(canonical(transition))
    except TypeError:
        return no("json", "the reply holds a value that is not JSON (half a surrogate pair, a huge number)")
    if total > MAX_TRANSITION:
        return no(
            "size", f"the reply has {total:,} bytes, at most {MAX_TRANSITION:,} are read: do less in one step"
        )
    patch, action = transition["state_patch"], transition["action"]
    if not isinstance(patch, dict):
        return no("patch", "state_patch must be an object")
    if not isinstance(action, dict) or set(action) != {"tool", "args"}:
        return no("action", "action must be an object with exactly the keys tool and args")
    tool, args = action["tool"], action["args"]
    if not isinstance(tool, str) or not isinstance(args, dict):
        return no("action", "action.tool must be a name and action.args an object")
    return patch, tool, args


def _without_required_nulls(patch: JsonObject, task: Charter) -> JsonObject:
    """The patch less the deletions that layer 3 refuses, so that layer 2 judges only what was set."""
    refused = {path for path in removed_paths(patch) if task.schema.refuses_removal(path) == "required"}
    return without(patch, refused) if refused else patch


def _full(gone: Forgotten) -> Reject | None:
    return Reject(layer="schema", code="schema.full", say=gone.full) if gone.full else None


def _schema(
    candidate: object, patch: JsonObject, tool: str, args: JsonObject, task: Charter
) -> Reject | None:
    spec = task.spec(tool)
    if spec is None:
        names = ", ".join(each.name for each in task.specs)
        return Reject(
            layer="schema", code="schema.tool", say=f"there is no tool {tool[:40]!r}; there are {names}"
        )
    if wrong := task.arguments(tool, args):
        say = f"the arguments of {tool} are wrong: " + "; ".join(wrong)
        return Reject(layer="schema", code="schema.args", say=say)
    if errors := task.schema.errors(candidate):
        unknown = any("unknown" in error.message or "not allowed" in error.message for error in errors)
        say = "the state would not fit its schema: " + "; ".join(str(error) for error in errors)
        return Reject(layer="schema", code="schema.unknown_field" if unknown else "schema.state", say=say)
    return None


def _patch(patch: JsonObject, task: Charter) -> Reject | None:
    for path in removed_paths(patch):
        name = "/" + "/".join(path)
        match task.schema.refuses_removal(path):
            case "required":
                say = f"{name} is required and can't be deleted: set it to another value instead"
                return Reject(layer="patch", code="patch.required", say=say)
            case "append-only":
                say = f"{name} belongs to a collection that only grows: add an entry, or change this one"
                return Reject(layer="patch", code="patch.append_only", say=say)
            case _:
                continue
    for path in touched_paths(patch):
        rule = task.schema.fields.get(path[:1])
        if rule is not None and rule.owner == "controller":
            say = f"/{path[0]} is written by the controller: leave it out of state_patch"
            return Reject(layer="patch", code="patch.not_writable", say=say)
    return None


def _intent(patch: JsonObject, task: Charter) -> Reject | None:
    for path in touched_paths(patch):
        if task.schema.locks(path):
            name = "/" + "/".join(path)
            say = (
                f"{name} belongs to the user and can't be changed by you: `request_change` proposes a change"
            )
            return Reject(layer="intent", code="intent.locked", say=say)
    return None


def _invariants(before: JsonObject, candidate: JsonObject, task: Charter) -> Reject | None:
    shown = veiled(candidate, task.schema.secrets)
    total = max(len(canonical(candidate)), len(canonical(shown)))
    if total > task.task.limits.state:
        say = (
            f"the state would have {total:,} bytes, its limit is {task.task.limits.state:,}: "
            "delete entries that no later step needs (null deletes)"
        )
        return Reject(layer="invariants", code="invariants.state_size", say=say)
    if secret := state_refused(shown, task.redactor):
        return Reject(layer="invariants", code="invariants.secret", say=secret)
    for one in task.schema.broken(before, candidate):
        return Reject(layer="invariants", code=f"invariants.{one.name}", say=str(one))
    views = candidate.get("view")
    for name, view in (views or {}).items() if isinstance(views, dict) else ():
        if isinstance(view, dict) and view.get("from", 1) > view.get("to", view.get("from", 1)):
            say = f"/view/{name}: `from` is greater than `to`"
            return Reject(layer="invariants", code="invariants.view_range", say=say)
    return None


def _submitted(tool: str, args: JsonObject, fresh: Readings, entry: Entry | None) -> Reject | None:
    """What only the agent's own work can be refused for; its paths are judged as those of any edit. A person's yes
    binds its files, not the commit."""
    if tool != SUBMIT:
        return None
    head = fresh.git.head if fresh.git is not None and entry is None else str(args["base"])
    wrong = refused(args, head)
    return Reject(layer="policy", code=f"policy.{wrong[0]}", say=wrong[1]) if wrong else None


def _policy(
    record: RunRecord, tool: str, args: JsonObject, seen: Readings, fresh: Readings, task: Charter
) -> Verdict | None:
    if wrong := problem(tool, args, task.task.actions.commands):
        return Reject(layer="policy", code=f"policy.{wrong[0]}", say=wrong[1])
    for inner, given in inner_actions(tool, args):
        told = list(paths_of(inner, given)) if inner in EDITS else given
        if secret := args_refused(told, task.redactor):
            return Reject(layer="policy", code="policy.secret", say=secret)
    if tool == "wait":
        return _wait(args, fresh, task)
    now = fresh.git
    if not acts(tool, task) or now is None:
        return None
    for path in paths_of(tool, args):
        if no := task.paths.write(path, now.links):
            return Reject(layer="policy", code=f"policy.{no[0]}", say=no[1])
    if secret := edits_refused(tool, args, task.redactor, task.paths.secrets):
        return Reject(layer="policy", code="policy.secret", say=secret)
    return deeds.refused(record, tool, args, seen, fresh, task)


def _spoken(args: JsonObject, state: JsonObject, patch: JsonObject, task: Charter) -> Reject | None:
    """An action would show what a field marked as secret holds: to whoever approves it, and in the audit."""
    secrets = task.schema.secrets
    if not secrets or not spoken(args, (*hidden(state, secrets), *hidden(patch, secrets))):
        return None
    say = "the action holds the value of a field that is secret, and actions are shown: leave it out"
    return Reject(layer="policy", code="policy.secret", say=say)


def _wait(args: JsonObject, fresh: Readings, task: Charter) -> Reject | None:
    words = waiting.wanted(args, task.task.waits)
    wrong = waiting.refused(args, words, fresh.items.get(str(args["authority"])))
    return Reject(layer="policy", code=f"policy.{wrong[0]}", say=wrong[1]) if wrong else None
