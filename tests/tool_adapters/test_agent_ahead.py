"""The next step's process, started ahead: what it answers, what the model's side sees of it, and everything that can
become of it before it has its prompt. The real binaries, and a program that plays one."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.reply import AgentReply, ReplyClass
from tests.agents import claude_binary
from tests.agents.recordings import load
from tests.gateway import ApiError, Gateway, Hang, Script, Text
from tests.tool_adapters.agent_world import FINISH, HOSTILE, KEYS, PROMPT, Player, settings
from tests.tool_adapters.test_process import alive
from tool_adapters.agents import ahead
from tool_adapters.agents.claude import Claude
from tool_adapters.descendants import below

R = ReplyClass
MADE = {"claude": (Claude, claude_binary)}
WAYS = {
    "claude": ("claude", {}, KEYS),
    "claude-subscription": ("claude", {"auth": "subscription"}, {"CLAUDE_CODE_OAUTH_TOKEN": "dummy-token"}),
}
Then = Callable[[Any], Awaitable[Any]]


def real(folder: Path, gateway: Gateway, way: str, **config: Any) -> Any:
    kind, more, environ = WAYS[way]
    made, binary = MADE[kind]
    url = gateway.url_anthropic if kind == "claude" else gateway.url_openai
    given = {"prespawn": True, **more, **config}
    agent = made(settings(folder, kind, {**HOSTILE, **environ}, cli=binary(), base_url=url, **given))
    agent.preflight()
    return agent


def with_agent(agent: Any, then: Then) -> Any:
    """What `then` returns; after it and `close` no process and no file of a launch is left."""

    async def go() -> Any:
        try:
            return await then(agent)
        finally:
            await agent.close()

    result = anyio.run(go)
    assert below(os.getpid()) == []
    place = agent.settings.cwd.parent
    assert [*(place / "work").iterdir(), *(place / "spool").iterdir()] == []
    return result


async def asked(agent: Any, times: int = 2, wait: float = 1.0) -> list[AgentReply]:
    replies = []
    for _ in range(times):
        replies.append(await agent.ask(PROMPT))
        await anyio.sleep(wait)
    return replies


async def waiting() -> int:
    """The pid of the one process that waits."""
    with anyio.fail_after(20):
        while not (found := [each.pid for each in below(os.getpid()) if each.parent == os.getpid()]):
            await anyio.sleep(0.02)
    (pid,) = found
    return pid


def meant(body: bytes) -> Any:
    """A request without what differs from process to process, and the name of its folder, which a subscription's
    says behind the prompt, with its wish for no summaries of the thinking."""
    told = json.loads(body.replace(f"launch-{os.getpid()}".encode(), b"launch"))
    told.pop("metadata", None)
    told.get("thinking", {}).pop("display", None)
    return told


@pytest.mark.parametrize(
    ("answer", "expected", "goes_on"),
    [
        (ApiError(401, "authentication_error", "invalid x-api-key"), R.AUTH, False),
        (ApiError(529, "overloaded_error", "Overloaded"), R.TRANSIENT, False),
        (Text("429 usage limit"), R.MISSING, True),
        ({"state_patch": 1}, R.INVALID, True),
    ],
    ids=["401", "529", "prose", "invalid"],
)
@pytest.mark.parametrize("first", [True, False], ids=["cold", "ahead"])
def test_a_failure_is_the_same_failure_and_one_request(
    answer: Any, expected: ReplyClass, goes_on: bool, first: bool, tmp_path: Path
) -> None:
    with Gateway(Script([answer] if first else [FINISH, answer])) as gateway:

        async def then(agent: Any) -> AgentReply:
            replies = await asked(agent, 1 if first else 2)
            assert bool(below(os.getpid())) == goes_on
            return replies[-1]

        reply = with_agent(real(tmp_path, gateway, "claude"), then)
    assert reply.cls is expected and len(gateway.requests) == (1 if first else 2), reply


def test_a_launch_that_hangs_is_ended_after_its_own_time(tmp_path: Path) -> None:
    with Gateway(Script([FINISH, Hang()])) as gateway:
        ok, hung = with_agent(
            real(tmp_path, gateway, "claude", timeout=6.0), lambda agent: asked(agent, wait=7.0)
        )
    assert (ok.cls, hung.cls) == (R.OK, R.HANG) and hung.took > 5.9, hung


@pytest.mark.parametrize("end", ["killed", "stopped", "old", "another key", "another effort"])
def test_what_becomes_of_it_before_costs_nothing(end: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(ahead, "AGE", 0.5 if end == "old" else 600.0)
    with Gateway(Script([FINISH], repeat_last=True)) as gateway:

        async def then(agent: Any) -> AgentReply:
            await asked(agent, 1, wait=0.2)
            pid = await waiting()
            match end:
                case "killed":
                    os.kill(pid, signal.SIGKILL)
                case "stopped":
                    os.kill(pid, signal.SIGSTOP)
                case "another key":
                    agent.settings.environ["ANTHROPIC_API_KEY"] = "another-key"
                case "another effort":
                    agent.settings.config.options["effort"] = "low"
            await anyio.sleep(1.5)
            (reply,) = await asked(agent, 1, wait=0)
            assert not alive(pid) and await waiting() != pid
            return reply

        reply = with_agent(real(tmp_path, gateway, "claude"), then)
    assert (reply.cls, reply.value, reply.requests) == (R.OK, FINISH, 1)
    assert bool(reply.notices) == (not end.startswith("another"))
    assert len(gateway.requests) == 2
    if end == "another key":
        assert gateway.requests[1].headers["x-api-key"] == "another-key"
    if end == "another effort":
        assert gateway.requests[1].parsed["output_config"]["effort"] == "low"


# ---- a program that plays the CLI -------------------------------------------------------------------------
def played(folder: Path, kind: str, early: str, **config: Any) -> Any:
    """An agent whose CLI does `early` before it reads, where it is the first that was started ahead."""
    case = {"claude": "valid"}[kind]
    player = Player(folder, load(kind)[case].stdout)
    count = f"echo start >> {folder}/starts; [ $(wc -l < {folder}/starts) = 2 ] && {{ {early}; }}\n"
    player.path.write_text(player.path.read_text().replace("cat > ", f"{count}cat > ", 1))
    return MADE[kind][0](settings(folder, kind, cli=player.path, prespawn=True, **config))


EARLY = {
    "nothing": ":",
    "garbage": "echo garbage",
    "half a line": """printf '{"type": '""",
    "a reply": "cat FOLDER/player/out",
    "an end": "exit 0",
    "a failure": "echo oh no >&2; exit 3",
    "a flood": "yes",
    "a kill": "kill -KILL $$",
}


@pytest.mark.parametrize("early", EARLY)
def test_what_it_does_before_its_prompt(early: str, tmp_path: Path) -> None:
    agent = played(tmp_path, "claude", EARLY[early].replace("FOLDER", str(tmp_path)))
    replies = with_agent(agent, lambda agent: asked(agent, 3))
    assert [each.cls for each in replies] == [R.OK] * 3
    assert [bool(each.notices) for each in replies] == [False, early != "nothing", False]
    assert (tmp_path / "starts").read_text().count("start") == (4 if early == "nothing" else 5)


def test_one_that_takes_its_prompt_and_never_answers_hangs(tmp_path: Path) -> None:
    replies = with_agent(played(tmp_path, "claude", "exec sleep 60", timeout=2.0), asked)
    assert [each.cls for each in replies] == [R.OK, R.HANG]


def test_without_it_nothing_is_started_ahead(tmp_path: Path) -> None:
    agent = Claude(settings(tmp_path, "claude", cli=Player(tmp_path).path))

    async def then() -> None:
        await agent.ask(PROMPT)
        assert below(os.getpid()) == []

    anyio.run(then)
    assert [each.name for each in (tmp_path / "work").iterdir()] == ["launch"]


def test_it_does_not_explore(tmp_path: Path) -> None:
    made = settings(
        tmp_path, "claude", cli=Player(tmp_path).path, prespawn=True, explore="read-only", worktree=tmp_path
    )
    assert any("prespawn" in notice for notice in Claude(made).preflight())
