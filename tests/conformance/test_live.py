"""`agents test --live`: one launch by the task's own credential. The task here names a gateway: the loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contracts.agents import AgentConfig
from controller.conformance.loopback import Answer, ApiError, Gateway, Script
from controller.conformance.subject import TRANSITION, Subject
from controller.surfaces import conform
from tests.agents import claude_binary
from tool_adapters.agents.claude import Claude

TASK = """\
version: 1
name: live
goal: nothing
workspace: {{base: main}}
checks: [{{name: c, run: ["true"], role: goal}}]
agent: {{use: mine}}
agents:
  mine:
    kind: claude
    auth: gateway
    base_url: {url}
    price: {{input: 1, cached: 0.1, output: 5}}
    options: {{cli: {cli}}}
"""
OTHER = {"state_patch": {}, "action": {"tool": "read_files", "args": {"files": [{"path": "x"}]}}}
ANSWERS: list[tuple[Any, int, str]] = [
    (TRANSITION, 0, "good     live"),
    (OTHER, 3, "another action came back"),
    (
        {"state_patch": {"phase": "dance"}, "action": {"tool": "finish", "args": {"summary": "x"}}},
        3,
        "invalid_reply",
    ),
    (ApiError(401, "authentication_error", "invalid x-api-key"), 3, "auth: "),
]


def live(
    folder: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch, *, as_json: bool = False
) -> tuple[int, Gateway]:
    with Gateway(Script([answer])) as gateway:
        (folder / "task.yaml").write_text(TASK.format(url=gateway.url_anthropic, cli=claude_binary()))
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "dummy-token-of-the-task")
        code = conform.tested("mine", folder, live=True, only=[], cli=None, record=None, as_json=as_json)
    return code, gateway


@pytest.mark.parametrize(("answer", "code", "said"), ANSWERS, ids=["good", "other", "invalid", "auth"])
def test_one_launch_is_judged(
    answer: Answer, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    got, gateway = live(tmp_path, answer, monkeypatch)
    told = capsys.readouterr()
    assert got == code and said in told.out, told
    assert len(gateway.requests) == 1
    assert gateway.requests[0].headers["authorization"] == "Bearer dummy-token-of-the-task"


def test_the_cost_is_said_before_and_is_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    code, gateway = live(tmp_path, TRANSITION, monkeypatch, as_json=True)
    told = capsys.readouterr()
    assert code == 0 and told.err.startswith("one launch of mine for real, paid by gateway: at most about ")
    [row] = json.loads(told.out)["rows"]
    most = int(told.err.split("about ")[1].split(" tokens")[0].replace(",", ""))
    assert 0 < row["seen"]["input"] <= most and len(gateway.requests[0].body) <= 2 * most


def test_the_answer_of_this_test_is_the_one_that_is_asked_for() -> None:
    """The dialect of the loopback's reply is the one that the agent is asked by."""
    assert Subject("mine", Claude, AgentConfig(kind="claude")).reply == TRANSITION
