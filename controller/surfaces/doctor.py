"""`doctor`: what this machine has for a run. Credentials by name, never by value; starts only `--version`."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import orjson

from contracts.base import JsonObject
from contracts.errors import ControllerError
from controller.assemble import charter
from controller.candidate import Candidate
from controller.memory.index import missing
from controller.places import RUNTIME, Places
from controller.surfaces.locate import load, task_path, wait_for
from controller.surfaces.words import plain, size
from controller.taskfile import LoadedTask
from tool_adapters.agents.binary import version_beside
from tool_adapters.agents.pi.node import node_trouble
from tool_adapters.gitdir import GitDir
from tool_adapters.process import ProcessRunner, child_environment
from tool_adapters.sandbox_box import Refused
from tool_adapters.sandbox_probe import find_sandbox
from tool_adapters.workspace import WorktreeWorkspace

MEASURED = {
    "claude": "2.1.332",
    "codex": "0.171.0",
    "pi": "1.6.0",
}  # the versions that the adapters were measured on
GIT_NEEDED = (2, 31)
LITTLE_SPACE, FEW_INODES = 200 * 1024 * 1024, 5_000
CREDENTIALS = {
    "claude": (
        *("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        *("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        "GOOGLE_APPLICATION_CREDENTIALS",
    ),
    "codex": ("CODEX_API_KEY", "OPENAI_API_KEY"),
    "pi": ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
}


@dataclass
class Health:
    """What was found. `problems` keep a run from starting; `notices` are worth knowing."""

    controller: str = ""
    python: str = ""
    platform: str = ""
    git: str | None = None
    worktrees: bool = False
    agents: dict[str, JsonObject] = field(default_factory=dict)
    credentials: dict[str, list[str]] = field(default_factory=dict)
    task: JsonObject | None = None
    disk_free: int = 0
    inodes_free: int | None = None
    sandbox: JsonObject = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def doctor(task: Path | None, as_json: bool) -> int:
    """0 when a run could start, 3 when something keeps it from that."""
    health = Health(
        controller=version("skill-state-controller"),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
    )
    with tempfile.TemporaryDirectory(prefix="controller-doctor-") as scratch:
        _programs(health, Path(scratch))
        _credentials(health, os.environ)
        _space(health, Path.cwd())
        _sandbox(health)
        if (why := missing()) is not None:
            health.notices.append(f"nothing can be recalled: {why}")
        if task is not None or task_path(task).exists():
            _task(health, task, Path(scratch))
        elif GitDir.around(Path.cwd()) is None:
            health.notices.append("this folder is not in a Git repository: a task needs one")
    if as_json:
        print(orjson.dumps(asdict(health) | {"good": not health.problems}).decode())
    else:
        print(plain(_text(health)))
    return 3 if health.problems else 0


def _programs(health: Health, scratch: Path) -> None:
    env = child_environment(
        {"HOME": str(scratch), "CLAUDE_CONFIG_DIR": str(scratch), "CODEX_HOME": str(scratch)}
    )
    git = _version("git", scratch, env)
    health.git = git
    if git is None:
        health.problems.append("git is not on the PATH: install git 2.31 or newer")
    else:
        numbers = tuple(int(part) for part in git.split(".")[:2] if part.isdigit())
        health.worktrees = numbers >= GIT_NEEDED
        if not health.worktrees:
            health.problems.append(f"git {git} is too old: install git 2.31 or newer")
    for name, measured in MEASURED.items():
        path = shutil.which(name)
        if path is None:
            health.agents[name] = {"path": None, "version": None, "measured": measured}
            continue
        started = _version(name, scratch, env)  # a package may be there, and its program not
        told = version_beside(Path(path).resolve()) or started
        health.agents[name] = {"path": path, "version": told, "measured": measured}
        if started is None:
            health.notices.append(
                f"{name} at {path} does not start, or does not tell its version: install it again"
            )
        elif told != measured:
            health.notices.append(
                f"{name} is {told or 'of unknown version'}; its adapter was measured on {measured}"
            )
    if health.agents["pi"]["path"] and (trouble := node_trouble(os.environ)):
        health.notices.append(trouble)


def _version(program: str, scratch: Path, env: Mapping[str, str]) -> str | None:
    """The first word with a dot and a digit that `PROGRAM --version` prints; None when it can't be had."""
    runner = ProcessRunner(scratch / "spool")
    ran = wait_for(lambda: runner.run([program, "--version"], cwd=scratch, env=env, timeout=30))
    words = [
        word.strip("(),v") for word in ran.out.text.split() if "." in word and any(map(str.isdigit, word))
    ]
    return words[0] if ran.exit == 0 and words else None


