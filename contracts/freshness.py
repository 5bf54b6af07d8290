"""How long what the state says holds: `x-freshness` of a field, and what its sources point at. Pure.

What is older than it may be, or rests on something that is another one now, is stale: it is shown as such, and is no
evidence for anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from contracts.base import JsonObject, canonical
from contracts.drift import Learned
from contracts.fields import at, places
from contracts.fresh_rules import FreshRule, rule_of
from contracts.marks import marks, named, unread, urls, whole_mark
from contracts.merge import Path, value_at
from contracts.pointers import pointer_of
from contracts.readings import Readings
from contracts.record import RunRecord
from contracts.schema_refs import pointer
from contracts.state import StateSchema
from contracts.units import as_duration
from contracts.veil import texts

COMMITS = 16  # commits of files that sources name, which are looked at each step
SHORT = 12


@dataclass(frozen=True)
class Stale:
    """A place of the state (a JSON pointer), and why it does not hold any more."""

    place: str
    why: str


def file_commits(state: JsonObject) -> list[str]:
    """The commits that file pointers in a state name, at most COMMITS."""
    if b"@" not in canonical(state):  # asked three times a step, of states with a thousand texts
        return []
    found: dict[str, None] = {}
    for _, text in texts(state):
        if "@" in text and (source := pointer_of(text)) and source.kind == "file":
            found[source.commit] = None
    return list(found)[:COMMITS]


def learned(
    schema: StateSchema, candidate: JsonObject, patch: JsonObject, seen: Readings, step: int
) -> dict[str, Learned]:
    """For each place of the candidate that is held to be fresh, and that `patch` sets: when, and on what the prompt
    showed."""
    git, found = seen.git, dict[str, Learned]()
    for path, rule, sources in _held(schema, candidate):
        if value_at(patch, path) is None:
            continue
        on = {each: _outside(each, seen) for each in sources}
        if rule is not None and rule.kind == "authority":
            on[rule.name] = whole_mark(seen.items.get(rule.name))
        kept = {name: mark for name, mark in on.items() if mark}
        found[pointer(path)] = Learned(step=step, at=seen.at, head=git.head if git else "", on=kept)
    return found


def stale(schema: StateSchema, record: RunRecord, seen: Readings, step: int) -> tuple[Stale, ...]:
    """What in the state of `record` holds no more in `step`, as the world is in `seen`."""
    found = []
    for path, rule, sources in _held(schema, record.state):
        place = pointer(path)
        if why := _why(rule, sources, record.learned.get(place), record, seen, step):
            found.append(Stale(place, why))
    return tuple(found)


def unread_rules(schema: StateSchema, authorities: Collection[str]) -> list[str]:
    """What a schema says of authorities that are not there; a field that the controller keeps is then left as it is."""
    rules = [
        (path, rule_of(field.freshness or ""))
        for path, field in schema.fields.items()
        if field.owner == "agent"
    ]
    return [
        f"state schema: {pointer(path)}: x-freshness names the authority {rule.name}, which the task does not have"
        for path, rule in rules
        if rule is not None and rule.kind == "authority" and rule.name not in authorities
    ]


def outdated(source: str, seen: Readings) -> str:
    """Why a file that a source names is not as it was there; empty when it is, or that can't be told."""
    found, git = pointer_of(source), seen.git
    if found is None or found.kind != "file" or git is None or git.head.startswith(found.commit):
        return ""
    changed = found.name in git.changed.get(found.commit, ())
    return f"{found.name} changed since {found.commit[:SHORT]}" if changed else ""


def _why(
    rule: FreshRule | None,
    sources: list[str],
    known: Learned | None,
    record: RunRecord,
    seen: Readings,
    step: int,
) -> str:
    whys = [_by_rule(rule, known, seen, step)] if rule is not None else []
    whys += [_by_source(source, known, record, seen) for source in sources]
    return next((why for why in whys if why), "")


def _by_rule(rule: FreshRule, known: Learned | None, seen: Readings, step: int) -> str:
    git = seen.git
    match rule.kind:
        case "authority":
            item = seen.items.get(rule.name)
            if item is None:
                return ""  # the task has no authority of that name
            if unread(item):
                return f"{rule.name} can't be read now"
            other = known is not None and known.on.get(rule.name) not in (None, whole_mark(item))
            return f"{rule.name} says something else since step {known.step}" if known and other else ""
        case _ if known is None:
            return "it is not known since when"
        case "head":
            return f"HEAD moved since step {known.step}" if git and git.head != known.head else ""
        case "steps":
            steps = step - known.step
            return f"set {steps} steps ago, it holds for {rule.amount:g}" if steps > rule.amount else ""
        case "time":
            age = seen.at - known.at
            told = f"set {age / 60:,.0f} min ago, it holds for {as_duration(rule.amount)}"
            return told if age > rule.amount else ""


def _by_source(source: str, known: Learned | None, record: RunRecord, seen: Readings) -> str:
    found, git = pointer_of(source), seen.git
    if found is None:
        return ""
    if found.kind == "check":
        check = record.checks.get(found.name)
        if check is None:
            return f"there is no check {found.name}"
        return f"{source} was read at another commit" if git and check.tree != git.head else ""
    if found.kind == "file":
        lost = git is not None and not git.head.startswith(found.commit) and found.commit not in git.changed
        return f"nothing is known of commit {found.commit[:SHORT]}" if lost else outdated(source, seen)
    then, now = known.on.get(source) if known else None, _outside(source, seen)
    other = known is not None and then and now and now != then
    return f"{source} is another one since step {known.step}" if known and other else ""


def _outside(source: str, seen: Readings) -> str:
    """The marks of what a source names outside, where it was read."""
    where = urls(seen)
    every = {name: mark for item in seen.items.values() for name, mark in marks(item).items()}
    return "; ".join(
        f"{name}: {mark}" for name, mark in every.items() if named(source, name, where.get(name, ""))
    )


def _held(schema: StateSchema, state: JsonObject) -> Iterator[tuple[Path, FreshRule | None, list[str]]]:
    """The places that are held to be fresh: (path, rule, the sources in it). A rule of a keyed collection is of each
    of its entries."""
    rules: dict[Path, FreshRule] = {}
    for path, field in schema.fields.items():
        if field.freshness and (rule := rule_of(field.freshness)):
            keyed = any(isinstance(node.get("additionalProperties"), dict) for node in at(schema.plain, path))
            for place, value in places(state, path):
                if not keyed:
                    rules[place] = rule
                elif isinstance(value, dict):
                    rules |= {(*place, key): rule for key in value}
    sources: dict[Path, list[str]] = {}
    for path in schema.pointers:
        for place, text in places(state, path):
            if isinstance(text, str):
                holder = next((each for each in rules if place[: len(each)] == each), place[:-1] or place)
                sources.setdefault(holder, []).append(text)
    for place in dict.fromkeys([*rules, *sources]):
        yield place, rules.get(place), sources.get(place, [])
