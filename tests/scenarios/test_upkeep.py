"""Maintenance of published repositories by a rule-based agent: one task whole, and what each agent may know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scenarios import fetch
from tests.scenarios.repositories import REPOSITORIES, UPKEEP, Upkeep

SHORT = "path-browserify"
NAMES = sorted(REPOSITORIES)


@pytest.mark.long
def test_a_task_with_views_is_completed_in_little_more_than_a_step_an_item(tmp_path: Path) -> None:
    upkeep = Upkeep(REPOSITORIES[SHORT], tmp_path)
    items = upkeep.items()
    assert 20 <= len(items) <= 80
    call = upkeep.controller("run", "--json")
    assert (call.code, call.outcome) == (0, "completed"), call.err[-3000:]
    steps = call.lines[-1]["step"]
    assert len(items) < steps < 1.3 * len(items)
    assert len(list(upkeep.prompts.glob("*.prompt"))) == steps
    assert len(items) == int(upkeep.git("rev-list", "--count", f"main..{upkeep.branch}"))
    assert upkeep.git("diff", "--name-only", "main", upkeep.branch) == "index.js"


def test_without_the_text_of_files_the_agent_gets_nowhere(tmp_path: Path) -> None:
    stays_blind(Upkeep(REPOSITORIES[SHORT], tmp_path, blind=True))


def stays_blind(upkeep: Upkeep) -> None:
    """The control: what is shown of files is cut out, and nothing gets done."""
    call = upkeep.controller("run", "--json")
    assert (call.code, call.outcome) == (5, "blocked"), call.err[-3000:]
    assert upkeep.git("diff", "--stat", "main", upkeep.branch) == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_agent_knows_nothing_of_the_repository(name: str, tmp_path: Path) -> None:
    root = fetch.checkout(tmp_path / "checkout", REPOSITORIES[name].source)
    known = "\n".join(path.read_text() for path in UPKEEP.glob("*.py"))
    paths = fetch.git(root, "ls-files").split()
    assert not re.search(rf"\b{re.escape(name)}\b", known)
    assert not [path for path in paths if re.search(rf"(?<![\w.]){re.escape(Path(path).name)}\b", known)]
    sources = [path for path in paths if path.endswith((".py", ".js"))]
    lines = {
        line.strip() for path in sources for line in (root / path).read_text("utf-8", "replace").splitlines()
    }
    own = {line.strip() for line in known.splitlines()}
    # Lines that every Python file may have are no knowledge.
    usual = ("from ", "import ", "if __name__ ==")
    assert not [line for line in lines & own if len(line) > 20 and not line.startswith(usual)]
