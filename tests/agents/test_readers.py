"""How each CLI says that a launch failed: what stands where in its output, written by hand, and the class that comes of
it. Nothing is started: the recordings, and the real programs, are for `test_classes`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.ports import Captured, Ran
from contracts.reply import AgentReply, ReplyClass
from tests.agents.others.recorded import Player as Recording
from tests.tool_adapters.agent_world import KEYS, settings
from tests.tool_adapters.agent_world import ask as launch
from tool_adapters.agents.claude import Claude
from tool_adapters.agents.codex import Codex
from tool_adapters.agents.pi.adapter import Pi
from tool_adapters.agents.preset import Gemini, Opencode, Qwen

R = ReplyClass
KINDS: dict[str, Any] = {"claude": Claude, "codex": Codex, "pi": Pi}
KINDS |= {"gemini": Gemini, "opencode": Opencode, "qwen": Qwen}
UNHEARD = "what nobody has heard"
AUTH = "Not logged in"
CRASH = "Segmentation fault"
SLOW = "slow_down"


def said(folder: Path, kind: str, out: Any = "", err: str = "", code: int = 1) -> AgentReply:
    """The reply to a process that printed these lines (objects as JSON), and left with `code`."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in out if each]
    data = "".join(f"{line}\n" for line in lines).encode()
    more = {} if kind in ("claude", "codex", "pi") else {"api_key_env": "OPENAI_API_KEY", "model": "m"}
    program = folder / "cli"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    ran = Recording(Ran(code, Captured(data, len(data)), Captured(err.encode(), len(err))))
    made = settings(folder, kind, KEYS, cli=program, **more)
    return launch(KINDS[kind](replace(made, runner=ran, ahead=ran)))


# ---- Claude Code -----------------------------------------------------------------------------------------
FAILED = {"type": "result", "is_error": True, "result": UNHEARD}
DONE = {"type": "result", "is_error": False, "result": UNHEARD}
TYPED = ("stop_reason", "api_error", "api_error_code", "terminal_reason", "subtype", "api_error_type")
CLAUDE: list[tuple[list[Any], str, int, ReplyClass, str]] = [
    *(([FAILED | {name: SLOW}], "", 1, R.TRANSIENT, "") for name in TYPED),
    ([FAILED], "", 1, R.UNKNOWN, UNHEARD),
    ([FAILED | {"terminal_reason": "api_error"}], "", 1, R.UNKNOWN, UNHEARD),  # it says no more than "failed"
    ([FAILED | {"api_error": "api_error"}], "", 1, R.TRANSIENT, UNHEARD),
    ([FAILED | {"terminal_reason": "prompt_too_long"}], "", 1, R.CONTEXT_TOO_LONG, ""),
    ([FAILED | {"api_error_status": 401}], "", 1, R.AUTH, UNHEARD),
    ([FAILED | {"api_error_status": "401"}], "", 1, R.UNKNOWN, UNHEARD),
    ([FAILED | {"errors": [CRASH, UNHEARD]}], "", 1, R.CRASHED, f"{CRASH} {UNHEARD}"),
    ([FAILED | {"errors": AUTH}], "", 1, R.UNKNOWN, UNHEARD),
    ([{"type": "result", "is_error": True}], "", 1, R.UNKNOWN, "no reason given"),
    ([f'{AUTH}: "result"', "{", {"type": "other", "result": AUTH}, FAILED], "", 1, R.UNKNOWN, UNHEARD),
    ([], AUTH, 1, R.AUTH, AUTH),
    ([DONE | {"structured_output": {"a": 1}}], "", 1, R.UNKNOWN, UNHEARD),
    ([DONE | {"stop_reason": "refusal"}], "", 0, R.REFUSAL, "the model refused to answer"),
    ([DONE], "", 0, R.MISSING, "claude answered by itself and did not ask the model"),
    ([DONE | {"terminal_reason": "completed"}], "", 0, R.MISSING, "the model answered in prose"),
    ([DONE | {"modelUsage": {"m": {}}}], "", 0, R.MISSING, "the model answered in prose"),
    ([DONE | {"structured_output": {"a": 1}}], "", 0, R.OK, ""),
    ([DONE | {"structured_output": {"a": 1}, "is_error": None}], "", 0, R.UNKNOWN, UNHEARD),
    ([{"type": "result", "structured_output": {"a": 1}}], "", 0, R.UNKNOWN, "no reason given"),
]


