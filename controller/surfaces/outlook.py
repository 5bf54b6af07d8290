"""What the task says held against what the repository holds: faults that a run would find only later."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from contracts.base import JsonObject
from contracts.errors import ConfigError
from contracts.paths import matches
from contracts.units import argv_of
from controller.pins import pins, policy
from controller.places import Places
from controller.taskfile import LoadedTask
from tool_adapters.git import ReadOnlyRepo
from tool_adapters.process import child_environment
from tool_adapters.sandbox import SandboxPlan

RUNNERS = re.compile(r"\b(pytest|unittest|nose2|tox|nox|jest|vitest|mocha|npm|yarn|pnpm|go|cargo)\b")
TESTS = re.compile(r"(^|/)(tests?|__tests__|spec)/|(^|/)test_[^/]*$|[._-](test|spec)\.[a-z]+$|_test\.[a-z]+$")
UNTOUCHED = "Say here what shall be reached"
PLACEHOLDER = "task.yaml: "  # what begins the commands that `init` writes for want of one
TEMPLATE = "this is still the text of the template"


def problems(loaded: LoadedTask, files: Sequence[str]) -> Iterator[str]:
    """What would make every run fail. `files` are the tracked files of the task's folder, relative to it."""
    task, place = loaded.task, loaded.where
    for where, hint in untouched(loaded):
        yield f"{place(*where)}: {TEMPLATE}: {hint}"
    if task.branch == task.workspace.base:
        yield f"{place('workspace', 'branch')}: the run's own branch can't be its base {task.workspace.base!r}"
    if not any(matches(path, task.workspace.scope) for path in files):
        yield f"{place('workspace', 'scope')}: no file of the repository is in scope"
    for number, check in enumerate(task.checks):
        if check.must_notice is not None and check.must_notice not in files:
            yield f"{place('checks', number, 'must_notice')}: {check.must_notice} is not a tracked file"


def untouched(loaded: LoadedTask) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is still as `init` writes it for want of anything better: (where it stands, what to write there)."""
    task = loaded.task
    if (task.goal or "").startswith(UNTOUCHED):
        yield ("goal",), "say what shall be reached"
    for name, authority in task.authorities.items():
        if PLACEHOLDER in _line(authority.run or ""):
            yield ("authorities", name, "run"), "a command that lists what is left"


def warnings(loaded: LoadedTask, files: Sequence[str]) -> Iterator[str]:
    """What lets an agent be judged by what it can change itself, or not at all."""
    allowed = policy(loaded)
    tests = [path for path in files if TESTS.search(path)]
    for check in loaded.task.checks:
        if check.role != "guard" or not RUNNERS.search(_line(check.run or "")):
            continue
        pinned = [path for path in tests if matches(path, pins(check)) and not matches(path, check.may_edit)]
        loose = [path for path in tests if path not in pinned and matches(path, allowed.scope)]
        if loose and not pinned:
            yield (
                f"guard {check.name!r} pins no test file, so the agent may rewrite the {len(loose)} that judge it: "
                f"write pins: [{', '.join(test_globs(loose)[:4])}], and may_edit for those that must change"
            )


def test_globs(files: Sequence[str]) -> list[str]:
    """Globs that cover the test files: what a guard is judged by, and so should pin."""
    tests = [path for path in files if TESTS.search(path)]
    folders = {
        path[: found.end()] for path in tests if (found := re.search(r"(^|/)(tests?|__tests__|spec)/", path))
    }
    outer = {
        each for each in folders if not any(each != other and each.startswith(other) for other in folders)
    }
    alone = [path for path in tests if not any(path.startswith(folder) for folder in outer)]
    return [*(f"{folder}**" for folder in sorted(outer)), *sorted(alone)][:12]


def _line(run: str | Sequence[str]) -> str:
    return run if isinstance(run, str) else " ".join(run)


def tracked(loaded: LoadedTask, repo: ReadOnlyRepo) -> list[str]:
    """The tracked and unignored files of the task's folder, relative to it."""
    prefix = policy(loaded).prefix
    return [
        path[len(prefix) + 1 :] if prefix else path
        for path in repo.files()
        if not prefix or path.startswith(prefix + "/")
    ]


def boxed(loaded: LoadedTask) -> JsonObject:
    """The sandbox that is used here, and what its commands and checks see beside the worktree: path, mode, why."""
    task, places = loaded.task, Places.of(loaded)
    env = child_environment({})
    try:
        plan = SandboxPlan.of(task.sandbox, places.worktree, places.base, places.runtime, env, os.environ)
    except ConfigError as error:
        return {"kind": f"none: {error}", "mounts": []}
    runs = [
        *(command.run for command in task.actions.commands.values()),
        *(check.run for check in task.checks if check.run is not None),
    ]
    if plan.found is None:
        return {"kind": plan.kind, "mounts": []}
    seen = (mount for run in runs for mount in plan.mounts(argv_of(run), places.worktree, env))
    mounts = dict.fromkeys(f"{mount.path} {mount.mode}: {mount.why}" for mount in seen)
    return {"kind": plan.kind, "mounts": list(mounts)}
