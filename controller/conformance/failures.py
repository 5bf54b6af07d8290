"""What a vendor's side can do wrong, in the words of each API, and the classes that may come of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import orjson

from contracts.base import JsonObject
from contracts.reply import ReplyClass
from controller.conformance.loopback import Answer, ApiError, Cut

R = ReplyClass
DAY = 86_400.0
UNREACHABLE = "unreachable"

# name -> what it is, the classes that are right. The one that a version gives is among its known facts.
ALLOWED: Mapping[str, tuple[str, tuple[ReplyClass, ...]]] = {
    "auth": ("a key that is refused (401)", (R.AUTH,)),
    "limit_with_reset": ("a limit that ends tomorrow", (R.LIMIT_WITH_RESET,)),
    "limit_permanent": ("an account without money", (R.LIMIT_PERMANENT,)),
    "rate_limit": ("too many requests a minute (429)", (R.TRANSIENT, R.LIMIT_WITH_RESET)),
    "overloaded": ("a vendor at capacity (529, 503)", (R.TRANSIENT, R.UNAVAILABLE)),
    "server_error": ("a vendor's bug (500)", (R.TRANSIENT, R.UNAVAILABLE)),
    "cut_stream": ("a stream that ends in mid-reply", (R.TRANSIENT, R.UNAVAILABLE)),
    "context_too_long": ("a prompt that is too long (400)", (R.CONTEXT_TOO_LONG,)),
    "schema_refused": ("a reply schema that the vendor refuses (400)", (R.SCHEMA_REFUSED,)),
    "model_unknown": ("a model that does not exist (404)", (R.MISCONFIGURED,)),
    "unheard": (
        "a failure in words that nobody knows (418)",
        (R.UNKNOWN, R.TRANSIENT, R.MISCONFIGURED, R.CRASHED),
    ),
    UNREACHABLE: ("an address where nobody listens", (R.UNAVAILABLE, R.TRANSIENT)),
}


def failure(name: str, api: str, now: Callable[[], float] = time.time) -> Answer:
    """The answer that plays failure `name` (not UNREACHABLE) in `api`, as Recorded.api names it."""
    return (_messages if api == "anthropic" else _openai)(now())[name]


def _messages(now: float) -> dict[str, Answer]:
    tomorrow = datetime.fromtimestamp(now + DAY, UTC).strftime("%Y-%m-%d at %H:%M UTC")
    bad = "invalid_request_error"
    schema = "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
    credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
    monthly = f"You have reached your specified API usage limits. You will regain access on {tomorrow}."
    rate = "This request would exceed your organization's rate limit of 50,000 input tokens per minute."
    return {
        "auth": ApiError(401, "authentication_error", "invalid x-api-key"),
        "limit_with_reset": ApiError(400, bad, monthly),
        "limit_permanent": ApiError(400, bad, credit),
        "rate_limit": ApiError(429, "rate_limit_error", rate),
        "overloaded": ApiError(529, "overloaded_error", "Overloaded"),
        "server_error": ApiError(500, "api_error", "Internal server error"),
        "cut_stream": Cut(600),
        "context_too_long": ApiError(400, bad, "prompt is too long: 1250000 tokens > 1000000 maximum"),
        "schema_refused": ApiError(400, bad, schema),
        "model_unknown": ApiError(404, "not_found_error", "model: nobody-knows-it"),
        "unheard": ApiError(418, "tea_error", "The moon is in the wrong house."),
    }


def _openai(now: float) -> dict[str, Answer]:
    bad = "invalid_request_error"
    after = {"retry-after": str(int(DAY))}
    plan: JsonObject = {
        "type": "usage_limit_reached",
        "message": f"The usage limit has been reached. Try again in {int(DAY)} seconds.",
        "plan_type": "plus",
        "resets_at": int(now + DAY),
        "resets_in_seconds": int(DAY),
    }
    quota = "You exceeded your current quota, please check your plan and billing details."
    rate = "Rate limit reached on tokens per min (TPM). Please slow down."
    schema = "Invalid schema for response_format: In context=(), 'required' is required"
    context = "Your input exceeds the context window of this model. Please adjust your input and try again."
    key = "Incorrect API key provided: dummy."
    return {
        "auth": ApiError(401, bad, key, "invalid_api_key"),
        "limit_with_reset": ApiError(429, headers=after, raw=orjson.dumps({"error": plan})),
        "limit_permanent": ApiError(429, "insufficient_quota", quota, "insufficient_quota"),
        "rate_limit": ApiError(429, "tokens", rate, "rate_limit_exceeded"),
        "overloaded": ApiError(503, "server_error", "The engine is overloaded", "server_is_overloaded"),
        "server_error": ApiError(
            500, "server_error", "The server had an error while processing your request."
        ),
        "cut_stream": Cut(900),
        "context_too_long": ApiError(400, bad, context, "context_length_exceeded"),
        "schema_refused": ApiError(400, bad, schema, "invalid_json_schema"),
        "model_unknown": ApiError(404, bad, "The model does not exist", "model_not_found"),
        "unheard": ApiError(418, "tea_error", "The moon is in the wrong house.", "full_moon"),
    }
