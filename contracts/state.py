"""Σ: the shape of the execution state and what its schema says about who may change what."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from importlib import resources
from typing import Any, Literal, cast

import orjson

from contracts.base import JsonObject, digest
from contracts.explain import Checker, SchemaError
from contracts.fading import fading
from contracts.fields import ANY_KEY, FieldRule, alike, child, field_rule, places, smallest, walk
from contracts.fresh_rules import FORMS, rule_of
from contracts.invariants import KEYWORD, Broken, invariants
from contracts.merge import Path
from contracts.pointers import misformed
from contracts.schema_refs import BadSchema, inline_refs, pointer
from contracts.veil import unveilable

__all__ = ["BUILTIN", "ANY_KEY", "VERSION", "FieldRule", "SchemaError", "StateSchema", "field_rule", "walk"]

BUILTIN = ("coding", "batch", "warehouse", "ctf", "repository")
VERSION = "x-version"  # at the root: the number of this schema, raised by each migration
SECRET = "secret"

Refusal = Literal["required", "append-only", "locked"]

_CHOICES = {
    "x-owner": ("user", "agent", "controller"),
    "x-change-policy": ("free", "append-only", "ask", "locked"),
    "x-retention": ("run", "task", "forever"),
    "x-sensitivity": ("internal", SECRET),
    "x-format": ("source",),
}
_TEXTS = ("x-freshness", "x-evict")


class StateSchema:
    """A compiled state schema: a closed JSON object whose fields carry governance keywords.

    `source` is the schema as written, `plain` the same without `$ref`. Raises BadSchema with every problem.
    """

    def __init__(self, source: JsonObject) -> None:
        self.source = source
        self._checker = Checker(source)
        self.plain = inline_refs(source)
        problems: list[str] = []
        self.version: int = source.get(VERSION, 1)
        if type(self.version) is not int or not 1 <= self.version <= 9999:
            problems.append(f"/: {VERSION} is the number of this schema, from 1 on, not {self.version!r}")
        if self.plain.get("type") != "object" or "properties" not in self.plain:
            problems.append("/: the state must be `type: object` with `properties`")
        if self.plain.get("additionalProperties") is not False:
            problems.append("/: the state must be closed; set additionalProperties to false")
        self.fields: dict[Path, FieldRule] = {}
        for path, node in walk(self.plain, ()):
            problems += _rule_problems(path, node)
            if any(key.startswith("x-") and key not in (VERSION, KEYWORD) for key in node):
                self.fields[path] = field_rule(node)
        if not problems:  # what is said below rests on what was looked at above
            self.fading, found = fading(self.plain)
            self.invariants, more = invariants(self.plain)
            problems += [*found, *more, *unveilable(self.plain)]
        if problems:
            raise BadSchema(problems)
        self.pointers = tuple(path for path, node in walk(self.plain, ()) if "x-format" in node)
        self.secrets = tuple(path for path, rule in self.fields.items() if rule.sensitivity == SECRET)

    @classmethod
    def builtin(cls, name: str) -> StateSchema:
        """One of `BUILTIN`. Raises BadSchema for another name."""
        if name not in BUILTIN:
            raise BadSchema([f"/: no built-in state schema {name!r}; there are {', '.join(BUILTIN)}"])
        text = resources.files("contracts").joinpath("schemas", f"{name}.json").read_bytes()
        return cls(orjson.loads(text))

    def errors(self, value: Any) -> list[SchemaError]:
        """The first five faults of a candidate state; empty when it is valid."""
        return self._checker.errors(value) or list(self._misformed(value))[:5]

    def _misformed(self, value: Any) -> Iterator[SchemaError]:
        for path in self.pointers:
            for place, text in places(value, path):
                if isinstance(text, str) and (why := misformed(text)):
                    yield SchemaError(pointer(place), why)

    def broken(self, before: JsonObject | None, after: JsonObject) -> list[Broken]:
        """The invariants that do not hold of `after`, which follows `before`."""
        found = (one.broken(before, after) for one in self.invariants)
        return [one for one in found if one is not None]

    def for_shown(self) -> tuple[StateSchema, tuple[str, ...]]:
        """The schema by which a state can be judged whose secrets are hidden by stand-ins: without the invariants that
        may rest on them, whose names are the second."""
        blind = [one for one in self.invariants if any(one.rests_on(each) for each in self.secrets)]
        schema = copy(self)
        schema.invariants = tuple(one for one in self.invariants if one not in blind)
        return schema, tuple(one.name for one in blind)

    def locked_paths(self) -> tuple[Path, ...]:
        """Fields that the agent may not write, with `*` for any key of a map."""
        return tuple(path for path, rule in self.fields.items() if rule.locked)

    def append_only_paths(self) -> tuple[Path, ...]:
        """Maps whose keys may be added but not removed."""
        return tuple(
            path for path, rule in self.fields.items() if rule.change_policy in ("append-only", "ask")
        )

    def asking(self) -> tuple[Path, ...]:
        """Maps of facts: another value from another source is for a person to decide."""
        return tuple(path for path, rule in self.fields.items() if rule.change_policy == "ask")

    def governance(self) -> str:
        """Digest of who may write, delete and see which field: an edit of it is for a person to confirm."""
        told = {
            pointer(path): (rule.owner, rule.change_policy, rule.sensitivity)
            for path, rule in self.fields.items()
            if rule.locked or rule.change_policy != "free" or rule.sensitivity
        }
        return digest(told | ({KEYWORD: self.plain[KEYWORD]} if KEYWORD in self.plain else {}))

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
        return (
            "append-only"
            if any(field_rule(one).change_policy in ("append-only", "ask") for one in kept)
            else None
        )

    def _chain(self, path: Path) -> list[list[JsonObject]]:
        """The schemas of the root and of each step of a concrete path, as far as the path is known."""
        chain = [list(alike(self.plain))]
        for key in path:
            nodes = [one for node in chain[-1] for one in alike(child(node, key))]
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
        state = cast(JsonObject, smallest(self.plain, (), problems))
        if not problems:
            problems = [f"{fault}; give it, or what holds it, a `default`" for fault in self.errors(state)]
        if not problems:
            broken = self.broken(None, state)
            problems = [f"/{KEYWORD}: the state at the beginning breaks {one.name}: {one}" for one in broken]
        if problems:
            raise BadSchema(problems)
        return state


def _rule_problems(path: Path, node: JsonObject) -> Iterator[str]:
    if "patternProperties" in node:
        yield f"{pointer(path)}: patternProperties: use additionalProperties with propertyNames"
    if isinstance(node.get("type"), list) and "object" in node["type"]:
        yield f"{pointer(path)}: a type list with object: write each type as a branch of anyOf"
    known = (*_CHOICES, *_TEXTS, "x-ttl-steps")
    for key, value in node.items():
        if not key.startswith("x-") or (key in (VERSION, KEYWORD) and not path):
            continue
        if key not in known:
            yield f"{pointer(path)}: unknown keyword {key}; there are {', '.join(known)}"
        elif key in _CHOICES and value not in _CHOICES[key]:
            yield f"{pointer(path)}: {key} is {value!r}; it is one of {', '.join(_CHOICES[key])}"
        elif key == "x-evict" and not (isinstance(value, str) and value):
            yield f"{pointer(path)}: {key} must be a word, not {value!r}"
        elif key == "x-freshness" and not (isinstance(value, str) and rule_of(value)):
            yield f"{pointer(path)}: {key} is {value!r}; it is {FORMS}"
        elif key == "x-ttl-steps" and not (type(value) is int and value > 0):
            yield f"{pointer(path)}: {key} must be a whole number of steps above 0, not {value!r}"
    policy, entry = node.get("x-change-policy"), node.get("additionalProperties")
    if policy in ("append-only", "ask") and not isinstance(entry, dict):
        yield f"{pointer(path)}: {policy} is for keyed collections: additionalProperties with a schema"
    elif (
        policy == "ask"
        and isinstance(entry, dict)
        and not {"value", "source"} <= set(entry.get("properties", ()))
    ):
        yield f"{pointer(path)}: ask is for entries with a `value` and a `source`"
    if "x-format" in node and node.get("type") != "string":
        yield f"{pointer(path)}: x-format is for texts: type string"