def _credentials(health: Health, environ: Mapping[str, str]) -> None:
    for agent, names in CREDENTIALS.items():
        health.credentials[agent] = [name for name in names if environ.get(name)]
    home = environ.get("CODEX_HOME") or f"{environ.get('HOME', '')}/.codex"
    if (Path(home) / "auth.json").is_file():
        health.credentials["codex"].append("~/.codex/auth.json" if not environ.get("CODEX_HOME") else home)


def _space(health: Health, place: Path) -> None:
    health.disk_free = shutil.disk_usage(place).free
    free = os.statvfs(place).f_favail
    health.inodes_free = free or None  # 0 where the file system does not count them
    if health.disk_free < LITTLE_SPACE:
        health.problems.append(f"only {size(health.disk_free)} are free here")
    if health.inodes_free is not None and health.inodes_free < FEW_INODES:
        health.problems.append(f"only {health.inodes_free:,} inodes are free here")
    if not os.access(place, os.W_OK):
        health.problems.append(f"{place} can't be written")


def _sandbox(health: Health) -> None:
    box = find_sandbox(os.environ)
    if isinstance(box, Refused):
        health.sandbox = {"kind": None, "why": box.reason, "hint": box.install}
        health.notices.append(f"no sandbox: {box.reason} ({box.install})")
    else:
        health.sandbox = {"kind": str(box), "program": str(box.program)}


def _task(health: Health, task: Path | None, scratch: Path) -> None:
    """Whether the task's agents could start, and who would pay."""
    try:
        loaded = load(task)
    except ControllerError as error:
        health.problems.append(str(error))
        return
    use = loaded.task.agent.use
    health.task = {"name": loaded.task.name, "agent": use, "pays": None}
    if not loaded.path.parent.joinpath(RUNTIME).exists():
        health.notices.append("the task has not been run yet")
    try:
        _worktree(loaded, scratch)
    except ControllerError as error:
        health.problems.append(str(error))
    for name in loaded.task.agent.chain:
        try:
            made = Candidate.of(loaded, charter(loaded, name), scratch)
            health.notices += made.preflight()
            if name == use:
                health.task["pays"] = made.agent.profile.credential
        except ControllerError as error:
            health.problems.append(str(error))


def _worktree(loaded: LoadedTask, scratch: Path) -> None:
    """Raises ConfigError where a run could not make its worktree, as it would say itself."""
    places, runner = Places.of(loaded), ProcessRunner(scratch / "spool")
    env = child_environment({})
    made = WorktreeWorkspace.of(loaded.task, places.repo, places.home, places.runtime, runner, env)
    made.refuse_unmakeable()


def _text(health: Health) -> str:
    lines = [
        f"controller {health.controller}, Python {health.python}, {health.platform}",
        f"git        {health.git or 'missing'}" + (" (worktrees supported)" if health.worktrees else ""),
    ]
    for name, agent in health.agents.items():
        found_ = (
            f"{agent['version'] or 'version unknown'} at {agent['path']}"
            if agent["path"]
            else "not on the PATH"
        )
        lines.append(
            f"{name:<10} {found_}; credentials present: {', '.join(health.credentials[name]) or 'none'}"
        )
    inodes = f", {health.inodes_free:,} inodes" if health.inodes_free else ""
    lines.append(f"disk       {size(health.disk_free)} free{inodes}")
    lines.append(f"sandbox    {health.sandbox['kind'] or 'none'}")
    if health.task:
        lines.append(
            f"task       {health.task['name']}: agent {health.task['agent']}, pays: {health.task['pays'] or 'unknown'}"
        )
    lines += [f"notice: {line}" for line in health.notices]
    lines += [f"problem: {line}" for line in health.problems]
    lines.append("a run can start" if not health.problems else f"{len(health.problems)} to mend")
    return "\n".join(lines)
