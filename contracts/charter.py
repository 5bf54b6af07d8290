"""The charter: what a run may not change about itself. Compiled once from task, contract folder and agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.actions import ActionSpec
from contracts.agents import Price
from contracts.base import JsonObject, digest
from contracts.dialects import Dialect
from contracts.explain import Checker
from contracts.intent import IntentContract
from contracts.merge import Path
from contracts.paths import PathPolicy
from contracts.redact import Redactor
from contracts.reply import AgentProfile
from contracts.state import FieldRule, StateSchema
from contracts.submitted import REQUESTS
from contracts.task import Task


@dataclass(frozen=True)
class Charter:
    """skill: the text P. grammar: the actions as the model reads them. digests: sha256 of task, skill, intent
    and schema. `checks` is every check's name, `edit_checks` those read after an edit. `price` is None when
    the agent's money cost can't be known; then the money cap can't be enforced (and is said not to be).
    `schemas` are the versions of the state's schema that are at hand, `schema` among them, `undone` those that were
    taken back. `planning`: what would be allowed is parked as a plan, and nothing is done. `config`: the digest of the
    Git configuration that this clone began with, where a run goes from clone to clone; else the record has it."""

    task: Task
    intent: IntentContract
    skill: str
    schema: StateSchema
    specs: tuple[ActionSpec, ...]
    grammar: str
    dialect: Dialect
    paths: PathPolicy
    agent: AgentProfile
    price: Price | None = None
    price_known: bool = True
    checks: tuple[str, ...] = ()
    edit_checks: tuple[str, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    checkers: dict[str, Checker] = field(default_factory=dict)
    redactor: Redactor = field(default_factory=Redactor)
    planning: bool = False
    schemas: Mapping[int, StateSchema] = field(default_factory=dict)
    undone: tuple[StateSchema, ...] = ()
    config: str = ""

    @property
    def fields(self) -> dict[Path, FieldRule]:
        """The rules of every field that a state of any version may have; what is secret in one, is in all."""
        found: dict[Path, FieldRule] = {}
        for schema in (*self.undone, *self.schemas.values(), self.schema):
            for path, rule in schema.fields.items():
                old = found.get(path)
                found[path] = old if old and old.sensitivity and not rule.sensitivity else rule
        return found

    @property
    def requests(self) -> int:
        """Requests that a launch is reserved for: one, or, where the agent has tools of its own and decides by itself
        how many it makes, REQUESTS."""
        return 1 if self.task.agent_config(self.agent.name).explore == "none" else REQUESTS

    def schema_of(self, version: int, sha: str | None) -> StateSchema | None:
        """The schema with this digest, else the one in use of this version; None when neither is at hand."""
        every = (self.schema, *self.schemas.values(), *self.undone)
        found = next((each for each in every if digest(each.source) == sha), None)
        return found or next((each for each in every if each.version == version), None)

    def arguments(self, tool: str, args: JsonObject) -> list[str]:
        """What is wrong with the arguments of an allowed tool, in sentences; empty when they are valid."""
        return [str(error) for error in self.checkers[tool].errors(args)]

    def spec(self, tool: str) -> ActionSpec | None:
        """The spec of an allowed tool, or None."""
        return next((spec for spec in self.specs if spec.name == tool), None)
