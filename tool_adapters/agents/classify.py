"""Why a launch failed: one table from signals to reply classes.

Typed signals (error kinds, HTTP status) decide before words do. Words are looked at only when a launch failed
and only in the agent's own error channel: a model that writes about a 429 is no limit. What nobody has seen
before is `unknown`, never a limit.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contracts.ports import Ran
from contracts.reply import ReplyClass
from contracts.text import clean, cut
from tool_adapters.agents.limits import lifted_by, limit_of

R = ReplyClass


@dataclass(frozen=True)
class Signals:
    """What is known of a failed launch. `kinds` are typed words of the agent or its vendor, `status` the HTTP
    status behind the failure, `channel` the text of the agent's own error channel, `reset` when a limit ends (UTC epoch
    seconds), where a field says so."""

    kinds: tuple[str, ...] = ()
    status: int | None = None
    channel: str = ""
    reset: float | None = None


@dataclass(frozen=True)
class Failure:
    """`not_before`: UTC epoch seconds when a limit says when it resets."""

    cls: ReplyClass
    message: str
    not_before: float | None = None


# Typed words that settle the class by themselves.
KINDS: Mapping[str, ReplyClass] = MappingProxyType(
    {
        # how Claude Code says that the run ended (subtype, terminal_reason, stop_reason)
        "refusal": R.REFUSAL,
        "structured_output_retry_exhausted": R.INVALID,
        "error_max_structured_output_retries": R.INVALID,
        "max_turns": R.MISSING,
        "error_max_turns": R.MISSING,
        "budget_exhausted": R.BUDGET,
        "error_max_budget_usd": R.BUDGET,
        "prompt_too_long": R.CONTEXT_TOO_LONG,
        "blocking_limit": R.CONTEXT_TOO_LONG,
        "model_context_window_exceeded": R.CONTEXT_TOO_LONG,
        "max_tokens": R.INVALID,
        "aborted_streaming": R.KILLED,
        "aborted_tools": R.KILLED,
        "hook_stopped": R.MISCONFIGURED,
        # Claude Code's typed kinds of an API error
        "connection_failed": R.UNAVAILABLE,
        "network_edge_blocked": R.UNAVAILABLE,
        "no_response": R.HANG,
        "stream_idle_timeout": R.HANG,
        "computer_slept": R.TRANSIENT,
        "empty_completion": R.MISSING,
        "malformed_tool_use_exhausted": R.INVALID,
        "max_output_tokens": R.INVALID,
        "message_over_context_limit": R.CONTEXT_TOO_LONG,
        "tls_untrusted_ca": R.MISCONFIGURED,
        "tls_cert_signature_failure": R.MISCONFIGURED,
        "gateway_content_type": R.MISCONFIGURED,
        "claude_code_version_too_old": R.MISCONFIGURED,
        "api_key_auth_disabled": R.AUTH,
        "org_disabled_credential": R.AUTH,
        "invalid_credential_header": R.AUTH,
        "stored_login_refused": R.AUTH,
        "provider_credentials": R.AUTH,
        "gateway_signin_required": R.AUTH,
        "gateway_session_expired": R.AUTH,
        "model_requires_usage_credits": R.LIMIT_PERMANENT,
        "long_context_credits_required": R.LIMIT_PERMANENT,
        # error types of the Messages API
        "authentication_error": R.AUTH,
        "overloaded_error": R.TRANSIENT,
        "timeout_error": R.TRANSIENT,
        "billing_error": R.LIMIT_PERMANENT,
        "request_too_large": R.CONTEXT_TOO_LONG,
        "not_found_error": R.MISCONFIGURED,
        # error codes and types of the Responses API
        "invalid_json_schema": R.SCHEMA_REFUSED,
        "context_length_exceeded": R.CONTEXT_TOO_LONG,
        "exceed_context_size_error": R.CONTEXT_TOO_LONG,
        "insufficient_quota": R.LIMIT_PERMANENT,
        "billing_hard_limit_reached": R.LIMIT_PERMANENT,
        "usage_not_included": R.LIMIT_PERMANENT,
        "invalid_api_key": R.AUTH,
        "account_deactivated": R.AUTH,
        "model_not_found": R.MISCONFIGURED,
        "server_is_overloaded": R.TRANSIENT,
        "server_error": R.TRANSIENT,
        "slow_down": R.TRANSIENT,
        "content_filter": R.REFUSAL,
        "content_policy_violation": R.REFUSAL,
    }
)
STATUS: Mapping[int, ReplyClass] = MappingProxyType(
    {401: R.AUTH, 404: R.MISCONFIGURED, 408: R.TRANSIENT, 409: R.TRANSIENT, 413: R.CONTEXT_TOO_LONG}
)
# What stays when neither a kind, nor a telling status, nor a known wording was found.
VAGUE_KINDS: Mapping[str, ReplyClass] = MappingProxyType(
    {"permission_error": R.AUTH, "invalid_request_error": R.MISCONFIGURED, "api_error": R.TRANSIENT}
)
VAGUE_STATUS: Mapping[int, ReplyClass] = MappingProxyType(
    {400: R.MISCONFIGURED, 402: R.LIMIT_PERMANENT, 403: R.AUTH, 422: R.MISCONFIGURED}
)


def _any(*wordings: str) -> re.Pattern[str]:
    return re.compile("|".join(wordings), re.I)


# First match wins. The words of limits (`limits`) stand between the two tables.
WORDINGS: tuple[tuple[re.Pattern[str], ReplyClass], ...] = (
    (
        _any(
            r"safeguards flagged",
            r"flagged for possible",
            r"limited access to this content",
            r"reason: content_filter",
            r"\bcan.t help with this\b",
        ),
        R.REFUSAL,
    ),
    (_any(r"reason: max_output_tokens", r"output token maximum"), R.INVALID),
    (
        _any(
            r"invalid schema",
            r"json[_ -]?schema is (not|invalid)",
            r"input_schema",
            r"output schema file .+ is not valid json",
            r"grammar .*too (large|complex)",
            r"failed to (parse|compile) grammar",
            r"schema is too (large|complex)",
        ),
        R.SCHEMA_REFUSED,
    ),
    (
        _any(
            r"prompt is too long",
            r"context window",
            r"context length",
            r"exceeds? (the )?context limit",
            r"input exceeds the (maximum length|context)",
            r"exceeds the maximum number of tokens",
            r"piped stdin input exceeds",
            r"too many total text bytes",
            r"request too large",
            r"request body too large",
        ),
        R.CONTEXT_TOO_LONG,
    ),
    (
        _any(
            r"not logged in",
            r"please run /login",
            r"(invalid|incorrect) api key|api key (is )?not valid",
            r"oauth (access )?token (has )?(been )?(expired|revoked)",
            r"authentication (error|failed|is currently not allowed)",
            r"failed to authenticate",
            r"token could not be refreshed",
            r"failed to refresh token: 4\d\d",
            r"missing environment variable",
            r"login (expired|reached its time limit|is required)",
            r"sign in again",
            r"disabled organization",
            r"organization has (been )?disabled",
            r"no auth credentials",
            r"no api key found",
        ),
        R.AUTH,
    ),
)
LATE_WORDINGS: tuple[tuple[re.Pattern[str], ReplyClass], ...] = (
    (
        _any(
            r"unknown (option|configuration field|argument|model)",
            r"unexpected argument",
            r"issue with the selected model",
            r"\bmodels?\b.{0,80}(does not exist|not supported|not found)",
            r"invalid model",
            r"error loading config",
            r"no prompt provided",
            r"input must be provided",
            r"model instructions file",
            r"failed to load extension|^skill-state: ",
            r"failed to read output schema",
            r"cannot be used with root",
            r"not inside a trusted directory",
            r"version \S+ or newer is required|older than the minimum version",
            r"certificate",
            r"country, region, or territory not supported|restricted region",
        ),
        R.MISCONFIGURED,
    ),
    (_any(r"\bpanicked at\b", r"segmentation fault", r"javascript heap out of memory"), R.CRASHED),
    (
        _any(
            r"idle timeout|request timed out|UND_ERR_\w+_TIMEOUT",
            r"no chunks received|no response from api",
        ),
        R.HANG,
    ),
    (
        _any(
            r"connection (refused|failed|dropped)",
            r"connection to the api was lost",
            r"ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EAI_FAIL|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH",
            r"no such host",
            r"can.t reach the api",
            r"error sending request",
            r"UND_ERR_SOCKET|other side closed",
        ),
        R.UNAVAILABLE,
    ),
    (
        _any(
            r"overloaded",
            r"at capacity|capacity is unavailable",
            r"high (demand|load)",
            r"stream (disconnected|ended)",
            r"server-side issue",
            r"internal (server )?error",
            r"service unavailable|bad gateway|gateway timeout",
            r"empty or malformed response",
            r"error while reading the server response",
            r"temporarily limiting requests",
            r"failed to refresh token",
            r"network policy is unavailable",
        ),
        R.TRANSIENT,
    ),
)


def classify(signals: Signals, now: float) -> Failure:
    """The class of a failed launch, with the agent's own sentence. Never OK."""
    text = " ".join(clean(signals.channel).split())
    kinds = [kind.lower() for kind in signals.kinds if kind]
    settled = next((KINDS[kind] for kind in kinds if kind in KINDS), None)
    if settled is None and signals.status is not None:
        settled = R.TRANSIENT if signals.status >= 500 else STATUS.get(signals.status)
    if settled is R.LIMIT_PERMANENT:
        return Failure(settled, _said(text, lifted_by(text)))
    if settled is not None:
        return Failure(settled, _said(text))
    found = next((cls for wording, cls in WORDINGS if wording.search(text)), None)
    if found is not None:
        return Failure(found, _said(text))
    limit = limit_of(text, kinds, signals.status, now, signals.reset)
    if limit is not None:
        return Failure(limit.cls, _said(text, limit.lifted_by), limit.reset)
    found = next((cls for wording, cls in LATE_WORDINGS if wording.search(text)), None)
    if found is None:
        found = next((VAGUE_KINDS[kind] for kind in kinds if kind in VAGUE_KINDS), None)
    if found is None and signals.status is not None:
        found = VAGUE_STATUS.get(signals.status)
    return Failure(found or R.UNKNOWN, _said(text))


