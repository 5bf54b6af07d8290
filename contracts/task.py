"""task.yaml as types: what a user may write, with its defaults. `controller.taskfile` reads the YAML."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from contracts.agents import AgentChoice, AgentConfig
from contracts.approvals import Approvals
from contracts.authorities import DECIDING, Authority
from contracts.base import Frozen, JsonObject
from contracts.checks import Check
from contracts.commands import Command
from contracts.deeds import Forge, unmet
from contracts.forge_reading import NAME
from contracts.intent import SECTIONS, IntentContract, Items
from contracts.units import (
    Count,
    Duration,
    Many,
    Name,
    Size,
    Text,
    invalid,
)
from contracts.waiting import Waits, waits
from contracts.workspace import Workspace

NO_GOAL = "nothing here can tell done from not started: give at least one check with role: goal"
DEFAULT_ACTIONS = (
    "read_files",
    "list_files",
    "search",
    "recall",
    "edit_files",
    "apply_patch",
    "batch",
    "run",
    "request_change",
    "ask",
    "wait",
    "finish",
)


class Sandbox(Frozen):
    """Where commands and checks run."""

    mode: Literal["required", "none"] = Field(
        default="required", description="required, or none to do without"
    )
    read: Many[Text] = Field(default=(), description="toolchains to mount read-only")


class Actions(Frozen):
    """What the model may do."""

    allow: Annotated[Many[Name], Field(min_length=1)] = Field(
        default=DEFAULT_ACTIONS, description="allowed actions"
    )
    commands: dict[Name, Command] = Field(default_factory=dict, description="what `run` may name")

    @field_validator("allow")
    @classmethod
    def _can_end(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        if "finish" not in allow:
            raise invalid("without `finish` the task can never end: add it to allow")
        return allow


class Budgets(Frozen):
    """Limits of a run. They survive restarts; reaching one ends the run with its own exit code."""

    steps: Count = Field(default=50, description="launches of an agent")
    tokens: Count = Field(default=1_500_000, description="input and output tokens")
    usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=10.0, description="US dollars; null: no limit in money, only in steps and tokens"
    )
    wall: Duration = Field(default=14400.0, description="time with a controller at work")
    rejections: Count = Field(default=5, description="rejected transitions in a row, then the run is stuck")
    usd_per_day: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="US dollars per UTC day, over all runs of this task"
    )


_Limit = Annotated[Size, Field(ge=1024, le=1024 * 1024)]


class Limits(Frozen):
    """How much of each part of the prompt there may be."""

    observation: _Limit = Field(default=24 * 1024, description="observation and correction together")
    view: _Limit = Field(default=16 * 1024, description="all views together")
    state: _Limit = Field(default=24 * 1024, description="the state as JSON")


class StoreChoice(Frozen):
    """Where the run's record is kept."""

    use: Name = Field(default="sqlite", description="sqlite, git, or an installed store's name")
    remote: Text | None = Field(
        default=None,
        description="store git: name or address of the remote that holds the record; absent: origin",
    )

    @model_validator(mode="after")
    def _has_one(self) -> StoreChoice:
        if self.use == "sqlite" and self.remote is not None:
            raise invalid("`remote` is of `use: git`: this store is a file beside the task")
        return self


def _version(value: object) -> object:
    if type(value) is not int or value != 1:  # to Literal[1], True and 1.0 are 1
        raise invalid("expected 1, the only version of this grammar")
    return value


