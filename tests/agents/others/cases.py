"""What the model's side does, per CLI, and the class that must come of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from contracts.reply import ReplyClass
from tests.gateway import Answer, ApiError, Cut, Hang, NoCall, Refusal, StreamError, Text, Truncated
from tests.tool_adapters.agent_world import FINISH

R = ReplyClass
GOOD = json.dumps(FINISH)


@dataclass(frozen=True)
class Case:
    """`answer` None: nothing listens at the base URL. `most`: how many requests the CLI may make; more than one is
    what can't be told it, or is cut off as soon as it shows. `timeout` in seconds."""

    kind: str
    name: str
    answer: Answer | None
    cls: ReplyClass
    most: int = 1
    timeout: float = 90.0


def _google() -> dict[str, tuple[Answer | None, ReplyClass]]:
    quota = "You exceeded your current quota, please check your plan and billing details."
    long = "The input token count (1250000) exceeds the maximum number of tokens allowed (1048576)."
    key = "API key not valid. Please pass a valid API key."
    return {
        "400_context": (ApiError(400, "INVALID_ARGUMENT", long), R.CONTEXT_TOO_LONG),
        "400_key": (ApiError(400, "INVALID_ARGUMENT", key), R.AUTH),
        "401": (ApiError(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), R.AUTH),
        "403": (ApiError(403, "PERMISSION_DENIED", "Permission denied on resource project p."), R.AUTH),
        "404_model": (ApiError(404, "NOT_FOUND", "models/fake-1 is not found"), R.MISCONFIGURED),
        "429_quota": (ApiError(429, "RESOURCE_EXHAUSTED", quota), R.LIMIT_PERMANENT),
        "500": (ApiError(500, "INTERNAL", "An internal error has occurred."), R.TRANSIENT),
        "503": (ApiError(503, "UNAVAILABLE", "The model is overloaded."), R.TRANSIENT),
    }


def _openai() -> dict[str, tuple[Answer | None, ReplyClass]]:
    kind = "invalid_request_error"
    context = "Your input exceeds the context window of this model."
    return {
        "400_context": (ApiError(400, kind, context, "context_length_exceeded"), R.CONTEXT_TOO_LONG),
        "401": (ApiError(401, kind, "Incorrect API key provided: dummy.", "invalid_api_key"), R.AUTH),
        "404_model": (
            ApiError(404, kind, "The model `fake-1` does not exist", "model_not_found"),
            R.MISCONFIGURED,
        ),
    }


def _said() -> dict[str, tuple[Answer | None, ReplyClass]]:
    return {
        "valid": (FINISH, R.OK),
        "fenced": (Text(f"```json\n{GOOD}\n```"), R.OK),
        "prose": (Text("All done."), R.MISSING),
        "prose_mentions_429": (Text("The log says: 429 rate limit, usage limit reached."), R.MISSING),
        "prose_around": (Text(f"Here it is:\n```json\n{GOOD}\n```\n"), R.INVALID),
        "twice": (Text(f"{GOOD}\n{GOOD}"), R.INVALID),
        "truncated": (Truncated(GOOD[:20]), R.INVALID),
        "no_reply": (NoCall(), R.MISSING),
        "connection_refused": (None, R.UNAVAILABLE),
    }


def _all() -> list[Case]:
    gemini = {
        **_said(),
        **_google(),
        "refusal": (Refusal(), R.REFUSAL),
        "cut": (Cut(100, FINISH), R.TRANSIENT),
    }
    opencode = {**_said(), **_openai()}
    qwen = {
        **_openai(),
        "valid": (FINISH, R.OK),
        "wrong_form": ({"answer": 1}, R.INVALID),
        "prose": (Text("All done."), R.MISSING),
        "no_reply": (NoCall(), R.TRANSIENT),
        "cut": (Cut(300, FINISH), R.TRANSIENT),
    }
    cases = [Case("gemini", name, *case) for name, case in gemini.items()]
    cases += [
        # Where nobody listens it tries again by itself, each time later, until it says so.
        Case("opencode", name, *case, timeout=300.0 if name == "connection_refused" else 90.0)
        for name, case in opencode.items()
    ]
    cases += [Case("qwen", name, *case) for name, case in qwen.items()]
    # What these CLIs ask by themselves: without end where nobody ends them.
    cases += [
        Case("opencode", "no_reason", StreamError("overloaded_error", "busy"), R.TRANSIENT, most=3),
        Case("opencode", "429", ApiError(429, "tokens", "Rate limit reached"), R.HANG, most=4, timeout=15.0),
        Case("qwen", "truncated", Truncated(GOOD[:20]), R.INVALID, most=5),
        Case("qwen", "connection_refused", None, R.HANG, timeout=15.0),
        Case("qwen", "429", ApiError(429, "tokens", "Rate limit reached"), R.HANG, most=16, timeout=15.0),
    ]
    return cases + [
        Case(kind, "hang", Hang(), R.HANG, timeout=12.0) for kind in ("gemini", "opencode", "qwen")
    ]


CASES = _all()