# ---- Codex -----------------------------------------------------------------------------------------------
def turn(message: Any) -> dict[str, Any]:
    text = message if isinstance(message, str) else json.dumps({"error": message})
    return {"type": "turn.failed", "error": {"message": text}}


def message(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"type": "agent_message", "text": text}}


COMPLETED = {"type": "turn.completed", "usage": None}
CODEX: list[tuple[list[Any], str, int, ReplyClass, str]] = [
    ([turn(f"unexpected status 401 Unauthorized: {UNHEARD}")], "", 1, R.AUTH, "unexpected"),
    ([turn(f"unexpected status: 404 Not Found: {UNHEARD}")], "", 1, R.MISCONFIGURED, "unexpected"),
    ([turn("exceeded retry limit, last status: 401 Unauthorized")], "", 1, R.AUTH, "exceeded"),
    ([turn("the next status 401")], "", 1, R.UNKNOWN, "the next"),
    ([turn("a ballast status 401")], "", 1, R.UNKNOWN, ""),
    ([turn("unexpected status 4010")], "", 1, R.UNKNOWN, ""),
    ([turn({"code": SLOW, "message": UNHEARD})], "", 1, R.TRANSIENT, UNHEARD),
    ([turn({"type": SLOW, "message": UNHEARD})], "", 1, R.TRANSIENT, UNHEARD),
    ([turn({"code": None, "message": CRASH})], "", 1, R.CRASHED, CRASH),
    ([turn({"code": SLOW})], "", 1, R.TRANSIENT, '{"error":'),
    ([turn(AUTH), {"type": "error", "message": CRASH}], "", 1, R.AUTH, AUTH),
    ([{"type": "turn.failed"}], CRASH, 1, R.CRASHED, CRASH),
    ([{"type": "error", "message": CRASH}], AUTH, 1, R.CRASHED, CRASH),
    ([{"type": "error", "message": f"Reconnecting... 1/5 ({AUTH})"}], CRASH, 1, R.CRASHED, CRASH),
    ([], f"Reading prompt: {AUTH}\nWARNING: {AUTH}\n{CRASH}\nit is", 1, R.CRASHED, f"{CRASH} it is"),
    ([{"type": "item.completed", "item": {"type": "error", "message": AUTH}}], CRASH, 1, R.CRASHED, CRASH),
    ([COMPLETED], "", 0, R.MISSING, "the turn ended without a message"),
    ([message("so"), COMPLETED], "", 0, R.INVALID, "the message is not one JSON object"),
    ([message("[1]"), COMPLETED], "", 0, R.INVALID, "the message is JSON, but a list and no object"),
    ([message("so"), "so", message('{"a": 1}'), COMPLETED], "", 0, R.OK, ""),
    ([message('{"a": 1}'), COMPLETED], CRASH, 1, R.CRASHED, CRASH),
    ([message('{"a": 1}'), COMPLETED, turn(AUTH)], "", 0, R.AUTH, AUTH),
    ([message('{"a": 1}'), COMPLETED, {"type": "turn.failed"}], CRASH, 0, R.CRASHED, CRASH),
]


# ---- Pi --------------------------------------------------------------------------------------------------
def end(stop: str, error: str | None = None, raw: str | None = None, **more: Any) -> list[Any]:
    told = {"role": "assistant", "stopReason": stop, "errorMessage": error, "rawStopReason": raw, **more}
    return [{"type": "message_end", "message": told}, {"type": "agent_settled"}]


