"""veil: a value marked `x-sensitivity: secret` is never shown; a text that says where it is and how long stands for it.

Σ in the record holds the value, nothing else does: what is rendered, printed, written into the audit or kept as an
artifact went through here. Pure. What the agent itself printed or read elsewhere is not covered: that is what
`contracts.redact` knows by its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import orjson

from contracts.base import JsonObject
from contracts.explain import Checker
from contracts.fields import places, walk
from contracts.merge import Path, without
from contracts.schema_refs import pointer

VEIL = re.compile(r"\[secret: [0-9]{1,9} bytes\]")
_LONGEST = "[secret: 999999999 bytes]"
TELLING = 8  # characters from which on a secret in an action can't be there by chance
SHORTEST = 4  # characters from which on a secret is looked for in free text


def unveilable(plain: JsonObject) -> Iterator[str]:
    """What is marked secret and can't be: its stand-in has to be a value of the same schema."""
    for path, node in walk(plain, ()):
        if node.get("x-sensitivity") != "secret":
            continue
        if node.get("type") != "string" or not Checker(node).ok(_LONGEST):
            yield (
                f"{pointer(path)}: x-sensitivity: secret is for texts: type string, and {_LONGEST!r}, which is shown "
                "in its place, must be one of its values"
            )


def veiled(value: JsonObject, secrets: Iterable[Path]) -> JsonObject:
    """A state, or a patch of one, with a stand-in for every secret value. Idempotent."""
    for path in secrets:
        value = cast(JsonObject, _veiled(value, path))
    return value


def without_echo(patch: JsonObject, secrets: Iterable[Path]) -> JsonObject:
    """The patch less what only repeats a stand-in that was shown: the secret stays what it is."""
    found = (each for path in secrets for each in places(patch, path))
    echoes = {place for place, value in found if isinstance(value, str) and VEIL.fullmatch(value)}
    return without(patch, echoes) if echoes else patch


def texts(value: Any, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every text in a JSON object, with its path."""
    for key, each in value.items() if isinstance(value, dict) else ():
        if isinstance(each, str):
            yield (*at, key), each
        yield from texts(each, (*at, key))


def hidden(patch: Any, secrets: Iterable[Path]) -> tuple[str, ...]:
    """The secret values that a patch sets, longest first, as they stand in text and in JSON."""
    found: set[str] = set()
    for path in secrets:
        for _, value in places(patch, path):
            if isinstance(value, str) and len(value) >= SHORTEST and not VEIL.fullmatch(value):
                found |= {value, orjson.dumps(value).decode("utf-8", "replace")[1:-1]}
    return tuple(sorted(found, key=len, reverse=True))


def spoken(value: Any, values: Iterable[str]) -> bool:
    """Whether one of these secret values stands in a text of `value`."""
    told = orjson.dumps(value).decode("utf-8", "replace")
    return any(len(each) >= TELLING and each in told for each in values)


def cleared_in(value: Any, values: Iterable[str]) -> Any:
    """A JSON value with these values taken out of every text and key."""
    match value:
        case str():
            return cleared(value, values)
        case dict():
            return {cleared(key, values): cleared_in(inner, values) for key, inner in value.items()}
        case list():
            return [cleared_in(inner, values) for inner in value]
        case _:
            return value


def cleared(text: str, values: Iterable[str]) -> str:
    """A text without these values."""
    for value in values:
        text = text.replace(value, "[secret]")
    return text


def _veiled(node: Any, path: Path) -> Any:
    if not path:
        if not isinstance(node, str) or VEIL.fullmatch(node):
            return node  # null deletes, another type is refused by the schema
        return f"[secret: {len(node.encode('utf-8', 'surrogatepass'))} bytes]"
    if not isinstance(node, dict):
        return node
    head, rest = path[0], path[1:]
    return {key: _veiled(value, rest) if head in ("*", key) else value for key, value in node.items()}
