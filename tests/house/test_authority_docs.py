"""Every example in docs/authorities.md is one that a task may hold, and every authority has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contracts.authorities import OPTIONS
from controller.taskfile import read_task
from tests.controller.world import TASK
from tests.house.size_budgets import ROOT

TEXT = (ROOT / "docs/authorities.md").read_text("utf-8")
EXAMPLES = re.findall(r"```yaml\nauthorities:\n(.*?)(?:checks:\n.*?)?```", TEXT, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_loads(tmp_path: Path, example: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(re.sub(r"  remaining: .*\n", lambda _: example, TASK))
    assert read_task(file).task.authorities


def test_every_authority_is_described_with_an_example() -> None:
    text = TEXT + (ROOT / "docs/ci-authority.md").read_text("utf-8")
    for use in ("command", "git", *OPTIONS):
        assert f"[`{use}`](" in TEXT and re.search(rf"use: {use}\b", text), use
