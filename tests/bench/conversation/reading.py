"""What a model reads of a request, as text, in the order of a prompt cache: tools and the schema of the reply, system,
messages. Names of fields, ids, marks for the cache and tools that the vendor holds back are no part of it; what a
vendor puts between messages is not known, and not counted."""

from __future__ import annotations

from typing import Any

from controller.conformance.weights import dump
from tests.gateway import Recorded

SPOKEN = ("system", "instructions", "messages", "input")
HELD = ("text", "content", "output", "tool_calls", "function")


def reading(request: Recorded) -> str:
    """All of it."""
    return "\n\n".join([*given(request), said(request)])


def given(request: Recorded) -> list[str]:
    """Tools and the schema of the reply, each as JSON."""
    body = request.parsed
    tools = [tool for tool in request.tools if not tool.get("defer_loading")]
    forms = [(body.get("text") or {}).get("format"), body.get("response_format")]
    return [dump(each) for each in (*tools, *forms) if each]


def said(request: Recorded) -> str:
    """The texts of system and messages alone, calls among them."""
    return "\n\n".join(_texts([request.parsed.get(name) for name in SPOKEN]))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    if not isinstance(value, dict) or value.get("type") == "additional_tools":
        return []
    given = value.get("arguments", value.get("input"))
    called = [] if given is None else [f"{value['name']} {given if isinstance(given, str) else dump(given)}"]
    return called + [text for name in HELD for text in _texts(value.get(name))]
