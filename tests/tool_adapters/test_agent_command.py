"""Any program as an agent: what counts as a reply, typed errors, usage, folder and environment."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from contracts.errors import ConfigError
from contracts.reply import AgentReply, ReplyClass
from tests.tool_adapters.agent_world import DIALECTS, FINISH, NOW, PROMPT, Player, ask, settings, surround
from tool_adapters.agents import launch
from tool_adapters.agents.command import Command, read_usage
from tool_adapters.agents.json_reply import find_object

R = ReplyClass
GOOD = json.dumps(FINISH)


def play(folder: Path, stdout: str = GOOD, stderr: str = "", end: str = "exit 0", **config) -> AgentReply:
    player = Player(folder, stdout, stderr, end)
    return ask(Command(settings(folder, "command", run=[str(player.path)], **config)))


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        (GOOD, R.OK),
        (f"\n  {GOOD}\n\n", R.OK),
        ("\ufeff" + GOOD, R.OK),
        (json.dumps(FINISH, indent=2), R.OK),
        (f"```json\n{GOOD}\n```\n", R.OK),
        (f"update available: 1.2 -> 1.3\n{GOOD}\nwarning: {{deprecated}}\n", R.OK),
        (f"set {{ not json {GOOD}", R.OK),
        (f"{GOOD}\n{GOOD}\n", R.INVALID),  # which one?
        (f'{{"level": "info"}}\n{GOOD}\n', R.INVALID),
        ("[]", R.INVALID),
        ("3", R.INVALID),
        (GOOD[:-1], R.INVALID),
        (f'{{"rejected_draft": {GOOD}, "final": {{"sta', R.INVALID),  # a fragment of a reply is none
        (f'Thought about it.\n{{ "rejected_draft": {GOOD}, oops}}\n', R.INVALID),
        (f"{{'rejected_draft': {GOOD}}}", R.INVALID),
        (f'{GOOD}\n{{"sta', R.INVALID),
        (f"{GOOD}\n{{", R.INVALID),
        (f"{{draft}}: {GOOD}", R.OK),
        ('{"state_patch": NaN}', R.INVALID),
        ('{"a": "\\ud800"}', R.INVALID),
        ('{"a":' * 3000, R.INVALID),
        ("{" * 5000, R.INVALID),
        ("All done!", R.MISSING),
        ("   \n", R.MISSING),
    ],
)
def test_what_is_a_reply(out: str, expected: ReplyClass, tmp_path: Path) -> None:
    reply = play(tmp_path, out, stderr="some log\n")
    assert reply.cls == expected, reply
    assert reply.value == (FINISH if expected is R.OK else None)
    assert bool(reply.message) == (expected is not R.OK)


def test_bytes_that_are_no_text() -> None:
    value, failure = find_object(b'\xff\x00\x1b[31m{"n": 1}\x1b[0m')
    assert value == {"n": 1} and failure is None
    assert find_object(b'{"n": "\xff"}')[0] is None, "inside the object it would become another character"


@pytest.mark.parametrize(
    ("end", "expected"),
    [("exit 3", R.CRASHED), ("kill -SEGV $$", R.CRASHED), ("exit 0", R.OK)],
)
def test_a_reply_needs_a_good_end(end: str, expected: ReplyClass, tmp_path: Path) -> None:
    assert play(tmp_path, GOOD, "boom\n", end).cls == expected


def test_crash_quotes_stderr(tmp_path: Path) -> None:
    reply = play(tmp_path, "", "Traceback\nKeyError: 'x'\n", "exit 1")
    assert reply.cls is R.CRASHED and "exit code 1" in reply.message and "KeyError: 'x'" in reply.message
    assert play(tmp_path / "b", "", "", "exit 1").message.endswith("no output at all")


@pytest.mark.parametrize(
    ("error", "expected", "not_before"),
    [
        (
            {"class": "limit_with_reset", "message": "later", "not_before": 1796040000},
            R.LIMIT_WITH_RESET,
            1796040000.0,
        ),
        ({"class": "auth", "message": "no key"}, R.AUTH, None),
        ({"class": "transient"}, R.TRANSIENT, None),
        ({"class": "ok"}, R.UNKNOWN, None),
        ({"class": "brand_new", "message": "429 usage limit"}, R.UNKNOWN, None),
        ({"class": "limit_with_reset", "not_before": "soon"}, R.LIMIT_WITH_RESET, None),
        ({"class": "limit_with_reset", "not_before": NOW + 8 * 86400}, R.LIMIT_WITH_RESET, NOW + 8 * 86400),
        (
            {"class": "limit_with_reset", "not_before": NOW + 8 * 86400 + 1},
            R.LIMIT_PERMANENT,
            NOW + 8 * 86400 + 1,
        ),
        ({"class": "limit_with_reset", "not_before": 10**17 - 1}, R.LIMIT_PERMANENT, 1e17),
    ],
)
@pytest.mark.parametrize("code", [0, 5])
def test_typed_error(error: dict, expected: ReplyClass, not_before, code: int, tmp_path: Path) -> None:
    reply = play(tmp_path, json.dumps({"error": error}), end=f"exit {code}")
    assert (reply.cls, reply.not_before, reply.value) == (expected, not_before, None)


def test_an_error_beside_a_transition_is_for_the_gate_to_refuse(tmp_path: Path) -> None:
    told = {"error": {"class": "auth"}, **FINISH}
    reply = play(tmp_path, json.dumps(told))
    assert (reply.cls, reply.value) == (R.OK, told)


def test_words_about_limits_are_no_limit(tmp_path: Path) -> None:
    assert play(tmp_path, "", "429 usage limit reached|1796040000\n", "exit 1").cls is R.CRASHED


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('usage: {"input": 10, "cached": 4, "output": 2, "usd": 0.5}', (10, 4, 2, 500_000)),
        ('usage: {"input": 10, "output": 2}', (10, None, 2, 10 * 2 + 2 * 3)),
        ('usage: {"input": -1, "output": true, "usd": "x"}', (None, None, None, None)),
        ("usage: lots", (None, None, None, None)),
        ('usage: {"input": 10}\nbye', (None, None, None, None)),
        ("", (None, None, None, None)),
    ],
)
def test_usage(line: str, expected: tuple, tmp_path: Path) -> None:
    usage = play(tmp_path, stderr=f"log\n{line}\n", price={"input": 2.0, "cached": 1.0, "output": 3.0}).usage
    assert (usage.input, usage.cached, usage.output, usage.usd_micro) == expected


def test_silence_and_time(tmp_path: Path) -> None:
    idle = play(tmp_path / "a", "{", end="sleep 60", timeout=60.0, idle=0.3)
    assert idle.cls is R.HANG and "silent for 0.3 s" in idle.message
    slow = play(tmp_path / "b", "", end="while :; do echo .; sleep 0.1; done", timeout=0.6, idle=10.0)
    assert slow.cls is R.HANG and "within 0.6 s" in slow.message


def test_prints_its_reply_and_never_exits(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(launch, "GRACE", 0.1)
    reply = play(tmp_path, GOOD + "\n", end="sleep 60", timeout=20.0)
    assert (reply.cls, reply.value) == (R.OK, FINISH)


def test_folder_prompt_and_environment(tmp_path: Path) -> None:
    player = Player(tmp_path, GOOD, end="touch left-behind; echo x > $HOME/note")
    environ = {
        "PATH": os.defpath,
        "OPENAI_API_KEY": "billed",
        "MY_KEY": "wanted",
        "CLAUDECODE": "1",
        "GIT_DIR": "/x",
    }
    agent = Command(
        settings(tmp_path, "command", environ, run=[str(player.path), "--fast"], options={"env": ["MY_KEY"]})
    )
    assert agent.preflight() == [] and agent.profile.credential == "MY_KEY"
    for _ in range(2):
        assert ask(agent).cls is R.OK
        assert player.read("ls") == ""  # empty, also after a launch that left something
    assert player.read("stdin") == PROMPT.text and player.argv == ["--fast"]
    assert set(player.env) == {
        *("PATH", "HOME", "TMPDIR", "TZ", "LANG", "TERM", "NO_COLOR", "SKILL_STATE_SCHEMA", "MY_KEY"),
        "GIT_CEILING_DIRECTORIES",
    }
    assert json.loads(Path(player.env["SKILL_STATE_SCHEMA"]).read_text()) == DIALECTS["merge"].schema
    assert Path(player.env["HOME"]) == tmp_path / "home"


def test_a_repository_around_the_folder_is_not_found(tmp_path: Path) -> None:
    surround(tmp_path)
    script = f"git rev-parse --show-toplevel > {tmp_path}/found 2>&1; printf '%s' '{GOOD}'"
    assert ask(Command(settings(tmp_path, "command", run=["sh", "-c", script]))).cls is R.OK
    assert "not a git repository" in (tmp_path / "found").read_text()


def test_a_named_key_is_never_said(tmp_path: Path) -> None:
    player = Player(tmp_path, "", "bad key top-secret-value\n", "exit 1")
    made = settings(
        tmp_path,
        "command",
        {"MY_KEY": "top-secret-value"},
        run=[str(player.path)],
        options={"env": ["MY_KEY"]},
    )
    reply = ask(Command(made))
    assert reply.cls is R.CRASHED and "top-secret-value" not in reply.message + reply.text


def test_files_of_the_task_folder_are_found(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/agent.py").write_text(f"import sys; sys.stdin.read(); print({GOOD!r})\n")
    made = settings(
        tmp_path, "command", {}, run=[sys.executable, "policies/agent.py", "no-such-file"], base_dir=tmp_path
    )
    agent = Command(made)
    assert agent.preflight() == []
    assert agent.argv() == [sys.executable, str(tmp_path / "policies/agent.py"), "no-such-file"]
    assert ask(agent).cls is R.OK


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "needs `run:`"),
        ({"run": ["no-such-program-here"]}, "no program"),
        ({"run": ["cat", "no-such-agent.py"]}, "no file .no-such-agent.py. beside the task"),
        ({"run": ["cat"], "options": {"env": ["NOT_SET"]}}, "NOT_SET is not set"),
        ({"run": ["cat"], "options": {"envs": []}}, "unknown option 'envs'"),
        ({"run": ["cat"], "api_key_env": "K"}, "api_key_env"),
        ({"run": ["cat"], "explore": "read-only"}, "explore"),
    ],
)
def test_preflight_refuses(config: dict, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        Command(settings(tmp_path, "command", **config)).preflight()


def test_a_missing_program_is_a_class_not_an_exception(tmp_path: Path) -> None:
    reply = ask(Command(settings(tmp_path, "command", run=["no-such-program-here"])))
    assert reply.cls is R.MISCONFIGURED and "no-such-program-here" in reply.message


@pytest.mark.parametrize(
    ("stdout", "told"),
    [
        (
            b'{"state_patch": {}, "action": {"tool": "finish", "args": {"summary": "caf\xe9"}}}',
            "can't be taken",
        ),
        (
            b'{"state_patch": {}, "state_patch": {"a": 1}, "action": {}}',
            "'state_patch' stands in one object twice",
        ),
        (b'{"state_patch": {"n": NaN}, "action": {"tool": "finish", "args": {}}}', "can't be taken"),
        (b'{"state_patch": {"n": "\\ud800"}, "action": {"tool": "finish", "args": {}}}', "can't be taken"),
        (b'noise {"action": {"tool": "x"}, "action": 1} noise', "'action' stands in one object twice"),
    ],
    ids=["latin-1", "twice", "nan", "surrogate", "twice amid noise"],
)
def test_a_reply_that_can_be_read_in_two_ways_is_none(stdout: bytes, told: str) -> None:
    value, failure = find_object(stdout)
    assert value is None and failure is not None and failure.cls is ReplyClass.INVALID
    assert told in failure.message


def test_a_cost_that_can_not_be_is_unknown() -> None:
    assert read_usage('usage: {"usd": 1e300}', None).usd_micro is None
