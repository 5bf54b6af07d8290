"""What a policy may answer, and a policy that answers from a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from controller.conformance.loopback.recorded import Recorded

Json = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """Prose in place of the structured reply: no tool call (Anthropic), the message's whole text (OpenAI)."""

    text: str


@dataclass(frozen=True)
class NoCall:
    """The turn ends without an answer: `text` without a tool call (Anthropic), no message at all (OpenAI)."""

    text: str = ""


@dataclass(frozen=True)
class Invalid:
    """`raw` as the arguments of the answering tool (Anthropic, chat), or as the message's text (OpenAI)."""

    raw: str


@dataclass(frozen=True)
class Call:
    """A call of `tool`, one of the client's own, after which it asks again. `args` is its object, or its text where the
    tool takes text as it is (a `custom` tool of the Responses API)."""

    tool: str
    args: Json | str


@dataclass(frozen=True)
class Calls:
    """Several calls in one message; a `tool` of "" is the answering one."""

    calls: Sequence[Call]


@dataclass(frozen=True)
class Refusal:
    """The model's safety refusal: stop_reason `refusal` (Anthropic), a refusal content part (OpenAI)."""

    text: str = "I can't help with that."


@dataclass(frozen=True)
class Truncated:
    """The answer ends after `text` of it: at the output limit (stop_reason max_tokens; response.incomplete), or, for
    OpenAI's APIs, for another `reason`, such as content_filter."""

    text: str
    reason: str = "max_output_tokens"


@dataclass(frozen=True)
class ApiError:
    """An HTTP error in the vendor's own body shape. `code` is OpenAI's machine code; `raw` replaces the
    body."""

    status: int
    type: str = "api_error"
    message: str = "scripted error"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass(frozen=True)
class StreamError:
    """HTTP 200, then an error event in the stream (`response.failed` with `type` as its code for OpenAI)."""

    type: str = "api_error"
    message: str = "scripted error"


@dataclass(frozen=True)
class Hang:
    """Accepts and goes silent until the client leaves or the gateway closes."""

    where: Literal["before_headers", "mid_stream"] = "before_headers"


@dataclass(frozen=True)
class Cut:
    """The answer's stream, ended after `after` bytes of body without its end; `reset` ends it with a TCP
    reset."""

    after: int
    answer: Json = field(default_factory=dict)
    reset: bool = False


@dataclass(frozen=True)
class SlowStream:
    """The answer, its stream sent in pieces of `chunk` bytes, `delay` seconds apart."""

    answer: Json
    delay: float = 0.01
    chunk: int = 40


Answer = (
    Json
    | Text
    | NoCall
    | Invalid
    | Call
    | Calls
    | Refusal
    | Truncated
    | ApiError
    | StreamError
    | Hang
    | Cut
    | SlowStream
)
Policy = Callable[[str, Json, Recorded], Answer]
"""(prompt text, JSON schema of the reply, the whole request) -> Answer. Calls never overlap."""

NAMES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Text,
        NoCall,
        Invalid,
        Call,
        Calls,
        Refusal,
        Truncated,
        ApiError,
        StreamError,
        Hang,
        Cut,
        SlowStream,
    )
}


class ScriptExhausted(Exception):
    """More requests came than the script has answers."""


class Script:
    """A policy that gives its answers in order. One request too many is an HTTP 500 that says so, and an
    error that `Gateway` raises at its end. `repeat_last` answers every further request with the last one."""

    def __init__(self, answers: Iterable[Answer], *, repeat_last: bool = False) -> None:
        self.answers = list(answers)
        self.repeat_last = repeat_last
        self.used = 0
        self._lock = threading.Lock()

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Answer:
        with self._lock:
            at, self.used = self.used, self.used + 1
        if at < len(self.answers):
            return self.answers[at]
        if self.repeat_last and self.answers:
            return self.answers[-1]
        raise ScriptExhausted(f"the script has {len(self.answers)} answers, and this is request {at + 1}")

    @property
    def left(self) -> int:
        """How many answers were not asked for."""
        return max(0, len(self.answers) - self.used)
