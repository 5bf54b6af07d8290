"""The gateway by itself: each API, streaming and not, and every way in which an answer can fail."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from controller.conformance.loopback.__main__ import EXAMPLE
from controller.conformance.loopback.recorded import Json
from controller.conformance.loopback.script import described, read_script
from tests.agents.binaries import ROOT
from tests.gateway import (
    Answer,
    ApiError,
    Call,
    Calls,
    Cut,
    Gateway,
    Hang,
    Invalid,
    NoCall,
    PolicyFailed,
    Refusal,
    Script,
    SlowStream,
    StreamError,
    Text,
    Truncated,
    tokens,
)

SCHEMA: Json = {"type": "object", "properties": {"answer": {"type": "string"}}}
REPLY: Json = {"answer": "ja, “so”\n"}
PATHS = {"anthropic": "/v1/messages?beta=true", "responses": "/v1/responses", "chat": "/v1/chat/completions"}


def body_of(api: str, stream: bool = False) -> Json:
    user = {"role": "user", "content": "volatile"}
    if api == "anthropic":
        tool = {"name": "StructuredOutput", "input_schema": SCHEMA}
        return {"model": "m", "system": "stable", "messages": [user], "tools": [tool], "stream": stream}
    if api == "responses":
        form = {"type": "json_schema", "name": "x", "strict": True, "schema": SCHEMA}
        texts = {"model": "m", "instructions": "stable", "input": [user], "text": {"format": form}}
        return {**texts, "stream": stream}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    messages = [{"role": "system", "content": "stable"}, user]
    return {"model": "m", "messages": messages, "response_format": form, "stream": stream}


def post(gateway: Gateway, api: str, *, stream: bool = False, timeout: float = 10, body: Any = None) -> bytes:
    data = json.dumps(body_of(api, stream) if body is None else body).encode()
    request = urllib.request.Request(gateway.url + PATHS[api], data, {"authorization": "Bearer secret"})
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return bytes(response.read())


def events(data: bytes) -> list[Json]:
    lines = [line[6:] for line in data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def said(api: str, data: bytes, stream: bool) -> str:
    """The answer's text, put together as a client does."""
    if stream:
        parts = events(data)
        if api == "anthropic":
            return "".join(
                e["delta"].get("partial_json", "") for e in parts if e["type"] == "content_block_delta"
            )
        if api == "responses":
            return "".join(e["delta"] for e in parts if e["type"] == "response.output_text.delta")
        return "".join(c["delta"].get("content") or "" for e in parts for c in e["choices"])
    whole = json.loads(data)
    if api == "anthropic":
        return json.dumps(whole["content"][0]["input"])
    if api == "responses":
        return str(whole["output"][0]["content"][0]["text"])
    return str(whole["choices"][0]["message"]["content"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", PATHS)
def test_a_reply(api: str, stream: bool) -> None:
    with Gateway(Script([REPLY])) as gateway:
        assert json.loads(said(api, post(gateway, api, stream=stream), stream)) == REPLY
    (request,) = gateway.requests
    assert (request.api, request.system_text, request.user_text) == (api, "stable", "volatile")
    assert (request.prompt_text, request.schema, request.streaming) == ("stable\n\nvolatile", SCHEMA, stream)
    assert request.usage["input_tokens"] == tokens(len(request.body))
    assert request.usage["output_tokens"] == tokens(len(json.dumps(REPLY, ensure_ascii=False).encode()))


@pytest.mark.parametrize("api", PATHS)
def test_a_slow_stream_is_the_same_stream(api: str) -> None:
    with Gateway(Script([SlowStream(REPLY, delay=0.001, chunk=30), REPLY])) as gateway:
        slow, fast = (said(api, post(gateway, api, stream=True), True) for _ in range(2))
    assert slow == fast


@pytest.mark.parametrize("api", PATHS)
def test_several_calls_in_one_message(api: str) -> None:
    named = {"name": "skill_state_transition", "input_schema": SCHEMA, "parameters": SCHEMA}
    tool = {"type": "function", "function": named} if api == "chat" else named
    body = body_of(api) | {"tools": [tool], "text": {}, "response_format": {}}
    made = Calls([Call("", REPLY), Call("bash", {"command": "ls"}), Call("", REPLY)])
    with Gateway(Script([made, made])) as gateway:
        whole = json.loads(post(gateway, api, body=body))
        parts = events(post(gateway, api, body=body | {"stream": True}))
    if api == "anthropic":
        found = [(block["name"], block["input"]) for block in whole["content"]]
        begun = [e["content_block"]["name"] for e in parts if e["type"] == "content_block_start"]
    elif api == "responses":
        found = [(item["name"], json.loads(item["arguments"])) for item in whole["output"]]
        begun = [e["item"]["name"] for e in parts if e["type"] == "response.output_item.added"]
    else:
        functions = [call["function"] for call in whole["choices"][0]["message"]["tool_calls"]]
        found = [(each["name"], json.loads(each["arguments"])) for each in functions]
        deltas = [c["delta"].get("tool_calls", ()) for e in parts for c in e["choices"]]
        begun = [call["function"]["name"] for calls in deltas for call in calls]
    assert [(each.tool or named["name"], each.args) for each in made.calls] == found
    assert begun == [name for name, _ in found]


def test_stop_reasons() -> None:
    answers: list[Answer] = [Text("no"), NoCall(), Refusal("no"), Invalid("{"), Truncated('{"a'), REPLY]
    with Gateway(Script(answers * 3)) as gateway:
        got = {api: [json.loads(post(gateway, api)) for _ in answers] for api in PATHS}
    assert [m["stop_reason"] for m in got["anthropic"]] == [
        "end_turn",
        "end_turn",
        "refusal",
        "tool_use",
        "max_tokens",
        "tool_use",
    ]
    assert got["anthropic"][1]["content"] == [] and got["anthropic"][3]["content"][0]["input"] == "{"
    kinds = [(r["status"], [item["type"] for item in r["output"]]) for r in got["responses"]]
    message = ("completed", ["message"])
    assert kinds == [
        message,
        ("completed", ["reasoning"]),
        message,
        message,
        ("incomplete", ["message"]),
        message,
    ]
    assert got["responses"][2]["output"][0]["content"][0]["type"] == "refusal"
    finish = [c["choices"][0]["finish_reason"] for c in got["chat"]]
    assert finish == ["stop", "stop", "stop", "stop", "length", "stop"]


def test_a_chat_tool_is_called_when_it_is_the_answer() -> None:
    function = {"name": "skill_state_transition", "parameters": SCHEMA}
    body = {"model": "m", "messages": [], "tools": [{"type": "function", "function": function}]}
    with Gateway(Script([REPLY, REPLY])) as gateway:
        whole = json.loads(post(gateway, "chat", body=body))
        parts = events(post(gateway, "chat", body={**body, "stream": True}))
    call = whole["choices"][0]["message"]["tool_calls"][0]["function"]
    streamed = [
        c["delta"]["tool_calls"][0] for e in parts for c in e["choices"] if "tool_calls" in c["delta"]
    ]
    assert call["name"] == streamed[0]["function"]["name"] == "skill_state_transition"
    assert json.loads(call["arguments"]) == json.loads(streamed[0]["function"]["arguments"]) == REPLY


@pytest.mark.parametrize("api", PATHS)
def test_an_api_error(api: str) -> None:
    error = ApiError(429, "rate_limit_error", "slow down", "rate_limit_exceeded", {"retry-after": "7"})
    with Gateway(Script([error])) as gateway, pytest.raises(urllib.error.HTTPError) as caught:
        post(gateway, api)
    assert (caught.value.code, caught.value.headers["retry-after"]) == (429, "7")
    body = json.loads(caught.value.read())["error"]
    assert (body["type"], body["message"]) == ("rate_limit_error", "slow down")
    assert body.get("code") == (None if api == "anthropic" else "rate_limit_exceeded")


@pytest.mark.parametrize(("api", "kind"), [("anthropic", "error"), ("responses", "response.failed")])
def test_a_stream_error(api: str, kind: str) -> None:
    with Gateway(Script([StreamError("overloaded_error", "later")])) as gateway:
        assert events(post(gateway, api, stream=True))[-1]["type"] == kind


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("api", PATHS)
def test_a_cut_stream_is_no_whole_answer(api: str, reset: bool) -> None:
    with (
        Gateway(Script([Cut(120, REPLY, reset=reset)])) as gateway,
        pytest.raises((IncompleteRead, HTTPException, ConnectionError)),
    ):
        post(gateway, api, stream=True)


@pytest.mark.parametrize("where", ["before_headers", "mid_stream"])
def test_a_hang_holds_the_client_but_not_the_end(where: Any) -> None:
    with Gateway(Script([Hang(where)])) as gateway:
        with pytest.raises(TimeoutError):
            post(gateway, "responses", stream=True, timeout=0.3)
        assert gateway.requests[0].status == (None if where == "before_headers" else 200)


def test_an_exhausted_script_says_so_everywhere() -> None:
    why = "the script has 1 answers, and this is request 2"
    with pytest.raises(PolicyFailed, match=why), Gateway(Script([REPLY])) as gateway:
        post(gateway, "chat")
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(gateway, "chat")
        assert caught.value.code == 500
        assert why in json.loads(caught.value.read())["error"]["message"]
    assert gateway.requests[1].error is not None


def test_a_failing_policy_is_told_and_may_be_tolerated() -> None:
    def policy(prompt: str, schema: Json, request: object) -> Json:
        raise KeyError("nothing for this prompt")

    with Gateway(policy, strict=False) as gateway, pytest.raises(urllib.error.HTTPError):
        post(gateway, "anthropic")
    assert gateway.errors == ["request 1: policy failed: KeyError: 'nothing for this prompt'"]


def test_added_blocks_and_later_turns_are_not_the_prompt() -> None:
    blocks = [{"type": "text", "text": t} for t in ("<system-reminder>\ncwd", "the ", "prompt")]
    body = {
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: 1"},
            {"type": "text", "text": "stable"},
        ],
        "messages": [
            {"role": "user", "content": blocks},
            {"role": "system", "content": "# Environment"},
            {"role": "assistant", "content": [{"type": "text", "text": "hm"}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "wrong"}]},
        ],
    }
    with Gateway(Script([REPLY])) as gateway:
        post(gateway, "anthropic", body=body)
    request = gateway.requests[0]
    assert request.prompt_text == "stable\n\nthe prompt"
    added = ["x-anthropic-billing-header: 1", "<system-reminder>\ncwd", "# Environment", "hm", "wrong"]
    assert request.added == added
    assert all(text in request.everything for text in [*added, "stable", "the ", "prompt"])


