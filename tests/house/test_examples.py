"""Every example is a task that loads, and names the schema that editors check it with."""

from __future__ import annotations

import re

from controller.contract_folder import contract_of
from controller.taskfile import read_task
from tests.house.size_budgets import ROOT

EXAMPLES = sorted(
    path for path in (ROOT / "examples").rglob("task.yaml") if ".agent-runtime" not in path.parts
)


def test_every_example_loads_and_names_its_schema() -> None:
    assert EXAMPLES, "examples/ holds no task.yaml"
    for path in EXAMPLES:
        assert contract_of(read_task(path)).intent is not None
        named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text(encoding="utf-8"))
        assert named, f"{path}: the first line names the schema"
        assert (path.parent / named[1]).resolve() == ROOT / "contracts/task.schema.json", path
