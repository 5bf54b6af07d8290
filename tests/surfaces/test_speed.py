"""What is imported on the fast paths: the modules, not the time."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.surfaces.shell import POLITE, Shell

HEAVY = {
    "typer",
    "pydantic",
    "rich",
    "anyio",
    "orjson",
    "jsonschema",
    "jsonschema_rs",
    "git",
    "ruamel",
    "asyncio",
    "subprocess",
}


def imported(shell: Shell, *words: str) -> set[str]:
    """Top-level names and full names of all modules that `controller WORDS` imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "controller", *words],
        cwd=shell.repo,
        env=shell.env,
        capture_output=True,
        text=True,
        check=True,
    )
    names = re.findall(r"^import time:.*\|\s+(\S+)$", done.stderr, re.MULTILINE)
    return {*names, *(name.split(".")[0] for name in names)}


def test_status_and_version_need_nothing_heavy(shell: Shell) -> None:
    shell.task(*POLITE)
    assert shell("step").code == 0
    for words in (("status",), ("status", "--json"), ("-C", ".", "status", "task.yaml")):
        seen = imported(shell, *words)
        assert "sqlite3" in seen and not seen & HEAVY, words
    assert not imported(shell, "--version") & HEAVY
    assert imported(shell, "log") & HEAVY, "the list can tell"


def test_a_terminal_that_knows_only_ascii(shell: Shell) -> None:
    shell.task(*POLITE)
    shell.extra |= {"PYTHONIOENCODING": "ascii"}
    assert shell("run").code == 0
    assert "\\u2192" in shell("status").out


def test_help_needs_the_parser_alone(shell: Shell) -> None:
    seen = imported(shell, "--help")
    assert "typer" in seen and not seen & (HEAVY - {"typer", "subprocess"})
    assert "controller.surfaces.cli_agents" in seen
    assert not [name for name in seen if name.startswith(("controller.conformance", "tool_adapters", "http"))]


def test_the_unusual_goes_the_long_way(shell: Shell) -> None:
    """A name that the quick look can't be sure of."""
    shell.task(*POLITE, name="name:\n  greet")
    assert shell("status").out.startswith("task greet: no run yet")
    shell.task(*POLITE, name="name: 'greet'   # quoted")
    assert shell("status").out.startswith("task greet: no run yet")
