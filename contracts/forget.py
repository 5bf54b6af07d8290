"""forget: what a state lets go of when a patch comes, so that its bounds hold. Pure, and the same every time.

Entries that were not set for `x-ttl-steps` committed steps go first. Then, of a collection with `x-evict` that would
hold too many, as many as there are too many: never what the same patch sets, never a named or required key, and never
what an invariant needs; the next one goes instead. Where that makes no room the collection stays too large, which the
gate refuses with what `full` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from contracts.base import Frozen, JsonObject
from contracts.fading import Fading
from contracts.fields import places
from contracts.merge import Path, both, difference, merge, nested, value_at
from contracts.schema_refs import pointer
from contracts.state import StateSchema
from contracts.text import line
from contracts.veil import veiled

SAID = 240  # bytes of the line in the next observation
_OLD = (0, 0)

Ages = dict[str, tuple[int, int]]  # JSON pointer -> the committed steps in which it was inserted and last set


class Forgotten(Frozen):
    """What one step lets go of: the merge patch that does it, the values by JSON pointer, and the ages of what is left.
    `say` is the line for the next observation; `full` why a collection could not be made smaller."""

    patch: JsonObject = {}
    values: JsonObject = {}
    ages: Ages = {}
    say: str = ""
    full: str = ""


def forget(
    schema: StateSchema, before: JsonObject, patch: JsonObject, ages: Ages, now: int
) -> tuple[JsonObject, Forgotten]:
    """The candidate that `patch` makes of `before` in committed step `now`, less what goes, and what went."""
    state = cast(JsonObject, merge(before, patch))
    if not schema.fading:
        return state, Forgotten()
    ages = _aged(ages, before, state, patch, now, _tracked(schema, state))
    work = _Work(schema, before, state, patch, ages)
    for rule in schema.fading:
        if rule.ttl is not None:
            work.expire(rule, now - rule.ttl)
    for rule in schema.fading:
        if rule.evict:
            for path, held in list(places(work.state, rule.path)):
                if isinstance(held, dict):
                    work.evict(rule, path, held)
    left = {pointer(path) for path in _tracked(schema, work.state)}
    kept = {name: age for name, age in ages.items() if name in left}
    return work.state, Forgotten(
        patch=work.gone, values=work.values, ages=kept, say=_said(work), full=work.full
    )


def aged(ages: Ages, before: JsonObject, after: JsonObject, patch: JsonObject, now: int) -> Ages:
    """The ages of everything in `after`, without a schema: for a record that is rebuilt from its audit."""
    return _aged(ages, before, after, patch, now, _all(after, ()))


def carried(
    schema: StateSchema, state: JsonObject, ages: Ages, now: int
) -> tuple[JsonObject, Ages, tuple[str, ...]]:
    """What the next run of a task begins with, after one that ended in `state` with `now` committed steps: its state,
    ages (counted from its own beginning: 0 and less), and the fields that no longer fit the schema and are left."""
    start, lost = schema.initial(), []
    for path, rule in schema.fields.items():
        if rule.retention == "run":
            continue
        for place, value in places(state, path):
            tried = cast(JsonObject, merge(start, nested(place, difference(value_at(start, place), value))))
            if schema.errors(tried) or schema.broken(None, tried):
                lost.append(pointer(place))
            else:
                start = tried
    names = {pointer(path) for path in _tracked(schema, start)}
    return start, {name: (a - now, b - now) for name, (a, b) in ages.items() if name in names}, tuple(lost)


class _Work:
    """The candidate while it lets go."""

    def __init__(
        self, schema: StateSchema, before: JsonObject, state: JsonObject, patch: JsonObject, ages: Ages
    ) -> None:
        self.schema, self.before, self.state, self.own, self.ages = schema, before, state, patch, ages
        self.gone: JsonObject = {}
        self.values: JsonObject = {}
        self.evicted: dict[str, list[str]] = {}
        self.expired: dict[str, list[str]] = {}
        self.full = ""
        self._broken = set(schema.broken(before, state))

    def expire(self, rule: Fading, since: int) -> None:
        """Let go of what was set in step `since` or before."""
        for path, held in list(places(self.state, rule.path)):
            if rule.entries:
                for key in list(held) if isinstance(held, dict) else ():
                    if key not in rule.kept and self._set(*path, key) <= since:
                        self._drop((*path, key), self.expired)
            elif self._set(*path) <= since and (rule.removed or held != rule.first):
                self._drop(path, self.expired, rule)

    def evict(self, rule: Fading, path: Path, held: JsonObject) -> None:
        """Make room in one collection."""
        over = len(held) - rule.most
        if over <= 0:
            return
        own = {key for key in held if _sets(self.own, (*path, key))}
        old = [key for key in held if key not in rule.kept and key not in own]
        if over > len(old):
            said = f"{pointer(path)} holds at most {rule.most} entries, and {len(own)} are set at once"
            self.full = f"{said}: set fewer"
            return
        for key in sorted(old, key=lambda key: (self._worth(rule, held[key]), self._inserted(*path, key))):
            over -= self._drop((*path, key), self.evicted)
            if not over:
                return
        say = "is full, and what else is in it is needed: remove what refers to it first, or set less"
        self.full = f"{pointer(path)} {say}"

    def _drop(self, path: Path, told: dict[str, list[str]], rule: Fading | None = None) -> bool:
        """Let go of what is at `path`, unless an invariant or the schema would break that holds with it."""
        value = value_at(self.state, path)
        shown = value_at(veiled(self.state, self.schema.secrets), path)
        gone = nested(path, None if rule is None or rule.removed else difference(value, rule.first))
        tried = cast(JsonObject, merge(self.state, gone))
        broken, faults = set(self.schema.broken(self.before, tried)), set[str]()
        if told is self.expired:  # an evicted one is judged with the whole candidate
            faults = {each.path for each in self.schema.errors(tried)}
            faults -= {each.path for each in self.schema.errors(self.state)} if faults else set()
        if broken - self._broken or faults:
            return False
        self.state, self._broken = tried, broken
        self.gone = cast(JsonObject, both(self.gone, gone))
        self.values[pointer(path)] = shown
        told.setdefault(pointer(path[:-1]), []).append(path[-1])
        return True

    def _worth(self, rule: Fading, entry: Any) -> float:
        """What an entry is worth keeping; one that does not say it is worth the least."""
        value = None if rule.by_age or not isinstance(entry, dict) else entry.get(rule.evict)
        if rule.order:
            return rule.order.index(value) if value in rule.order else -1
        return value if isinstance(value, int | float) else float("-inf")

    def _inserted(self, *path: str) -> int:
        return self.ages.get(pointer(path), _OLD)[0]

    def _set(self, *path: str) -> int:
        return self.ages.get(pointer(path), _OLD)[1]


# ---- ages -------------------------------------------------------------------------------------------------
def _tracked(schema: StateSchema, state: JsonObject) -> Iterable[Path]:
    for rule in schema.fading:
        for path, held in places(state, rule.path):
            if not rule.entries:
                yield path
            elif isinstance(held, dict):
                yield from ((*path, key) for key in held if key not in rule.kept)


def _all(node: Any, path: Path) -> Iterable[Path]:
    for key, value in node.items() if isinstance(node, dict) else ():
        yield (*path, key)
        yield from _all(value, (*path, key))


def _aged(
    ages: Ages, before: JsonObject, after: JsonObject, patch: JsonObject, now: int, paths: Iterable[Path]
) -> Ages:
    """What has no age yet and was there before is as old as the run, and counts as set in the step before."""
    found: Ages = {}
    for path in paths:
        name = pointer(path)
        inserted, last = ages.get(name, (0, now - 1)) if value_at(before, path) is not None else (now, now)
        found[name] = (inserted, now if _sets(patch, path) else last)
    return found


def _sets(patch: Any, path: Path) -> bool:
    """Whether a patch sets what is at `path`, or something in it."""
    return value_at(patch, path) is not None


# ---- patches ----------------------------------------------------------------------------------------------


def _said(work: _Work) -> str:
    parts = [f"evicted from {name}: {', '.join(keys)}" for name, keys in work.evicted.items()]
    parts += [
        f"not set for long and dropped from {name}: {', '.join(keys)}" for name, keys in work.expired.items()
    ]
    return line("; ".join(parts), SAID)
