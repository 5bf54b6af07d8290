"""The trap: a guard that runs on the checkout's installed code, and so is green whatever the worktree holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios import fetch
from tests.scenarios.scenario import Call, call_controller

FILES = {
    ".gitignore": ".venv/\n*.egg-info/\n.agent-runtime/\n",
    "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    '[project]\nname = "tiny"\nversion = "1"\n[tool.setuptools.packages.find]\nwhere = ["src"]\n',
    "src/tiny/__init__.py": "def double(number):\n    return 2 * number\n",
    "tests/test_tiny.py": "import unittest\n\nimport tiny\n\n\nclass Tests(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(tiny.double(2), 4)\n\n"
    "    def test_zero(self):\n        self.assertEqual(tiny.double(0), 0)\n",
}
# Breaks the code and says that all is done; both in one go would be no less wrong.
AGENT = """\
import json, sys
prompt = sys.stdin.read()
edits = [{"op": "write", "path": "src/tiny/__init__.py", "content": "this is no Python\\n"},
         {"op": "write", "path": "done.txt", "content": "done\\n"}]
first = "(none: this is the first step)" in prompt
tool, args = ("edit_files", {"edits": edits}) if first else ("finish", {"summary": "done"})
json.dump({"state_patch": {}, "action": {"tool": tool, "args": args}}, sys.stdout)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose own virtual environment has an editable install of it."""
    root = tmp_path_factory.mktemp("trap") / "checkout"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root.parent / "agent.py").write_text(AGENT)
    fetch.git(root, "init", "--quiet", "--initial-branch", "main")
    fetch.git(root, "add", "--all")
    fetch.git(root, "commit", "--quiet", "--message", "tiny")
    pip = [".venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index"]
    for argv in (
        [sys.executable, "-m", "venv", ".venv"],
        [*pip, "--find-links", str(fetch.wheels()), "--no-deps", "setuptools==71.1.0", "wheel"],
        [*pip, "--no-deps", "--no-build-isolation", "--editable", "."],
    ):
        subprocess.run(argv, cwd=root, check=True, capture_output=True)
    return root


def work(root: Path, name: str, words: list[str], *, python: Path | str, proof: bool) -> Call:
    """`controller WORDS` on a task whose guard uses `python` from within the worktree."""
    guard = {
        "name": "tests",
        "role": "guard",
        "run": [str(python), "-m", "unittest", "discover", "-s", "tests"],
    }
    task = {
        "version": 1,
        "name": name,
        "goal": "Write done.txt.",
        "agent": {"use": "mine"},
        "agents": {"mine": {"kind": "command", "run": [sys.executable, str(root.parent / "agent.py")]}},
        "sandbox": {"mode": "none"},
        "checks": [
            {"name": "done", "role": "goal", "run": ["test", "-f", "done.txt"]},
            guard | {"pins": ["tests/**"]} | ({"must_notice": "src/tiny/__init__.py"} if proof else {}),
        ],
        "budgets": {"steps": 5, "usd": None},
    }
    (root / f"{name}.yaml").write_text(json.dumps(task))  # JSON is YAML
    return call_controller(root, root.parent, words[0], f"{name}.yaml", *words[1:])


def test_a_guard_that_does_not_see_the_worktree_is_refused(installed: Path) -> None:
    checkouts = installed / ".venv" / "bin" / "python"
    call = work(installed, "refused", ["run", "--json"], python=checkouts, proof=True)
    assert (call.code, call.outcome) == (2, "config_error"), call.err
    assert "src/tiny/__init__.py" in call.err and "does not see the worktree" in call.err
    assert fetch.git(installed, "rev-list", "--count", "main..skill-state/refused").strip() == "0"
    proven = work(installed, "refused", ["validate", "--prove-checks"], python=checkouts, proof=True)
    assert proven.code == 3 and "does not see the worktree" in proven.out + proven.err


def test_without_the_proof_it_is_a_false_green(installed: Path) -> None:
    checkouts = installed / ".venv" / "bin" / "python"
    call = work(installed, "false-green", ["run", "--json"], python=checkouts, proof=False)
    assert (call.code, call.outcome) == (0, "completed"), call.err
    assert call.lines[-1]["checks"]["tests"]["why"].startswith("2 passed")
    assert "nothing proves that it sees the worktree" in call.err
    written = fetch.git(installed, "show", "skill-state/false-green:src/tiny/__init__.py")
    with pytest.raises(SyntaxError):
        compile(written, "tiny", "exec")


def test_a_guard_that_sees_the_worktree_passes_the_proof_and_goes_red(installed: Path) -> None:
    (installed.parent / "see").write_text(f'#!/bin/sh\nPYTHONPATH=src exec "{sys.executable}" "$@"\n')
    (installed.parent / "see").chmod(0o755)
    call = work(installed, "seen", ["run", "--json"], python=installed.parent / "see", proof=True)
    assert call.outcome not in ("completed", "config_error"), call.err
    last = call.lines[-1]
    assert last["committed"] == 1 and not last["checks"]["tests"]["now"]
