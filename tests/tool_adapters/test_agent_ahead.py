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
from tests.agents.recordings import load
from tests.agents.ways import some
from tests.gateway import ApiError, Gateway, Hang, Script, Text
from tests.tool_adapters.agent_world import FINISH, PROMPT, Player, settings
from tests.tool_adapters.real_agents import done, real
from tests.tool_adapters.test_process import alive
from tool_adapters.agents import ahead
from tool_adapters.agents.claude import Claude
from tool_adapters.agents.codex import Codex
from tool_adapters.descendants import Process, below

R = ReplyClass
_EARLIER: set[int] = set()


@pytest.fixture(autouse=True)
def _what_runs_already() -> None:
    """Tests that share this process may have left one of theirs: it is none of ours."""
    _EARLIER.clear()
    _EARLIER.update(each.pid for each in below(os.getpid()))


def ours() -> list[Process]:
    """What was started since the test began, and lives."""
    return [each for each in below(os.getpid()) if each.pid not in _EARLIER]


WAYS = ("claude", "claude subscription", "codex", "codex subscription", "pi")
Then = Callable[[Any], Awaitable[Any]]


def with_agent(agent: Any, then: Then) -> Any:
    """What `then` returns; after it and `close` no process and no file of a launch is left."""

    async def go() -> Any:
        try:
            return await then(agent)
        finally:
            await agent.close()

    result = anyio.run(go)
    assert ours() == []
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
        while not (found := [each.pid for each in ours() if each.parent == os.getpid()]):
            await anyio.sleep(0.02)
    (pid,) = found
    return pid


def meant(body: bytes) -> Any:
    """A request without what differs from process to process: ids, and the name of a folder."""
    told = json.loads(body.replace(f"launch-{os.getpid()}".encode(), b"launch"))
    for name in ("metadata", "client_metadata", "prompt_cache_key"):
        told.pop(name, None)
    for item in told.get("input", ()):
        item.pop("id", None)
    return told


@pytest.mark.parametrize("way", some(WAYS, ("claude", "codex", "pi")))
def test_one_process_and_one_request_a_step_and_the_same_wire(way: str, tmp_path: Path) -> None:
    with Gateway(Script([done(way)], repeat_last=True)) as gateway:
        pids: list[int] = []
        counts: list[int] = []

        async def then(agent: Any) -> list[AgentReply]:
            replies = []
            for _ in range(3):
                replies += await asked(agent, 1, wait=1.5)
                pids.append(await waiting())
                counts.append(len(gateway.asked))
            return replies

        replies = with_agent(real(tmp_path, gateway, way), then)
        wanted = (R.OK, done(way), replies[0].requests, ())
        assert [(each.cls, each.value, each.requests, each.notices) for each in replies] == [wanted] * 3
        assert counts == [1, 2, 3] and len(set(pids)) == 3, "none asks before its prompt, none is used twice"
        *mine, plain = (
            *gateway.asked,
            anyio.run(plainly, real(tmp_path, gateway, way, prespawn=False), gateway),
        )
        told = [meant(each.body) for each in mine]
        assert told == [meant(plain.body)] * 3
        for reply, request in zip(replies, mine, strict=True):
            assert reply.usage.input == request.usage["input_tokens"]


async def plainly(agent: Any, gateway: Gateway) -> Any:
    """The request of a process that is started as ever."""
    assert (await agent.ask(PROMPT)).cls is R.OK
    return gateway.asked[-1]


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
            assert bool(ours()) == goes_on
            return replies[-1]

        reply = with_agent(real(tmp_path, gateway, "claude"), then)
    assert reply.cls is expected and len(gateway.requests) == (1 if first else 2), reply


def test_a_launch_that_hangs_is_ended_after_its_own_time(tmp_path: Path) -> None:
    with Gateway(Script([FINISH, Hang()])) as gateway:
        ok, hung = with_agent(
            real(tmp_path, gateway, "claude", timeout=6.0), lambda agent: asked(agent, wait=7.0)
        )
    assert (ok.cls, hung.cls) == (R.OK, R.HANG) and hung.took > 5.9, hung


ENDS = [
    *((way, end) for way in ("claude", "codex subscription", "pi") for end in ("killed", "stopped")),
    ("claude", "old"),
    ("claude", "another key"),
    ("claude", "another effort"),
    ("codex", "another effort"),
]


