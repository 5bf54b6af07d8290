"""What may be changed in a task: its scope and protections, and what its checks rest on."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from contracts.checks import Check
from contracts.paths import PathPolicy
from contracts.task import Task
from controller.places import Places
from controller.taskfile import LoadedTask


def policy(loaded: LoadedTask) -> PathPolicy:
    """What may be changed: the task's scope and protections, and the pins of its checks."""
    task, places = loaded.task, Places.of(loaded)
    pinned = [pin for check in task.checks for pin in pins(check)]
    inside = places.base.relative_to(places.repo) if places.base.is_relative_to(places.repo) else Path()
    return PathPolicy(
        scope=task.workspace.scope,
        protected=(*task.workspace.protected, loaded.path.name),
        pins=tuple(dict.fromkeys(pinned)),
        may_edit=tuple(edit for check in task.checks for edit in check.may_edit),
        secrets=task.workspace.allow_secrets,
        reports=_reports(task),
        prefix="" if str(inside) == "." else inside.as_posix(),
    )


def _reports(task: Task) -> tuple[str, ...]:
    """Reports are written by what is run, never by an edit, and are no part of the work."""
    named = (
        *(check.report for check in task.checks),
        *(check.coverage for check in task.checks),
        *(each.report for each in task.actions.commands.values()),
    )
    return tuple(dict.fromkeys(report for report in named if report))


INTERPRETERS = ("python", "sh", "bash", "node", "ruby", "perl", "deno", "bun")
SCRIPTS = (".sh", ".py", ".js", ".ts", ".mjs")
RUNNER_CONFIG = (
    "conftest.py",
    "**/conftest.py",
    "pytest.ini",
    "tox.ini",
    ".github/**",
    ".gitlab-ci.yml",
    ".circleci/**",
    "jest.config.*",
    "vitest.config.*",
    # What Python would take for the runner, or run before it, when it lies beside the tests.
    "sitecustomize.py",
    "usercustomize.py",
    "unittest.py",
    "unittest/**",
    "pytest.py",
    "pytest/**",
    "_pytest/**",
)


def pins(check: Check) -> tuple[str, ...]:
    """What a check rests on: what the task says, the programs that it runs and the runners' configuration; where
    the task says nothing, for a guard also the paths in its argv (those of a goal are often the very files that
    must change). An empty list in the task means none at all; `may_edit` releases single ones."""
    if check.pins == () or check.run is None:
        return ()
    words = check.run.split() if isinstance(check.run, str) else list(check.run)
    pinned = [words[0]] if "/" in words[0] else []
    pinned += [
        word for before, word in pairwise(words) if Path(before).name.rstrip("0123456789.") in INTERPRETERS
    ]
    if Path(words[0]).name in ("make", "gmake"):
        pinned += ["Makefile", "makefile", "GNUmakefile"]
    if check.role == "guard" and check.pins is None:
        pinned += [word for word in words[1:] if "/" in word or word.endswith(SCRIPTS)]
    inside = (
        word
        for word in pinned
        if not word.startswith(("-", "/", ".venv", "node_modules")) and "://" not in word
    )
    return (*dict.fromkeys((*(check.pins or ()), *inside)), *RUNNER_CONFIG)
