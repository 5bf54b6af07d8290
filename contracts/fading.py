"""What a state schema says may be let go of: `x-evict`, `x-ttl-steps`, `x-retention`, read and checked at load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contracts.base import JsonObject
from contracts.fields import ANY_KEY, at, field_rule, has_default, smallest, walk
from contracts.merge import Path
from contracts.schema_refs import pointer

OLDEST = "oldest"
_LOWEST = re.compile(r"lowest:(.+)")


@dataclass(frozen=True)
class Fading:
    """One field that lets go.

    entries  a keyed collection, whose entries go one by one; else a field, which goes back to what it is at first
    most     entries that it holds; what is evicted makes room for more. kept: keys that never go
    evict    oldest, or the field of an entry whose lowest value goes first; `order` is its enum, lowest first
    ttl      committed steps after which what was not set again goes; None: never
    removed  an expired field goes altogether; else it becomes `first`
    """

    path: Path
    entries: bool
    evict: str = ""
    order: tuple[Any, ...] = ()
    most: int = 0
    kept: frozenset[str] = frozenset()
    ttl: int | None = None
    removed: bool = True
    first: Any = None

    def __str__(self) -> str:
        which = "the oldest" if self.by_age else f"the entry with the lowest {self.evict}"
        full = f"{which} when it holds more than {self.most} entries" if self.evict else ""
        what = "what" if self.entries else "its value, when it"
        late = f"{what} was not set for {self.ttl} committed steps" if self.ttl else ""
        return ", and of ".join(part for part in (full, late) if part)

    @property
    def by_age(self) -> bool:
        return self.evict == OLDEST


def fading(plain: JsonObject) -> tuple[tuple[Fading, ...], list[str]]:
    """The fields of a schema without `$ref` that let go, in schema order, and what is wrong with what is said."""
    found, problems, reached = list[Fading](), list[str](), set[int]()
    for path, node, chain in _named(plain, (), ()):
        reached.add(id(node))
        place = pointer(path)
        if node.get("x-retention") in ("task", "forever") and ANY_KEY in path:
            problems.append(
                f"{place}: x-retention is said of a whole collection, not of what is in its entries"
            )
        if "x-evict" not in node and "x-ttl-steps" not in node:
            continue
        wrong = _contradiction(node, chain)
        made, more = _fading(path, node, chain)
        problems += [f"{place}: {each}" for each in ([wrong] if wrong else more)]
        found.append(made)
    for path, node in walk(plain, ()):
        if id(node) not in reached and {"x-evict", "x-ttl-steps", "x-retention"} & node.keys():
            problems.append(
                f"{pointer(path)}: x-evict, x-ttl-steps and x-retention stand beside anyOf, not in it"
            )
    return tuple(found), problems


def _named(
    node: Any, path: Path, chain: tuple[JsonObject, ...]
) -> Iterator[tuple[Path, JsonObject, tuple[JsonObject, ...]]]:
    """Every field outside of unions: (path, schema, the schemas that hold it from the root on)."""
    if not isinstance(node, dict):
        return
    yield path, node, chain
    for name, inner in node.get("properties", {}).items():
        yield from _named(inner, (*path, name), (*chain, node))
    yield from _named(node.get("additionalProperties"), (*path, ANY_KEY), (*chain, node))


def _contradiction(node: JsonObject, chain: tuple[JsonObject, ...]) -> str:
    """Why nothing of this field may go; empty when it may."""
    rules = [field_rule(one) for one in (*chain, *(inner for _, inner in walk(node, ())))]
    if any(rule.locked for rule in rules):
        return "x-evict and x-ttl-steps can't be said of what is locked, is not the agent's, or holds or stands in such"
    if any(rule.change_policy == "ask" for rule in rules):
        return (
            "x-evict and x-ttl-steps contradict x-change-policy: ask: once a fact was let go of, any other value could "
            "take its place unasked"
        )
    if any(rule.retention == "forever" for rule in rules):
        return "x-evict and x-ttl-steps contradict x-retention: forever"
    return ""


def _fading(path: Path, node: JsonObject, chain: tuple[JsonObject, ...]) -> tuple[Fading, list[str]]:
    entry, named = node.get("additionalProperties"), node.get("properties", {})
    ttl, wanted = node.get("x-ttl-steps"), node.get("required", ())
    if not isinstance(entry, dict):
        if "x-evict" in node:
            return Fading(path, False), [
                "x-evict is for keyed collections: additionalProperties with a schema"
            ]
        return _field(path, node, chain, ttl)
    if ttl is not None and node.get("minProperties", 0):
        return Fading(path, True), ["x-ttl-steps with minProperties: its entries could not go"]
    kept, evict = frozenset((*named, *wanted)), node.get("x-evict", "")
    order, problems = _evict(evict, entry) if evict else ((), [])
    most = node.get("maxProperties", 0)
    if evict and not (type(most) is int and most > len(kept)):
        problems.append("x-evict needs a maxProperties that leaves room for entries")
    by = evict.partition(":")[2] or evict if isinstance(evict, str) else ""
    return Fading(path, True, by, order, most, kept, ttl), problems


def _evict(rule: Any, entry: JsonObject) -> tuple[tuple[Any, ...], list[str]]:
    """The order of the values of a `lowest:FIELD`, () for numbers, and what is wrong."""
    if rule == OLDEST:
        return (), []
    told = _LOWEST.fullmatch(rule) if isinstance(rule, str) else None
    if told is None or told[1] == OLDEST:
        return (), [f"x-evict is {rule!r}; it is oldest, or lowest:FIELD with a field of the entries"]
    for node in at(entry, (told[1],)):
        if node.get("x-sensitivity") == "secret":
            break
        if "enum" in node:
            return tuple(node["enum"]), []
        if node.get("type") in ("integer", "number"):
            return (), []
    return (), [f"x-evict: the entries have no field {told[1]!r} that is a number or an enum"]


def _field(
    path: Path, node: JsonObject, chain: tuple[JsonObject, ...], ttl: int | None
) -> tuple[Fading, list[str]]:
    """A field that is no collection: it goes altogether where it may, else back to its default."""
    if not chain:
        return Fading(path, False), ["x-ttl-steps can't be said of the whole state"]
    if path[-1] == ANY_KEY:
        return Fading(path, False), ["x-ttl-steps of entries is said of their collection"]
    problems: list[str] = []
    removed = path[-1] not in chain[-1].get("required", ()) and not has_default(node)
    first = None if removed else smallest(node, path, problems)
    return Fading(path, False, ttl=ttl, removed=removed, first=first), [
        each.partition(": ")[2] for each in problems
    ]
