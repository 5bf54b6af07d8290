"""Answers in the words of Google's generateContent API. The reply is always text: no CLI asks for a schema here."""

from __future__ import annotations

import json
from http import HTTPStatus

from controller.conformance.loopback.answers import (
    Answer,
    ApiError,
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
    """The body of a failed request; `type` is Google's status word, made of the HTTP status where none is given."""
    word = error.type if error.type.isupper() else HTTPStatus(error.status).name
    return {"error": {"code": error.status, "message": error.message, "status": word}}


def generated(request: Recorded, answer: Answer) -> Json:
    """The whole response, as `generateContent` gives it."""
    text, finish = _said(answer)
    content: Json = {"role": "model", "parts": [{"text": text}] if text is not None else []}
    return _response(request) | {"candidates": [{"content": content, "finishReason": finish, "index": 0}]}


def generated_stream(request: Recorded, answer: Answer) -> list[bytes]:
    """The same as `streamGenerateContent?alt=sse` gives it: pieces of text, the last with the reason of the end."""
    text, finish = _said(answer)
    pieces = (
        [text[at : at + 2000] for at in range(0, len(text), 2000)] or [""] if text is not None else [None]
    )
    events: list[bytes] = []
    for at, piece in enumerate(pieces):
        parts = [{"text": piece}] if piece is not None else []
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        if at == len(pieces) - 1:
            candidate["finishReason"] = finish
        events.append(event(_response(request) | {"candidates": [candidate]}))
    if isinstance(answer, StreamError):
        return [event(error_body(ApiError(500, answer.type, answer.message), request.number))]
    return events


def _said(answer: Answer) -> tuple[str | None, str]:
    match answer:
        case NoCall(""):
            return None, "STOP"
        case Text(text) | NoCall(text) | Invalid(text):
            return text, "STOP"
        case Truncated(text):
            return text, "MAX_TOKENS"
        case Refusal():
            return None, "SAFETY"
        case dict():
            return json.dumps(answer, ensure_ascii=False), "STOP"
        case _:
            return None, "STOP"


def _response(request: Recorded) -> Json:
    used = request.usage
    counts = {"promptTokenCount": used["input_tokens"], "candidatesTokenCount": used["output_tokens"]}
    total = used["input_tokens"] + used["output_tokens"]
    ids = {"responseId": f"resp_{request.number:04}", "modelVersion": request.model}
    return {**ids, "usageMetadata": {**counts, "totalTokenCount": total}}
