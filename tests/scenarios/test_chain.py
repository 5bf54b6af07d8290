"""Agents that take over from one another: real binaries with one rule-based model behind them, and limits that come
and go. Who makes a step changes nothing of what comes of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.agents.lean import DUMMY_KEY
from tests.gateway import Answer, ApiError, Gateway, Recorded
from tests.scenarios.model import PolicyModel
from tests.scenarios.scenario import Json, Scenario, real_agents

CHAIN = "agent: {use: claude, fallback: [codex, pi]}"


class Limited:
    """`model`, but from its first request on Claude is at its plan's limit until `reset`, and from its third request on
    Codex is out of money."""

    def __init__(self, model: PolicyModel) -> None:
        self.model, self.reset, self.codex = model, 0.0, 0

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Answer:
        if request.api == "anthropic":
            self.reset = self.reset or next_minute(60)
            if time.time() < self.reset:
                return self.limit()
        self.codex += request.api == "responses"
        if request.api == "responses" and self.codex > 2:
            return ApiError(
                429, "insufficient_quota", "You exceeded your current quota.", "insufficient_quota"
            )
        return self.model(prompt, schema, request)

    def limit(self) -> ApiError:
        kind, at = "anthropic-ratelimit-unified", str(round(self.reset))
        headers = {f"{kind}-status": "rejected", f"{kind}-reset": at, "retry-after": "11000"}
        headers |= {f"{kind}-representative-claim": "five_hour"}
        headers |= {f"{kind}-5h-status": "rejected", f"{kind}-5h-reset": at}
        return ApiError(429, "rate_limit_error", "This request would exceed a limit.", headers=headers)


def next_minute(after: float) -> float:
    """A full minute, which is as exactly as Claude says it, at least so many seconds ahead."""
    return (time.time() + after) // 60 * 60 + 60


def makers(scenario: Scenario) -> list[str]:
    """Who made each committed step, as the audit says."""
    rows = [row for row in scenario.audit if row["kind"] == "step" and row["tool_result"] == "ok"]
    return [row["agent"] for row in rows]


@pytest.mark.binaries
def test_a_limit_an_empty_account_and_the_way_back(tmp_path: Path, ten_by_program: Scenario) -> None:
    limited = Limited(PolicyModel())
    with Gateway(limited) as gateway:
        agents = real_agents(gateway.url)
        agents["claude"] |= {"auth": "subscription"}
        token = {"CLAUDE_CODE_OAUTH_TOKEN": DUMMY_KEY}
        scenario = Scenario("drop-python2", tmp_path, agents=agents, environ=token)
        task = limited.model.task = scenario.root / "task.yaml"
        task.write_text(task.read_text().replace("agent: {use: command}", CHAIN))

        first = scenario.controller("run", "--json", "--steps", "7")
        assert first.code == 0, first.err
        assert "agent claude is left out: You've hit your 5-hour limit" in first.err
        assert "agent codex is left out: Quota exceeded. Check your plan" in first.err
        assert "adding credit" in first.err, "and who can lift it"
        assert makers(scenario) == ["codex", "codex", "pi", "pi", "pi"]
        told = scenario.controller("status", "--json").lines[-1]
        assert told["left_out"] == {"claude": limited.reset, "codex": None}

        time.sleep(max(0.0, limited.reset - time.time()))
        then = scenario.controller("run", "--json", "--steps", "5")
        assert then.code == 0, then.err
    assert makers(scenario) == ["codex"] * 2 + ["pi"] * 3 + ["claude"] * 5
    assert limited.codex == 3, "an empty account is not asked again"
    program = ten_by_program
    assert (scenario.tree, scenario.state) == (program.tree, program.state), "whoever makes them"

    halts = [row["extra"] for row in scenario.audit if row["extra"].get("cause", "").startswith("limit")]
    assert [each["cause"] for each in halts] == ["limit_with_reset", "limit_permanent"]
    assert halts[0]["not_before"] == limited.reset
    assert scenario.controller("log", "--verify").code == 0
