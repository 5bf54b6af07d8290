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
from tests.suites.crash.trial import TALLY, Theatre

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


def test_a_sample_of_boundaries(played: tuple[str, Theatre]) -> None:
    agent, theatre = played
    names = ("reserve: committed", "staged: before begin", "staged: committed", "step: before begin")
    points = [f"store swap {name} {number}" for name in names for number in (2, 3)]
    points += [f"child {agent}: {moment} {number}" for moment in ("started", "ended") for number in (1, 3, 5)]
    assert set(points) <= set(theatre.points)
    trials = theatre.kill_at(points)
    launches = [f"child {agent}: started {number}" for number in (2, 4)]
    for delay in (0.1, 0.4):
        trials += theatre.kill_at(launches, delay=delay)
    TALLY.count(agent, trials)
    wrong = [trial for trial in trials if trial.faults or trial.code != -9]
    assert not wrong, "\n".join(map(str, wrong))


def test_random_moments(played: tuple[str, Theatre]) -> None:
    agent, theatre = played
    trials = theatre.kill_after(20, SEED)
    TALLY.count(agent, trials)
    wrong = [trial for trial in trials if trial.faults]
    assert not wrong, "\n".join(map(str, wrong))
