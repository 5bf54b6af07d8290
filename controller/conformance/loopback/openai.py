"""Answers in the words of the OpenAI Responses and chat completions APIs."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    return {"error": {"message": error.message, "type": error.type, "param": None, "code": error.code}}


# --- Responses --------------------------------------------------------------------------------------------


def response(request: Recorded, answer: Answer) -> Json:
    """The finished response object, as a non-streaming request gets it."""
    items = _items(request, answer)
    status = "completed"
    extra: Json = {}
    if isinstance(answer, Truncated):
        status, extra = "incomplete", {"incomplete_details": {"reason": answer.reason}}
    if isinstance(answer, StreamError):
        status, extra = "failed", {"error": {"code": answer.type, "message": answer.message}}
    return _response(request, status) | {"output": items, "usage": _usage(request)} | extra


def response_stream(request: Recorded, answer: Answer) -> list[bytes]:
    """The same as server-sent events, one per element, with the sequence of the real service."""
    events = [_numbered("response.created", response=_response(request, "in_progress"))]
    events.append(_numbered("response.in_progress", response=_response(request, "in_progress")))
    for at, item in enumerate(_items(request, answer)):
        events.append(_numbered("response.output_item.added", output_index=at, item=item | _opened(item)))
        if item["type"] == "message":
            events += _message_events(at, item)
        elif item["type"] == "function_call":
            where = {"item_id": item["id"], "output_index": at}
            events.append(
                _numbered("response.function_call_arguments.delta", delta=item["arguments"], **where)
            )
            done = {"arguments": item["arguments"], **where}
            events.append(_numbered("response.function_call_arguments.done", **done))
        events.append(_numbered("response.output_item.done", output_index=at, item=item))
    final = response(request, answer)
    events.append(_numbered(f"response.{final['status']}", response=final))
    return [event({**e, "sequence_number": n}, name=e["type"]) for n, e in enumerate(events)]


def _message_events(at: int, item: Json) -> list[Json]:
    where = {"item_id": item["id"], "output_index": at, "content_index": 0}
    part = item["content"][0]
    kind, text = ("refusal", part["refusal"]) if part["type"] == "refusal" else ("output_text", part["text"])
    field = "refusal" if kind == "refusal" else "text"
    events = [_numbered("response.content_part.added", part={**part, field: ""}, **where)]
    events += [_numbered(f"response.{kind}.delta", delta=p, **where) for p in _pieces(text)]
    events.append(_numbered(f"response.{kind}.done", **{field: text}, **where))
    return [*events, _numbered("response.content_part.done", part=part, **where)]


def _items(request: Recorded, answer: Answer) -> list[Json]:
    thought: Json = {"type": "reasoning", "id": f"rs_{request.number:04}", "summary": []}
    match answer:
        case NoCall("") | StreamError():
            return [thought]
        case NoCall(text):
            return [{**thought, "summary": [{"type": "summary_text", "text": text}]}]
        case Refusal(text):
            return [_message(request, {"type": "refusal", "refusal": text})]
        case Text(text):
            return [_message(request, _text(text))]
        case Truncated(text):
            return [_reply(request, text) | {"status": "incomplete"}]
        case Invalid(raw):
            return [_reply(request, raw)]
        case Call(tool, args):
            return [_called(request, tool, args)]
        case Calls(calls):
            tool = request.answer_tool or ""
            return [_called(request, each.tool or tool, each.args, at=at) for at, each in enumerate(calls)]
        case dict():
            return [_reply(request, json.dumps(answer, ensure_ascii=False))]
        case _:
            return []


def _reply(request: Recorded, raw: str) -> Json:
    """A message when the schema came as the format of the text, a call when it came as a tool."""
    if request.answer_tool is None:
        return _message(request, _text(raw))
    return _called(request, request.answer_tool, raw, "function_call")


def _called(request: Recorded, tool: str, args: Json | str, kind: str = "", at: int = 0) -> Json:
    number = f"{request.number:04}{at or ''}"
    ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
    call = {**ids, "name": tool, "status": "completed"}
    if isinstance(args, str) and not kind:
        return {"type": "custom_tool_call", **call, "input": args}
    given = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return {"type": "function_call", **call, "arguments": given}


def _message(request: Recorded, part: Json) -> Json:
    ids = {"id": f"msg_{request.number:04}", "type": "message", "role": "assistant", "status": "completed"}
    return {**ids, "content": [part]}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _opened(item: Json) -> Json:
    if item["type"] == "message":
        return {"status": "in_progress", "content": []}
    if item["type"] == "custom_tool_call":
        return {"status": "in_progress", "input": ""}
    return {"status": "in_progress", "arguments": ""} if item["type"] == "function_call" else {}


def _response(request: Recorded, status: str) -> Json:
    return {
        "id": f"resp_{request.number:04}",
        "object": "response",
        "created_at": int(request.at),
        "status": status,
        "model": request.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
    }


def _usage(request: Recorded) -> Json:
    used = request.usage
    return {
        "input_tokens": used["input_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": used["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used["input_tokens"] + used["output_tokens"],
    }


def _numbered(kind: str, **fields: Any) -> Json:
    return {"type": kind, **fields}


# --- chat completions -------------------------------------------------------------------------------------


def completion(request: Recorded, answer: Answer) -> Json:
    """The finished completion, as a non-streaming request gets it."""
    said, finish = _said(request, answer)
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": finish}
    return _completion(request, "chat.completion") | {"choices": [choice], "usage": _chat_usage(request)}


def completion_stream(request: Recorded, answer: Answer) -> list[bytes]:
    """The same as server-sent events, one per element, ended by `[DONE]`."""
    said, finish = _said(request, answer)
    calls = [{**call, "index": n} for n, call in enumerate(said.pop("tool_calls", []))]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    if calls:
        deltas.append({"tool_calls": calls})
    for name, text in said.items():
        deltas += [{name: piece} for piece in _pieces(text)] if isinstance(text, str) else []
    base = _completion(request, "chat.completion.chunk")
    chunks = [base | {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    if isinstance(answer, StreamError):
        chunks.append({"error": {"message": answer.message, "type": answer.type, "code": None}})
    else:
        chunks.append(base | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append(base | {"choices": [], "usage": _chat_usage(request)})
    return [*(event(chunk) for chunk in chunks), event("[DONE]")]


def _said(request: Recorded, answer: Answer) -> tuple[Json, str]:
    match answer:
        case Text(text) | NoCall(text):
            return {"content": text}, "stop"
        case Refusal(text):
            return {"content": None, "refusal": text}, "stop"
        case Truncated(text, reason):
            said, _ = _chat_reply(request, text)
            return said, "length" if reason == "max_output_tokens" else reason
        case Invalid(raw):
            return _chat_reply(request, raw)
        case Call(tool, args):
            return _chat_calls(request, [(tool, args)])
        case Calls(calls):
            return _chat_calls(
                request, [(each.tool or request.answer_tool or "", each.args) for each in calls]
            )
        case dict():
            return _chat_reply(request, json.dumps(answer, ensure_ascii=False))
        case _:
            return {"content": ""}, "stop"


def _chat_reply(request: Recorded, raw: str) -> tuple[Json, str]:
    if request.answer_tool is None:
        return {"content": raw}, "stop"
    return _chat_calls(request, [(request.answer_tool, raw)])


def _chat_calls(request: Recorded, calls: Sequence[tuple[str, Json | str]]) -> tuple[Json, str]:
    made = []
    for at, (tool, args) in enumerate(calls):
        raw = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        ids = {"id": f"call_{request.number:04}{at or ''}", "type": "function"}
        made.append({**ids, "function": {"name": tool, "arguments": raw}})
    return {"content": None, "tool_calls": made}, "tool_calls"


def _completion(request: Recorded, kind: str) -> Json:
    ids = {"id": f"chatcmpl-{request.number:04}", "object": kind}
    return {**ids, "created": int(request.at), "model": request.model}


def _chat_usage(request: Recorded) -> Json:
    used = request.usage
    total = used["input_tokens"] + used["output_tokens"]
    return {
        "prompt_tokens": used["input_tokens"],
        "completion_tokens": used["output_tokens"],
        "total_tokens": total,
    }


def _pieces(text: str, size: int = 2000) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]
