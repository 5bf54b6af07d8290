"""The `strict` dialect: a state patch as a list of typed `set` and `remove` operations (OpenAI strict mode).

A `path` names a field of the schema; each `*` in it takes one of `keys`. An entry of a map is set whole where
the patch holds it whole; everything else is set field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from contracts.base import JsonObject, canonical
from contracts.codec import Codec, DialectError, codec
from contracts.dialect_merge import closed, plain, removable, union_of, without_null, writable
from contracts.explain import Checker
from contracts.merge import Path
from contracts.schema_refs import BadSchema
from contracts.state import ANY_KEY, StateSchema

_EMPTY = {"description": "makes it where it is missing; removes nothing", **closed({})}
_HOW = "Changes of the state. Each path takes in keys one key for each * in it."
_WILD = object()
_Steps = tuple[Any, ...]  # property names, and _WILD for any key of a map


@dataclass
class _Slot:
    """One path: the schemas of the values that may be set there, may it be removed, the names below."""

    values: list[JsonObject] = field(default_factory=list)
    removable: bool = False
    declared: set[str] = field(default_factory=set)
    codec: Codec | None = None
    wholes: list[Checker] = field(default_factory=list)


class OpsCodec:
    """Merge patch of a state schema ↔ operations. `schema` is the list's schema in the strict subset."""

    def __init__(self, state: StateSchema) -> None:
        self._slots: dict[_Steps, _Slot] = {}
        self._collect(state.plain, ())
        root = self._slots[()]
        root.values.clear()
        self._paths = {
            _spell(steps): steps for steps, slot in self._slots.items() if slot.values or slot.removable
        }
        for path, steps in self._paths.items():
            slot = self._slots[steps]
            if slot.values:
                node = slot.values[0] if len(slot.values) == 1 else {"anyOf": slot.values}
                slot.codec = codec(node, tuple(path[1:].split("/")))
        self.schema: JsonObject = {"description": _HOW, "type": "array", **self._items()}

    def _collect(self, node: JsonObject, steps: _Steps) -> None:
        slot = self._slots.setdefault(steps, _Slot())
        branches = union_of(node)
        if branches:
            for one in branches:
                self._collect(one, steps)
            return
        if node.get("type") != "object":
            _add(slot.values, plain(without_null(node)))
            return
        named = node.get("properties", {})
        slot.declared |= set(named)
        rest = node.get("additionalProperties")
        if steps and steps[-1] is _WILD and _flat(node):
            whole = plain({**node, "properties": {name: without_null(one) for name, one in named.items()}})
            slot.wholes.append(Checker(whole))
            _add(slot.values, whole)
        if not (steps and steps[-1] is _WILD and _flat(node) and not node.get("required")):
            _add(slot.values, _EMPTY)
        for name, child in named.items():
            if writable(child):
                self._collect(child, (*steps, name))
                self._slots[(*steps, name)].removable |= removable(name, node)
        if isinstance(rest, dict) and writable(rest):
            self._collect(rest, (*steps, _WILD))
            self._slots[(*steps, _WILD)].removable |= removable(None, node)

    def _items(self) -> JsonObject:
        groups: dict[bytes, tuple[JsonObject, list[str]]] = {}
        removals: list[str] = []
        for path in sorted(self._paths):
            slot = self._slots[self._paths[path]]
            if slot.codec is not None:
                groups.setdefault(canonical(slot.codec.schema), (slot.codec.schema, []))[1].append(path)
            if slot.removable:
                removals.append(path)
        keys = {"type": "array", "items": {"type": "string"}}
        # The branches of a union are told apart by their first key: `path` of each value type, or `op`.
        branches = [
            closed({"path": _one_of(paths), "op": _one_of(["set"]), "keys": keys, "value": schema})
            for schema, paths in groups.values()
        ]
        if removals:
            branches.append(closed({"op": _one_of(["remove"]), "path": _one_of(removals), "keys": keys}))
        if not branches:
            return {"items": _EMPTY, "maxItems": 0}
        return {"items": branches[0] if len(branches) == 1 else {"anyOf": branches}}

    def encode(self, patch: Any) -> list[JsonObject]:
        """Operations sorted by path and keys. Raises DialectError for what the patch may not touch."""
        if not isinstance(patch, dict):
            raise DialectError(["/state_patch: must be an object"])
        return sorted(self._emit(patch, (), ()), key=lambda op: (op["path"], op["keys"]))

    def _emit(self, value: Any, steps: _Steps, keys: tuple[str, ...]) -> Iterator[JsonObject]:
        slot = self._slots[steps]
        place: JsonObject = {"path": _spell(steps), "keys": list(keys)}
        if value is None:
            yield {"op": "remove", **place}
        elif isinstance(value, dict) and not any(whole.ok(value) for whole in slot.wholes):
            if not value and steps:
                yield {"op": "set", **place, "value": {}}
            for name, child in value.items():
                below = (*steps, name if name in slot.declared else _WILD)
                if below not in self._slots:
                    raise DialectError([f"/state_patch{_spell(below)}: {name!r} may not be written"])
                yield from self._emit(child, below, keys if name in slot.declared else (*keys, name))
        else:
            yield {"op": "set", **place, "value": slot.codec.encode(value) if slot.codec else value}

    def decode(self, ops: Any) -> JsonObject:
        """The merge patch. Raises DialectError with every operation that cannot be read, first five."""
        if not isinstance(ops, list):
            raise DialectError(["/state_patch: must be a list of operations"])
        patch: JsonObject = {}
        faults: list[str] = []
        for index, op in enumerate(ops):
            try:
                path, value = self._read(op)
                _place(patch, path, value)
            except DialectError as error:
                faults += [f"/state_patch/{index}: {message}" for message in error.messages]
        if faults:
            raise DialectError(faults[:5])
        return patch

    def _read(self, op: Any) -> tuple[Path, Any]:
        if not isinstance(op, dict) or op.get("op") not in ("set", "remove"):
            raise DialectError(["each operation is an object whose op is set or remove"])
        wanted = {"op", "path", "keys", "value"} if op["op"] == "set" else {"op", "path", "keys"}
        if set(op) != wanted:
            raise DialectError([f"a {op['op']} has exactly {', '.join(sorted(wanted))}"])
        steps = self._paths.get(op["path"]) if isinstance(op["path"], str) else None
        if steps is None:
            raise DialectError([f"{str(op['path'])[:80]!r} is none of the paths that may be written"])
        keys = op["keys"]
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise DialectError(["keys must be a list of strings"])
        count = sum(step is _WILD for step in steps)
        if len(keys) != count:
            raise DialectError([f"{op['path']} takes {count} keys, one for each *, not {len(keys)}"])
        slot = self._slots[steps]
        if op["op"] == "remove" and not slot.removable:
            raise DialectError([f"{op['path']} cannot be removed"])
        if op["op"] == "set" and (slot.codec is None or op["value"] is None):
            raise DialectError([f"{op['path']} cannot be set to null; remove it where that is allowed"])
        value = slot.codec.decode(op["value"]) if op["op"] == "set" and slot.codec else None
        return self._fill(steps, keys), value

    def _fill(self, steps: _Steps, keys: list[str]) -> Path:
        left = iter(keys)
        path: list[str] = []
        for index, step in enumerate(steps):
            key = next(left) if step is _WILD else step
            if step is _WILD and key in self._slots[steps[:index]].declared:
                raise DialectError([f"{key!r} is a field of its own, not a key; write its path"])
            path.append(key)
        return tuple(path)


