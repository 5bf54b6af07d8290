"""`schema`: the JSON Schemas of what a user or a program reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson

from contracts import events, task
from contracts.base import JsonObject
from contracts.dialects import transition_schema
from contracts.errors import ConfigError
from contracts.intent import IntentContract
from contracts.state import StateSchema
from contracts.tools import SPECS
from controller.surfaces.locate import load, task_path

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(kind: str, given: Path | None, agent: str | None = None) -> int:
    """Print one schema. `state` and `transition` are those of the task where there is one, else the built-in; with
    `agent` a transition as that agent is asked for it."""
    if agent is not None:
        if kind != "transition":
            raise ConfigError(
                f"--agent does not go with {kind!r}", hint="controller schema transition --agent NAME"
            )
        from controller.assemble import charter
        from controller.surfaces.grown import brought

        print(
            orjson.dumps(
                charter(brought(load(given)), agent).dialect.schema, option=orjson.OPT_INDENT_2
            ).decode()
        )
        return 0
    if kind not in KINDS:
        raise ConfigError(f"there is no schema {kind!r}", hint=f"there are {', '.join(KINDS)}")
    print(orjson.dumps(KINDS[kind](given), option=orjson.OPT_INDENT_2).decode())
    return 0


def _intent(given: Path | None) -> JsonObject:
    return {"$schema": DRAFT, **IntentContract.model_json_schema()}


def _state(given: Path | None) -> JsonObject:
    if task_path(given).exists():
        from controller.assemble import charter
        from controller.surfaces.grown import brought

        return charter(brought(load(given))).schema.source
    return StateSchema.builtin("coding").source


def _transition(given: Path | None) -> JsonObject:
    if task_path(given).exists():
        from controller.assemble import charter
        from controller.surfaces.grown import brought

        law = charter(brought(load(given)))
        return transition_schema(law.schema, law.specs)
    return transition_schema(StateSchema.builtin("coding"), tuple(SPECS.values()))


KINDS: dict[str, Callable[[Path | None], JsonObject]] = {
    "task": lambda given: task.json_schema(),
    "intent": _intent,
    "state": _state,
    "transition": _transition,
    "event": lambda given: events.json_schema(),
}
