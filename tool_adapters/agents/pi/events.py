"""What Pi's events say of a launch.

The reply is the call as the model made it, out of the first assistant message: what Pi hands to the tool has been
coerced to the schema, and any later message answers a request that was cut off. The exit code is 0 also when the
request failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from contracts.base import JsonObject
from tool_adapters.agents.classify import Signals
from tool_adapters.agents.launch import last_line

TOOL = "skill_state_transition"
# `401: {…}`, `401 {…}`, and with the Responses API `NAME API error (401): {…}`.
_STATUS = re.compile(r"(?:(\d{3})|.{1,60} API error \((\d{3})\))(?::|\b)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """One tool call of the model. `error`: why its arguments are no JSON object."""

    name: str
    arguments: JsonObject
    error: str | None = None


@dataclass
class Events:
    """`stop`: how the message ended, in Pi's words; `raw_stop` in the vendor's; `error`: Pi's account of a failed
    request; `refused`: the vendor says so in a field of its own; `settled`: the run is over."""

    stop: str | None = None
    raw_stop: str | None = None
    error: str | None = None
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    usage: Mapping[str, Any] | None = None
    refused: bool = False
    settled: bool = False


def read_events(data: bytes, hands: bool = False) -> Events:
    """Folds the JSON Lines of stdout; lines that are none, and unknown events, are passed over. With `hands` every
    message up to the reply is the model's, each with its own price."""
    seen = Events()
    for event in _objects(data):
        match event:
            case {"type": "message_end", "message": {"role": "assistant"} as message} if (
                seen.stop is None or (hands and not any(call.name == TOOL for call in seen.calls))
            ):
                seen = _taken(message, _added(seen.usage, message.get("usage")), seen.refused)
            case {
                "type": "entry_appended",
                "entry": {"customType": "skill-state", "data": {"refused": True}},
            }:
                seen.refused = True
            case {"type": "agent_settled"}:
                seen.settled = True
    return seen


def is_final(path: Path) -> bool:
    """Whether the last line of a growing file says that the run is over."""
    return read_events(last_line(path)).settled


def signals(seen: Events, stderr: str) -> Signals:
    """Every signal of a failed launch. Pi says the HTTP status before the vendor's error body."""
    if seen.error is None:
        return Signals((seen.raw_stop,) if seen.raw_stop else (), channel=stderr)
    kinds = [seen.raw_stop] if seen.raw_stop else []
    head = _STATUS.match(seen.error)
    status, said = (int(head[1] or head[2]), head[3]) if head else (None, seen.error)
    try:
        body = orjson.loads(said)
        error = body.get("error") or body
        kinds += [str(error[name]) for name in ("code", "type") if error.get(name)]
        said, reset = str(error.get("message") or said), error.get("resets_at")
    except (orjson.JSONDecodeError, AttributeError):
        reset = None
    return Signals(tuple(kinds), status, said, reset if isinstance(reset, int | float) else None)


def _objects(data: bytes) -> Iterator[JsonObject]:
    for line in data.split(b"\n"):
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield event


def _taken(message: JsonObject, usage: Mapping[str, Any] | None, refused: bool) -> Events:
    seen = Events(
        refused=refused,
        stop=str(message.get("stopReason")),
        raw_stop=message.get("rawStopReason"),
        error=message.get("errorMessage"),
        usage=usage,
    )
    for part in message.get("content") or ():
        match part:
            case {"type": "toolCall", "name": str(name), "arguments": dict(arguments)}:
                seen.calls.append(Call(name, arguments, part.get("argumentsError")))
            case {"type": "text", "text": str(text)}:
                seen.text += text
    return seen


def _added(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The sum of two accounts; None where one of several requests has none."""
    if one is None or other is None:
        return other
    total = dict(other)
    for name, value in one.items():
        more = other.get(name)
        if isinstance(value, Mapping):
            total[name] = _added(value, more if isinstance(more, Mapping) else {})
        elif isinstance(value, int | float) and isinstance(more, int | float):
            total[name] = value + more
    return total