CALL = {"type": "toolCall", "name": "skill_state_transition", "arguments": {"a": 1}}
BODY = json.dumps({"message": UNHEARD})
PI: list[tuple[list[Any], str, int, ReplyClass, str]] = [
    (end("error", f"401: {BODY}"), "", 0, R.AUTH, UNHEARD),
    (end("error", f"401 {BODY}"), "", 0, R.AUTH, UNHEARD),
    (end("error", f"404:{BODY}"), "", 0, R.MISCONFIGURED, UNHEARD),
    (end("error", f"Open AI API error (401): {BODY}"), "", 0, R.AUTH, UNHEARD),
    (end("error", f"401: a page\n{UNHEARD}"), "", 0, R.AUTH, f"a page {UNHEARD}"),
    (end("error", f"4010: {UNHEARD}"), "", 0, R.UNKNOWN, f"4010: {UNHEARD}"),
    (end("error", f"40: {UNHEARD}"), "", 0, R.UNKNOWN, f"40: {UNHEARD}"),
    (end("error", CRASH), AUTH, 0, R.CRASHED, CRASH),
    (end("error", '418: {"error": {"type": "slow_down", "message": "Slow"}}'), "", 0, R.TRANSIENT, "Slow"),
    (end("error", '418: {"code": "slow_down"}'), "", 0, R.TRANSIENT, '{"code"'),
    (end("error", '418: ["slow_down"]'), "", 0, R.UNKNOWN, '["slow_down"]'),
    (end("error", UNHEARD, "content_filter"), "", 0, R.REFUSAL, UNHEARD),
    (end("error", '429: {"message": "wait", "resets_at": 1796040000}'), "", 0, R.LIMIT_WITH_RESET, "wait"),
    (end("error", '429: {"message": "wait", "resets_at": "soon"}'), "", 0, R.TRANSIENT, "wait"),
    (end("stop", raw="content_filter"), "", 1, R.REFUSAL, ""),
    (end("stop"), CRASH, 1, R.CRASHED, CRASH),
    ([*end("error", AUTH), *end("error", CRASH)], "", 0, R.AUTH, AUTH),
    (["[1]", "so", *end("error", AUTH)], "", 0, R.AUTH, AUTH),
    ([], AUTH, 1, R.AUTH, AUTH),
    (end("toolUse", content=[CALL]), "", 0, R.OK, ""),
    (end("toolUse", content=[CALL, CALL]), "", 0, R.INVALID, "the model made 2 tool calls"),
    (end("length"), "", 0, R.INVALID, "the answer was cut off"),
    (end("stop"), "", 0, R.MISSING, "the model said nothing and did not call"),
]


# ---- the presets -----------------------------------------------------------------------------------------
def over(status: str, **error: Any) -> dict[str, Any]:
    return {"type": "result", "status": status, "error": error or None}


BEGUN = {"type": "init"}
GEMINI: list[tuple[list[Any], str, int, ReplyClass, str]] = [
    ([over("error", message=f"[API Error: 401 {UNHEARD}]")], "", 1, R.AUTH, "[API Error"),
    ([over("error", message=f"[API Error: 4010 {UNHEARD}]")], "", 1, R.UNKNOWN, ""),
    ([over("error", message='{"error": {"code": 404, "message": "x"}}')], "", 1, R.MISCONFIGURED, "x"),
    ([over("error", message='{"error": {"status": "slow_down"}}')], "", 1, R.TRANSIENT, ""),
    ([over("error", message='{"error": "so"}')], "", 1, R.UNKNOWN, ""),
    ([over("error")], "", 1, R.UNKNOWN, ""),
    ([{"type": "error", "message": CRASH}, over("error", message=UNHEARD)], AUTH, 1, R.CRASHED, CRASH),
    ([over("error", message="fetch failed")], "", 1, R.UNAVAILABLE, "connection failed: fetch failed"),
    ([over("error", message="Error: terminated")], "", 1, R.TRANSIENT, "stream disconnected"),
    ([over("error", message="an empty response")], "", 1, R.MISSING, "the model answered with nothing"),
    ([over("error", message="blocked due to safety")], "", 1, R.REFUSAL, "the vendor blocked the answer"),
    ([over("success")], "", 53, R.INVALID, "the model called a tool in place of an answer"),
    ([BEGUN], UNHEARD, 144, R.MISCONFIGURED, UNHEARD),  # 400 mod 256
    ([BEGUN], UNHEARD, 145, R.AUTH, UNHEARD),
    ([BEGUN], UNHEARD, 255, R.TRANSIENT, UNHEARD),
    ([BEGUN], UNHEARD, 42, R.UNKNOWN, UNHEARD),
    ([BEGUN], AUTH, 0, R.KILLED, "gemini was ended by a signal"),
]


def step(*reasons: str) -> list[Any]:
    steps = [[{"type": "step_start"}, {"type": "step_finish", "part": {"reason": each}}] for each in reasons]
    return [event for each in steps for event in each]


def fault(name: str = "APIError", **data: Any) -> list[Any]:
    return [{"type": "error", "error": {"name": name, "data": data}}]


def body(**error: Any) -> str:
    return json.dumps({"error": error})