def test_recording_keeps_the_bytes_and_no_credential(tmp_path: Path) -> None:
    with Gateway(Script([REPLY]), record_to=tmp_path) as gateway:
        post(gateway, "responses")
    assert (tmp_path / "001.request").read_bytes() == gateway.requests[0].body
    assert "secret" not in (tmp_path / "001.json").read_text()
    assert json.loads((tmp_path / "001.json").read_text())["path"] == "/v1/responses"


def test_by_hand(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"kind": "ApiError", "status": 503}, "prose", REPLY]))
    argv = [sys.executable, "-m", "controller.conformance.loopback", "--script", str(script)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            url = child.stdout.readline().strip().removeprefix("ANTHROPIC_BASE_URL=")
            statuses = []
            for _ in range(4):
                data = json.dumps(body_of("chat")).encode()
                try:
                    with urllib.request.urlopen(url + PATHS["chat"], data, timeout=10) as response:
                        statuses.append(json.loads(response.read())["choices"][0]["message"]["content"])
                except urllib.error.HTTPError as error:
                    statuses.append(error.code)
        finally:
            os.kill(child.pid, signal.SIGINT)
        told = child.communicate(timeout=10)[1]
    assert statuses == [
        503,
        "prose",
        json.dumps(REPLY, ensure_ascii=False),
        json.dumps(REPLY, ensure_ascii=False),
    ]
    assert child.returncode == 0 and "4 /v1/chat/completions" in told


def test_every_kind_of_answer_is_documented_with_its_fields() -> None:
    table = (ROOT / "docs/agents.md").read_text("utf-8").split("| `kind` | fields |")[1].split("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines()[2:]]
    for form, _ in described():
        kind, *names = re.findall(r'"kind": "(\w+)"|"(\w+)": ', form)
        [fields] = [row[2] for row in rows if f"`{kind[0]}`" in row[1]]
        assert all(f"`{name}`" in fields for _, name in names), kind


def test_the_help_shows_a_script_that_works(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(EXAMPLE.rpartition("]")[0] + "]")
    assert read_script(script)[0] == ApiError(429, headers={"retry-after": "60"})
    script.write_text(
        '[{"kind": "Calls", "calls": [{"tool": "", "args": {}}]}, {"kind": "Truncated", "text": "{"}]'
    )
    assert read_script(script) == [Calls([Call("", {})]), Truncated("{")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is not a JSON list of answers"),
        ("[", "is not JSON"),
        ("[3]", "answer 1: an answer is an object or a text, not 3"),
        ('["a", {"kind": "Oops"}]', 'answer 2: there is no kind "Oops"; there are Text, '),
        ('[{"kind": "ApiError", "statuss": 3}]', "ApiError has no 'statuss'; it has status, "),
        ('[{"kind": "ApiError"}]', "ApiError: status: "),
        (
            '[{"kind": "Hang", "where": "here"}]',
            "Hang: where: Input should be 'before_headers' or 'mid_stream'",
        ),
    ],
)
def test_a_script_that_is_wrong_is_refused_with_what_mends_it(text: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(text)
    with pytest.raises(ValueError, match=re.escape(said)):
        read_script(script)
