"""The `merge` dialect, which is the canonical transition: a typed RFC 7396 patch and an action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.actions import ActionSpec
from contracts.base import JsonObject
from contracts.schema_refs import SUBSCHEMA, SUBSCHEMA_LISTS, SUBSCHEMA_MAPS, inline_refs
from contracts.state import StateSchema, field_rule, walk

NULL: JsonObject = {"type": "null"}
MAX_REASONING = 4096
_DROPPED = ("$schema", "$id", "$comment", "title", "default", "examples", "deprecated")


def transition_schema(
    state: StateSchema, actions: Sequence[ActionSpec], *, action_pattern: str | None = None
) -> JsonObject:
    """JSON Schema of the canonical transition: `state_patch` and `action`, no `$schema`, no `oneOf`."""
    return envelope(patch_schema(state), plain(action_node(actions, action_pattern)))


def envelope(patch: JsonObject, action: JsonObject, *, reasoning: JsonObject | None = None) -> JsonObject:
    """The closed root object of a dialect; `reasoning` comes first, so that it is written first."""
    properties = {"state_patch": patch, "action": action}
    if reasoning is not None:
        properties = {"reasoning": reasoning, **properties}
    return closed(properties)


def closed(properties: JsonObject, required: Sequence[str] | None = None) -> JsonObject:
    """An object schema without further keys; all are required unless said otherwise."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def action_node(actions: Sequence[ActionSpec], pattern: str | None) -> JsonObject:
    """The union of the allowed tools with their canonical arguments, or the text form of the paper."""
    if pattern is not None:
        return {"type": "string", "pattern": pattern}
    branches = [
        closed({"tool": {"type": "string", "const": spec.name}, "args": inline_refs(spec.args)})
        for spec in actions
    ]
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def plain(node: Any) -> Any:
    """A schema as vendors take it: `description` alone of the annotations, no `x-` keywords, no `oneOf`."""
    if not isinstance(node, dict):
        return node
    result: JsonObject = {}
    for key, value in node.items():
        if key in _DROPPED or key.startswith("x-"):
            continue
        if key in SUBSCHEMA:
            result[key] = plain(value)
        elif key in SUBSCHEMA_LISTS:
            result["anyOf" if key == "oneOf" else key] = [plain(one) for one in value]
        elif key in SUBSCHEMA_MAPS:
            result[key] = {name: plain(one) for name, one in value.items()}
        else:
            result[key] = value
    return result


def writable(node: Any) -> bool:
    """Whether the agent may write a field of this schema."""
    return isinstance(node, dict) and not field_rule(node).locked


def removable(name: str | None, holder: JsonObject) -> bool:
    """Whether the agent may delete `name` of the object `holder`; None stands for the keys of a map.

    Not where it is required, a key of an append-only map, or holds something that is locked or append-only.
    """
    if name is None and field_rule(holder).change_policy in ("append-only", "ask"):
        return False
    if name in holder.get("required", ()):
        return False
    child = holder["additionalProperties"] if name is None else holder["properties"][name]
    rules = [field_rule(node) for _, node in walk(child, ())]
    return not any(rule.locked or rule.change_policy in ("append-only", "ask") for rule in rules)


def patch_schema(state: StateSchema) -> JsonObject:
    """JSON Schema of the patches that the agent may send; locked fields are absent from it."""
    patch: JsonObject = _patch(state.plain)
    return patch


def _patch(node: Any) -> Any:
    """The patches of one field: any part of an object, the whole of anything else."""
    if not isinstance(node, dict):
        return node  # a boolean schema
    branches = union_of(node)
    if branches:
        return {**described(node), "anyOf": [_patch(one) for one in branches]}
    if node.get("type") != "object":
        return plain(without_null(node))
    properties = {
        name: _entry(name, child, node)
        for name, child in node.get("properties", {}).items()
        if writable(child)
    }
    patch = {**described(node), "type": "object"}
    if properties or "properties" in node:
        patch["properties"] = properties
    rest = node.get("additionalProperties", True)
    locked = [name for name in node.get("properties", {}) if name not in properties]
    patch["additionalProperties"] = False
    if isinstance(rest, dict) and writable(rest):
        patch["additionalProperties"] = _entry(None, rest, node)
        names = plain(node.get("propertyNames", {}))
        if locked:
            names = {**names, "not": {"enum": locked}}
        if names:
            patch["propertyNames"] = names
    return patch


def _entry(name: str | None, child: JsonObject, holder: JsonObject) -> JsonObject:
    patch: JsonObject = _patch(child)
    if not removable(name, holder):
        return patch
    if set(patch) - {"description"} == {"anyOf"}:
        return {**patch, "anyOf": [*patch["anyOf"], NULL]}
    return {"anyOf": [patch, NULL]}


def union_of(node: JsonObject) -> list[Any]:
    """The branches of a field that is a union. Beside a `type` it only narrows: left to the state check."""
    branches = [] if "type" in node else [*node.get("anyOf", ()), *node.get("oneOf", ())]
    return [one for one in branches if not (isinstance(one, dict) and one.get("type") == "null")]


def described(node: JsonObject) -> JsonObject:
    """The description of a schema node, to be kept where the node is rebuilt."""
    return {"description": node["description"]} if "description" in node else {}


def without_null(node: JsonObject) -> JsonObject:
    """The schema without null as a value: in a patch null deletes, so the state cannot hold one."""
    kinds = node.get("type")
    if isinstance(kinds, list):
        kept = [kind for kind in kinds if kind != "null"]
        node = {**node, "type": kept[0] if len(kept) == 1 else kept}
    if "enum" in node:
        node = {**node, "enum": [value for value in node["enum"] if value is not None]}
    return node
