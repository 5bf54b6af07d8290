"""Whole runs by real binaries whose next process is started ahead: they come to the same, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.base import JsonObject
from contracts.outcomes import Outcome
from contracts.queue import Decision
from contracts.reply import AgentReply, Prompt, ReplyClass, Usage
from controller.surfaces.explain import explain
from controller.surfaces.log import log
from tests.agents.binaries import installed
from tests.agents.ways import some
from tests.controller.test_queue import A, B, made, store
from tests.controller.test_step import go
from tests.controller.world import ScriptedAgent
from tests.controller.world import finish as finishes
from tests.gateway import Gateway
from tests.suites.crash.agents import Model, prepared
from tests.suites.crash.stage import SHIP, Template, Victims, Whole, World, finish, living

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left alive is known by /proc")
SLOW = f"sleep 5; {SHIP}"
WAITING = "child ship: started 1"  # a command at work: the next step's process waits


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    made = Victims()
    yield made
    made.close()


@pytest.fixture
def worlds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Template, Template, Gateway]]:
    """A world whose processes are started as ever, one whose are started ahead, and who answers them."""
    agent, model = str(request.param), Model()
    with Gateway(model) as gateway:
        cold = prepared(tmp_path / "cold", agent, gateway.url)
        model.task = cold.folder / "repo/task.yaml"
        yield cold, prepared(tmp_path / "ahead", agent, gateway.url, ahead=True, ship=SLOW), gateway


def closings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """After how many launches the agent is told to end what waits: filled while a run goes on."""
    found: list[int] = []

    async def close(agent: ScriptedAgent) -> None:
        found.append(len(agent.prompts))

    monkeypatch.setattr(ScriptedAgent, "close", close)
    return found


def test_none_waits_while_an_approved_step_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tidy, found = (
        made(tmp_path, '{boundaries: [{paths: ["src/a*"]}], on_blocked: continue}'),
        closings(monkeypatch),
    )

    async def second(_: Prompt) -> JsonObject:
        record = await store(tidy).load("tidy")
        assert record is not None
        (entry,) = record.queue
        word = Decision(entry=entry.id, hash=entry.hash, yes=True, by="ana", at=time.time())
        await store(tidy).post("tidy", word)
        return B

    assert go(tidy, [A, second, finishes()]).outcome is Outcome.completed
    assert found == [2, 3, 3], "before the step that was approved, when it is over, and at the end"


def test_none_waits_while_the_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tidy, found = made(tmp_path, "{}"), closings(monkeypatch)

    def limited(_: Prompt) -> AgentReply:
        return AgentReply(cls=ReplyClass.LIMIT_WITH_RESET, message="later", not_before=time.time() + 2)

    assert go(tidy, [limited, A, B, finishes()], patience=60.0).outcome is Outcome.completed
    assert found == [1, 4, 4], "in the wait, when it is over, and at the end"


def test_log_and_explain_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tidy = made(tmp_path, "{}")
    usage = Usage(input=1, cached=0, output=1, usd_micro=1)

    def reply(value: JsonObject, ahead: float | None) -> AgentReply:
        return AgentReply(cls=ReplyClass.OK, value=value, usage=usage, ahead=ahead)

    assert go(tidy, [reply(A, None), reply(B, 0.0), reply(finishes(), 3.25)]).outcome is Outcome.completed
    assert log(tidy.file, None, as_json=False, verify=False) == 0
    steps = [line for line in capsys.readouterr().out.splitlines() if "  step     " in line]
    assert [line.endswith("started ahead") for line in steps] == [False, False, True]
    told = {
        1: "",
        2: "process: started for this prompt",
        3: "process: started ahead, 3.2 s before its prompt",
    }
    for step, said in told.items():
        assert explain(tidy.file, step, None, as_json=False) == 0
        out = capsys.readouterr().out
        assert said in out and ("process: " in out) == bool(said) and "took: launch" in out


def whole(world: World, victims: Victims) -> Whole:
    assert victims.run(world.call("run")) == 0, world.said()
    assert living(world.folder) == []
    return world.whole()


@pytest.mark.parametrize("worlds", some(("claude", "codex", "pi"), ("claude",)), indirect=True)
def test_a_run_comes_to_the_same(
    worlds: tuple[Template, Template, Gateway], victims: Victims, tmp_path: Path
) -> None:
    cold, ahead, gateway = worlds
    expected = whole(cold.world(tmp_path / "one"), victims)
    before, world = len(gateway.requests), ahead.world(tmp_path / "two")
    log = world.folder / "log"
    assert victims.run(world.call("run", log=str(log))) == 0, world.said()
    assert world.faults(expected) == []
    launches = len(gateway.requests) - before
    assert world.starts() == launches == before
    agent = next(iter(ahead.agents))
    processes = log.read_text().count(f"child {agent}: started ")
    others = 0 if agent == "claude" else 1  # Codex asked for its models, Node for its version
    assert processes == launches + 1 + others, "each took one prompt; the last had none"


@pytest.mark.parametrize(
    ("worlds", "words", "stopped"),
    [
        pytest.param("claude", ("run",), False, marks=pytest.mark.binaries),
        ("claude", ("run",), True),
        pytest.param("claude", ("clean",), True, marks=pytest.mark.binaries),
        pytest.param("codex", ("run",), True, marks=pytest.mark.binaries),
    ],
    ids=["claude waits", "claude is stopped", "claude is stopped, clean", "codex is stopped"],
    indirect=["worlds"],
)
def test_a_killed_controller_leaves_none(
    worlds: tuple[Template, Template, Gateway],
    victims: Victims,
    tmp_path: Path,
    words: tuple[str, ...],
    stopped: bool,
) -> None:
    cold, ahead, gateway = worlds
    expected = whole(cold.world(tmp_path / "one"), victims)
    world = ahead.world(tmp_path / "two")
    before, log = len(gateway.requests), world.folder / "log"
    victims.start(world.call("run", log=str(log), at=WAITING, delay=3.0))
    spares = waits(world, log, ahead)
    if stopped:  # it can't see that its input ends
        for pid in spares:
            os.kill(pid, signal.SIGSTOP)
    assert victims.wait() == -signal.SIGKILL
    assert not stopped or spares <= {pid for pid, _ in alive(world)}, "the control"
    asked = len(gateway.requests)
    assert victims.run(world.call(*words)) == 0, world.said()
    assert not spares & {pid for pid, _ in alive(world)}
    assert words == ("run",) or len(gateway.requests) == asked
    assert finish(world, victims)[-1] == 0, world.said()
    assert world.faults(expected) == []
    assert world.starts() == len(gateway.requests) - before


@pytest.mark.parametrize(
    ("worlds", "numbers"),
    [
        ("claude", (signal.SIGINT,)),
        pytest.param("codex", (signal.SIGTERM, signal.SIGTERM), marks=pytest.mark.binaries),
    ],
    ids=["once", "twice"],
    indirect=["worlds"],
)
def test_a_signal_ends_the_one_that_waits(
    worlds: tuple[Template, Template, Gateway], victims: Victims, tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    cold, ahead, _ = worlds
    expected = whole(cold.world(tmp_path / "one"), victims)
    world = ahead.world(tmp_path / "two")
    log = world.folder / "log"
    pid = victims.start(world.call("run", log=str(log)))
    waits(world, log, ahead)
    for number in numbers:
        os.kill(pid, number)
        time.sleep(0.3)
    assert victims.wait() == 128 + numbers[0]
    assert alive(world) == []
    assert finish(world, victims)[-1] == 0, world.said()
    assert world.faults(expected) == []


def waits(world: World, log: Path, template: Template) -> set[int]:
    """The processes of the CLI, once a command is at work while they wait."""
    until = time.monotonic() + 60
    while not (log.exists() and f"{WAITING}\n" in log.read_text()):
        assert time.monotonic() < until, world.said()
        time.sleep(0.01)
    cli = str(installed()[template.use])[:100]  # more of a command line is not told
    while not (spares := {pid for pid, line in alive(world) if line.startswith(cli)}):
        assert time.monotonic() < until, "a process waits"
    return spares


def alive(world: World) -> list[tuple[int, str]]:
    """(pid, command line) of what lives in a world."""
    return [(int(pid), line) for pid, _, line in (each.partition(": ") for each in living(world.folder))]
