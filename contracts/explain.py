"""What is wrong with a value, in sentences that a model can act on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
import orjson

from contracts.base import JsonObject
from contracts.schema_refs import BadSchema, pointer

_MASK = "the value"
_SHOWN = 60


@dataclass(frozen=True)
class SchemaError:
    """`path` is the JSON pointer of the place in the value, `message` what is wrong with it there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Checker:
    """A JSON Schema (2020-12 unless `$schema` says otherwise), compiled once. Raises BadSchema."""

    def __init__(self, schema: JsonObject) -> None:
        try:
            self._validator = jsonschema_rs.validator_for(schema, mask=_MASK)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            path = tuple(getattr(error, "instance_path", ()))
            given = _given(getattr(error, "instance", {}))
            raise BadSchema([f"{pointer(path)}: {getattr(error, 'message', error)}{given}"]) from error

    def ok(self, value: Any) -> bool:
        """Whether the value is valid."""
        try:
            return self._validator.is_valid(value)
        except (ValueError, TypeError):  # half of a surrogate pair, a type that JSON does not have
            return False

    def errors(self, value: Any, limit: int = 5) -> list[SchemaError]:
        """The first `limit` faults; empty when the value is valid."""
        if self.ok(value):
            return []
        found: dict[SchemaError, None] = {}
        try:
            for error in self._validator.iter_errors(value):
                found.update(dict.fromkeys(_explain(error, value)))
                if len(found) >= limit:
                    break
        except (ValueError, TypeError) as error:
            return [SchemaError("/", f"is not valid JSON text: {str(error)[:_SHOWN]}")]
        return list(found)[:limit]


def _explain(error: Any, root: Any) -> Iterator[SchemaError]:
    """One fault; of a union that failed, the faults of the branch that the value was meant to be."""
    if error.kind.name in ("anyOf", "oneOf") and getattr(error.kind, "context", None):
        level = len(error.instance_path)
        meant = [branch for branch in error.kind.context if not any(_other(one, level) for one in branch)]
        if len(meant) == 1:
            for one in meant[0]:
                yield from _explain(one, root)
            return
        names = [one for branch in error.kind.context for one in branch if _tag(one, level)]
        if not meant and len({tuple(one.instance_path) for one in names}) == 1:
            options = [one.kind.value if one.kind.name == "enum" else [one.kind.value] for one in names]
            listed = ", ".join(dict.fromkeys(str(value) for group in options for value in group))
            given = _given(_at(root, names[0].instance_path))
            yield SchemaError(pointer(tuple(names[0].instance_path)), f"is none of: {listed[:300]}{given}")
            return
    yield SchemaError(pointer(tuple(error.instance_path)), _sentence(error, _at(root, error.instance_path)))


def _tag(error: Any, level: int) -> bool:
    return error.kind.name in ("const", "enum") and len(error.instance_path) == level + 1


def _other(error: Any, level: int) -> bool:
    """Whether the fault says that another branch was meant: the wrong type, or another value of the tag."""
    return _tag(error, level) or (
        error.kind.name in ("type", "const", "enum") and len(error.instance_path) == level
    )


def _at(root: Any, path: list[str | int]) -> Any:
    for step in path:
        root = root[step]
    return root


def _sentence(error: Any, value: Any) -> str:
    kind = error.kind
    match kind.name:
        case "maxLength":
            return f"is {len(value)} characters long and at most {kind.limit} fit; shorten it"
        case "maxProperties":
            return f"holds {len(value)} entries and at most {kind.limit} fit; set some to null"
        case "maxItems":
            return f"holds {len(value)} items and at most {kind.limit} fit"
        case "additionalProperties" | "unevaluatedProperties":
            return f"has unknown keys: {', '.join(kind.unexpected)[:200]}"
        case "required":
            return f"lacks the required key {kind.property}"
        case "propertyNames":
            return f"has a key that is not allowed: {error.message}"[:200]
    text: str = error.message.removeprefix(_MASK + " ").replace(_MASK, "it")
    return (text if len(text) <= 240 else text[:240] + "…") + _given(value)


def _given(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return ""
    text = str(value) if type(value) is int else orjson.dumps(value).decode()
    return f" (given {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'})"
