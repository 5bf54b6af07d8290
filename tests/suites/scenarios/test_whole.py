"""All of both tasks: by a program, by real claude, codex and pi, and with another agent at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from tests.gateway import Gateway
from tests.scenarios import wire
from tests.scenarios.model import PolicyModel
from tests.scenarios.scenario import Scenario

TASKS = ("drop-six", "drop-python2")
AGENTS = ("command", "claude", "codex", "pi")


@dataclass(frozen=True)
class Done:
    """A run that has ended: what is there, what was sent, and how many requests came in all."""

    scenario: Scenario
    sent: list[wire.Sent]
    requests: int
    steps: int


class Runs:
    """Each run once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: dict[tuple[str, str], Done] = {}

    def __call__(self, task: str, agent: str) -> Done:
        if (task, agent) not in self.done:
            folder = self.folder / f"{task}-{agent}"
            folder.mkdir()
            self.done[task, agent] = (
                swapped(task, folder) if agent == "swapped" else whole(task, agent, folder)
            )
        return self.done[task, agent]


def whole(task: str, agent: str, folder: Path) -> Done:
    """`controller run --agent AGENT` to its end."""
    model = PolicyModel()
    with Gateway(model) as gateway:
        scenario = Scenario(task, folder, gateway.url)
        model.task = scenario.root / "task.yaml"
        call = scenario.controller("run", "--agent", agent, "--json")
        assert (call.code, call.outcome) == (0, "completed"), call.err[-3000:]
    own = agent == "command"
    sent = wire.of_folder(scenario.prompts) if own else wire.of_gateway(gateway.asked)
    return Done(scenario, sent, len(sent) if own else len(gateway.requests), call.lines[-1]["step"])


def swapped(task: str, folder: Path) -> Done:
    """`controller step --agent AGENT`, each time with the next agent, until the run is completed."""
    model = PolicyModel()
    steps = 0
    with Gateway(model) as gateway:
        scenario = Scenario(task, folder, gateway.url)
        model.task = scenario.root / "task.yaml"
        for agent in cycle(AGENTS):
            call = scenario.controller("step", "--agent", agent, "--json")
            steps += 1
            assert call.code == 0 and steps < 200, call.err[-3000:]
            if call.outcome == "completed":
                break
    sent = [*wire.of_gateway(gateway.asked), *wire.of_folder(scenario.prompts)]
    return Done(scenario, sent, len(gateway.requests) + len(wire.of_folder(scenario.prompts)), steps)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    yield Runs(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("agent", [*AGENTS, "swapped"])
def test_every_agent_comes_to_the_same_tree_and_state(task: str, agent: str, runs: Runs) -> None:
    first, run = runs(task, "command"), runs(task, agent)
    assert run.scenario.tree == first.scenario.tree != run.scenario.git("rev-parse", "main^{tree}")
    assert run.scenario.state == first.scenario.state
    assert run.steps == first.steps
    if agent == "swapped":
        used = [row["agent"] for row in run.scenario.audit if row["kind"] == "step"]
        assert used[:4] == list(AGENTS) and len(used) == run.steps


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("agent", AGENTS)
def test_one_request_a_step_and_each_within_its_bound(task: str, agent: str, runs: Runs) -> None:
    run = runs(task, agent)
    assert run.requests == len(run.sent) == run.steps
    wire.bounded(run.sent, run.scenario.bounds[agent])


@pytest.mark.parametrize("agent", AGENTS)
def test_requests_do_not_grow_over_sixty_steps(agent: str, runs: Runs) -> None:
    run = runs("drop-python2", agent)
    assert run.steps >= 60
    patched = {name for row in run.scenario.audit for name in row.get("state_patch") or {}}
    assert patched == set(run.scenario.state), "every field of the state was patched"
    spread = wire.constant(run.sent)
    sizes = sorted(len(each.body) for each in run.sent)
    print(
        f"{agent}: {run.steps} requests of {sizes[0]:,}–{sizes[-1]:,} bytes, what does not move ±{spread:.2%}"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_observed_is_forgotten(agent: str, runs: Runs) -> None:
    run = runs("drop-python2", agent)
    assert wire.forgotten(run.sent, run.scenario) >= 60


def test_one_item_a_step(runs: Runs) -> None:
    run = runs("drop-python2", "command")
    assert (
        60
        <= len(run.scenario.state["items"])
        == int(run.scenario.git("rev-list", "--count", f"main..{run.scenario.branch}"))
    )
