"""A loopback model gateway: Anthropic Messages, OpenAI Responses and chat completions, scripted and recorded.

    with Gateway(Script([{"answer": "yes"}])) as gateway:
        ...  # run a CLI against gateway.url_anthropic or gateway.url_openai
    assert len(gateway.requests) == 1

No key leaves the machine: the gateway listens on 127.0.0.1 and never calls anything.
"""

from controller.conformance.loopback.answers import (
    Answer,
    ApiError,
    Call,
    Calls,
    Cut,
    Hang,
    Invalid,
    NoCall,
    Policy,
    Refusal,
    Script,
    ScriptExhausted,
    SlowStream,
    StreamError,
    Text,
    Truncated,
)
from controller.conformance.loopback.recorded import Recorded
from controller.conformance.loopback.server import Gateway, PolicyFailed, tokens

__all__ = [
    "Answer",
    "ApiError",
    "Call",
    "Calls",
    "Cut",
    "Gateway",
    "Hang",
    "Invalid",
    "NoCall",
    "Policy",
    "PolicyFailed",
    "Recorded",
    "Refusal",
    "Script",
    "ScriptExhausted",
    "SlowStream",
    "StreamError",
    "Text",
    "Truncated",
    "tokens",
]
