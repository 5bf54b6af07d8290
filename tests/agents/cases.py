"""The situations in which the real binaries are recorded: what the model's side does, and how a run ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tests.agents.lean import chatgpt_login, chatgpt_tokens
from tests.gateway import (
    Answer,
    ApiError,
    Call,
    Calls,
    Cut,
    Hang,
    Invalid,
    NoCall,
    Refusal,
    SlowStream,
    StreamError,
    Text,
    Truncated,
)

Json = dict[str, Any]
Agent = Literal["claude", "codex", "pi"]

SCHEMA: Json = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["answer", "n"],
    "additionalProperties": False,
}
VALID: Json = {"answer": "yes", "n": 3}
# What a model may write about, and tools may print, without anything being wrong.
ABOUT_LIMITS = (
    "API Error: 429 rate_limit_error. You've hit your usage limit · resets 3pm (UTC). Claude AI usage limit "
    "reached|1796040000. Credit balance is too low. Not logged in · Please run /login"
)
PROMPT = "# Task\nAnswer the question.\n"


@dataclass(frozen=True)
class Case:
    """One recording. `answer` None: nothing listens at the base URL. `kill_after` seconds: the run is ended by TERM.
    `more`: further words of the command line. `api`: what Pi speaks."""

    name: str
    agent: Agent
    answer: Answer | None
    auth: Literal["api-key", "subscription"] = "api-key"
    prompt: str = PROMPT
    schema: Json = field(default_factory=lambda: SCHEMA)
    env: dict[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    api: str = "openai-completions"
    kill_after: float = 20
    credential: bool = True
    login: Json | None = None
    routes: dict[str, Json | ApiError] = field(default_factory=dict)


def _anthropic_errors() -> dict[str, Answer]:
    """HTTP failures of the Messages API, in the shapes its documentation and its users' reports show."""
    limit = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": "1796040000",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": "1796040000",
        "retry-after": "11000",
    }
    schema = "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
    credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
    org = "OAuth authentication is currently not allowed for this organization."
    rate = "This request would exceed your organization's rate limit of 50,000 input tokens per minute."
    monthly = (
        "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."
    )
    return {
        "400_schema": ApiError(400, "invalid_request_error", schema),
        "400_context": ApiError(
            400, "invalid_request_error", "prompt is too long: 1250000 tokens > 1000000 maximum"
        ),
        "400_credit": ApiError(400, "invalid_request_error", credit),
        "400_monthly_limit": ApiError(400, "invalid_request_error", monthly),
        "401": ApiError(401, "authentication_error", "invalid x-api-key"),
        "403": ApiError(403, "permission_error", org),
        "404_model": ApiError(404, "not_found_error", "model: claude-sonnet-5-5"),
        "413": ApiError(413, "request_too_large", "Request exceeds the maximum size"),
        "418": ApiError(418, "teapot_error", "the gremlins are back"),
        "429": ApiError(429, "rate_limit_error", rate),
        "429_retry_after": ApiError(429, "rate_limit_error", rate, headers={"retry-after": "7"}),
        "429_plan_limit": ApiError(
            429, "rate_limit_error", "This request would exceed your account's rate limit.", headers=limit
        ),
        "500": ApiError(500, "api_error", "Internal server error"),
        "502_html": ApiError(502, raw=b"<html><h1>502 Bad Gateway</h1></html>"),
        "503": ApiError(503, "api_error", "Service unavailable"),
        "529": ApiError(529, "overloaded_error", "Overloaded"),
        "200_html": ApiError(200, raw=b"<html>sign in to the network</html>"),
    }


