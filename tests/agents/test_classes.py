"""Every reply class of every agent: reached on the real program, recorded from it, or known to be impossible; and
nothing is taken for a limit because somebody wrote about one."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from contracts.reply import AgentReply, ReplyClass
from tests.agents import claude_binary, codex_binary, node_binary, pi_script
from tests.agents.cases import CASES, SCHEMA, Case
from tests.agents.classes import Told, recorded_as, told
from tests.agents.lean import PI_MODEL
from tests.agents.record import closed_port
from tests.agents.recordings import load
from tests.gateway import Gateway, Script
from tests.tool_adapters.agent_world import DIALECTS, KEYS, Player, ask, settings
from tool_adapters.agents.chat import Chat
from tool_adapters.agents.claude import Claude
from tool_adapters.agents.codex import Codex
from tool_adapters.agents.command import Command
from tool_adapters.agents.pi.adapter import Pi

ROOT = Path(__file__).resolve().parents[2]
KINDS: dict[str, Any] = {"claude": Claude, "codex": Codex, "command": Command, "pi": Pi}
KINDS |= {"openai-compatible": Chat}
# Recorded, and played, in tests/tool_adapters/test_presets.py; `scripts/test presets` drives the real ones.
ELSEWHERE = {"gemini", "opencode", "qwen"}
BINARIES: dict[str, Callable[[], Path]] = {"claude": claude_binary, "codex": codex_binary, "pi": pi_script}
BINARIES |= {"openai-compatible": lambda: Path(sys.executable)}  # its client is a program of our own
RECORDED: dict[str, Any] = {agent: load(agent) for agent in ("claude", "codex", "pi")}
ENDPOINT: dict[str, Any] = {  # what an agent must be told to ask the gateway
    "pi": {"model": PI_MODEL, "api_key_env": "OPENAI_API_KEY", "options": {"api": "openai-completions"}},
    "openai-compatible": {"model": "small", "api_key_env": "OPENAI_API_KEY"},
}
EVERY = [each for agent in KINDS for each in told(agent).values()]
PROOFS = ("real", "recording", "cannot happen")


# ---- nothing is missing ----------------------------------------------------------------------------------
def test_every_adapter_is_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(KINDS) | ELSEWHERE == set(project["entry-points"]["skill_state.agents"])


@pytest.mark.parametrize("cls", ReplyClass)
@pytest.mark.parametrize("agent", KINDS)
def test_every_pair_has_its_proof(agent: str, cls: ReplyClass) -> None:
    each = told(agent).get(cls)
    assert each is not None, f"write fixtures/classes/{agent}/{cls}.json"
    assert each.proof in PROOFS
    if each.proof == "real":
        assert bool(each.real) == (agent in BINARIES) and (each.real or each.ends)
    if each.proof == "recording":
        assert each.recordings and each.why, "what is only recorded says why it is not reached"
    if each.proof == "cannot happen":
        assert each.why and not (each.recordings or each.wordings or each.ends)


@pytest.mark.parametrize("cls", ReplyClass)
def test_every_class_is_reached_on_a_real_binary_or_recorded(cls: ReplyClass) -> None:
    assert any(told(agent)[cls].proof != "cannot happen" for agent in BINARIES)


@pytest.mark.parametrize("agent", RECORDED)
def test_every_recording_has_its_class(agent: str) -> None:
    assert set(recorded_as(agent)) == set(RECORDED[agent])


# ---- recordings, wordings and ends, played ---------------------------------------------------------------
def play(
    folder: Path, agent: str, stdout: str, stderr: str = "", end: str = "exit 0", **config
) -> AgentReply:
    player = Player(folder, stdout, stderr, end)
    if agent == "command":
        return ask(Command(settings(folder, agent, run=[str(player.path)], **config)))
    return ask(KINDS[agent](settings(folder, agent, cli=player.path, **config)))


def judged(reply: AgentReply, each: Told, case: dict[str, Any]) -> None:
    assert reply.cls is each.cls, reply
    assert (reply.value is not None) == (reply.cls is ReplyClass.OK) == (reply.message == "")
    if "resets" in case or each.cls is ReplyClass.LIMIT_WITH_RESET:
        resets = case.get("resets")
        assert reply.not_before == (datetime.fromisoformat(resets).timestamp() if resets else None)
    if "lifted_by" in case:
        assert case["lifted_by"] in reply.message.removeprefix(case["said"]), reply.message


def cases(what: str) -> list[Any]:
    return [
        pytest.param(each, case, id=f"{each}-{number}")
        for each in EVERY
        for number, case in enumerate(getattr(each, what))
    ]


@pytest.mark.parametrize(
    ("each", "name"), [pytest.param(e, name, id=f"{e}-{name}") for e in EVERY for name in e.recordings]
)
def test_recording(each: Told, name: str, tmp_path: Path) -> None:
    recorded = RECORDED[each.agent][name]
    end = f"exit {recorded.code}" if recorded.code >= 0 else f"kill -{-recorded.code} $$"
    reply = play(tmp_path, each.agent, recorded.stdout, recorded.stderr, end)
    assert reply.cls is each.cls, reply
    assert (reply.value is not None) == (reply.cls is ReplyClass.OK) == (reply.message == "")


@pytest.mark.parametrize(("each", "case"), cases("wordings"))
def test_wording(each: Told, case: dict[str, Any], tmp_path: Path) -> None:
    said, status, kinds = case["said"], case.get("status"), [*case.get("kinds", ()), None, None]
    if each.agent == "claude":
        failed = json.loads(RECORDED["claude"]["500"].stdout)
        types = {"api_error": kinds[0], "api_error_type": kinds[1]}
        out = json.dumps({**failed, **types, "api_error_status": status, "result": said})
    elif each.agent == "pi":
        body = json.dumps({"message": said, "code": kinds[0], "type": kinds[1]})
        failed = {"role": "assistant", "content": [], "stopReason": "error", "rawStopReason": kinds[0]}
        failed["errorMessage"] = f"{status}: {body}" if status else said
        out = json.dumps({"type": "message_end", "message": failed}) + '\n{"type": "agent_settled"}'
    else:
        body = json.dumps({"error": {"message": said, "code": kinds[0], "type": kinds[1]}})
        text = f"unexpected status {status} Something: {said}" if status else said
        out = json.dumps({"type": "turn.failed", "error": {"message": body if kinds[0] else text}})
    judged(play(tmp_path, each.agent, out + "\n", end="exit 1"), each, case)


@pytest.mark.parametrize(("each", "case"), cases("ends"))
def test_end(each: Told, case: dict[str, Any], tmp_path: Path) -> None:
    assert case["why"]
    out, end = case.get("stdout", ""), case.get("end")
    if like := case.get("like"):
        recorded = RECORDED[each.agent][like]
        out, end = [{**json.loads(recorded.stdout), **case.get("fields", {})}], end or f"exit {recorded.code}"
    if isinstance(out, list):
        out = "".join(json.dumps(event) + "\n" for event in out)
    short = {name: case[name] for name in ("idle", "timeout") if name in case}
    judged(play(tmp_path, each.agent, out, case.get("stderr", ""), end, **short), each, case)


# ---- the real binaries -----------------------------------------------------------------------------------
@contextmanager
def listening(case: Case) -> Iterator[tuple[str, Gateway | None]]:
    """The address of the model's side, and who answers there."""
    if case.answer is None:
        yield f"http://127.0.0.1:{closed_port()}", None
        return
    with Gateway(Script([case.answer], repeat_last=True), routes=case.routes) as gateway:
        yield gateway.url, gateway


