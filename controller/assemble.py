"""assemble: from task.yaml and the installed parts to a Rig. Parts are found by entry point; only what the task
names is loaded."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from pathlib import Path
from typing import Any

from contracts.base import digest
from contracts.charter import Charter
from contracts.dialects import compile_dialect
from contracts.errors import ConfigError
from contracts.explain import Checker
from contracts.grammar import describe, specs
from contracts.intent import IntentContract
from contracts.paths import PathPolicy
from contracts.ports import Agent, Given, Reconciler, Runner, Store
from contracts.redact import Redactor
from contracts.reply import AgentProfile
from contracts.schema_refs import BadSchema
from contracts.task import AgentConfig, Check, Task, price_known
from controller.contract_folder import contract_of
from controller.given import given, tokens
from controller.memory.asked import RunMemory
from controller.rig import Rig, Watch
from controller.schema_chain import current_schema, grown_folder, schemas_of
from controller.stores.artifacts import FileArtifacts
from controller.stores.room import need_room
from controller.taskfile import LoadedTask
from tool_adapters.actions.context import ActionContext
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.eviction import evict
from tool_adapters.gitdir import GitDir
from tool_adapters.process import ProcessRunner, child_environment
from tool_adapters.sandbox import SandboxPlan
from tool_adapters.workspace import WorktreeWorkspace
from tool_adapters.worktree_home import Home

RUNTIME = ".agent-runtime"


@dataclass(frozen=True)
class Places:
    """Where a task's things are. All absolute."""

    base: Path  # the folder of the task file
    repo: Path
    runtime: Path
    home: Home  # of the worktree

    @property
    def worktree(self) -> Path:
        return self.home.path

    @classmethod
    def of(cls, loaded: LoadedTask) -> Places:
        base = loaded.base_dir.resolve()
        repo = (base / loaded.task.workspace.repo).resolve()
        found = GitDir.around(repo)  # a task file in a subfolder: the repository is the one around it
        if found is not None and found.root is not None:
            repo = found.root
        runtime, usual = base / RUNTIME, (base / loaded.task.worktree).resolve()
        return cls(base, repo, runtime, Home.of(usual, runtime, loaded.task.name))


def found(group: str, name: str) -> Any:
    """The class that entry-point group `skill_state.<group>` has under `name`. Raises ConfigError."""
    known = {point.name: point for point in entry_points(group=f"skill_state.{group}")}
    point: EntryPoint | None = known.get(name)
    if point is None:
        raise ConfigError(
            f"there is no {group.rstrip('s')} {name!r}", hint=f"installed: {', '.join(sorted(known))}"
        )
    try:
        return point.load()
    except ImportError as error:
        raise ConfigError(f"{group.rstrip('s')} {name!r} can't be loaded: {error}") from error


def charter(loaded: LoadedTask, agent_name: str | None = None) -> Charter:
    """The charter of a task for one agent (default: `agent.use`). Reads the contract folder, starts nothing.
    Raises ConfigError."""
    task, contract = loaded.task, contract_of(loaded)
    name = agent_name or task.agent.use
    config = task.agent_config(name)
    kind = found("agents", config.kind or name)
    intent = contract.intent or IntentContract.from_goal(task.goal or "")
    try:
        schema = current_schema(loaded)
        schemas = schemas_of(loaded, schema)
    except BadSchema as error:
        raise ConfigError(f"the state schema can't be used: {error}", where=task.contract or "") from error
    skill = contract.skill or builtin_skill("coding", task.layout)
    allowed = specs(task.actions.allow, task.actions.commands)
    dialect = compile_dialect(kind.dialect_kind, schema, allowed, reasoning=not kind.native_reasoning)
    return Charter(
        task=task,
        intent=intent,
        skill=skill,
        schema=schema,
        specs=allowed,
        grammar=describe(allowed, task.actions.commands),
        dialect=dialect,
        paths=policy(loaded),
        agent=AgentProfile(
            name=name,
            kind=config.kind or name,
            model=config.model or "",
            dialect=kind.dialect_kind,
            reasoning=not kind.native_reasoning,
        ),
        price=config.price,
        price_known=price_known(config),
        checks=tuple(check.name for check in task.checks),
        edit_checks=tuple(check.name for check in task.checks if check.when == "edit"),
        digests={
            "task": loaded.text_digest,
            "skill": digest(skill),
            "intent": digest(intent.model_dump_json()),
            "schema": digest(schema.source),
            "rules": schema.governance(),
            "checks": digest(task.judged_by),
        },
        checkers={spec.name: Checker(spec.args) for spec in allowed},
        schemas=schemas,
    )


def builtin_skill(name: str, layout: str = "full") -> str:
    """The built-in procedural specification of a template, as it fits a layout: `compact` says the same in fewer words,
    `paper` speaks of nothing that this layout does not show."""
    file = f"{name}.md" if layout == "full" else f"{name}-{layout}.md"
    return resources.files("controller").joinpath("skills", file).read_text("utf-8")


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


