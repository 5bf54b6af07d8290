"""Workspaces over real repositories, for tests."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import anyio

from contracts.ports import Opened
from tests.tool_adapters.repositories import git
from tool_adapters.process import ProcessRunner, child_environment
from tool_adapters.workspace import WorktreeWorkspace
from tool_adapters.worktree_home import Home

BRANCH = "skill-state/t"
TRAILERS = {"Skill-State-Run": "t@abc#1", "Skill-State-Step": "1", "Skill-State-Key": "k1"}


def make(root: Path, **more: Any) -> WorktreeWorkspace:
    runtime = root / ".agent-runtime"
    asked = {
        "base": "main",
        "branch": BRANCH,
        "home": Home.of(runtime / "work/t", runtime, "t"),
        "runtime": runtime,
        "author": "skill-state <noreply@localhost>",
        "runner": ProcessRunner(runtime / "spool"),
        "env": child_environment(),
    }
    return WorktreeWorkspace(root, **(asked | more))


def do(awaitable: Awaitable[Any]) -> Any:
    async def go() -> Any:
        return await awaitable

    return anyio.run(go)


def opened(root: Path, **more: Any) -> tuple[WorktreeWorkspace, Opened]:
    workspace = make(root, **more)
    return workspace, do(workspace.open())


def snapshot(root: Path) -> tuple[str, ...]:
    """Everything of the user's: HEAD, index, refs outside the run's own, files."""
    refs = git(root, "for-each-ref").splitlines()
    return (
        (root / ".git/HEAD").read_text(),
        git(root, "ls-files", "-s"),
        git(root, "status", "--porcelain"),
        *(line for line in refs if "skill-state" not in line),
    )