def _place(patch: JsonObject, path: Path, value: Any) -> None:
    node = patch
    for key in path[:-1]:
        node = node.setdefault(key, {})
        if not isinstance(node, dict):
            raise DialectError(
                ["an earlier operation already writes what holds this place; send one of the two"]
            )
    last = path[-1]
    if last not in node:
        node[last] = value
    elif isinstance(value, dict) and isinstance(node[last], dict) and not value.keys() & node[last].keys():
        node[last] = {**node[last], **value}
    else:
        raise DialectError(["an earlier operation already writes this place; send one of the two"])


def _add(values: list[JsonObject], node: JsonObject) -> None:
    if canonical(node) not in map(canonical, values):  # not `in`: to Python 1 and true are equal
        values.append(node)


def _flat(node: JsonObject) -> bool:
    """A closed object of writable scalars and lists: an entry that can be set whole."""
    if node.get("additionalProperties") is not False:
        return False
    return all(
        (writable(child) and "type" in child and child["type"] != "object")
        or "enum" in child
        or "const" in child
        for child in node.get("properties", {}).values()
        if isinstance(child, dict)
    )


def _one_of(values: list[str]) -> JsonObject:
    return {"type": "string", "enum": values}


def _spell(steps: _Steps) -> str:
    """The path as the model writes it; a property that is really called `*` is spelled `~2`."""
    names = (
        ANY_KEY if step is _WILD else str(step).replace("~", "~0").replace("/", "~1").replace(ANY_KEY, "~2")
        for step in steps
    )
    return "/" + "/".join(names)


def strict_action(node: JsonObject) -> Codec:
    """The codec of the action; `node` is the canonical union of tools or the text form."""
    try:
        return codec(node, ("action",))
    except BadSchema as error:
        raise BadSchema([f"{problem} (strict dialect)" for problem in error.problems]) from error
