"""The readers of a task, in the order in which they are shown: the built-in ones, its authorities, its checks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from contracts.errors import ConfigError
from contracts.forge_reading import NAME
from contracts.ports import Given, Reconciler, Voices
from contracts.redact import Redactor
from contracts.task import Task
from controller.installed import found
from controller.pins import pins
from tool_adapters.actions.context import ActionContext
from tool_adapters.forge.forum import Forum
from tool_adapters.sandbox import SandboxPlan
from tool_adapters.workspace import WorktreeWorkspace

READING = 60.0  # seconds that the remote has for one reading


def readers_of(
    task: Task,
    workspace: WorktreeWorkspace,
    box: SandboxPlan,
    context: ActionContext,
    redact: Redactor,
    environ: Mapping[str, str],
) -> tuple[Reconciler, ...]:
    repo, root, env = workspace.work, context.cwd, context.env
    git = found("reconcilers", "git")(repo.reader(), version_file=_version_file(task), redactor=redact)
    view = found("reconcilers", "view")(workspace.path, context.paths, task.limits.view, redact)
    readers: list[Reconciler] = [git, view]
    if task.workspace.setup.run:
        readers.append(found("reconcilers", "setup")(workspace.setup_marker))
    for name, authority in task.authorities.items():
        made = found("reconcilers", authority.use)
        if authority.use == "command":
            readers.append(
                made(
                    name,
                    authority.run,
                    cwd=root,
                    env=env,
                    runner=box.for_(authority.network),
                    ok_exit=authority.ok_exit,
                    max_bytes=authority.max_bytes,
                    worklist=authority.worklist,
                    timeout=authority.timeout,
                )
            )
        elif hasattr(made, "given"):
            boxed = box.for_(authority.network)
            asked = Given(
                name,
                authority,
                task.workspace.base,
                environ,
                boxed,
                root,
                env,
                redact.redact_text,
                branch=task.branch,
                keep=context.artifacts.put,
                git=repo.reader(),
            )
            readers.append(made.given(asked))
        elif authority.use != "git":
            readers.append(made(name, **authority.options))
    if isinstance(context.forum, Forum):
        readers.append(_forge(context.forum, task, redact))
    checker, resting, alone = found("reconcilers", "check"), found("reconcilers", "resting"), box.for_(False)
    known = {reader.name: reader for reader in readers}
    for check in task.checks:
        if check.authority is not None:
            readers.append(resting(check, known[check.authority]))
            continue
        readers.append(checker(check, pins=pins(check), cwd=root, env=env, runner=alone, git=repo.reader()))
    return tuple(readers)


def _forge(forum: Forum, task: Task, redact: Redactor) -> Reconciler:
    made: Reconciler = found("reconcilers", NAME)(
        forum.forge,
        forum.api,
        forum.token,
        lambda: forum.remote(READING),
        branch=forum.branch,
        base=forum.base,
        allowed=task.actions.allow,
        clear=redact.redact_text,
    )
    return made


def voices_of(forum: Forum | None) -> Voices | None:
    """Who hears people on the task's forge; None where it has none, or a remote alone."""
    if forum is None or forum.api is None:
        return None
    made: Voices = found("reconcilers", "voices").of(forum.forge, forum.api, forum.token, forum.branch)
    return made


def _version_file(task: Task) -> tuple[str, str] | None:
    """Where `authorities: {NAME: {use: git, options: {version_file: [PATH, PATTERN]}}}` says the version stands."""
    for name, authority in task.authorities.items():
        if authority.use == "git" and (said := authority.options.get("version_file")) is not None:
            if not (
                isinstance(said, list) and len(said) == 2 and all(isinstance(each, str) for each in said)
            ):
                raise ConfigError(f"authorities.{name}.options.version_file: write [path, pattern]")
            try:
                re.compile(said[1])
            except re.error as error:
                raise ConfigError(f"authorities.{name}.options.version_file: {said[1]!r}: {error}") from None
            return said[0], said[1]
    return None