@pytest.mark.parametrize(
    ("way", "end"),
    some(ENDS, [each for each in ENDS if each[0] == "claude"]),
)
def test_what_becomes_of_it_before_costs_nothing(
    way: str, end: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(ahead, "AGE", 0.5 if end == "old" else 600.0)
    with Gateway(Script([done(way)], repeat_last=True)) as gateway:

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
                    agent.settings.config.options["effort"] = "high"
            await anyio.sleep(1.5)
            (reply,) = await asked(agent, 1, wait=0)
            assert not alive(pid) and await waiting() != pid
            return reply

        reply = with_agent(real(tmp_path, gateway, way), then)
    assert (reply.cls, reply.value) == (R.OK, done(way))
    assert bool(reply.notices) == (not end.startswith("another"))
    first, second = gateway.asked
    if end == "another key":
        assert second.headers["x-api-key"] == "another-key"
    if end == "another effort":
        where = "reasoning" if way == "codex" else "output_config"
        assert first.parsed[where].get("effort") != "high"
        assert second.parsed[where]["effort"] == "high"


# ---- a program that plays the CLI -------------------------------------------------------------------------
def played(folder: Path, kind: str, early: str, end: str = "exit 0", **config: Any) -> Any:
    """An agent whose CLI does `early` before it reads, where it is the first that was started ahead."""
    player = Player(folder, load(kind)["valid"].stdout, end=end)
    count = f"echo start >> {folder}/starts; [ $(wc -l < {folder}/starts) = 2 ] && {{ {early}; }}\n"
    player.path.write_text(player.path.read_text().replace("cat > ", f"{count}cat > ", 1))
    made = {"claude": Claude, "codex": Codex}[kind]
    return made(settings(folder, kind, cli=player.path, prespawn=True, **config))


RECORDED = (
    "valid",
    "401",
    "500",
    "invalid_reply",
    "refusal",
    "no_reply",
    "cut_before_answer",
    "hang_mid_stream",
)


@pytest.mark.parametrize("kind", some(("claude", "codex"), ("claude",)))
@pytest.mark.parametrize("case", RECORDED)
def test_a_recorded_end_is_judged_as_ever(case: str, kind: str, tmp_path: Path) -> None:
    recorded = load(kind)[case]
    agent = played(tmp_path, kind, ":", end=f"exit $(cat {tmp_path}/player/code)")
    player = tmp_path / "player"
    (player / "code").write_text("0")

    async def then(agent: Any) -> list[AgentReply]:
        await asked(agent, 1)
        (player / "out").write_text(recorded.stdout)
        (player / "err").write_text(recorded.stderr)
        (player / "code").write_text(str(recorded.code % 256))
        replies = await asked(agent, 1, wait=0)
        await agent.close()
        return [*replies, await agent.ask(PROMPT)]

    ahead, cold = with_agent(agent, then)
    assert ahead.notices == () and ahead.ahead and cold.ahead == 0.0
    differs = {"took", "survivors", "ahead"}
    assert ahead.model_dump(exclude=differs) == cold.model_dump(exclude=differs)


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


@pytest.mark.parametrize("kind", some(("claude", "codex"), ("claude",)))
@pytest.mark.parametrize("early", EARLY)
def test_what_it_does_before_its_prompt(early: str, kind: str, tmp_path: Path) -> None:
    agent = played(tmp_path, kind, EARLY[early].replace("FOLDER", str(tmp_path)))
    replies = with_agent(agent, lambda agent: asked(agent, 3))
    assert [each.cls for each in replies] == [R.OK] * 3
    assert [bool(each.notices) for each in replies] == [False, early != "nothing", False]
    assert [bool(each.ahead) for each in replies] == [False, early == "nothing", True]
    assert (tmp_path / "starts").read_text().count("start") == (4 if early == "nothing" else 5)


def test_one_that_takes_its_prompt_and_never_answers_hangs(tmp_path: Path) -> None:
    replies = with_agent(played(tmp_path, "claude", "exec sleep 60", timeout=2.0), asked)
    assert [each.cls for each in replies] == [R.OK, R.HANG]


def test_without_it_nothing_is_started_ahead(tmp_path: Path) -> None:
    agent = Claude(settings(tmp_path, "claude", cli=Player(tmp_path).path))

    async def then() -> None:
        assert (await agent.ask(PROMPT)).ahead is None
        assert ours() == []

    anyio.run(then)
    assert [each.name for each in (tmp_path / "work").iterdir()] == ["launch"]


def test_it_does_not_explore(tmp_path: Path) -> None:
    made = settings(
        tmp_path, "claude", cli=Player(tmp_path).path, prespawn=True, explore="read-only", worktree=tmp_path
    )
    assert any("prespawn" in notice for notice in Claude(made).preflight())
