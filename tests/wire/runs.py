"""Steps of three tasks by a real agent, whose model is a rule-based agent behind the gateway. Each gives the requests
of the first `count` steps, made in the empty `folder`, and raises AssertionError when there is not one for each.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from controller.assemble import charter
from controller.taskfile import read_task
from tests.agents.binaries import ROOT
from tests.gateway import Gateway, Recorded
from tests.scenarios import fetch
from tests.scenarios.model import PolicyModel
from tests.scenarios.repositories import REPOSITORIES, Upkeep
from tests.scenarios.scenario import Scenario, by_command, call_controller
from tests.scenarios.upkeep.decide import decide
from tests.wire.ways import Way

Json = dict[str, Any]
TIDY = ROOT / "examples" / "tidy"
BAD = (3, 4)
"""Requests that are answered out of scope, so that corrections take part."""


def dateutil(way: Way, folder: Path, count: int) -> list[Recorded]:
    """The short scenario's task, on python-dateutil."""
    model = PolicyModel(bad=BAD)
    with Gateway(model) as gateway:
        agents = {"command": by_command(), way.agent: way.entry(gateway.url, folder)}
        scenario = Scenario("drop-python2", folder, gateway.url, agents, way.environ)
        model.task = scenario.root / "task.yaml"
        return _run(gateway, way, scenario.root, scenario.home, count)


def views(way: Way, folder: Path, count: int) -> list[Recorded]:
    """Maintenance of path-browserify, with file ranges that stay open."""
    upkeep = Upkeep(REPOSITORIES["path-browserify"], folder)
    return _answered(decide, way, upkeep.root, folder, count)


def tidy(way: Way, folder: Path, count: int) -> list[Recorded]:
    """The example's task, which is done in a few steps."""
    root = folder / "task"
    shutil.copytree(TIDY, root)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "larder"]):
        fetch.git(root / "repo", *words)
    (folder / "home").mkdir()
    return _answered(_rules(), way, root, folder, count)


def _answered(
    answer: Callable[[str], Json], way: Way, root: Path, folder: Path, count: int
) -> list[Recorded]:
    """The steps of the task in `root`, with `way` as another agent of it; `answer` is given in its dialect."""
    task = root / "task.yaml"

    def policy(prompt: str, schema: Json, request: Recorded) -> Json:
        return charter(read_task(task), way.agent).dialect.encode(answer(prompt))

    with Gateway(policy) as gateway:
        text, entry = task.read_text("utf-8"), json.dumps(way.entry(gateway.url, folder))
        flow, block = '"agents": {', "\nagents:\n"
        if flow in text:
            text = text.replace(flow, f'{flow}"{way.agent}": {entry}, ')
        else:
            text = text.replace(block, f"{block}  {way.agent}: {entry}\n")
        task.write_text(text, "utf-8")
        return _run(gateway, way, root, folder / "home", count)


def _run(gateway: Gateway, way: Way, root: Path, home: Path, count: int) -> list[Recorded]:
    words = ("run", "--agent", way.agent, "--steps", str(count))
    call = call_controller(root, home, *words, environ=way.environ)
    assert (call.code, len(gateway.asked)) == (0, count), call.err[-2000:]
    return gateway.asked


def _rules() -> Callable[[str], Json]:
    spec = spec_from_file_location("tidy_agent", TIDY / "agent.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[str], Json] = module.decide
    return found
