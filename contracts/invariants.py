"""What must hold of a state beside its shape: the closed little language of `x-invariants`. Each check ends, raises
nothing, and takes time linear in the state.

holds     a JSON Schema condition on the whole state
unique    the values at these paths, all together, are different
refers    each value at this path is one of those at `to`; `with`: and what it names fits this condition
monotone  a number, or a place in an enum, that only grows

A path is a JSON pointer in which `*` stands for every key of an object and a last `#` for the keys themselves. A list
at its end counts item by item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contracts.base import JsonObject, canonical
from contracts.explain import Checker
from contracts.fields import ANY_KEY, at, leads, places
from contracts.merge import Path
from contracts.schema_refs import BadSchema, inline_refs, pointer

KEYWORD = "x-invariants"
KEYS = "#"
MAX_INVARIANTS, MAX_PATHS, MAX_CONDITION, MAX_SAY = 32, 8, 4096, 300
TAKEN = ("state_size", "secret", "view_range")  # codes of the gate's own

_OTHERS = ("additionalProperties", "patternProperties", "unevaluatedProperties")  # these speak of any field
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MORE = {"holds": (), "unique": (), "refers": ("to", "with"), "monotone": ()}


@dataclass(frozen=True)
class Broken:
    """An invariant that does not hold: its name, what it says, and where, in a few words."""

    name: str
    say: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.say} ({self.where})" if self.where else self.say


@dataclass(frozen=True)
class Invariant:
    """One of them, ready to be checked. `condition` is that of `holds` or `with`, `words` are the keys in it, `order`
    is the enum of `monotone`."""

    name: str
    say: str
    kind: str
    paths: tuple[Path, ...] = ()
    to: Path = ()
    condition: Checker | None = None
    words: frozenset[str] = frozenset()
    order: tuple[Any, ...] = ()

    def broken(self, before: JsonObject | None, after: JsonObject) -> Broken | None:
        """None when it holds of `after`. `before` is the state that `after` follows, if there is one."""
        match self.kind:
            case "holds":
                where = None if self.condition is None or self.condition.ok(after) else ""
            case "unique":
                where = self._twice(after)
            case "refers":
                where = self._dangling(after)
            case _:
                where = self._shrunk(before, after)
        return None if where is None else Broken(self.name, self.say, where[:200])

    def rests_on(self, place: Path) -> bool:
        """Whether the value at a path of the schema can decide it; of a condition, whether it may."""
        if self.kind == "holds":
            return self._speaks_of(place)
        for path in (*self.paths, self.to):
            if path[-1:] != (KEYS,):
                if path and leads(path, place):
                    return True
            elif self.condition is not None and leads((*path[:-1], ANY_KEY), place):
                return self._speaks_of(place[len(path) :])
        return False

    def _speaks_of(self, place: Path) -> bool:
        return bool(self.words & {*place[:1], *_OTHERS})

    def _twice(self, state: JsonObject) -> str | None:
        seen: dict[bytes, Path] = {}
        for path in self.paths:
            for place, value in _values(state, path):
                other = seen.setdefault(_key(value), place)
                if other != place:
                    return f"{pointer(other)} and {pointer(place)} are the same"
        return None

    def _dangling(self, state: JsonObject) -> str | None:
        named: dict[bytes, bool] = {}  # whether what a value names fits the condition
        for place, value in _values(state, self.to):
            key = _key(value)
            named[key] = named.get(key, False) or self._fits(state, place)
        for place, value in _values(state, self.paths[0]):
            if (fits := named.get(_key(value))) is None:
                return f"{pointer(place)} names {str(value)[:40]!r}, which is not in {pointer(self.to)}"
            if not fits:
                return f"{pointer(place)} names {str(value)[:40]!r}, which is not such a one"
        return None

    def _fits(self, state: JsonObject, place: Path) -> bool:
        value: Any = state
        for key in place:
            value = value[key]
        return self.condition is None or self.condition.ok(value)

    def _shrunk(self, before: JsonObject | None, after: JsonObject) -> str | None:
        path = self.paths[0]
        now = dict(places(after, path))
        for place, old in places(before, path):
            if place not in now:
                if ANY_KEY in path:
                    continue  # its entry is gone, which the schema decides
                return f"{pointer(place)} is gone"
            if self._rank(now[place]) < self._rank(old):
                return f"{pointer(place)} was {str(old)[:40]} and would be {str(now[place])[:40]}"
        return None

    def _rank(self, value: Any) -> float:
        if self.order:
            return self.order.index(value) if value in self.order else -1
        return value if isinstance(value, int | float) else float("-inf")


def invariants(plain: JsonObject) -> tuple[tuple[Invariant, ...], list[str]]:
    """Those that a schema without `$ref` declares at its root, and what is wrong with them."""
    declared, problems = plain.get(KEYWORD, []), list[str]()
    if not isinstance(declared, list) or len(declared) > MAX_INVARIANTS:
        return (), [f"/{KEYWORD}: must be a list of at most {MAX_INVARIANTS} invariants"]
    found: dict[str, Invariant] = {}
    for number, one in enumerate(declared):
        place = f"/{KEYWORD}/{number}"
        try:
            made = _made(one, plain)
        except BadSchema as error:
            problems += [f"{place}: {problem}" for problem in error.problems]
            continue
        if made.name in found:
            problems.append(f"{place}: there is an invariant {made.name!r} already")
        found[made.name] = made
    return tuple(found.values()), problems


# ---- reading a declaration --------------------------------------------------------------------------------
def _made(one: Any, plain: JsonObject) -> Invariant:
    if not isinstance(one, dict):
        raise BadSchema(["must be an object with name, say and one of " + ", ".join(_MORE)])
    name, say, kinds = one.get("name"), one.get("say"), [kind for kind in _MORE if kind in one]
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in TAKEN:
        raise BadSchema([f"name is {name!r}; it is a word such as facts_have_evidence"])
    if not isinstance(say, str) or not 0 < len(say.strip()) <= MAX_SAY:
        raise BadSchema([f"say tells the agent what to do instead, in 1 to {MAX_SAY} characters"])
    if len(kinds) != 1:
        raise BadSchema([f"exactly one of {', '.join(_MORE)} is needed, not {', '.join(kinds) or 'none'}"])
    kind = kinds[0]
    if unknown := sorted(one.keys() - {"name", "say", kind, *_MORE[kind]}):
        raise BadSchema([f"unknown key {', '.join(map(str, unknown))}"])
    value = one[kind]
    match kind:
        case "holds":
            return Invariant(name, say, kind, condition=_condition(value, kind), words=_words(value))
        case "unique":
            given = value if isinstance(value, list) else [value]
            if not 0 < len(given) <= MAX_PATHS:
                raise BadSchema([f"unique: takes 1 to {MAX_PATHS} paths"])
            return Invariant(name, say, kind, tuple(_path(each, kind, plain) for each in given))
        case "refers":
            to = _path(one.get("to"), "to", plain)
            condition = _condition(one["with"], "with") if "with" in one else None
            if condition is not None and to[-1] != KEYS:
                raise BadSchema([f"with: is for what a key names; end `to` with /{KEYS}"])
            words = _words(one.get("with"))
            return Invariant(name, say, kind, (_path(value, kind, plain),), to, condition, words)
        case _:
            path = _path(value, kind, plain)
            return Invariant(name, say, kind, (path,), order=_order(path, plain))


def _condition(value: Any, word: str) -> Checker:
    if not isinstance(value, dict) or not value:
        raise BadSchema([f"{word}: must be a JSON Schema"])
    if len(canonical(value)) > MAX_CONDITION:
        raise BadSchema([f"{word}: is larger than {MAX_CONDITION:,} bytes"])
    try:
        return Checker(inline_refs(value))
    except BadSchema as error:
        raise BadSchema([f"{word}{problem}" for problem in error.problems]) from None


def _words(value: Any) -> frozenset[str]:
    """Every key in a condition, at whatever depth."""
    if isinstance(value, list):
        return frozenset().union(*map(_words, value))
    if not isinstance(value, dict):
        return frozenset()
    return frozenset(value).union(*map(_words, value.values()))


def _path(value: Any, word: str, plain: JsonObject) -> Path:
    if not isinstance(value, str) or not value.startswith("/"):
        raise BadSchema([f"{word}: {value!r} is no path such as /notes/*/id"])
    path = tuple(step.replace("~1", "/").replace("~0", "~") for step in value[1:].split("/"))
    keys = path[-1] == KEYS
    found = at(plain, path[:-1] if keys else path)
    if KEYS in path[:-1] or not found or (keys and not any(node.get("type") == "object" for node in found)):
        raise BadSchema([f"{word}: {value} names nothing in this schema"])
    return path


def _order(path: Path, plain: JsonObject) -> tuple[Any, ...]:
    for node in at(plain, path) if path[-1] != KEYS else ():
        if "enum" in node:
            return tuple(node["enum"])
        if node.get("type") in ("integer", "number"):
            return ()
    raise BadSchema([f"monotone: {pointer(path)} is neither a number nor an enum"])


# ---- values -----------------------------------------------------------------------------------------------
def _values(state: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if path[-1] == KEYS:
        for place, value in places(state, path[:-1]):
            yield from (((*place, key), key) for key in (value if isinstance(value, dict) else ()))
        return
    for place, value in places(state, path):
        if isinstance(value, list):
            yield from (((*place, str(number)), item) for number, item in enumerate(value))
        else:
            yield place, value


def _key(value: Any) -> bytes:
    try:
        return canonical(value)
    except TypeError:  # not JSON; the gate's first layer says so
        return repr(value).encode("utf-8", "replace")
