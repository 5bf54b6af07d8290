"""What the bytes of a request are: the prompt by its sections, the schema of the reply, and what the CLI adds.

A prompt's text is known by its headings. Whatever else a body holds is the CLI's own; it is told apart by the fields
of the body, quotes, brackets and names included, so that all weights of a request add up to its body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.sections import sections
from controller.conformance.loopback import Recorded

Json = dict[str, Any]
PROMPT = (
    "skill",
    "intent",
    "actions",
    "state",
    "authorities",
    "views",
    "correction",
    "observation",
)
SCHEMA = "schema"
READ = ("tools", "system", "instructions", "messages", "input")
"""Fields that a model reads; of `tools` all, of the others the texts."""
_OURS = re.compile(r"^(?:=== [A-Z][A-Z ]* ===|\[(?:skill|state)\])$", re.MULTILINE)
_AFTER = re.compile(r"\n\n<cwd>\n.*\Z", re.DOTALL)
"""What a CLI appends to a text of ours."""


@dataclass(frozen=True)
class Weight:
    """`bytes` in the body, as JSON. `text`: what the model reads of it."""

    bytes: int
    text: str = ""


def weigh(request: Recorded) -> dict[str, Weight]:
    """Weights by name: the sections of the prompt in order, `schema`, and `+FIELD` for each field of the body less
    what it holds of these two. `+json` is the last brace, and what a longer spelling of the JSON takes."""
    ours: list[str] = []
    schemas: list[Json] = []
    hollow = {name: _hollow(value, request.schema, ours, schemas) for name, value in request.parsed.items()}
    found: dict[str, Weight] = {}
    for part in (part for text in ours for part in sections(text)):
        known = found.get(part.name, Weight(0))
        found[part.name] = Weight(known.bytes + inside(part.text), known.text + part.text)
    schema = "".join(dump(each) for each in schemas)
    found[SCHEMA] = Weight(sum(len(dump(each).encode()) - 2 for each in schemas), schema)
    for name, value in hollow.items():
        size = len(dump({name: value}).encode()) - 1  # the first brace is the first one's, or a comma
        found[f"+{name}"] = Weight(size, _read(name, value))
    found["+json"] = Weight(len(request.body) - sum(weight.bytes for weight in found.values()))
    return found


def overhead(weights: Mapping[str, Weight]) -> int:
    """The bytes that are neither prompt nor schema; the budget line and notes count as overhead, too."""
    return sum(weight.bytes for name, weight in weights.items() if name not in (*PROMPT, SCHEMA))


def inside(text: str) -> int:
    """The bytes of a text in a JSON string, without the quotes."""
    return len(dump(text).encode()) - 2


def dump(value: Any) -> str:
    """JSON in its shortest spelling."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _hollow(value: Any, schema: Json, ours: list[str], schemas: list[Json]) -> Any:
    """`value` without what we gave, which goes to the two lists: texts by their headings, and each copy of `schema`."""
    if isinstance(value, str):
        heading = _OURS.search(value)
        if heading is None:
            return value
        after = _AFTER.search(value)
        end = after.start() if after else len(value)
        ours.append(value[heading.start() : end])
        return value[: heading.start()] + value[end:]
    if isinstance(value, list):
        return [_hollow(each, schema, ours, schemas) for each in value]
    if not isinstance(value, dict):
        return value
    if schema and value == schema:
        schemas.append(value)
        return {}
    return {name: _hollow(each, schema, ours, schemas) for name, each in value.items()}


def _read(field: str, value: Any) -> str:
    if field not in READ or not value:
        return ""
    return dump(value) if field == "tools" else "\n".join(_texts(value))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    if isinstance(value, dict):
        if value.get("type") == "additional_tools":
            return [dump(value.get("tools"))]
        return [text for name in ("text", "content", "output") for text in _texts(value.get(name))]
    return []
