"""The gateway with the real binaries: one request per step, and a policy sees exactly what was rendered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.conformance.loopback.recorded import Json
from tests.agents.cases import SCHEMA, VALID
from tests.agents.lean import Finished, chatgpt_login, chatgpt_tokens, run_claude, run_codex
from tests.gateway import Answer, Gateway, Recorded, Script, tokens

Way = Callable[..., Finished]
SYSTEM = "# Procedure\n\nKeep “quotes”, \\backslashes and <tags> as they are.\n"
PROMPT = '\n# State\n{"items": {}}\n\n# Observation\n@/etc/hostname /cost `x`\n\tend\n'

WAYS: dict[str, tuple[Way, str]] = {
    "claude-api-key": (run_claude, "api-key"),
    "claude-subscription": (run_claude, "subscription"),
    "codex-api-key": (run_codex, "api-key"),
    "codex-subscription": (run_codex, "subscription"),
}


def reply_of(finished: Finished) -> Json:
    """The structured reply in either CLI's output."""
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    if "structured_output" in lines[-1]:
        return dict(lines[-1]["structured_output"])
    messages = [e["item"]["text"] for e in lines if e.get("item", {}).get("type") == "agent_message"]
    return dict(json.loads(messages[-1]))


def usage_of(finished: Finished) -> tuple[int, int]:
    """(input, output) tokens in either CLI's output."""
    usage = json.loads(finished.stdout.splitlines()[-1])["usage"]
    return usage["input_tokens"], usage["output_tokens"]


@pytest.mark.parametrize("way", WAYS)
def test_a_valid_reply_takes_one_request(way: str, tmp_path: Path) -> None:
    """For Claude this is with `--max-turns 1`, no structured-output retry, no API retry, no fallback."""
    run, auth = WAYS[way]
    seen: list[tuple[str, Json]] = []

    def policy(prompt: str, schema: Json, request: Recorded) -> Answer:
        seen.append((prompt, schema))
        return VALID

    with Gateway(policy) as gateway:
        done = run(tmp_path, gateway.url, PROMPT, SCHEMA, system=SYSTEM, auth=auth)
    assert (done.code, reply_of(done), len(gateway.asked)) == (0, VALID, 1), done
    request = gateway.asked[0]
    assert seen == [(SYSTEM.strip() + "\n\n" + PROMPT.lstrip("\n"), SCHEMA)]
    assert request.user_text == PROMPT
    assert usage_of(done) == (tokens(len(request.body)), tokens(len(json.dumps(VALID))))
    assert [tool["name"] for tool in request.tools] == (["StructuredOutput"] if "claude" in way else [])


@pytest.mark.parametrize("way", WAYS)
def test_nothing_else_is_contacted(way: str, tmp_path: Path) -> None:
    """Every other host would be asked for through the proxy. Only a ChatGPT login has side requests, to
    its base."""
    run, auth = WAYS[way]
    with Gateway(Script([VALID])) as gateway:
        proxy = {"HTTPS_PROXY": gateway.url, "HTTP_PROXY": gateway.url, "NO_PROXY": "127.0.0.1"}
        done = run(tmp_path, gateway.url, PROMPT, SCHEMA, auth=auth, env=proxy)
    assert done.code == 0, done
    others = {(r.method, r.path) for r in gateway.requests if r.api == "other"}
    account = {("GET", "/backend-api/wham/accounts/check"), ("GET", "/backend-api/wham/settings/user")}
    assert others <= (account if way == "codex-subscription" else set())


def test_credentials_go_where_they_belong(tmp_path: Path) -> None:
    sent: dict[str, dict[str, str]] = {}
    for way, (run, auth) in WAYS.items():
        with Gateway(Script([VALID])) as gateway:
            run(tmp_path / way, gateway.url, PROMPT, SCHEMA, auth=auth)
        headers = gateway.asked[0].headers
        sent[way] = {
            k: headers[k] for k in ("authorization", "x-api-key", "chatgpt-account-id") if k in headers
        }
    login = chatgpt_login()["tokens"]
    assert sent == {
        "claude-api-key": {"x-api-key": "dummy-key-for-loopback"},
        "claude-subscription": {"authorization": "Bearer dummy-key-for-loopback"},
        "codex-api-key": {"authorization": "Bearer dummy-key-for-loopback"},
        "codex-subscription": {
            "authorization": f"Bearer {login['access_token']}",
            "chatgpt-account-id": login["account_id"],
        },
    }


def test_what_the_cli_adds_is_kept_apart(tmp_path: Path) -> None:
    added = {}
    for way, (run, auth) in WAYS.items():
        with Gateway(Script([VALID])) as gateway:
            run(tmp_path / way, gateway.url, PROMPT, SCHEMA, auth=auth)
        added[way] = [text.splitlines()[0] for text in gateway.asked[0].added]
    agent = "You are a Claude agent, built on Anthropic's Claude Agent SDK."
    assert added == {
        "claude-api-key": [agent],
        "claude-subscription": [agent, "# Environment"],
        "codex-api-key": [],
        "codex-subscription": [],
    }


@pytest.mark.parametrize("expires", [1, 4_000_000_000])
def test_refreshed_tokens_are_written_to_codex_home(expires: int, tmp_path: Path) -> None:
    """The refresh token rotates: whoever does not write the new one back has logged the user out."""
    with Gateway(Script([VALID]), routes={"/oauth/token": chatgpt_tokens("refresh-2")}) as gateway:
        login = chatgpt_login(expires=expires)
        done = run_codex(tmp_path, gateway.url, PROMPT, SCHEMA, auth="subscription", login=login)
    assert (done.code, reply_of(done)) == (0, VALID), done
    kept = tmp_path / "home" / "auth.json"
    now = json.loads(kept.read_text())
    refreshed = expires == 1
    assert now["tokens"]["refresh_token"] == ("refresh-2" if refreshed else "refresh-1")
    assert (now == login) is not refreshed
    assert kept.stat().st_mode & 0o077 == 0
