"""JSON Schemas without `$ref`: definitions are put in place, so that every later stage walks a plain tree."""

from __future__ import annotations

from typing import Any

from contracts.base import JsonObject
from contracts.errors import ConfigError

# Where a schema keeps further schemas; every other value (enum, default, ...) is data and is never entered.
SUBSCHEMA = ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains")
SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SUBSCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas")
_ANNOTATIONS = (
    "description",
    "title",
    "default",
    "examples",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
)


class BadSchema(ConfigError):
    """A schema that cannot be used. `problems` are sentences that begin with the place as a JSON pointer."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def pointer(path: tuple[str | int, ...]) -> str:
    """JSON pointer (RFC 6901) of a path; the root is `/`, which reads better than an empty text."""
    return "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)


def path_of(pointer: str) -> tuple[str, ...]:
    """The inverse of `pointer`, every step a text."""
    return tuple(
        step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:] if pointer != "/"
    )


def inline_refs(schema: JsonObject) -> JsonObject:
    """The same schema with every local `$ref` replaced by what it names and `$defs` dropped.

    Raises BadSchema for a reference that is recursive, not local, not found, or has constraints beside it
    that its definition also states (both would hold, which one tree cannot say).
    """
    whole = _inline(schema, schema, (), ("#",))
    if not isinstance(whole, dict):
        raise BadSchema(["/: the root must be an object schema"])
    whole.pop("$defs", None)
    whole.pop("definitions", None)
    return whole


def _inline(node: Any, root: JsonObject, at: tuple[str | int, ...], open_refs: tuple[str, ...]) -> Any:
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node, open_refs = _resolve(node, root, at, open_refs)
        return _inline(node, root, at, open_refs)
    result: JsonObject = {}
    for key, value in node.items():
        if key in SUBSCHEMA:
            result[key] = _inline(value, root, (*at, key), open_refs)
        elif key in SUBSCHEMA_LISTS and isinstance(value, list):
            result[key] = [_inline(one, root, (*at, key, i), open_refs) for i, one in enumerate(value)]
        elif key in SUBSCHEMA_MAPS and isinstance(value, dict):
            result[key] = {
                name: _inline(one, root, (*at, key, name), open_refs) for name, one in value.items()
            }
        else:
            result[key] = value
    return result


def _resolve(
    node: JsonObject, root: JsonObject, at: tuple[str | int, ...], open_refs: tuple[str, ...]
) -> tuple[Any, tuple[str, ...]]:
    ref = node["$ref"]
    if not isinstance(ref, str) or not ref.startswith("#"):
        raise BadSchema([f"{pointer(at)}: $ref {ref!r} is not local; put the definition under $defs"])
    if ref in open_refs:
        raise BadSchema(
            [f"{pointer(at)}: $ref {ref} is recursive, so no size bounds it; write the levels out"]
        )
    target: Any = root
    for step in ref[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, dict) or step not in target:
            raise BadSchema([f"{pointer(at)}: $ref {ref} names nothing in this schema"])
        target = target[step]
    beside = {key: value for key, value in node.items() if key != "$ref"}
    if not beside:
        return target, (*open_refs, ref)
    if not isinstance(target, dict):
        raise BadSchema(
            [f"{pointer(at)}: $ref {ref} names a boolean schema; constraints beside it have no effect"]
        )
    clash = [key for key in beside if key in target and key not in _ANNOTATIONS and not key.startswith("x-")]
    if clash:
        raise BadSchema(
            [f"{pointer(at)}: {', '.join(clash)} beside $ref {ref} is also stated there; keep one"]
        )
    return {**target, **beside}, (*open_refs, ref)
