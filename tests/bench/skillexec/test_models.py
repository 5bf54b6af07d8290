"""Models as readers: a server, an agent of a task, the real CLIs, all against the loopback gateway; and the tapes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from contracts.agents import AgentConfig
from contracts.dialects import compile_dialect
from contracts.state import StateSchema
from controller.installed import found as installed
from tests.agents.binaries import ROOT
from tests.bench.skillexec.__main__ import main
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.experiments import EVERYBODY, episode, stored
from tests.bench.skillexec.modelled import modelled
from tests.bench.skillexec.models import Launched, NoReply, Server, Tape, reader_of
from tests.bench.skillexec.readers import Perfect, is_ours
from tests.gateway import ApiError, Gateway, Recorded, Text
from tests.wire.ways import WAYS

Json = dict[str, Any]
AGENT = """\
import json, sys
from tests.bench.skillexec.readers import Perfect, is_ours
prompt = sys.stdin.read()
said = Perfect().reply(prompt)
print(said if is_ours(prompt) else json.dumps({"reply": said}))
"""


def chats(prompt: str, schema: Json, request: Recorded) -> Text:
    """A chat server's perfect model."""
    system, user = (message["content"] for message in request.parsed["messages"])
    return Text(Perfect().reply(system + user))


def test_what_a_server_s_model_said_is_recorded_and_played_again(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with Gateway(chats) as gateway:
        asked = Tape(tape, Server(gateway.url_openai, "some"))
        found = {name: episode(name, stored(42, 4), reader=asked).score() for name in EVERYBODY}
        requests = len(gateway.asked)
    assert set(found.values()) == {1.0} and requests == 4 * len(EVERYBODY)
    again = Tape(tape)
    assert {name: episode(name, stored(42, 4), reader=again).score() for name in EVERYBODY} == found
    kept = tape.read_text()
    with pytest.raises(NoReply, match=r"no reply to this prompt .* Record it anew"):
        episode("prompt", stored(42, 5), reader=Tape(tape))
    assert tape.read_text() == kept, "a replay writes nothing"


def test_what_is_recorded_is_not_asked_again(tmp_path: Path) -> None:
    class Fails(Perfect):
        def reply(self, prompt: str) -> str:
            raise AssertionError("asked again")

    tape = tmp_path / "tape.jsonl"
    episode("memory", stored(43, 3), reader=Tape(tape, Perfect()))
    assert episode("memory", stored(43, 3), reader=Tape(tape, Fails())).score() == 1.0


def test_a_server_that_refuses_is_named_with_what_it_said() -> None:
    with (
        Gateway(lambda *_: ApiError(401, "invalid_request_error", "no such key"), strict=False) as gateway,
        pytest.raises(NoReply, match=r"answered 401: .*no such key"),
    ):
        Server(gateway.url_openai, "some").reply("rules\n\nObservation:\nx\n")


def test_a_call_that_can_t_be_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    for argv, said in {
        ("--replay", str(tmp_path / "none")): "there is no",
        ("--reader", "nobody"): "there is no agent 'nobody'",
        ("--record", "x"): "--record needs --reader",
        ("--reader", "pi", "--replay", "x"): "asks nobody",
    }.items():
        monkeypatch.setattr(sys, "argv", ["skillexec", *argv])
        try:
            assert main() == 2
        except SystemExit as ended:
            assert ended.code == 2
        assert said in capsys.readouterr().err


def test_an_agent_of_a_task_is_launched_for_each_reply(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    entry = {"kind": "command", "run": [sys.executable, str(tmp_path / "agent.py")]}
    checks = "checks: [{name: done, role: goal, run: [/bin/false]}]"
    (tmp_path / "task.yaml").write_text(
        f"version: 1\nname: x\ngoal: Do.\nagent: {{use: mine}}\nagents: {{mine: {json.dumps(entry)}}}\n{checks}\n"
    )
    reader = reader_of("mine", tmp_path / "task.yaml", WAREHOUSE, tmp_path / "home", "", "")
    assert isinstance(reader, Launched)
    reader.environ = {"PATH": os.defpath}
    found = AGENT.replace("import json, sys", f"import json, sys\nsys.path.insert(0, {str(ROOT)!r})")
    (tmp_path / "agent.py").write_text(found)
    for name in ("prompt", "ours, paper", "ours, compact"):
        assert episode(name, stored(42, 2), reader=reader).score() == 1.0, name
    (tmp_path / "agent.py").write_text("print('well')")
    outcome = episode("prompt", stored(42, 1), reader=reader)
    assert outcome.unparsed == 1 and outcome.retried == 2, "what the model said is counted, not raised"
    (tmp_path / "agent.py").unlink()
    with pytest.raises(NoReply, match="agent mine: "):
        episode("prompt", stored(42, 1), reader=reader)


@pytest.mark.binaries
@pytest.mark.parametrize("way", ["claude, key", "codex, gateway", "pi, chat"])
def test_the_real_clis_play_against_the_gateway(way: str, tmp_path: Path) -> None:
    one = WAYS[way]

    kind = installed("agents", one.agent)
    dialect = compile_dialect(
        kind.dialect_kind,
        StateSchema.builtin("warehouse"),
        WAREHOUSE.specs,
        reasoning=not kind.native_reasoning,
    )

    def policy(prompt: str, schema: Json, request: Recorded) -> Json:
        said = Perfect().reply(prompt)
        return dialect.encode(json.loads(said)) if is_ours(prompt) else {"reply": said}

    with Gateway(policy) as gateway:
        config = AgentConfig.model_validate(one.entry(gateway.url, tmp_path))
        environ = {"PATH": os.environ["PATH"], **one.environ}
        reader = Launched(one.agent, config, WAREHOUSE, tmp_path / "agent", environ)
        for name in ("skill.state", "ours, paper"):
            assert episode(name, stored(42, 3), reader=reader).score() == 1.0, name
    assert len(gateway.asked) == 6


def test_a_model_that_gets_stuck_misses_what_is_left() -> None:
    class Stutters(Perfect):
        said = 0

        def reply(self, prompt: str) -> str:
            self.said += 1
            return super().reply(prompt) if self.said < 4 else "Well."

    found = modelled(lambda domain: Stutters(domain.books), (8,), (42,), ("ours, paper", "skill.state"))
    for name in ("ours, paper", "skill.state"):
        cell = found[f"{name}, T=8, noise=0"]
        assert cell["score, strict"][0] < 0.6 and cell["first desync"] == [3], name