# Exit codes of a shell for a child that a signal ended; CLIs that catch the signal leave with the same ones.
SIGNAL_EXITS: Mapping[int, str] = MappingProxyType(
    {129: "SIGHUP", 130: "SIGINT", 137: "SIGKILL", 143: "SIGTERM"}
)
# Signals that a program sends itself when it breaks down.
BREAKDOWNS: Mapping[int, str] = MappingProxyType(
    {
        int(each): each.name
        for each in (
            *(signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL),
            *(signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS),
        )
    }
)


def ended_badly(ran: Ran, program: str, timeout: float, idle: float | None) -> Failure | None:
    """What the end of the process alone says; None when its output must be asked."""
    if ran.missing or ran.refused:
        return Failure(R.MISCONFIGURED, f"{program}: {ran.refused or f'program not found: {ran.missing}'}")
    if ran.settled:
        return None
    if ran.timed_out:
        return Failure(
            R.HANG, f"{program} gave no reply within {timeout:g} s and was ended (agents: timeout)"
        )
    if ran.idle:
        return Failure(R.HANG, f"{program} was silent for {idle or 0:g} s and was ended (agents: idle)")
    if ran.flooded:
        size = max(ran.out.total, ran.err.total)
        return Failure(R.CRASHED, f"{program} wrote {size:,} bytes without end and was ended")
    silent = not ran.out.data.strip()
    ended = ran.signal or ((ran.exit or 0) - 128 if silent else 0)
    if ended in BREAKDOWNS:
        return Failure(R.CRASHED, f"{program} broke down ({BREAKDOWNS[ended]})")
    if ran.signal is not None:
        return Failure(
            R.KILLED, f"{program} was ended by signal {ran.signal}, which the controller did not send"
        )
    if silent and ran.exit is not None and ran.exit in SIGNAL_EXITS:
        return Failure(
            R.KILLED, f"{program} was ended by {SIGNAL_EXITS[ran.exit]}, not sent by the controller"
        )
    if silent and not ran.err.data.strip():
        if ran.exit:
            return Failure(R.CRASHED, f"{program} ended with exit code {ran.exit} and no output at all")
        return Failure(
            R.MISSING, f"{program} ended well but printed nothing (is it started inside its own kind?)"
        )
    return None


def _said(text: str, more: str = "") -> str:
    """The agent's own sentence, and another one."""
    said = cut(text, 600) if text else "no reason given"
    return f"{said.rstrip('.')}. {more}" if more else said
