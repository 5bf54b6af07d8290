"""Answers in the words of the Anthropic Messages API."""

from __future__ import annotations

import json
from typing import Any

from controller.conformance.loopback.answers import (
    Answer,
    ApiError,
    Call,
    Calls,
    Invalid,
    NoCall,
    Refusal,
    StreamError,
    Text,
    Truncated,
)
from controller.conformance.loopback.recorded import Json, Recorded
from controller.conformance.loopback.sse import event


def error_body(error: ApiError, number: int) -> Json:
    """The body of a failed request."""
    return {
        "type": "error",
        "error": {"type": error.type, "message": error.message},
        "request_id": f"req_{number:04}",
    }


def message(request: Recorded, answer: Answer) -> Json:
    """The whole message, as a non-streaming request gets it. A tool input that is no JSON object becomes a
    string."""
    blocks, stop = _content(request, answer)
    for block in blocks:
        if block["type"] == "tool_use":
            try:
                block["input"] = json.loads(block["input"])
            except ValueError:
                pass
    return {
        "id": f"msg_{request.number:04}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _usage(request),
    }


def stream(request: Recorded, answer: Answer) -> list[bytes]:
    """The same as server-sent events, one per element."""
    blocks, stop = _content(request, answer)
    start = message(request, answer) | {"content": [], "stop_reason": None}
    start["usage"] = {**start["usage"], "output_tokens": 1}
    events: list[bytes] = [_event("message_start", message=start)]
    if isinstance(answer, StreamError):
        return [*events, _event("error", error={"type": answer.type, "message": answer.message})]
    for at, block in enumerate(blocks):
        if block["type"] == "tool_use":
            opened: Json = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in _pieces(block["input"])]
        else:
            opened = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": p} for p in _pieces(block["text"])]
        events.append(_event("content_block_start", index=at, content_block=opened))
        events += [_event("content_block_delta", index=at, delta=delta) for delta in deltas]
        events.append(_event("content_block_stop", index=at))
    usage = {"output_tokens": request.usage["output_tokens"]}
    events.append(_event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage))
    return [*events, _event("message_stop")]


def _content(request: Recorded, answer: Answer) -> tuple[list[Json], str]:
    """(content blocks, stop_reason); a tool's input is still text here."""
    match answer:
        case Text(text) | NoCall(text):
            return ([{"type": "text", "text": text}] if text else []), "end_turn"
        case Refusal(text):
            return [{"type": "text", "text": text}], "refusal"
        case Invalid(raw):
            return [_call(request, raw)], "tool_use"
        case Call():
            return _content(request, Calls([answer]))
        case Calls(calls):
            given = [(each.tool, json.dumps(each.args, ensure_ascii=False)) for each in calls]
            return [_call(request, raw, name, at) for at, (name, raw) in enumerate(given)], "tool_use"
        case Truncated(text):
            return [_call(request, text)], "max_tokens"
        case dict():
            return [_call(request, json.dumps(answer, ensure_ascii=False))], "tool_use"
        case _:
            return [], "end_turn"


def _call(request: Recorded, raw: str, name: str = "", at: int = 0) -> Json:
    tool = name or request.answer_tool
    if tool is None:
        return {"type": "text", "text": raw}
    return {"type": "tool_use", "id": f"toolu_{request.number:04}{at or ''}", "name": tool, "input": raw}


def _usage(request: Recorded) -> Json:
    return {
        "input_tokens": request.usage["input_tokens"],
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": request.usage["output_tokens"],
    }


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, name=kind)


def _pieces(text: str, size: int = 2000) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]
