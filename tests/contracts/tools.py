"""A small grammar of tools, shaped as the real one, and generated calls of it."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from contracts.actions import ActionSpec
from contracts.base import JsonObject
from contracts.dialects import Dialect, DialectName, compile_dialect
from contracts.state import StateSchema

SLOW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
KINDS: list[DialectName] = ["merge", "strict"]
CODING = StateSchema.builtin("coding")

TEXT: JsonObject = {"type": "string"}


def closed(properties: JsonObject, *required: str) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def tool(name: str, args: JsonObject) -> JsonObject:
    return closed({"tool": {"const": name}, "args": args}, "tool", "args")


EDIT = {
    "anyOf": [
        closed(
            {
                "op": {"const": "replace"},
                "path": TEXT,
                "old": TEXT,
                "new": TEXT,
                "count": {"type": "integer", "minimum": 1, "maximum": 99},
            },
            *("op", "path", "old", "new"),
        ),
        closed({"path": TEXT, "content": TEXT, "op": {"const": "write"}}, "op", "path", "content"),
    ]
}
EDITS = closed({"edits": {"type": "array", "minItems": 1, "maxItems": 8, "items": EDIT}}, "edits")
RUN = closed(
    {
        "command": {"type": "string", "enum": ["test_file", "lint"]},
        "params": {
            "type": "object",
            "maxProperties": 4,
            "propertyNames": {"pattern": "^[a-z_]{1,20}$"},
            "additionalProperties": {"type": "string", "maxLength": 200},
        },
    },
    "command",
)
FINISH = closed({"summary": {"type": "string", "maxLength": 2000}}, "summary")
BATCH = closed(
    {
        "actions": {
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "items": {"anyOf": [tool("edit_files", EDITS), tool("run", RUN)]},
        }
    },
    "actions",
)
LIST = closed(
    {"globs": {"type": "array", "items": TEXT}, "deep": {"type": "boolean"}, "max": {"type": "integer"}}
)
ACTIONS = [
    ActionSpec("edit_files", EDITS, "Change files."),
    ActionSpec("run", RUN, "Run a command."),
    ActionSpec("batch", BATCH, "Several."),
    ActionSpec("list_files", LIST, "List."),
    ActionSpec("finish", FINISH, "Done.", effect="none", alone=True),
]

MAYBE = {
    "edit_files": st.fixed_dictionaries(
        {
            "edits": st.lists(
                st.fixed_dictionaries(
                    {
                        "op": st.just("replace"),
                        "path": st.text(max_size=3),
                        "old": st.text(max_size=3),
                        "new": st.just(""),
                    },
                    optional={"count": st.integers(1, 99)},
                )
                | st.fixed_dictionaries(
                    {"op": st.just("write"), "path": st.text(max_size=3), "content": st.text(max_size=3)}
                ),
                min_size=1,
                max_size=3,
            )
        }
    ),
    "run": st.fixed_dictionaries(
        {"command": st.sampled_from(["test_file", "lint"])},
        optional={
            "params": st.dictionaries(
                st.from_regex("[a-z_]{1,4}", fullmatch=True), st.text(max_size=3), max_size=4
            )
        },
    ),
    "list_files": st.fixed_dictionaries(
        {},
        optional={
            "globs": st.lists(st.text(max_size=2), max_size=2),
            "deep": st.booleans(),
            "max": st.integers(0, 9),
        },
    ),
    "finish": st.fixed_dictionaries({"summary": st.text(max_size=5)}),
}
CALLS = st.one_of(
    [st.fixed_dictionaries({"tool": st.just(name), "args": args}) for name, args in MAYBE.items()]
)
PARTS = st.one_of(
    [st.fixed_dictionaries({"tool": st.just(name), "args": MAYBE[name]}) for name in ("edit_files", "run")]
)
BATCHES = st.fixed_dictionaries(
    {
        "tool": st.just("batch"),
        "args": st.fixed_dictionaries({"actions": st.lists(PARTS, min_size=1, max_size=3)}),
    }
)


def dialect(kind: DialectName, state: StateSchema = CODING, **more: Any) -> Dialect:
    return compile_dialect(kind, state, ACTIONS, **more)


def field(schema: JsonObject, **more: Any) -> StateSchema:
    return StateSchema({**closed({"f": schema}), **more})
