"""The named suites run seldom: that each of their modules can at least be imported is looked at here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in (ROOT / "tests/suites").rglob("test_*.py"))


def test_there_are_suites() -> None:
    assert {"crash", "properties", "scenarios", "scheduled"} <= {path.parent.name for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_module_of_a_suite_can_be_imported(path: Path) -> None:
    import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