def hit(gateway: Gateway, program: Path, name: str) -> None:
    """Sends the signal to our own child that runs `program`, once it has asked."""
    until = time.monotonic() + 60
    while not gateway.asked and time.monotonic() < until:
        time.sleep(0.02)
    ours = [child for child in psutil.Process().children() if Path(child.exe()) == program]
    assert len(ours) == 1, ours
    ours[0].send_signal(signal.Signals[f"SIG{name}"])


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(e, id=str(e), marks=() if e.agent in ("claude", "pi") else pytest.mark.binaries)
        for e in EVERY
        if e.real
    ],
)
def test_real(each: Told, tmp_path: Path) -> None:
    (case,) = (c for c in CASES if (c.agent, c.name) == (each.real.get("of", each.agent), each.real["case"]))
    environ = {**KEYS, "CLAUDE_CODE_OAUTH_TOKEN": "dummy-token"} if case.auth == "subscription" else KEYS
    dialect = DIALECTS["strict" if each.agent == "codex" else "merge"]
    binary = BINARIES[each.agent]().resolve()
    with listening(case) as (url, gateway):
        made = settings(
            tmp_path,
            each.agent,
            environ,
            cli=binary,
            auth=case.auth,
            base_url=url if each.agent == "claude" else f"{url}/v1",
            dialect=replace(dialect, schema=SCHEMA),
            idle=each.real.get("idle", 30.0),
            timeout=each.real.get("timeout", 30.0),
            **ENDPOINT.get(each.agent, {}),
        )
        if each.agent == "pi":
            made.config.options["node"] = str(node_binary())
        if name := each.real.get("signal"):
            assert gateway is not None
            program = node_binary().resolve() if each.agent == "pi" else binary
            threading.Thread(target=hit, args=(gateway, program, name), daemon=True).start()
        agent = KINDS[each.agent](made)
        agent.preflight()
        reply = ask(agent)
    assert reply.cls is each.cls, reply
    # What the program says by itself, without having asked its model, would prove nothing of the model's side.
    assert gateway.asked if gateway else each.cls is ReplyClass.UNAVAILABLE, "nobody was asked"
    if each.cls is ReplyClass.LIMIT_WITH_RESET:
        resets = each.real.get("resets", "2026-11-30T12:00:00Z")
        assert reply.not_before == datetime.fromisoformat(resets).timestamp()


@pytest.mark.parametrize("agent", BINARIES)
def test_real_reply_about_limits_is_no_limit(agent: str, tmp_path: Path) -> None:
    each = told(agent)[ReplyClass.OK]
    test_real(replace(each, real=each.real | {"case": "valid_about_limits"}), tmp_path)