class Task(Frozen):
    """One maintenance task."""

    model_config = ConfigDict(title="task.yaml")

    version: Annotated[Literal[1], BeforeValidator(_version)] = Field(description="version of this grammar")
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}$")] = Field(
        description="names the run, its branch and its worktree"
    )
    goal: Annotated[str, StringConstraints(min_length=1, max_length=16000, strip_whitespace=True)] | None = (
        Field(
            default=None,
            description="what shall be reached; stands here when the contract folder has no intent",
        )
    )
    success_criteria: Items = Field(default=(), description="how you will recognise success")
    locked_requirements: Items = Field(default=(), description="requirements that only you change")
    constraints: Items = Field(default=(), description="limits on how the goal is reached")
    non_goals: Items = Field(default=(), description="what shall not be done")
    approval_boundaries: Items = Field(default=(), description="deeds that need a person's approval first")
    must_remember: Items = Field(default=(), description="facts that must not be forgotten")
    priority_order: Items = Field(default=(), description="what wins when two aims conflict, first wins")
    contract: Text | None = Field(default=None, description="folder with intent, skill and state schema")
    agent: AgentChoice = Field(description="which agent makes the steps")
    agents: dict[Name, AgentConfig] = Field(default_factory=dict, description="settings by agent name")
    workspace: Workspace = Field(default_factory=Workspace, description="the Git worktree")
    sandbox: Sandbox = Field(default_factory=Sandbox, description="where commands and checks run")
    authorities: dict[Name, Authority] = Field(default_factory=dict, description="readings shown each step")
    forge: Forge | None = Field(
        default=None, description="where the work is pushed, proposed and talked about (docs/forge.md)"
    )
    actions: Actions = Field(default_factory=Actions, description="what the model may do")
    checks: Many[Check] = Field(description="the only way to be done")
    budgets: Budgets = Field(default_factory=Budgets, description="limits of a run")
    limits: Limits = Field(default_factory=Limits, description="sizes within the prompt")
    approvals: Approvals = Field(default_factory=Approvals, description="what a person decides")
    commit_mode: Literal["staged", "optimistic", "dual"] = Field(
        default="staged",
        description="when a patch becomes the state: once its action is proven, at once, or at once as desired and "
        "once proven as confirmed",
    )
    layout: Literal["paper", "compact", "full"] = Field(
        default="full", description="how much the prompt says"
    )
    store: StoreChoice = Field(default_factory=StoreChoice, description="where the record is kept")
    repeat: Literal["never", "on-change"] = Field(
        default="never",
        description="on-change: open the next run when a goal is red again at the current base",
    )

    @field_validator("checks")
    @classmethod
    def _decides(cls, checks: tuple[Check, ...]) -> tuple[Check, ...]:
        names = [check.name for check in checks]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise invalid(f"two checks have the name {twice[0]!r}: names are unique")
        if all(check.role != "goal" for check in checks):
            raise invalid(NO_GOAL)
        return checks

    @model_validator(mode="after")
    def _rests_on_known(self) -> Task:
        for check in self.checks:
            resting = self.authorities.get(check.authority) if check.authority else None
            if check.authority and (resting is None or not resting.decides):
                uses = ", ".join(f"`use: {use}`" for use in DECIDING)
                raise invalid(f"check {check.name!r}: there is no authority {check.authority!r} of {uses}")
        return self

    @model_validator(mode="after")
    def _has_forge(self) -> Task:
        if missing := unmet(self.actions.allow, self.forge):
            raise invalid(missing)
        if self.forge is not None and NAME in self.authorities:
            raise invalid(f"an authority is called {NAME!r}, as what `forge:` reads is: give it another name")
        return self

    @model_validator(mode="after")
    def _has_intent(self) -> Task:
        inline = [section for section in SECTIONS if getattr(self, section)]
        if self.goal is None and (inline or self.contract is None):
            raise invalid("say what shall be reached: a `goal:` text, or a `contract:` folder that holds it")
        if self.goal is not None:
            self.intent()  # ids and supersedes hold together
        return self

    def intent(self) -> IntentContract | None:
        """The intent that stands in the task itself, or None when only the contract folder has one."""
        if self.goal is None:
            return None
        sections = {section: getattr(self, section) for section in SECTIONS}
        return IntentContract.model_validate({"goal": self.goal, **sections})

    def agent_config(self, name: str) -> AgentConfig:
        """The settings of agent `name`, its `kind` filled in; without an entry, that agent's defaults."""
        config = self.agents.get(name, AgentConfig())
        return config if config.kind else config.model_copy(update={"kind": name})

    @property
    def judged_by(self) -> list[JsonObject]:
        """What decides whether it is done: the checks, and the authorities that they rest on."""
        resting = [self.authorities[each.authority] for each in self.checks if each.authority]
        later = ("authority", "coverage", "min_coverage")  # keys that an older version did not have
        unset = [{name for name in later if getattr(each, name) is None} for each in self.checks]
        checks = [
            each.model_dump(mode="json", exclude=out) for each, out in zip(self.checks, unset, strict=True)
        ]
        return [*checks, *(each.model_dump(mode="json") for each in resting)]

    @property
    def waits(self) -> Waits:
        """What the action `wait` can wait for."""
        return waits(self.authorities, self.forge, self.actions.allow)

    @property
    def branch(self) -> str:
        """The run's own branch, `{name}` filled in."""
        return self.workspace.branch.replace("{name}", self.name)

    @property
    def worktree(self) -> str:
        """The worktree's folder, `{name}` filled in; relative to the task file unless absolute."""
        return self.workspace.path.replace("{name}", self.name)


def json_schema() -> JsonObject:
    """The JSON Schema (2020-12) of task.yaml, for editors."""
    schema = Task.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
