"""What a run tells while it goes on: one JSON object a line, told apart by `event`; the last line is the outcome."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from contracts.base import Frozen, JsonObject
from contracts.outcomes import Outcome

Result = Literal["committed", "rejected", "refuted", "staged", "halted", "nothing"]


class GoalChange(Frozen):
    """A check over the run: how it stood at the start and how it stands now."""

    role: Literal["goal", "guard"]
    start: bool
    now: bool
    why: str = ""


class Costs(Frozen):
    """What was used up. `usd_micro` is None where the agent reports no money and the task has no price;
    `estimated` when any of it is a reserve that no report settled. `wall` in seconds."""

    launches: int = 0
    tokens: int = 0
    usd_micro: int | None = None
    estimated: bool = False
    wall: float = 0.0


class Begun(Frozen):
    """Before the first step of this call. `run` is None when the call opens a new one."""

    event: Literal["begun"] = "begun"
    task: str
    run: str | None = None
    step: int = 0
    agent: str
    model: str = ""
    credential: str
    sandbox: str


class Note(Frozen):
    """A line worth knowing."""

    event: Literal["note"] = "note"
    say: str


class StepEnded(Frozen):
    """One call of the step. `took` in seconds; `costs` are the whole run's, `left` the worklists' counts, `most` the
    longest that they were."""

    event: Literal["step"] = "step"
    run: str
    step: int
    result: Result
    tool: str = ""
    say: str = ""
    layer: str = ""
    code: str = ""
    commit: str | None = None
    goals_green: int = 0
    goals: int = 0
    left: dict[str, int] = {}
    most: dict[str, int] = {}
    took: float = 0.0
    costs: Costs = Costs()


class Ended(Frozen):
    """How the call ended. `exit` is the process's exit code, `outcome` None when it ended between two steps
    because `--steps` said so. `pull_request` is the address of the one that the run opened, `next` the command that
    goes on."""

    event: Literal["outcome"] = "outcome"
    outcome: Outcome | None
    exit: int
    task: str = ""
    run: str | None = None
    step: int = 0
    committed: int = 0
    cause: str = ""
    say: str = ""
    not_before: float | None = None
    checks: dict[str, GoalChange] = {}
    branch: str = ""
    base: str = ""
    head: str = ""
    pull_request: str = ""
    diffstat: str = ""
    costs: Costs = Costs()
    agent: str = ""
    next: str = ""


Event = Annotated[Begun | Note | StepEnded | Ended, Field(discriminator="event")]


def json_schema() -> JsonObject:
    """The JSON Schema (2020-12) of one line."""
    from_parts = TypeAdapter(Event).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "event of a run",
        **from_parts,
    }