def open_store(loaded: LoadedTask, *, create: bool = True) -> Store:
    """The task's store. Raises ConfigError for an unknown one."""
    places = Places.of(loaded)
    made: Store = found("stores", loaded.task.store.use)(
        places.runtime / "state.db", create=create, evict=evict, leave=places.home.leave
    )
    return made


def assemble(
    loaded: LoadedTask,
    *,
    agent: str | None = None,
    watch: Watch | None = None,
    environ: Mapping[str, str] | None = None,
) -> Rig:
    """The Rig of a task. `agent` replaces `agent.use`. Launches nothing. Raises ConfigError."""
    environ = os.environ if environ is None else environ
    accepted(loaded.task)
    task, places, law = loaded.task, Places.of(loaded), charter(loaded, agent)
    name = agent or task.agent.use
    runtime = places.runtime
    env = child_environment({}, base=environ)
    plan = SandboxPlan.of(task.sandbox, places.worktree, places.base, runtime, env, environ)
    secrets = given(task.agent_config(name), environ, places.base) | tokens(task, environ)
    redact = Redactor(secrets)
    artifacts = FileArtifacts(runtime / "artifacts", redact.redact)
    watch = watch or Watch()
    runner = ProcessRunner(runtime / "spool", artifacts, redact, watch=watch.output)
    box = plan.around(runner)
    setup = box.for_(task.workspace.setup.network)
    workspace = WorktreeWorkspace.of(task, places.repo, places.home, runtime, setup, env, redact)
    repo, store = workspace.work, open_store(loaded)
    context = ActionContext(
        root=places.worktree,
        paths=law.paths,
        runner=runner,
        artifacts=artifacts,
        env=env,
        commands=task.actions.commands,
        git=repo.reader(),
        limits=task.limits,
        redactor=redact,
        boxed=box.for_,
        schemas=grown_folder(loaded),
        memory=RunMemory(task.name, store, artifacts, law.fields),
    )
    made = _agent(name, task.agent_config(name), law, runner, places, environ)
    return Rig(
        task=replace(law, agent=made.profile, redactor=redact),
        agent=made,
        actions=Tools(context, workspace, task.name, tuple(spec.name for spec in law.specs)),
        readers=_readers(task, workspace, box, context, redact, environ),
        store=store,
        workspace=workspace,
        artifacts=artifacts,
        watch=watch,
        sandbox=box.kind,
        end_now=runner.end_now,
        room=lambda: need_room(runtime),
    )


def accepted(task: Task) -> None:
    """What the grammar knows and this version can't do yet is refused by name, never ignored. Raises
    ConfigError."""
    refused = [
        (task.repeat != "never", "repeat: on-change", "write `repeat: never`, and use `run --new`"),
        (bool(task.agent.fallback), "agent.fallback", "swap the agent with `run --agent NAME`"),
    ]
    for wanted, what, hint in refused:
        if wanted:
            raise ConfigError(f"{what} can't be had in this version", hint=hint)


@dataclass
class Tools:
    """The actions of a task, made when first named, and the workspace's part in recovery."""

    context: ActionContext
    workspace: WorktreeWorkspace
    task: str
    allowed: tuple[str, ...]

    def __post_init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, tool: str) -> Any:
        if tool not in self._made:
            self._made[tool] = found("actions", tool)(self.context)
        return self._made[tool]

    async def reset(self, head: str, keep_as: str) -> str | None:
        return await self.workspace.undo(head, f"{self.task}/{keep_as}")

    async def find(self, key: str) -> str | None:
        return await self.workspace.find(key)


def _agent(
    name: str, config: AgentConfig, law: Charter, runner: Runner, places: Places, environ: Mapping[str, str]
) -> Agent:
    home = places.runtime / "agents" / name
    # Outside the checkout: an agent that looks around, or up, finds nothing of the repository.
    outside = Path(tempfile.gettempdir()) / f"skill-state-{os.getuid()}" / digest(str(places.base))[:12]
    made: Agent = found("agents", config.kind or name)(
        AgentSettings(
            name=name,
            config=config,
            dialect=law.dialect,
            runner=runner,
            home=home / "home",
            cwd=outside / name,
            environ=environ,
            base_dir=places.base,
            worktree=places.worktree,
        )
    )
    return made


def _readers(
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
            asked = Given(name, authority, task.workspace.base, environ, boxed, root, env, redact.redact_text)
            readers.append(made.given(asked))
        elif authority.use != "git":
            readers.append(made(name, **authority.options))
    checker, resting, alone = found("reconcilers", "check"), found("reconcilers", "resting"), box.for_(False)
    known = {reader.name: reader for reader in readers}
    for check in task.checks:
        if check.authority is not None:
            readers.append(resting(check, known[check.authority]))
            continue
        readers.append(checker(check, pins=pins(check), cwd=root, env=env, runner=alone, git=repo.reader()))
    return tuple(readers)


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
