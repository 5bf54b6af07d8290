"""The ChatGPT login of a user, lent to Codex: copied, refreshed, brought back."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from contracts.reply import AgentReply, ReplyClass
from tests.agents import codex_binary
from tests.agents.lean import chatgpt_login, chatgpt_tokens
from tests.gateway import Gateway, Script
from tests.tool_adapters.agent_world import FINISH, KEYS, PROMPT, Player, ask, login, settings
from tool_adapters.agents import codex_home
from tool_adapters.agents.codex import Codex

R = ReplyClass
ANSWERED = """{"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "{}"}}
{"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}}
"""
REFRESH = """
sed -e 's/refresh-1/refresh-2/' -e 's/2026-11-30T08:00/2026-11-30T08:30/' "$CODEX_HOME/auth.json" > "$CODEX_HOME/new"
mv "$CODEX_HOME/new" "$CODEX_HOME/auth.json"
"""


def with_login(folder: Path, end: str = "exit 0") -> tuple[Player, Path, AgentReply]:
    (folder / "user").mkdir(parents=True)
    source = folder / "user/auth.json"
    login(source)
    player = Player(folder, ANSWERED, end=f"cp $CODEX_HOME/auth.json {folder}/lent\n{end}")
    made = settings(folder, "codex", cli=player.path, auth="subscription", auth_file=str(source))
    agent = Codex(made)
    assert agent.preflight() == ["agent mine: OPENAI_API_KEY is set but not passed on: auth is subscription"]
    return player, source, ask(agent)


def test_login_is_lent_without_the_key_beside_it(tmp_path: Path) -> None:
    player, source, reply = with_login(tmp_path)
    lent, own = json.loads((tmp_path / "lent").read_text()), json.loads(source.read_text())
    assert reply.cls is R.OK and lent["tokens"] == own["tokens"]
    assert lent["OPENAI_API_KEY"] is None and own["OPENAI_API_KEY"] == "sk-beside"
    assert (tmp_path / "lent").stat().st_mode & 0o077 == 0
    assert "dummy-key" not in player.env.values()
    assert not list((tmp_path / "home").rglob("auth.json")) and [
        path.name for path in source.parent.iterdir()
    ] == ["auth.json"]


def test_refreshed_tokens_are_written_back(tmp_path: Path) -> None:
    _, source, reply = with_login(tmp_path, REFRESH)
    own = json.loads(source.read_text())
    assert reply.cls is R.OK and own["tokens"]["refresh_token"] == "refresh-2"
    assert own["last_refresh"].startswith("2026-11-30T08:30") and own["OPENAI_API_KEY"] == "sk-beside"
    assert source.stat().st_mode & 0o077 == 0 and [path.name for path in source.parent.iterdir()] == [
        "auth.json"
    ]


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_refreshed_tokens_are_written_back_when_the_launch(how: str, tmp_path: Path) -> None:
    _, source, _ = with_login(tmp_path, REFRESH + {"fails": "exit 1", "hangs": "kill -TERM $$"}[how])
    assert json.loads(source.read_text())["tokens"]["refresh_token"] == "refresh-2"


def test_refreshed_tokens_are_written_back_when_the_run_is_interrupted(tmp_path: Path) -> None:
    source = tmp_path / "auth.json"
    login(source)
    player = Player(tmp_path, end=f"{REFRESH}\ntouch {tmp_path}/ready\nsleep 60")
    agent = Codex(settings(tmp_path, "codex", cli=player.path, auth="subscription", auth_file=str(source)))

    async def interrupted() -> bool:
        async with anyio.create_task_group() as group:
            group.start_soon(agent.ask, PROMPT)
            while not (tmp_path / "ready").exists():
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        return group.cancel_scope.cancel_called

    assert anyio.run(interrupted)
    assert json.loads(source.read_text())["tokens"]["refresh_token"] == "refresh-2"
    assert not (tmp_path / "home/codex/auth.json").exists()


def test_a_newer_login_of_the_user_is_left_alone(tmp_path: Path) -> None:
    newer = f"sed -i.bak -e s/refresh-1/refresh-9/ -e s/T08:00/T08:35/ {tmp_path}/user/auth.json\n"
    _, source, _ = with_login(tmp_path, REFRESH + newer)
    assert json.loads(source.read_text())["tokens"]["refresh_token"] == "refresh-9"


def test_another_account_is_left_alone(tmp_path: Path) -> None:
    other = f"sed -i.bak -e s/account-1/account-2/ {tmp_path}/user/auth.json; rm {tmp_path}/user/*.bak"
    _, source, _ = with_login(tmp_path, REFRESH + other)
    assert json.loads(source.read_text())["tokens"]["refresh_token"] == "refresh-1"


def test_a_logout_meanwhile_is_kept(tmp_path: Path) -> None:
    _, source, reply = with_login(tmp_path, REFRESH + f"rm {tmp_path}/user/auth.json")
    assert reply.cls is R.OK and not source.exists()


def test_tokens_refreshed_before_the_controller_was_killed_are_not_lost(tmp_path: Path) -> None:
    left = chatgpt_login() | {"tokens": chatgpt_tokens("refresh-2") | {"account_id": "account-1"}}
    (tmp_path / "home/codex").mkdir(parents=True)
    (tmp_path / "home/codex/auth.json").write_text(
        json.dumps(left | {"last_refresh": "2026-11-30T08:30:00.5Z"})
    )
    _, source, _ = with_login(tmp_path)
    assert json.loads(source.read_text())["tokens"]["refresh_token"] == "refresh-2"
    assert json.loads((tmp_path / "lent").read_text())["tokens"]["refresh_token"] == "refresh-2"


def test_a_login_that_cannot_be_written_is_kept_and_lent_again(tmp_path: Path, monkeypatch) -> None:
    write = codex_home.replace

    def read_only(path: Path, data: bytes, mode: int) -> None:
        if path.parent.name == "user":
            raise PermissionError(30, "Read-only file system")
        write(path, data, mode)

    monkeypatch.setattr(codex_home, "replace", read_only)  # root writes everywhere
    player, source, reply = with_login(tmp_path, REFRESH)
    assert reply.cls is R.OK and "refresh-1" in source.read_text()
    ask(Codex(settings(tmp_path, "codex", cli=player.path, auth="subscription", auth_file=str(source))))
    assert json.loads((tmp_path / "lent").read_text())["tokens"]["refresh_token"] == "refresh-2"


# ---- the real binary -------------------------------------------------------------------------------------
def test_real_with_a_login_bills_no_key_and_asks_nobody_else(tmp_path: Path) -> None:
    source = tmp_path / "auth.json"
    own = login(source)
    reply_value = {"state_patch": [], "action": FINISH["action"]}
    with Gateway(Script([reply_value])) as gateway:
        environ = {**KEYS, "HTTPS_PROXY": gateway.url_anthropic, "NO_PROXY": "127.0.0.1"}
        config = {"auth": "subscription", "auth_file": str(source), "base_url": gateway.url_openai}
        reply = ask(Codex(settings(tmp_path, "codex", environ, cli=codex_binary(), **config)))
    assert (reply.cls, reply.value) == (R.OK, reply_value), reply
    (request,) = gateway.asked
    assert request.headers["authorization"] == f"Bearer {own['tokens']['access_token']}"
    assert json.loads(source.read_text()) == own
    assert not any(b"sk-beside" in each.body for each in gateway.requests)
    assert not [each.path for each in gateway.requests if each.method == "CONNECT"]


def test_real_refreshes_and_the_tokens_come_back(tmp_path: Path) -> None:
    source = tmp_path / "auth.json"
    source.write_text(json.dumps(chatgpt_login(expires=1)))
    reply_value = {"state_patch": [], "action": FINISH["action"]}
    with Gateway(Script([reply_value]), routes={"/oauth/token": chatgpt_tokens("refresh-2")}) as gateway:
        wrapper = tmp_path / "codex"
        override = f"CODEX_REFRESH_TOKEN_URL_OVERRIDE={gateway.url_anthropic}/oauth/token"
        wrapper.write_text(f'#!/bin/sh\n{override} exec {codex_binary()} "$@"\n')
        wrapper.chmod(0o755)
        config = {"auth": "subscription", "auth_file": str(source), "base_url": gateway.url_openai}
        reply = ask(Codex(settings(tmp_path, "codex", {}, cli=wrapper, **config)))
    assert reply.cls is R.OK, reply
    assert json.loads(source.read_text())["tokens"]["refresh_token"] == "refresh-2"
    assert "refresh-2" in source.read_text() and source.stat().st_mode & 0o077 == 0
