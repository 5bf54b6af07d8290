"""Fields of a state schema: walking them, the governance keywords on each, the smallest value of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from contracts.base import JsonObject
from contracts.explain import Checker
from contracts.merge import Path
from contracts.schema_refs import pointer

ANY_KEY = "*"  # in a path of the schema: any key of a map

Owner = Literal["user", "agent", "controller"]
ChangePolicy = Literal["free", "append-only", "ask", "locked"]
Retention = Literal["run", "task", "forever"]
Sensitivity = Literal["internal", "secret"]

_EMPTY: dict[str, Any] = {"object": {}, "array": [], "string": ""}


@dataclass(frozen=True)
class FieldRule:
    """Governance of one field: the `x-` keywords of its schema, with their defaults.

    change_policy  ask: an entry with another value from another source waits for a person; none is removed
    retention    run: gone with the run. task: the next run of the task begins with it. forever: that, and it is
                 never evicted and never expires
    sensitivity  internal: shown to the agent, not in what is posted outside. secret: its value is never shown
    evict        oldest, or lowest:FIELD: which entry goes when the collection is full
    ttl_steps    committed steps after which what was not set again goes
    """

    owner: Owner = "agent"
    change_policy: ChangePolicy = "free"
    retention: Retention = "run"
    freshness: str | None = None
    sensitivity: Sensitivity | None = None
    evict: str | None = None
    ttl_steps: int | None = None

    @property
    def locked(self) -> bool:
        """The agent may not write it: it belongs to the user or the controller, or its policy says so."""
        return self.owner != "agent" or self.change_policy == "locked"


def field_rule(node: JsonObject) -> FieldRule:
    """The governance keywords of one schema node."""
    return FieldRule(
        owner=node.get("x-owner", "agent"),
        change_policy=node.get("x-change-policy", "free"),
        retention=node.get("x-retention", "run"),
        freshness=node.get("x-freshness"),
        sensitivity=node.get("x-sensitivity"),
        evict=node.get("x-evict"),
        ttl_steps=node.get("x-ttl-steps"),
    )


def walk(node: Any, path: Path) -> Iterator[tuple[Path, JsonObject]]:
    """Every object of the state that the schema describes, itself first: (path with `*`, schema)."""
    if not isinstance(node, dict):
        return
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from walk(child, (*path, name))
    yield from walk(node.get("additionalProperties"), (*path, ANY_KEY))
    for key in ("anyOf", "oneOf", "allOf"):
        for child in node.get(key, ()):
            yield from walk(child, path)


def alike(node: Any) -> Iterator[JsonObject]:
    """A schema and its branches, which speak of the same place."""
    if isinstance(node, dict):
        yield node
        for word in ("anyOf", "oneOf", "allOf"):
            for branch in node.get(word, ()):
                yield from alike(branch)


def child(node: JsonObject, key: str) -> Any:
    """The schema of `key` in an object of this schema, None where it may not be."""
    return node.get("properties", {}).get(key, node.get("additionalProperties"))


def at(node: JsonObject, path: Path) -> list[JsonObject]:
    """The schemas of a path of the schema; empty when it names nothing."""
    found = list(alike(node))
    for key in path:
        found = [one for each in found for one in alike(child(each, key))]
    return found


def leads(path: Path, place: Path) -> bool:
    """Whether what is at one path of the schema holds, or is, what is at the other."""
    return len(path) <= len(place) and all(
        one == other or ANY_KEY in (one, other) for one, other in zip(path, place, strict=False)
    )


def places(value: Any, path: Path, here: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What stands at a path of the schema in a value: (concrete path, value). `*` is every key of an object."""
    if not path:
        yield here, value
    elif isinstance(value, dict):
        head, *rest = path
        for key in value if head == ANY_KEY else (head,) if head in value else ():
            yield from places(value[key], tuple(rest), (*here, key))


def smallest(node: Any, path: Path, problems: list[str]) -> Any:
    """The default of a schema, else the empty value of what is required; what has none is added to `problems`."""
    if isinstance(node, dict):
        if "default" in node:
            return node["default"]
        if "const" in node:
            return node["const"]
        if node.get("type") == "object":
            named = node.get("properties", {})
            wanted = [name for name in named if name in node.get("required", ()) or has_default(named[name])]
            return {name: smallest(named[name], (*path, name), problems) for name in wanted}
        kind = node.get("type")
        if isinstance(kind, str) and kind in _EMPTY and Checker(node).ok(_EMPTY[kind]):
            return _EMPTY[kind]
    problems.append(f"{pointer(path)}: is required and has no empty value; give it a `default`")
    return None


def has_default(node: Any) -> bool:
    return isinstance(node, dict) and "default" in node
