"""A few steps of the example task by a real agent, whose model is the example's rule-based agent."""

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
from tests.scenarios.scenario import call_controller
from tests.wire.ways import Way

Json = dict[str, Any]
TIDY = ROOT / "examples" / "tidy"


def steps(way: Way, folder: Path, count: int) -> list[Recorded]:
    """The requests of the first `count` steps, made in the empty `folder`; raises when there is not one for each."""
    root = folder / "task"
    shutil.copytree(TIDY, root)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "larder"]):
        fetch.git(root / "repo", *words)
    (folder / "home").mkdir()
    answer = _rules()

    def policy(prompt: str, schema: Json, request: Recorded) -> Json:
        return charter(read_task(root / "task.yaml"), way.agent).dialect.encode(answer(prompt))

    with Gateway(policy) as gateway:
        text = (root / "task.yaml").read_text("utf-8")
        entry = json.dumps(way.entry(gateway.url, folder))
        (root / "task.yaml").write_text(
            text.replace("agents:\n", f"agents:\n  {way.agent}: {entry}\n"), "utf-8"
        )
        words = ("run", "--agent", way.agent, "--steps", str(count))
        call = call_controller(root, folder / "home", *words, environ=way.environ)
        assert (call.code, len(gateway.asked)) == (0, count), call.err
        return gateway.asked


def _rules() -> Callable[[str], Json]:
    spec = spec_from_file_location("tidy_agent", TIDY / "agent.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[str], Json] = module.decide
    return found
