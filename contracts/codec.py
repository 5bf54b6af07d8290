"""Values in OpenAI's strict subset: a schema there, and the way there and back for each value.

No optional keys (null stands for absent), no maps (lists of name and value), no `const`, no `oneOf`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contracts.base import JsonObject
from contracts.dialect_merge import NULL, closed, described, plain
from contracts.explain import Checker
from contracts.schema_refs import BadSchema, pointer

_KEPT = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
# Plain constructs only: what another engine might refuse costs the whole request, the gate checks it anyway.
SAFE_PATTERN = re.compile(r"(?:[^\\()]|\((?!\?)|\)|\\[dwsDWS.\-/\[\](){}^$|+*?])*")
_TYPE_OF = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_Step = tuple[str | int, ...]


class DialectError(ValueError):
    """A reply that cannot be turned into the canonical transition. `messages` tell the model what to send."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("; ".join(messages))
        self.messages = messages


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Codec:
    """`schema` in the strict subset; `encode` takes a canonical value there, `decode` brings it back.

    `decode` passes what it does not recognise through unchanged, for the gate to judge on the canonical form;
    it raises DialectError only where a list of names cannot become a map.
    """

    schema: JsonObject
    encode: Callable[[Any], Any] = _same
    decode: Callable[[Any], Any] = _same

    @property
    def identity(self) -> bool:
        return self.encode is _same


def codec(node: Any, at: _Step) -> Codec:
    """The codec of one canonical schema without `$ref`. Raises BadSchema where there is none."""
    if not isinstance(node, dict) or not node:
        raise BadSchema([f"{pointer(at)}: a free value cannot be expressed in strict mode; give it a type"])
    branches = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    if branches and "type" not in node:
        return _union([codec(one, (*at, "anyOf", i)) for i, one in enumerate(branches)], branches, node)
    if "const" in node or "enum" in node:
        return Codec(_enum(node, at))
    kind = node.get("type")
    if isinstance(kind, list):
        if not {"object", "array"} & set(kind):
            return Codec({**_scalar(node), "type": kind})
        split = [{**node, "type": one} for one in kind]
        return _union([codec(one, at) for one in split], split, node)
    match kind:
        case "object":
            return _map(node, at) if isinstance(node.get("additionalProperties"), dict) else _object(node, at)
        case "array":
            return _array(node, at)
        case "string" | "integer" | "number" | "boolean" | "null":
            return Codec(_scalar(node))
    raise BadSchema([f"{pointer(at)}: has no type"])


def _scalar(node: JsonObject) -> JsonObject:
    schema = {**_limits(node), "type": node["type"]}
    schema |= {key: node[key] for key in _KEPT if key in node}
    if node.get("format") in FORMATS:
        schema["format"] = node["format"]
    if "pattern" in node and SAFE_PATTERN.fullmatch(node["pattern"]):
        schema["pattern"] = node["pattern"]
    return schema


def _limits(node: JsonObject) -> JsonObject:
    """The description, with the length limit in words: strict mode has no keyword for it."""
    text = node.get("description", "")
    if "maxLength" in node:
        text = f"{text} (at most {node['maxLength']} characters)".strip()
    return {"description": text} if text else {}


