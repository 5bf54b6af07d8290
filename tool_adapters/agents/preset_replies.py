"""What the CLIs of the presets print, all in JSON Lines, taken apart: the answer, why there is none, what it used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from contracts.base import JsonObject
from contracts.ports import Ran
from contracts.reply import ReplyClass, Usage
from tool_adapters.agents.classify import Failure, Signals


@dataclass
class Told:
    """What one run said. `text` is the model's answer, `value` the reply where the CLI itself has checked it; `failure`
    what is known to be wrong by its form, `signals` what the CLI says of an error; `requests` None: not known."""

    text: str | None = None
    value: JsonObject | None = None
    failure: Failure | None = None
    signals: Signals | None = None
    usage: Usage = field(default_factory=Usage)
    requests: int | None = None


def events(data: bytes) -> Iterator[JsonObject]:
    """The objects of JSON Lines; a line that is none is passed over."""
    for line in data.splitlines():
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield event


# ---- gemini ------------------------------------------------------------------------------------------------

_TURN_LIMIT = 53  # its exit code where the model wanted a second turn: it called a tool, and has none


def gemini(ran: Ran) -> Told:
    """gemini-cli, `-o stream-json`: pieces of the answer, then `result`. Its exit code is the HTTP status mod 256."""
    told, text, errors, over = Told(), "", list[str](), False
    for event in events(ran.out.data):
        match event:
            case {"type": "message", "role": "assistant", "content": str(piece)}:
                text += piece
            case {"type": "error", "message": str(said)}:
                errors.append(said)
            case {"type": "result", **rest}:
                over = True
                told.usage = _usage(rest.get("stats"), "input_tokens", "cached", "output_tokens")
                if rest.get("status") == "success":
                    told.text = text
                else:
                    error = rest.get("error")
                    errors.append(str(error.get("message", "")) if isinstance(error, Mapping) else "")
    if ran.exit == 0 and ran.out.data.strip() and not over:
        told.failure = _ended("gemini")  # it leaves so on TERM
    elif ran.exit == _TURN_LIMIT:
        told.text, told.failure = None, _called()
    elif any("empty response" in each for each in errors):
        told.failure = Failure(ReplyClass.MISSING, "the model answered with nothing")
    elif any("blocked due to safety" in each for each in errors):
        told.failure = Failure(ReplyClass.REFUSAL, "the vendor blocked the answer for safety")
    elif errors or (ran.exit and told.text is None):
        told.signals = _vendor("\n".join(errors) or ran.err.text[-2000:], _modulo(ran.exit))
    if told.usage.input:
        told.requests = 1
    return told


def _modulo(code: int | None) -> int | None:
    """The HTTP status that an exit code of gemini-cli stands for."""
    return code + 256 if code is not None and 144 <= code <= 255 else None


# ---- opencode ----------------------------------------------------------------------------------------------


def opencode(ran: Ran) -> Told:
    """opencode, `run --format json`: `step_start`, whole `text` parts, `step_finish`; no event ends the run. A step
    that does not finish with `stop` or `length` starts the next one, without end."""
    told, texts, steps, reason = Told(), list[str](), 0, None
    for event in events(ran.out.data):
        part = event.get("part")
        match event.get("type"), part:
            case "step_start", _:
                steps += 1
            case "text", {"text": str(text)}:
                texts.append(text)
            case "step_finish", {"reason": str(why)}:
                reason = why
                told.usage = _opencode_usage(part)
            case "error", _:
                told.signals = _opencode_error(event.get("error"))
    told.requests = None if told.signals or steps != 1 else 1
    if told.signals is None:
        told.failure = _opencode_end(reason, steps, astray=ran.settled)
    if told.failure is None and told.signals is None and reason == "stop":
        told.text = "".join(texts)
    return told


def opencode_astray(path: Path) -> bool:
    """Whether a second model request follows the first answer: `steps: 1` would not stop it, and it has no end."""
    steps = 0
    for event in events(path.read_bytes()):
        match event:
            case {"type": "step_start"}:
                steps += 1
            case {"type": "step_finish", "part": {"reason": str(reason)}} if reason not in ("stop", "length"):
                return True
    return steps > 1


def _opencode_end(reason: str | None, steps: int, astray: bool) -> Failure | None:
    if reason == "tool-calls":
        return _called()
    if reason == "length":
        return Failure(ReplyClass.INVALID, "the answer was cut at the model's output limit")
    if reason == "content-filter":
        return Failure(ReplyClass.REFUSAL, "the vendor's filter held the answer back")
    if astray or steps > 1 or reason not in (None, "stop"):
        said = "the model's stream ended without a reason; opencode would have asked again without end, and was ended"
        return Failure(ReplyClass.TRANSIENT, said)
    return None


def _opencode_error(error: Any) -> Signals:
    data = error.get("data") if isinstance(error, Mapping) else None
    data = data if isinstance(data, Mapping) else {}
    kinds = _body_kinds(data.get("responseBody"))
    if isinstance(error, Mapping) and error.get("name") == "ContextOverflowError":
        kinds = ("context_length_exceeded", *kinds)
    said = str(data.get("message") or "no reason given")
    status = data.get("statusCode")
    if "cannot connect" in said.lower() or "unable to connect" in said.lower():
        said = f"connection failed: {said}"
    return Signals(kinds, status if isinstance(status, int) else None, said)


def _opencode_usage(part: Any) -> Usage:
    tokens = part.get("tokens") if isinstance(part, Mapping) else None
    if not isinstance(tokens, Mapping):
        return Usage()
    cache = tokens.get("cache")
    cached = _count(cache, "read") if isinstance(cache, Mapping) else None
    fresh, written = _count(tokens, "input"), _count(tokens, "output")
    thought = _count(tokens, "reasoning") or 0
    return Usage(
        input=None if fresh is None else fresh + (cached or 0),
        cached=cached,
        output=None if written is None else written + thought,
    )


# ---- qwen --------------------------------------------------------------------------------------------------


def qwen(ran: Ran) -> Told:
    """qwen-code, `-o stream-json --json-schema`: the reply is the call of a tool that it checks itself; a call that
    does not fit ends the run, since it has one turn."""
    told, refused, asked_again = Told(), "", False
    for event in events(ran.out.data):
        match event:
            case {"type": "assistant", "message": {"usage": usage}}:
                told.usage = _usage(usage, "input_tokens", "cache_read_input_tokens", "output_tokens")
            case {"type": "user", "message": {"content": [{"is_error": True, "content": str(said)}]}}:
                refused = said
            case {"type": "system", "subtype": "retry"}:
                asked_again = True
            case {"type": "result", "structured_result": dict(value), "is_error": False}:
                told.value = value
            case {"type": "result", "error": {"message": str(said)}}:
                told = _qwen_error(said, told)
    if told.value is not None:
        told.requests = None if asked_again else 1
    elif refused:
        told.failure = Failure(ReplyClass.INVALID, f"the reply does not fit its schema: {refused}")
    elif asked_again:
        said = "the model's stream ended without a whole answer; qwen would have asked again, and was ended"
        told.failure = Failure(ReplyClass.TRANSIENT, said)
    elif told.failure is None and told.signals is None and "FatalCancellationError" in ran.err.text:
        told.failure = _ended("qwen")
    elif told.failure is None and told.signals is None and ran.exit:
        told.signals = _vendor(_without_notices(ran.err.text), None)
    return told


def qwen_astray(path: Path) -> bool:
    """Whether qwen-code is about to ask again by itself."""
    return any(
        event.get("type") == "system" and event.get("subtype") == "retry"
        for event in events(path.read_bytes())
    )


_PLAIN_TEXT = "produced plain text instead of calling"


def _qwen_error(said: str, told: Told) -> Told:
    if _PLAIN_TEXT in said:
        told.failure = Failure(ReplyClass.MISSING, "the model wrote text in place of the structured reply")
    elif "empty response" in said:
        told.failure = Failure(ReplyClass.MISSING, "the model answered with nothing")
    else:
        told.signals = _vendor(said, None)
    return told


def _without_notices(stderr: str) -> str:
    lines = (
        line for line in stderr.splitlines() if not line.startswith(("Ripgrep not available", "Retrying"))
    )
    return "\n".join(lines)


# ---- shared by them ----------------------------------------------------------------------------------------

_STATUS = re.compile(r"\[API Error: (\d{3})\b")
_BODY = re.compile(r"\{.*\}", re.S)
# How Node says that a connection was not made, or broke.
_TRANSPORT = {"fetch failed": "connection failed", "Error: terminated": "stream disconnected"}


def _vendor(said: str, status: int | None) -> Signals:
    """What a CLI quotes of its vendor's error: `[API Error: …]` around a status, words, or the whole body."""
    found = _STATUS.search(said)
    body = _BODY.search(said)
    error = _error_of(body[0]) if body else {}
    code = error.get("code")
    if status is None:
        status = int(found[1]) if found else code if isinstance(code, int) else None
    kinds = _body_kinds(body[0]) if body else ()
    words = str(error.get("message") or said)
    for bare, known in _TRANSPORT.items():
        words = words.replace(bare, f"{known}: {bare}")
    return Signals(kinds, status, words)


def _error_of(body: Any) -> Mapping[str, Any]:
    try:
        error = orjson.loads(body)["error"] if isinstance(body, str) else {}
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return {}
    return error if isinstance(error, Mapping) else {}


def _body_kinds(body: Any) -> tuple[str, ...]:
    error = _error_of(body)
    return tuple(str(error[name]) for name in ("code", "type", "status") if isinstance(error.get(name), str))


def _ended(program: str) -> Failure:
    return Failure(ReplyClass.KILLED, f"{program} was ended by a signal, which the controller did not send")


def _called() -> Failure:
    return Failure(ReplyClass.INVALID, "the model called a tool in place of an answer: there are none")


def _usage(told: Any, input: str, cached: str, output: str) -> Usage:
    """Usage under a CLI's own names; `input` includes `cached`. Nothing read is a request that failed: not known."""
    if not isinstance(told, Mapping) or not _count(told, input):
        return Usage()
    return Usage(input=_count(told, input), cached=_count(told, cached), output=_count(told, output))


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
