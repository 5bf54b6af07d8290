"""Kind openai-compatible: one request in a process of its own, its form, its bounds, and each way of failing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import ConfigError
from contracts.reply import AgentReply, ReplyClass
from tests.gateway import (
    Answer,
    ApiError,
    Cut,
    Gateway,
    Hang,
    Invalid,
    NoCall,
    Recorded,
    Refusal,
    Script,
    Text,
    Truncated,
)
from tests.tool_adapters.agent_world import DIALECTS, FINISH, PROMPT, ask, settings
from tool_adapters.agents.chat import Chat
from tool_adapters.agents.gbnf import grammar

R = ReplyClass
GOOD = json.dumps(FINISH)


def chat(
    folder: Path, answer: Answer, environ: dict[str, str] | None = None, **config: Any
) -> tuple[AgentReply, list[Recorded]]:
    """The reply and the requests of one launch."""
    with Gateway(Script([answer], repeat_last=True)) as gateway:
        url = config.pop("base_url", gateway.url_openai)
        made = settings(folder, "openai-compatible", environ or {}, base_url=url, model="small", **config)
        agent = Chat(made)
        assert agent.preflight() == []
        return ask(agent), gateway.requests


def test_one_request_in_the_form_of_the_reply(tmp_path: Path) -> None:
    reply, requests = chat(
        tmp_path, FINISH, options={"temperature": 0.2}, price={"input": 1, "cached": 1, "output": 2}
    )
    assert (reply.cls, reply.value, reply.requests) == (R.OK, FINISH, 1), reply
    (request,) = requests
    assert (request.system_text, request.user_text) == (PROMPT.stable, PROMPT.volatile)
    assert request.schema == DIALECTS["merge"].schema and not request.streaming
    assert "authorization" not in request.headers
    body = request.parsed
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("small", 4096, 0.2)
    assert reply.usage.usd_micro == reply.usage.input + 2 * reply.usage.output


def test_the_form_as_other_servers_take_it(tmp_path: Path) -> None:
    _, (one,) = chat(
        tmp_path / "a", FINISH, options={"decoding": "grammar", "longest": 80, "max_tokens": 300}
    )
    assert one.parsed["grammar"] == grammar(DIALECTS["merge"].schema, longest=80)
    assert "response_format" not in one.parsed and one.parsed["max_tokens"] == 300
    _, (two,) = chat(tmp_path / "b", FINISH, options={"decoding": "vllm"})
    assert two.parsed["structured_outputs"] == {
        "json": DIALECTS["merge"].schema,
        "disable_any_whitespace": True,
    }


def test_a_key_goes_where_it_belongs(tmp_path: Path) -> None:
    environ = {"MY_KEY": "dummy-key", "OPENAI_API_KEY": "billed"}
    reply, (request,) = chat(tmp_path, FINISH, environ, api_key_env="MY_KEY")
    assert reply.cls is R.OK and request.headers["authorization"] == "Bearer dummy-key"
    assert "billed" not in str(request.headers)
    files = [path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert files and not any("dummy-key" in text for text in files)


@pytest.mark.parametrize(
    ("answer", "expected", "said"),
    [
        (Text(f"```json\n{GOOD}\n```"), R.OK, ""),
        (Text(f"Sure! {GOOD}"), R.INVALID, "not one JSON object and nothing else"),
        (Text("All done."), R.MISSING, "not one JSON object"),
        (Invalid(GOOD[:-1]), R.INVALID, "not one JSON object"),
        (Truncated(GOOD), R.INVALID, "max_tokens"),
        (NoCall(), R.MISSING, "nothing"),
        (Refusal("no"), R.REFUSAL, "no"),
        (
            ApiError(401, "invalid_request_error", "no key", "invalid_api_key"),
            R.AUTH,
            "write `api_key_env: NAME`",
        ),
        (
            ApiError(404, "invalid_request_error", "The model `small` does not exist"),
            R.MISCONFIGURED,
            "small",
        ),
        (ApiError(404, raw=b"<html>nothing here</html>"), R.MISCONFIGURED, "nothing here"),
        (ApiError(400, "exceed_context_size_error", "the request exceeds it"), R.CONTEXT_TOO_LONG, "exceeds"),
        (ApiError(400, "invalid_request_error", "Failed to parse grammar"), R.SCHEMA_REFUSED, "grammar"),
        (
            ApiError(429, "tokens", "Rate limit reached", headers={"retry-after": "7"}),
            R.LIMIT_WITH_RESET,
            "Retry after 7 s",
        ),
        (ApiError(503, "unavailable_error", "Loading model"), R.TRANSIENT, "Loading model"),
        (ApiError(302, raw=b"", headers={"location": "http://127.0.0.1:1/v1"}), R.UNKNOWN, ""),
        (ApiError(200, raw=b"{}"), R.MISCONFIGURED, "is `base_url` that of a chat completions API?"),
        (ApiError(200, raw=b"<html>"), R.MISCONFIGURED, "is `base_url` that of a chat completions API?"),
        (Cut(50, FINISH), R.TRANSIENT, "IncompleteRead"),
    ],
    ids=lambda value: str(value)[:30] if not isinstance(value, str) else "",
)
def test_each_way_of_failing(answer: Answer, expected: ReplyClass, said: str, tmp_path: Path) -> None:
    reply, requests = chat(tmp_path, answer)
    assert reply.cls is expected, reply
    assert said in reply.message and len(requests) == 1


def test_nothing_listens(tmp_path: Path) -> None:
    reply, _ = chat(tmp_path, FINISH, base_url="http://127.0.0.1:9/v1")
    assert reply.cls is R.UNAVAILABLE and "refused" in reply.message


def test_a_server_that_is_silent(tmp_path: Path) -> None:
    reply, requests = chat(tmp_path, Hang(), timeout=1.5)
    assert reply.cls is R.HANG and len(requests) == 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model": None}, "which model is not said"),
        ({"base_url": None}, "needs `base_url:`"),
        ({"options": {"decoding": "magic"}}, "unknown `decoding: magic`"),
        ({"options": {"max_tokens": "many"}}, "`max_tokens` is a number from 1"),
        ({"options": {"longest": 0}}, "`longest` is a number from 1"),
        ({"options": {"cli": "x"}}, "unknown option 'cli'"),
        ({"api_key_env": "NOT_SET"}, "NOT_SET is not set"),
        ({"auth": "gateway"}, "which variable holds the key is not said"),
        ({"explore": "read-only"}, "explore"),
    ],
)
def test_preflight_refuses(config: dict, said: str, tmp_path: Path) -> None:
    given = {"base_url": "http://127.0.0.1:9/v1", "model": "small", **config}
    with pytest.raises(ConfigError, match=re.escape(said)):
        Chat(settings(tmp_path, "openai-compatible", {}, **given)).preflight()


def test_a_form_that_no_grammar_can_say_is_refused_before_a_launch(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(?=x)"}},
        "required": ["a"],
    }
    made = settings(tmp_path, "openai-compatible", {}, base_url="http://127.0.0.1:9/v1", model="small")
    made = replace(made, dialect=replace(made.dialect, schema=schema))
    made = replace(made, config=made.config.model_copy(update={"options": {"decoding": "grammar"}}))
    with pytest.raises(ConfigError, match="/a: pattern"):
        Chat(made).preflight()
