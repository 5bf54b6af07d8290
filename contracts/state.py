"""Σ: the shape of the execution state and what its schema says about who may change what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, cast

import orjson

from contracts.base import JsonObject
from contracts.explain import Checker, SchemaError
from contracts.merge import Path
from contracts.schema_refs import BadSchema, inline_refs, pointer

__all__ = ["BUILTIN", "ANY_KEY", "FieldRule", "SchemaError", "StateSchema"]

BUILTIN = ("coding", "batch", "warehouse", "ctf")
ANY_KEY = "*"  # in a path of the schema: any key of a map

Owner = Literal["user", "agent", "controller"]
ChangePolicy = Literal["free", "append-only", "locked"]
Refusal = Literal["required", "append-only", "locked"]

_CHOICES = {"x-owner": ("user", "agent", "controller"), "x-change-policy": ("free", "append-only", "locked")}
_TEXTS = ("x-retention", "x-freshness", "x-sensitivity", "x-evict")
_EMPTY: dict[str, Any] = {"object": {}, "array": [], "string": ""}


@dataclass(frozen=True)
class FieldRule:
    """Governance of one field: the `x-` keywords of its schema, with their defaults."""

    owner: Owner = "agent"
    change_policy: ChangePolicy = "free"
    retention: str | None = None
    freshness: str | None = None
    sensitivity: str | None = None
    evict: str | None = None
    ttl_steps: int | None = None

    @property
    def locked(self) -> bool:
        """The agent may not write it: it belongs to the user or the controller, or its policy says so."""
        return self.owner != "agent" or self.change_policy == "locked"


class StateSchema:
    """A compiled state schema: a closed JSON object whose fields carry governance keywords.

    `source` is the schema as written, `plain` the same without `$ref`. Raises BadSchema with every problem.
    """

    def __init__(self, source: JsonObject) -> None:
        self.source = source
        self._checker = Checker(source)
        self.plain = inline_refs(source)
        problems: list[str] = []
        if self.plain.get("type") != "object" or "properties" not in self.plain:
            problems.append("/: the state must be `type: object` with `properties`")
        if self.plain.get("additionalProperties") is not False:
            problems.append("/: the state must be closed; set additionalProperties to false")
        self.fields: dict[Path, FieldRule] = {}
        for path, node in walk(self.plain, ()):
            problems += _rule_problems(path, node)
            if any(key.startswith("x-") for key in node):
                self.fields[path] = field_rule(node)
        if problems:
            raise BadSchema(problems)

    @classmethod
    def builtin(cls, name: str) -> StateSchema:
        """One of `BUILTIN`. Raises BadSchema for another name."""
        if name not in BUILTIN:
            raise BadSchema([f"/: no built-in state schema {name!r}; there are {', '.join(BUILTIN)}"])
        text = resources.files("contracts").joinpath("schemas", f"{name}.json").read_bytes()
        return cls(orjson.loads(text))

    def errors(self, value: Any) -> list[SchemaError]:
        """The first five faults of a candidate state; empty when it is valid."""
        return self._checker.errors(value)

    def locked_paths(self) -> tuple[Path, ...]:
        """Fields that the agent may not write, with `*` for any key of a map."""
        return tuple(path for path, rule in self.fields.items() if rule.locked)

    def append_only_paths(self) -> tuple[Path, ...]:
        """Maps whose keys may be added but not removed."""
        return tuple(path for path, rule in self.fields.items() if rule.change_policy == "append-only")

    def required_paths(self) -> tuple[Path, ...]:
        """Fields that may not be deleted while what holds them is there, with `*` for map keys."""
        return tuple(
            dict.fromkeys(
                (*path, name) for path, node in walk(self.plain, ()) for name in node.get("required", ())
            )
        )

    def locks(self, path: Path) -> bool:
        """Whether writing `path` would write a locked field: it, one that holds it, or one that it holds."""
        chain = self._chain(path)
        inside = [node for end in chain[-1] for _, node in walk(end, ())] if len(chain) > len(path) else []
        return any(field_rule(node).locked for nodes in (*chain, inside) for node in nodes)

    def refuses_removal(self, path: Path) -> Refusal | None:
        """Why `path` may not be deleted, or None: `locked`, `required`, or a key of an `append-only` map."""
        if not path:
            return "required"
        if self.locks(path):
            return "locked"
        chain = self._chain(path)
        if len(chain) <= len(path):
            return None  # not a field of this schema; the schema check says so
        if any(path[-1] in node.get("required", ()) for node in chain[-2]):
            return "required"
        kept = [node for node in chain[-2] if path[-1] not in node.get("properties", {})]
        kept += [node for end in chain[-1] for _, node in walk(end, ())]
        return "append-only" if any(field_rule(one).change_policy == "append-only" for one in kept) else None

    def _chain(self, path: Path) -> list[list[JsonObject]]:
        """The schemas of the root and of each step of a concrete path, as far as the path is known."""
        chain = [list(_alike(self.plain))]
        for key in path:
            nodes = [one for node in chain[-1] for one in _alike(_child(node, key))]
            if not nodes:
                break
            chain.append(nodes)
        return chain

    def ordered(self, state: JsonObject) -> JsonObject:
        """The state with its top-level fields in schema order (most stable first is up to the schema)."""
        known = {name: state[name] for name in self.plain["properties"] if name in state}
        return {**known, **{name: state[name] for name in sorted(state.keys() - known.keys())}}

    def initial(self) -> JsonObject:
        """The smallest valid state: defaults, else empty values for what is required.

        Raises BadSchema that names each field that needs a `default`.
        """
        problems: list[str] = []
        state = cast(JsonObject, _smallest(self.plain, (), problems))
        if not problems:
            problems = [f"{fault}; give it, or what holds it, a `default`" for fault in self.errors(state)]
        if problems:
            raise BadSchema(problems)
        return state


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


def field_rule(node: JsonObject) -> FieldRule:
    """The governance keywords of one schema node."""
    return FieldRule(
        owner=node.get("x-owner", "agent"),
        change_policy=node.get("x-change-policy", "free"),
        retention=node.get("x-retention"),
        freshness=node.get("x-freshness"),
        sensitivity=node.get("x-sensitivity"),
        evict=node.get("x-evict"),
        ttl_steps=node.get("x-ttl-steps"),
    )


def _rule_problems(path: Path, node: JsonObject) -> Iterator[str]:
    if "patternProperties" in node:
        yield f"{pointer(path)}: patternProperties: use additionalProperties with propertyNames"
    if isinstance(node.get("type"), list) and "object" in node["type"]:
        yield f"{pointer(path)}: a type list with object: write each type as a branch of anyOf"
    known = (*_CHOICES, *_TEXTS, "x-ttl-steps")
    for key, value in node.items():
        if not key.startswith("x-"):
            continue
        if key not in known:
            yield f"{pointer(path)}: unknown keyword {key}; there are {', '.join(known)}"
        elif key in _CHOICES and value not in _CHOICES[key]:
            yield f"{pointer(path)}: {key} is {value!r}; it is one of {', '.join(_CHOICES[key])}"
        elif key in _TEXTS and not (isinstance(value, str) and value):
            yield f"{pointer(path)}: {key} must be a word, not {value!r}"
        elif key == "x-ttl-steps" and not (type(value) is int and value > 0):
            yield f"{pointer(path)}: {key} must be a whole number of steps above 0, not {value!r}"
    if node.get("x-change-policy") == "append-only" and not isinstance(
        node.get("additionalProperties"), dict
    ):
        yield f"{pointer(path)}: append-only is for keyed collections: additionalProperties with a schema"


def _alike(node: Any) -> Iterator[JsonObject]:
    """A schema and its branches, which speak of the same place."""
    if isinstance(node, dict):
        yield node
        for word in ("anyOf", "oneOf", "allOf"):
            for branch in node.get(word, ()):
                yield from _alike(branch)


def _child(node: JsonObject, key: str) -> Any:
    return node.get("properties", {}).get(key, node.get("additionalProperties"))


def _smallest(node: Any, path: Path, problems: list[str]) -> Any:
    if isinstance(node, dict):
        if "default" in node:
            return node["default"]
        if "const" in node:
            return node["const"]
        if node.get("type") == "object":
            named = node.get("properties", {})
            wanted = [
                name for name in named if name in node.get("required", ()) or "default" in _dict(named[name])
            ]
            return {name: _smallest(named[name], (*path, name), problems) for name in wanted}
        kind = node.get("type")
        if isinstance(kind, str) and kind in _EMPTY and Checker(node).ok(_EMPTY[kind]):
            return _EMPTY[kind]
    problems.append(f"{pointer(path)}: is required and has no empty value; give it a `default`")
    return None


def _dict(node: Any) -> JsonObject:
    return node if isinstance(node, dict) else {}