OPENCODE: list[tuple[list[Any], str, int, ReplyClass, str]] = [
    (step("tool-calls"), "", 0, R.INVALID, "the model called a tool in place of an answer"),
    (step("length"), "", 0, R.INVALID, "the answer was cut at the model's output limit"),
    (step("content-filter"), "", 0, R.REFUSAL, "the vendor's filter held the answer back"),
    (step("unknown"), "", 0, R.TRANSIENT, "the model's stream ended without a reason"),
    (step("stop", "stop"), "", 0, R.TRANSIENT, "the model's stream ended without a reason"),
    (fault(message=CRASH), AUTH, 1, R.CRASHED, CRASH),
    (fault("ContextOverflowError", message=UNHEARD), "", 1, R.CONTEXT_TOO_LONG, UNHEARD),
    (fault(message=UNHEARD, statusCode=401), "", 1, R.AUTH, UNHEARD),
    (fault(message=UNHEARD, statusCode="401"), "", 1, R.UNKNOWN, UNHEARD),
    (fault(message="Cannot connect to API"), "", 1, R.UNAVAILABLE, "connection failed: Cannot"),
    (fault(message="Unable to connect."), "", 1, R.UNAVAILABLE, "connection failed: Unable"),
    (fault(responseBody=body(code=SLOW)), "", 1, R.TRANSIENT, "no reason given"),
    (fault(responseBody=body(type=SLOW)), "", 1, R.TRANSIENT, "no reason given"),
    (fault(responseBody=body(status=SLOW)), "", 1, R.TRANSIENT, "no reason given"),
    (fault(responseBody=body(code=1)), "", 1, R.UNKNOWN, "no reason given"),
    (fault(responseBody="so"), "", 1, R.UNKNOWN, "no reason given"),
    ([{"type": "error", "error": "so"}], "", 1, R.UNKNOWN, "no reason given"),
]
REFUSED = {"type": "user", "message": {"content": [{"is_error": True, "content": "n is missing"}]}}
AGAIN = {"type": "system", "subtype": "retry"}
QWEN: list[tuple[list[Any], str, int, ReplyClass, str]] = [
    (
        [over("", message="It produced plain text instead of calling")],
        "",
        1,
        R.MISSING,
        "the model wrote text",
    ),
    ([over("", message="an empty response")], "", 1, R.MISSING, "the model answered with nothing"),
    ([over("", message=f"[API Error: 401 {UNHEARD}]")], "", 1, R.AUTH, "[API Error"),
    ([over("", message=CRASH)], AUTH, 1, R.CRASHED, CRASH),
    ([REFUSED], "", 1, R.INVALID, "the reply does not fit its schema: n is missing"),
    ([AGAIN], "", 1, R.TRANSIENT, "the model's stream ended without a whole answer"),
    ([BEGUN], "FatalCancellationError", 130, R.KILLED, "qwen was ended by a signal"),
    ([BEGUN], f"Ripgrep not available: {AUTH}\nRetrying: {AUTH}\n{CRASH}", 1, R.CRASHED, CRASH),
    ([BEGUN], f"[API Error: 401 {UNHEARD}]", 1, R.AUTH, "[API Error"),
]
TOLD = {"claude": CLAUDE, "codex": CODEX, "pi": PI, "gemini": GEMINI, "opencode": OPENCODE, "qwen": QWEN}
ROWS = [
    pytest.param(kind, *row, id=f"{kind}-{at}") for kind, rows in TOLD.items() for at, row in enumerate(rows)
]


@pytest.mark.parametrize(("kind", "out", "err", "code", "cls", "words"), ROWS)
def test_what_a_cli_says(
    kind: str, out: list[Any], err: str, code: int, cls: ReplyClass, words: str, tmp_path: Path
) -> None:
    reply = said(tmp_path, kind, out, err, code)
    assert reply.cls is cls, reply
    assert reply.message.startswith(words) and (reply.value is not None) == (cls is R.OK)
    resets = 1796040000 if cls is R.LIMIT_WITH_RESET else None
    assert reply.not_before == resets


@pytest.mark.parametrize(
    ("words", "status", "used"),
    [
        *((AUTH, None, 0), ("ECONNREFUSED", None, 0), ("ENOTFOUND", None, 0), (UNHEARD, 500, 0)),
        *((UNHEARD, None, None), (UNHEARD, "500", None)),
    ],
)
def test_claude_is_paid_for_what_broke_and_not_for_what_was_refused(
    words: str, status: Any, used: int | None, tmp_path: Path
) -> None:
    spent = {"total_cost_usd": 0, "modelUsage": {}, "result": words, "api_error_status": status}
    assert said(tmp_path, "claude", [FAILED | spent]).usage.input == used
