"""The import law holds, and each of its contracts can fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.size_budgets import PRODUCT, ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in PRODUCT:
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.json")
        )
    return tmp_path


def broken(root: Path) -> set[str]:
    """Names of the broken contracts of the project in `root`."""
    code = "from importlinter.cli import lint_imports_command as run; run(['--no-cache', '--no-logo'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=120)
    assert re.search(r"Contracts: \d+ kept, \d+ broken", done.stdout), done.stdout + done.stderr
    return set(re.findall(r"^(.+) BROKEN", done.stdout, re.MULTILINE))


def test_the_law_holds(copy: Path) -> None:
    assert broken(copy) == set()


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("contracts/text.py", "import controller", "contracts import nothing of ours"),
        ("contracts/text.py", "import time", "contracts: no I/O, clock or randomness"),
        ("tool_adapters/fresh.py", "import reconcilers", "tool_adapters import only contracts"),
        ("tool_adapters/fresh.py", "from controller import stores", "tool_adapters import only contracts"),
        ("reconcilers/fresh.py", "import tool_adapters", "reconcilers import only contracts"),
        (
            "controller/refresh.py",
            "import reconcilers",
            "what decides imports neither what acts nor what reads",
        ),
        ("controller/stores/fresh.py", "import tool_adapters", "what decides imports neither what acts"),
        ("controller/gate.py", "from controller import verify", "the controller's layers"),
        ("controller/act.py", "from controller import launch", "the controller's layers"),
        ("controller/commit.py", "from controller import step", "the controller's layers"),
        ("controller/fresh.py", "import re", "the controller's layers"),
        ("controller/gate.py", "import time", "render, gate and verify: no I/O"),
        ("controller/verify.py", "from pathlib import Path", "render, gate and verify: no I/O"),
        ("controller/render.py", "import random", "render, gate and verify: no I/O"),
        ("controller/refresh.py", "import subprocess", "two modules start processes"),
        ("reconcilers/fresh.py", "import git", "one module knows GitPython"),
    ],
)
def test_each_contract_can_fail(copy: Path, module: str, line: str, contract: str) -> None:
    path = copy / module
    path.write_text((path.read_text() if path.exists() else "") + f"\n{line}\n")
    assert any(name.startswith(contract) for name in broken(copy))


def test_a_cycle_is_found(copy: Path) -> None:
    (copy / "reconcilers/one.py").write_text("import reconcilers.two\n")
    (copy / "reconcilers/two.py").write_text("import reconcilers.one\n")
    assert "no import cycle" in broken(copy)
