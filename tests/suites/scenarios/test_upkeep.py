"""All five maintenance tasks: with views in fewer steps than without, to the same files; and none of them blind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.tasks import measure
from tests.scenarios.repositories import REPOSITORIES, Upkeep
from tests.scenarios.test_upkeep import SHORT, stays_blind

NAMES = sorted(REPOSITORIES)


@pytest.mark.parametrize("name", NAMES)
def test_views_save_steps_and_change_nothing_else(name: str, tmp_path: Path) -> None:
    found = measure(name, REPOSITORIES[name], tmp_path)
    assert found.pop(f"{name}, steps more with view") < 0
    short = {key: value for key, value in found.items() if not isinstance(value, dict) and value}
    assert not short, found


@pytest.mark.parametrize("name", [name for name in NAMES if name != SHORT])
def test_without_the_text_of_files_the_agent_gets_nowhere(name: str, tmp_path: Path) -> None:
    stays_blind(Upkeep(REPOSITORIES[name], tmp_path, blind=True))
