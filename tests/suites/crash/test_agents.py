"""Killed while the real `claude` and `codex` work: the model is a gateway on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.dialects import Dialect
from controller.assemble import charter
from controller.taskfile import read_task
from tests.agents.binaries import installed
from tests.agents.lean import CLAUDE_MODEL, CODEX_MODEL
from tests.gateway import Gateway, Recorded
from tests.suites.crash.rules import decide
from tests.suites.crash.stage import Json, Template
from tests.suites.crash.trial import TALLY, Theatre, one_of_each

pytestmark = pytest.mark.crash
SEED = 20261201
PRICE = {"input": 1, "cached": 0.1, "output": 5}
# Notes each launch, and is the real program from then on.
WRAPPER = """\
#!/bin/sh
case " $* " in *" -p "*|*" exec "*) echo start >> "${0%%/*}/../starts" ;; esac
exec %s "$@"
"""


class Model:
    """The rules as a model; Codex is answered in its strict dialect."""

    def __init__(self) -> None:
        self.task: Path | None = None
        self._strict: Dialect | None = None

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Json:
        transition = decide(prompt)
        if request.api == "anthropic":
            return transition
        if self._strict is None:
            assert self.task is not None
            self._strict = charter(read_task(self.task), "codex").dialect
        return self._strict.encode(transition)


def prepared(folder: Path, agent: str, url: str) -> Template:
    entry: dict[str, Any] = {
        "claude": {"model": CLAUDE_MODEL, "base_url": url},
        "codex": {"model": CODEX_MODEL, "base_url": f"{url}/v1", "price": PRICE},
    }[agent]
    entry |= {"auth": "api-key", "options": {"cli": f"../bin/{agent}"}}
    (folder / "bin").mkdir(parents=True)
    wrapper = folder / "bin" / agent
    wrapper.write_text(WRAPPER % installed()[agent])
    wrapper.chmod(0o755)
    return Template(folder, agents={agent: entry}, use=agent).prepare()


@pytest.fixture(scope="module", params=["claude", "codex"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    agent: str = request.param
    folder, model = tmp_path_factory.mktemp(agent), Model()
    with Gateway(model) as gateway:
        template = prepared(folder / "template", agent, gateway.url)
        model.task = template.folder / "repo/task.yaml"
        theatre = Theatre(folder, template)
        yield agent, theatre
        theatre.close()


def test_every_boundary_of_a_step(played: tuple[str, Theatre]) -> None:
    agent, theatre = played
    launches = [point for point in theatre.points if point.startswith(f"child {agent}: ")]
    step = theatre.points[theatre.points.index(launches[0]) :]
    points = list(dict.fromkeys((*one_of_each(step), *launches)))
    assert len(points) >= 25, "otherwise the hooks are not in place"
    trials = theatre.kill_at(points)
    TALLY.count(agent, trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("delay", [0.1, 0.4])
def test_within_a_launch(played: tuple[str, Theatre], delay: float) -> None:
    agent, theatre = played
    trials = theatre.kill_at([f"child {agent}: started {number}" for number in (2, 4)], delay=delay)
    TALLY.count(agent, trials)
    wrong = [trial for trial in trials if trial.faults or not trial.killed]
    assert not wrong, "\n".join(map(str, wrong))


def test_random_moments(played: tuple[str, Theatre]) -> None:
    agent, theatre = played
    trials = theatre.kill_after(20, SEED)
    TALLY.count(agent, trials)
    assert sum(trial.killed for trial in trials) == 20
    wrong = [trial for trial in trials if trial.faults]
    assert not wrong, "\n".join(map(str, wrong))