def _openai_errors() -> dict[str, Answer]:
    """HTTP failures of the Responses API."""
    kind = "invalid_request_error"
    schema = "Invalid schema for response_format 'codex_output_schema': In context=(), 'required' is required"
    key = "Incorrect API key provided: dummy. Find yours at https://platform.openai.com/account/api-keys."
    rate = "Rate limit reached for gpt-6.2-sol on tokens per min (TPM). Please try again in 7s."
    quota = "You exceeded your current quota, please check your plan and billing details."
    context = "Your input exceeds the context window of this model. Please adjust your input and try again."
    plan = b'{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached",'
    plan += b'"plan_type":"plus","resets_at":1796040000,"resets_in_seconds":11000}}'
    return {
        "400_schema": ApiError(400, kind, schema, "invalid_json_schema"),
        "400_context": ApiError(400, kind, context, "context_length_exceeded"),
        "401": ApiError(401, kind, key, "invalid_api_key"),
        "403": ApiError(403, kind, "Country, region, or territory not supported", "unsupported_country"),
        "404_model": ApiError(404, kind, "The model `gpt-6.2-sol` does not exist", "model_not_found"),
        "413": ApiError(413, kind, "Request body too large"),
        "418": ApiError(418, "teapot_error", "the gremlins are back"),
        "429": ApiError(429, "tokens", rate, "rate_limit_exceeded"),
        "429_retry_after": ApiError(429, "tokens", rate, "rate_limit_exceeded", {"retry-after": "7"}),
        "429_quota": ApiError(429, "insufficient_quota", quota, "insufficient_quota"),
        "429_plan_limit": ApiError(429, raw=plan),
        "500": ApiError(500, "server_error", "The server had an error while processing your request."),
        "502_html": ApiError(502, raw=b"<html><h1>502 Bad Gateway</h1></html>"),
        "503": ApiError(503, "server_error", "Service unavailable"),
        "503_overloaded": ApiError(503, "server_error", "The engine is overloaded", "server_is_overloaded"),
        "200_html": ApiError(200, raw=b"<html>sign in to the network</html>"),
    }


def _replies(cut: int) -> dict[str, Answer]:
    """What the model itself can do."""
    return {
        "valid": VALID,
        "valid_about_limits": {"answer": ABOUT_LIMITS, "n": 3},
        "slow": SlowStream(VALID, delay=0.005, chunk=200),
        "invalid_reply": {"answer": 3},
        "invalid_json": Invalid('{"answer": "yes", "n":'),
        "prose": Text("All done, no need for a tool."),
        "prose_around_json": Text('Here it is:\n```json\n{"answer": "yes", "n": 3}\n```'),
        "prose_mentions_429": Text(
            "The test log says: expected 429 rate limit, API Error, usage limit reached."
        ),
        "no_reply": NoCall(),
        "refusal": Refusal(),
        "truncated": Truncated('{"answer": "ye'),
        "stream_error": StreamError("overloaded_error", "Overloaded"),
        "cut_before_answer": Cut(cut, VALID),
        "cut_in_headers": Cut(0, VALID),
        "reset": Cut(cut, VALID, reset=True),
        "hang_before_headers": Hang("before_headers"),
        "hang_mid_stream": Hang("mid_stream"),
    }


def _all() -> list[Case]:
    cases: list[Case] = []
    for name, answer in {**_replies(600), **_anthropic_errors()}.items():
        short = 2.5 if name.startswith("hang") else 20
        cases.append(Case(name, "claude", answer, kill_after=short))
    for name in ("valid", "invalid_reply", "prose", "no_reply", "refusal"):
        cases.append(Case(f"subscription_{name}", "claude", _replies(600)[name], auth="subscription"))
    for name in ("401", "403", "429", "429_plan_limit", "529", "400_schema"):
        cases.append(Case(f"subscription_{name}", "claude", _anthropic_errors()[name], auth="subscription"))
    cases += [
        Case("connection_refused", "claude", None),
        Case("slash_command", "claude", VALID, prompt="/cost"),
        Case("no_credential", "claude", VALID, credential=False),
        Case("bad_schema", "claude", VALID, schema={"type": "banana"}),
        Case("empty_prompt", "claude", VALID, prompt=""),
        Case("budget", "claude", VALID, more=("--max-budget-usd", "0.000001")),
        Case("headers_timeout", "claude", Hang("before_headers"), env={"API_TIMEOUT_MS": "1500"}),
    ]
    for name, answer in {**_replies(900), **_openai_errors()}.items():
        short = 2.5 if name == "hang_before_headers" else 20
        cases.append(Case(name, "codex", answer, kill_after=short))
    cases += [
        Case("content_filter", "codex", Truncated('{"answer": "ye', reason="content_filter")),
        Case(
            "failed_context", "codex", StreamError("context_length_exceeded", "Your input exceeds the window")
        ),
        Case("failed_quota", "codex", StreamError("insufficient_quota", "You exceeded your current quota")),
        Case(
            "failed_rate", "codex", StreamError("rate_limit_exceeded", "Rate limit reached. Try again in 7s.")
        ),
        Case("cut_after_message", "codex", Cut(2600, VALID)),
        Case("connection_refused", "codex", None),
        Case("no_credential", "codex", VALID, credential=False),
        Case("empty_prompt", "codex", VALID, prompt=""),
    ]
    return cases + _chatgpt_logins() + _pi()


