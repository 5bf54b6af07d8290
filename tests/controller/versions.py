"""A contract folder whose state schema has versions: notes become facts, each with its text and source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.controller.world import TASK

TEXT = {"type": "string", "maxLength": 60}
VERSIONED = TASK.replace("goal: Replace", "contract: .agent-contract\ngoal: Replace")


def keyed(entry: Any, most: int = 8, **more: Any) -> dict[str, Any]:
    names = {"pattern": "^[a-z0-9-]{1,12}$"}
    return {
        "type": "object", "maxProperties": most, "propertyNames": names, "additionalProperties": entry, **more,
    }  # fmt: skip


def schema(version: int, properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {
        "x-version": version,
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False,
    }  # fmt: skip


FACT = closed({"text": TEXT, "source": TEXT}, "text", "source")
ONE = schema(1, {"notes": keyed(TEXT), "next_action": TEXT})
TWO = schema(2, {"facts": keyed(FACT), "next_action": TEXT})
THREE = schema(3, {"facts": keyed(FACT), "next": TEXT, "risks": keyed(TEXT)}, "risks")

TO_TWO = {
    "from": 1,
    "to": 2,
    "why": "a fact says where it was seen",
    "forward": [
        {"op": "move", "from": "/notes", "path": "/facts"},
        {"op": "copy", "from": "/facts", "path": "/old"},
        {"op": "replace", "path": "/facts/*", "value": {"source": "unknown"}},
        {"op": "move", "from": "/old/*", "path": "/facts/*/text"},
        {"op": "remove", "path": "/old"},
    ],
    "back": [
        {"op": "copy", "from": "/facts", "path": "/notes"},
        {"op": "remove", "path": "/notes/*"},
        {"op": "move", "from": "/facts/*/text", "path": "/notes/*"},
        {"op": "remove", "path": "/facts"},
    ],
    "samples": [{"notes": {"tz": "uses text_type", "win": "no"}, "next_action": "read"}],
}
TO_THREE = {
    "from": 2,
    "to": 3,
    "why": "the name said too much",
    "forward": [{"op": "move", "from": "/next_action", "path": "/next"}],
    "back": [
        {"op": "move", "from": "/next", "path": "/next_action"},
        {"op": "remove", "path": "/risks", "if_present": True},
    ],
}


def contract(root: Path, current: dict[str, Any], *, older: Any = (), migrations: Any = ()) -> Path:
    """Writes `.agent-contract` anew, as far as it is about the schema."""
    folder = root / ".agent-contract"
    (folder / "migrations").mkdir(parents=True, exist_ok=True)
    for path in (folder / "migrations").iterdir():
        path.unlink()
    (folder / "state.schema.json").write_text(json.dumps(current))
    for each in older:
        (folder / f"migrations/state.schema.v{each['x-version']}.json").write_text(json.dumps(each))
    for each in migrations:
        (folder / f"migrations/{each['to']:04d}-step.json").write_text(json.dumps(each))
    return folder
