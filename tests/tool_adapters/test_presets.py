"""The presets without their CLIs: recordings of them played again, settings that are refused, what a child gets.
`scripts/test presets` drives the real ones."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from contracts.ports import Captured, Ran
from contracts.reply import AgentReply, ReplyClass
from tests.agents.others.cases import CASES, Case
from tests.agents.others.recorded import FIXTURES, load, path_of
from tests.agents.others.recorded import Player as Recording
from tests.tool_adapters.agent_world import FINISH, PROMPT, Player, ask, settings
from tool_adapters.agents.json_reply import only_object
from tool_adapters.agents.preset import Gemini, Opencode, PresetAgent, Qwen

KINDS: dict[str, type[PresetAgent]] = {"gemini": Gemini, "opencode": Opencode, "qwen": Qwen}
KEY = {"MY_KEY": "dummy-key"}
PINS = json.loads((Path(__file__).parents[1] / "agents/others/package.json").read_text())


def played(folder: Path, case: Case) -> AgentReply:
    player = Player(folder)
    made = settings(
        folder, case.kind, KEY, cli=player.path, api_key_env="MY_KEY", model="fake-1", timeout=case.timeout
    )
    return ask(KINDS[case.kind](replace(made, runner=Recording(load(case.kind, case.name)))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.name}")
def test_a_recorded_end(case: Case, tmp_path: Path) -> None:
    reply = played(tmp_path, case)
    assert reply.cls is case.cls, reply
    assert reply.value == (FINISH if case.cls is ReplyClass.OK else None)
    assert bool(reply.message) == (case.cls is not ReplyClass.OK)
    assert "dummy-key" not in reply.message + reply.text


def test_a_signal_from_elsewhere_is_known(tmp_path: Path) -> None:
    """TERM: gemini leaves with 0 and without its result, qwen says that it was cancelled. KILL: nothing is said."""
    whole = {kind: load(kind, "valid") for kind in KINDS}
    begun = {kind: Captured(ran.out.data.splitlines(keepends=True)[0], 99) for kind, ran in whole.items()}
    said = Captured(b'{"error": {"type": "FatalCancellationError", "message": "Operation cancelled."}}', 99)
    ends = [
        ("gemini", Ran(exit=0, out=begun["gemini"])),
        ("qwen", Ran(exit=130, out=begun["qwen"], err=said)),
    ]
    ends += [(kind, Ran(exit=137, signal=9, out=out)) for kind, out in begun.items()]
    for at, (kind, ran) in enumerate(ends):
        player = Player(tmp_path / str(at))
        made = settings(tmp_path / str(at), kind, KEY, cli=player.path, api_key_env="MY_KEY", model="m")
        assert ask(KINDS[kind](replace(made, runner=Recording(ran)))).cls is ReplyClass.KILLED, (kind, ran)


def test_usage_is_read_where_it_is_told(tmp_path: Path) -> None:
    price = {"input": 2.0, "cached": 1.0, "output": 3.0}
    for at, (kind, agent) in enumerate(KINDS.items()):
        folder = tmp_path / str(at)
        made = settings(
            folder, kind, KEY, cli=Player(folder).path, api_key_env="MY_KEY", model="m", price=price
        )
        usage = ask(agent(replace(made, runner=Recording(load(kind, "valid"))))).usage
        assert usage.input and usage.output and usage.usd_micro == 2 * usage.input + 3 * usage.output, kind
    assert played(tmp_path / "x", Case("gemini", "401", None, ReplyClass.AUTH)).usage.input is None


def test_recordings_are_whole_and_name_no_machine() -> None:
    assert {path.relative_to(FIXTURES) for path in FIXTURES.rglob("*.json")} == {
        path_of(case.kind, case.name).relative_to(FIXTURES) for case in CASES
    }
    for path in FIXTURES.rglob("*.json"):
        text = re.sub(r"/run/[\w./-]*", "", path.read_text("utf-8"))
        assert not re.search(r"/(root|home|tmp|work|Users|var)/", text), path
        assert "dummy-key" not in text, path


def test_lock_pins_everything_and_names_no_registry() -> None:
    lock = json.loads((Path(__file__).parents[1] / "agents/others/package-lock.json").read_text())
    for name, entry in lock["packages"].items():
        assert not name or ("resolved" not in entry and entry["integrity"].startswith("sha512-")), name
    for name, version in (PINS["dependencies"] | PINS["optionalDependencies"]).items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_child_gets(kind: str, tmp_path: Path) -> None:
    environ = {
        "PATH": os.defpath,
        **KEY,
        "OPENAI_API_KEY": "billed",
        "GEMINI_API_KEY": "billed",
        "CLAUDECODE": "1",
    }
    player = Player(tmp_path, end="echo said > $HOME/said")
    url = "http://127.0.0.1:1/v1"
    model = "some-model"
    made = settings(
        tmp_path,
        kind,
        environ,
        cli=player.path,
        auth="gateway",
        base_url=url,
        api_key_env="MY_KEY",
        model=model,
    )
    agent = KINDS[kind](made)
    assert agent.preflight() == [] and agent.profile.credential == "gateway"
    for _ in range(2):
        assert ask(agent).cls is ReplyClass.MISSING
        assert player.read("ls") == ""
    assert player.read("stdin") == (agent.preset.words or PROMPT.volatile)
    system = (tmp_path / "home/system.md").read_text()
    assert system == (PROMPT.text if agent.preset.words else PROMPT.stable)
    assert PROMPT.volatile not in " ".join(player.argv) and "dummy-key" not in " ".join(player.argv)
    assert "billed" not in str(player.env) and "CLAUDECODE" not in player.env
    assert "dummy-key" in player.env.values() and player.env["HOME"] == str(tmp_path / "home")
    files = "".join(path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert "dummy-key" not in files and url in files + str(player.env)
    assert model in files + " ".join(player.argv)
    (tmp_path / "home/said").write_text("what was said")
    ask(agent)
    assert (tmp_path / "home/said").read_text() == "said\n", "the HOME of a launch is made anew"


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("qwen", {"api_key_env": "MY_KEY"}, "which model is not said"),
        ("opencode", {"model": "a/b"}, "which variable holds the key is not said"),
        ("gemini", {}, "GEMINI_API_KEY is not set"),
        ("gemini", {"api_key_env": "MY_KEY", "auth": "subscription"}, "no `auth: subscription`"),
        ("gemini", {"api_key_env": "MY_KEY", "auth": "gateway"}, "needs `base_url:`"),
        ("gemini", {"api_key_env": "MY_KEY", "auth_file": "x"}, "`auth_file` does not go with"),
        ("gemini", {"api_key_env": "MY_KEY", "explore": "read-only"}, "explore"),
        ("gemini", {"api_key_env": "MY_KEY", "options": {"effort": "low"}}, "unknown option 'effort'"),
        ("gemini", {"api_key_env": "MY_KEY", "run": ["x"]}, "`run` is for kind command"),
    ],
)
def test_preflight_refuses(kind: str, config: dict, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        KINDS[kind](settings(tmp_path, kind, KEY, cli=Player(tmp_path).path, **config)).preflight()


def test_a_program_that_is_not_there_is_named_with_what_installs_it(tmp_path: Path) -> None:
    made = settings(tmp_path, "qwen", {**KEY, "PATH": "/nowhere"}, api_key_env="MY_KEY", model="m")
    with pytest.raises(ConfigError, match="`qwen` is not on the PATH"):
        Qwen(made).preflight()
    assert ask(Qwen(made)).cls is ReplyClass.MISCONFIGURED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        (' \n```json\n{"a": 1}\n```\n', {"a": 1}),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('Sure: {"a": 1}', None),
        ('{"a": 1} I hope this helps', None),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', None),
        ('{"a": 1}{"a": 2}', None),
        ('{"a": 1, "a": 2}', None),
        ('{"a": NaN}', None),
        ("[1]", None),
        ("", None),
    ],
)
def test_only_one_object_and_nothing_else(text: str, expected: dict | None) -> None:
    value, failure = only_object(text)
    assert value == expected and (failure is None) == (expected is not None)
