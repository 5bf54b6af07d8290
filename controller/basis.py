"""basis: whether what a reply rests on is still as it was shown. Pure."""

from __future__ import annotations

from contracts.base import JsonObject
from contracts.charter import Charter
from contracts.fields import places
from contracts.freshness import outdated
from contracts.grammar import inner_actions
from contracts.marks import bound, marks, moved, named, unread, urls
from contracts.readings import Readings
from contracts.verdicts import Defer, Reject, Verdict

AGAIN = 30.0  # seconds until an authority that can't be read is asked anew
STALE, AUTHORITY = "policy.stale", "authority"
SOURCE = "policy.stale_source"
RESTED_ON = ("issues", "pulls", "adr", "deployment")


def acts(tool: str, task: Charter) -> bool:
    """Whether an action may change something, or ends the run."""
    spec = task.spec(tool)
    return spec is not None and (spec.effect not in ("read", "none") or tool == "finish")


def outside(tool: str, args: JsonObject, task: Charter) -> bool:
    """Whether an action has an effect beyond the worktree."""
    commands = task.task.actions.commands
    for name, given in inner_actions(tool, args):
        spec = task.spec(name)
        command = commands.get(str(given.get("command", ""))) if name == "run" else None
        if (spec is not None and spec.effect == "outside") or (command is not None and command.effects):
            return True
    return False


def unmoved(transition: JsonObject, seen: Readings, fresh: Readings, task: Charter) -> Verdict | None:
    """None when the worktree, and every text of the outside that the reply rests on, are as the prompt showed them.
    An authority that can't be read holds up only what has an effect outside: an edit can be taken back."""
    action = transition["action"]
    tool, args = str(action["tool"]), action["args"]
    if not acts(tool, task):
        return None
    before, now = seen.git, fresh.git
    if before is None or now is None:
        return Defer(not_before=fresh.at + AGAIN, cause="unavailable", say="the worktree could not be read")
    if (before.head, before.tree) != (now.head, now.tree):
        return _stale("the worktree")
    changed, _ = moved(bound(seen, transition), fresh)
    if changed:
        return _stale(", ".join(changed[:8]))
    if (unknown := unreadable(fresh, task)) and outside(tool, args, task):
        say = f"{', '.join(unknown[:8])} can't be read now, and what is done outside rests on it"
        return Defer(not_before=fresh.at + AGAIN, cause=AUTHORITY, say=say)
    return None


def rested_on(task: Charter) -> tuple[str, ...]:
    """The authorities of the outside that what is done there rests on."""
    return tuple(name for name, each in task.task.authorities.items() if each.use in RESTED_ON)


def unreadable(fresh: Readings, task: Charter) -> list[str]:
    """The authorities of the outside that could not be read."""
    return [name for name in rested_on(task) if name in fresh.items and unread(fresh.items[name])]


def outdated_source(transition: JsonObject, seen: Readings, fresh: Readings, task: Charter) -> Reject | None:
    """None when every source that the reply cites anew is as it was: a stale pointer is no evidence."""
    patch, action = transition["state_patch"], transition["action"]
    cited = [
        str(text) for path in task.schema.pointers for _, text in places(patch, path) if text is not None
    ]
    if action["tool"] == "request_change" and (against := action["args"].get("source")):
        cited.append(str(against))
    where, before = (
        urls(seen),
        {name: mark for item in seen.items.values() for name, mark in marks(item).items()},
    )
    for source in cited:
        held = {name: mark for name, mark in before.items() if named(source, name, where.get(name, ""))}
        if changed := moved(held, fresh)[0]:
            return _stale(", ".join(changed))
        if why := outdated(source, fresh):
            say = f"{source} is no evidence any more: {why}. Look at it as it is now, and cite that"
            return Reject(layer="policy", code=SOURCE, say=say)
    return None


def _stale(what: str) -> Reject:
    say = f"{what} changed while you were thinking: look at the authorities and decide again"
    return Reject(layer="policy", code=STALE, say=say)