def _pi() -> list[Case]:
    """Pi over chat completions, and how the other two APIs differ."""
    again = {"answer": "again", "n": 4}
    replies = {
        **_replies(300),
        "coerced_reply": {"answer": 5, "n": "3"},
        "two_calls": Calls([Call("", VALID), Call("", again)]),
        "unknown_tool": Call("bash", {"command": "ls"}),
        "unknown_tool_beside": Calls([Call("", VALID), Call("bash", {"command": "ls"})]),
        "content_filter": Truncated('{"answer": "ye', reason="content_filter"),
    }
    cases = [
        Case(name, "pi", answer, kill_after=12 if name == "hang_before_headers" else 30)
        for name, answer in {**replies, **_openai_errors()}.items()
    ]
    other: dict[str, dict[str, Answer]] = {
        "openai-responses": {**replies, **_openai_errors()},
        "anthropic-messages": {**replies, **_anthropic_errors()},
    }
    short = {"openai-responses": "responses", "anthropic-messages": "messages"}
    wanted = ("valid", "refusal", "truncated", "stream_error", "hang_mid_stream", "cut_before_answer")
    wanted += ("400_schema", "400_context", "400_credit", "401", "429", "500", "502_html", "529", "200_html")
    for api, answers in other.items():
        cases += [
            Case(f"{short[api]}_{name}", "pi", answers[name], api=api, kill_after=30)
            for name in wanted
            if name in answers
        ]
    return [
        *cases,
        Case("connection_refused", "pi", None),
        Case("no_credential", "pi", VALID, credential=False),
        Case("empty_prompt", "pi", VALID, prompt=""),
        Case("no_schema", "pi", VALID, env={"SKILL_STATE_SCHEMA": "/nowhere.json"}),
        Case("no_system", "pi", VALID, env={"SKILL_STATE_SYSTEM": "/nowhere.md"}),
    ]


def _chatgpt_logins() -> list[Case]:
    """Codex with the login of a subscription, and what becomes of its tokens."""
    old = ApiError(401, "invalid_request_error", "Provided authentication token is expired.", "token_expired")
    used = ApiError(
        401, "invalid_request_error", "Already used to generate a new token.", "refresh_token_reused"
    )
    gone = ApiError(401, "invalid_request_error", "Your refresh token has expired.", "refresh_token_expired")
    token = "/oauth/token"
    answers: list[tuple[str, Answer, Json | None, dict[str, Json | ApiError]]] = [
        ("valid", VALID, None, {}),
        ("refreshed", VALID, chatgpt_login(expires=1), {token: chatgpt_tokens("refresh-2")}),
        ("429_plan_limit", _openai_errors()["429_plan_limit"], None, {}),
        ("401_after_refresh", old, None, {token: chatgpt_tokens("refresh-2")}),
        ("401_refresh_reused", old, None, {token: used}),
        ("401_refresh_expired", old, None, {token: gone}),
        ("401_refresh_unreachable", old, None, {}),
        ("no_tokens", old, {"auth_mode": "chatgpt"}, {}),
    ]
    return [
        Case(f"subscription_{name}", "codex", answer, auth="subscription", login=login, routes=routes)
        for name, answer, login, routes in answers
    ]


CASES: list[Case] = _all()