def _enum(node: JsonObject, at: _Step) -> JsonObject:
    values = [node["const"]] if "const" in node else list(node["enum"])
    if not values or any(type(value) not in _TYPE_OF for value in values):
        raise BadSchema([f"{pointer(at)}: an enum in strict mode holds only scalars"])
    kinds = list(dict.fromkeys(_TYPE_OF[type(value)] for value in values))
    return {**described(node), "type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}


def _array(node: JsonObject, at: _Step) -> Codec:
    if "prefixItems" in node:
        raise BadSchema([f"{pointer(at)}: prefixItems cannot be expressed in strict mode; use an object"])
    item = codec(node.get("items"), (*at, "items"))
    schema = {**described(node), "type": "array", "items": item.schema}
    schema |= {key: node[key] for key in ("minItems", "maxItems") if key in node}
    if item.identity:
        return Codec(schema)

    def each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: [convert(one) for one in value] if isinstance(value, list) else value

    return Codec(schema, each(item.encode), each(item.decode))


def _map(node: JsonObject, at: _Step) -> Codec:
    """A free map becomes a list of `{name, value}`, sorted as the map was."""
    if node.get("properties"):
        raise BadSchema(
            [f"{pointer(at)}: named and free keys in one object; put the free ones in a map of theirs"]
        )
    value = codec(node["additionalProperties"], (*at, "additionalProperties"))
    name = codec({"type": "string", **node.get("propertyNames", {})}, (*at, "propertyNames"))
    schema = {
        **described(node),
        "type": "array",
        "items": closed({"name": name.schema, "value": value.schema}),
    }
    if "maxProperties" in node:
        schema["maxItems"] = node["maxProperties"]
    if "minProperties" in node:
        schema["minItems"] = node["minProperties"]

    def encode(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return [{"name": key, "value": value.encode(one)} for key, one in given.items()]

    def decode(given: Any) -> Any:
        if not isinstance(given, list):
            return given
        result: JsonObject = {}
        for pair in given:
            if (
                not isinstance(pair, dict)
                or set(pair) != {"name", "value"}
                or not isinstance(pair["name"], str)
            ):
                raise DialectError(
                    [f"{pointer(at)}: each item must be an object with exactly name and value"]
                )
            if pair["name"] in result:
                raise DialectError([f"{pointer(at)}: the name {pair['name']!r} stands twice; keep one"])
            result[pair["name"]] = value.decode(pair["value"])
        return result

    return Codec(schema, encode, decode)


def _object(node: JsonObject, at: _Step) -> Codec:
    if node.get("additionalProperties") is not False:
        raise BadSchema([f"{pointer(at)}: is open to any key; set additionalProperties to false"])
    named = node.get("properties", {})
    parts = {name: codec(one, (*at, name)) for name, one in named.items()}
    optional = {name for name in named if name not in node.get("required", ())}
    for name in optional:
        if Checker(plain(named[name])).ok(None):
            raise BadSchema(
                [f"{pointer((*at, name))}: optional and nullable are one in strict mode; keep one"]
            )
    # Constants first: strict mode wants the branches of a union told apart by their first key.
    order = sorted(parts, key=lambda name: "const" not in named[name])
    schema = closed(
        {name: _nullable(parts[name].schema) if name in optional else parts[name].schema for name in order}
    )

    def encode(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        result = {name: parts[name].encode(given[name]) if name in given else None for name in order}
        return {**result, **{name: one for name, one in given.items() if name not in parts}}

    def decode(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        kept = {name: one for name, one in given.items() if one is not None or name not in optional}
        return {name: parts[name].decode(one) if name in parts else one for name, one in kept.items()}

    return Codec({**described(node), **schema}, encode, decode)


def _nullable(schema: JsonObject) -> JsonObject:
    if (
        isinstance(schema.get("type"), str)
        and schema["type"] not in ("object", "array")
        and "enum" not in schema
    ):
        return {**schema, "type": [schema["type"], "null"]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], NULL]}
    return {"anyOf": [schema, NULL]}


def _union(codecs: list[Codec], nodes: list[Any], node: JsonObject) -> Codec:
    schema: JsonObject = {**described(node), "anyOf": [one.schema for one in codecs]}
    if all(one.identity for one in codecs):
        return Codec(schema)
    canonical = [Checker(plain(one)) for one in nodes]
    strict = [Checker(one.schema) for one in codecs]
    tags = [_constants(one) for one in nodes]

    def encode(value: Any) -> Any:
        for one, checker in zip(codecs, canonical, strict=True):
            if checker.ok(value):
                return one.encode(value)
        meant = _tagged(codecs, tags, value)
        return meant.encode(value) if meant else value

    def decode(value: Any) -> Any:
        fits = [
            (one, check)
            for one, check, there in zip(codecs, canonical, strict, strict=True)
            if there.ok(value)
        ]
        for one, check in fits:
            decoded = one.decode(value)
            if check.ok(decoded):
                return decoded
        meant = fits[0][0] if fits else _tagged(codecs, tags, value)
        return meant.decode(value) if meant else value

    return Codec(schema, encode, decode)


def _constants(node: Any) -> JsonObject:
    named = node.get("properties", {}) if isinstance(node, dict) else {}
    return {name: one["const"] for name, one in named.items() if isinstance(one, dict) and "const" in one}


def _tagged(codecs: list[Codec], tags: list[JsonObject], value: Any) -> Codec | None:
    """The branch whose constants a faulty value carries, so that what is wrong is said in canonical terms."""
    if isinstance(value, dict):
        for one, tag in zip(codecs, tags, strict=True):
            if tag and all(name in value and value[name] == constant for name, constant in tag.items()):
                return one
    return None
