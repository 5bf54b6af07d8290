"""assemble: from task.yaml and the installed parts to a Rig. Parts are found by entry point; only what the task
names is loaded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from contracts.agents import AgentConfig, price_known
from contracts.base import digest
from contracts.brief import describe_briefly
from contracts.charter import Charter
from contracts.dialects import compile_dialect
from contracts.errors import ConfigError
from contracts.explain import Checker
from contracts.grammar import describe, specs
from contracts.intent import IntentContract
from contracts.ports import Agent
from contracts.redact import Redactor
from contracts.reply import AgentProfile
from contracts.schema_refs import BadSchema
from contracts.spares import Spawner
from contracts.submitted import RULES, asked, delegated
from controller.contract_folder import contract_of
from controller.given import given, tokens
from controller.installed import found
from controller.memory.asked import RunMemory
from controller.pins import policy
from controller.places import Places
from controller.readers import readers_of, voices_of
from controller.record_store import artifacts_of, open_store, refuse_secrets
from controller.rig import Rig, Watch
from controller.schema_chain import current_schema, grown_folder, schemas_of, taken_back
from controller.stores.artifacts import FileArtifacts
from controller.stores.room import need_room
from controller.taskfile import LoadedTask
from tool_adapters.actions.context import ActionContext
from tool_adapters.agents.delegate import Delegating, LentRunner
from tool_adapters.agents.settings import AgentSettings
from tool_adapters.forge.board import Board
from tool_adapters.forge.forum import Forum
from tool_adapters.lending import Lending
from tool_adapters.process import ProcessRunner, child_environment
from tool_adapters.sandbox import SandboxPlan
from tool_adapters.workspace import WorktreeWorkspace


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
        schemas, undone = schemas_of(loaded, schema), taken_back(loaded)
    except BadSchema as error:
        raise ConfigError(f"the state schema can't be used: {error}", where=task.contract or "") from error
    refuse_secrets(task, schema)
    skill = contract.skill or builtin_skill("coding", task.layout)
    allowed = specs(task.actions.allow, task.actions.commands, task.waits)
    alone = config.explore == "delegate"
    allowed = delegated(allowed) if alone else allowed
    shown = asked(allowed)
    tell = describe_briefly if task.layout == "compact" else describe
    dialect = compile_dialect(kind.dialect_kind, schema, shown, reasoning=not kind.native_reasoning)
    return Charter(
        task=task,
        intent=intent,
        skill=skill,
        schema=schema,
        specs=allowed,
        grammar=(RULES if alone else "") + tell(shown, task.actions.commands),
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
        undone=undone,
    )


def builtin_skill(name: str, layout: str = "full") -> str:
    """The built-in procedural specification of a template, as it fits a layout: `compact` says the same in fewer words,
    `paper` speaks of nothing that this layout does not show."""
    file = f"{name}.md" if layout == "full" else f"{name}-{layout}.md"
    return resources.files("controller").joinpath("skills", file).read_text("utf-8")


def assemble(
    loaded: LoadedTask,
    *,
    agent: str | None = None,
    watch: Watch | None = None,
    environ: Mapping[str, str] | None = None,
    steps: int | None = None,
) -> Rig:
    """The Rig of a task, for so many steps at most. `agent` replaces `agent.use`. Launches nothing. Raises
    ConfigError."""
    environ = os.environ if environ is None else environ
    task, places, law = loaded.task, Places.of(loaded), charter(loaded, agent)
    name, runtime = law.agent.name, places.runtime
    env = child_environment({}, base=environ)
    plan = SandboxPlan.of(task.sandbox, places.worktree, places.base, runtime, env, environ)
    secrets = given(task.agent_config(name), environ, places.base) | tokens(task, environ)
    redact = Redactor(secrets)
    watch = watch or Watch()
    files = FileArtifacts(runtime / "artifacts", redact.redact)
    runner = ProcessRunner(runtime / "spool", files, redact, watch=watch.output)
    box = plan.around(runner)
    setup = box.for_(task.workspace.setup.network)
    workspace = WorktreeWorkspace.of(task, places.repo, places.home, runtime, setup, env, redact)
    repo, store = workspace.work, open_store(loaded, workspace)
    artifacts = artifacts_of(loaded, store, redact.redact)
    forum = Forum.of(task, repo.engine, environ)
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
        forum=forum,
    )
    room, author = runtime / "lent" / name, task.workspace.author
    lending = Lending(repo, room, task.name, author, law.paths, redact, artifacts)
    ahead = runner if steps != 1 else None  # after the only step no launch follows
    made = _agent(name, task.agent_config(name), law, box, lending, ahead, places, environ)
    return Rig(
        task=replace(law, agent=made.profile, redactor=redact),
        agent=made,
        actions=Tools(context, workspace, task.name, tuple(spec.name for spec in law.specs)),
        readers=readers_of(task, workspace, box, context, redact, environ),
        store=store,
        workspace=workspace,
        artifacts=artifacts,
        watch=watch,
        sandbox=box.kind,
        voices=voices_of(forum),
        board=Board(forum, redact.redact_text, law.schema.secrets) if forum is not None else None,
        end_now=runner.end_now,
        room=lambda: need_room(runtime),
    )


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
    name: str,
    config: AgentConfig,
    law: Charter,
    box: SandboxPlan,
    lending: Lending,
    ahead: Spawner | None,
    places: Places,
    environ: Mapping[str, str],
) -> Agent:
    home = places.runtime / "agents" / name / "home"
    # Outside the checkout: an agent that looks around, or up, finds nothing of the repository.
    outside = Path(tempfile.gettempdir()) / f"skill-state-{os.getuid()}" / digest(str(places.base))[:12]
    assert box.inner is not None, "a plan with its runner"
    lent = LentRunner(box.inner, box, lending, home) if config.explore == "delegate" else None
    made: Agent = found("agents", config.kind or name)(
        AgentSettings(
            name=name,
            config=config,
            dialect=law.dialect,
            runner=lent or box.inner,
            ahead=ahead,
            home=home,
            cwd=outside / name,
            environ=environ,
            base_dir=places.base,
            worktree=places.worktree,
        )
    )
    return Delegating(made, lent) if lent is not None else made
