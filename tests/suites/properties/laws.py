"""The charters that the generated replies are judged by: every schema that is shipped, and generated ones that let go
of entries, lock, veil and declare each kind of invariant; with every commit mode and boundaries of every kind."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contracts.approvals import Approvals
from contracts.charter import Charter
from contracts.explain import Checker
from contracts.state import BUILTIN, StateSchema
from contracts.submitted import FILLED
from controller.assemble import charter
from controller.taskfile import read_task
from tests.controller.world import TASK

MODES = ("staged", "optimistic", "dual")
COMMANDS = """\
    ship: {run: [./ship], effects: [release]}
    test: {run: [./test], must: pass, report: src/report.xml}
"""
BOUNDARIES: tuple[dict[str, Any], ...] = (
    {},
    {"boundaries": ({"paths": ("src/guarded*",)},), "who": ("ana",)},
    {"boundaries": ({"deletes": 1}, {"run": "sh*"}), "on_blocked": "continue"},
    {"boundaries": ({"tool": "apply_patch"}, {"tool": "pr_merge"}), "on_blocked": "continue"},
)


DEEDS = "git_push, git_pull, pr_open, pr_update, pr_merge, pr_comment, issue_comment, ci_rerun"
CAPS = "{open: 2, hourly: 1, reruns: 1}"
RULES: list[dict[str, Any]] = [
    {"name": "uses_known", "say": "a use names a note", "refers": "/uses/*", "to": "/notes/#"},
    {"name": "seats_differ", "say": "no seat is given twice", "unique": ["/seats/*"]},
    {"name": "phase_grows", "say": "a phase never goes back", "monotone": "/phase"},
    {"name": "level_grows", "say": "the level never sinks", "monotone": "/level"},
    {
        "name": "done_is_noted", "say": "what is done has a level",
        "holds": {
            "if": {"properties": {"phase": {"const": "done"}}, "required": ["phase"]},
            "then": {"properties": {"level": {"minimum": 1}}},
        },
    },
]  # fmt: skip


@dataclass(frozen=True)
class Law:
    """A charter and what the oracle needs of it in plain JSON."""

    charter: Charter
    name: str


def laws(folder: Path, rng: random.Random, generated: int = 12) -> list[Law]:
    """One charter for each shipped schema, `generated` more."""
    task = TASK.replace("ask, finish]", f"recall, ask, request_change, {DEEDS}, finish]")
    task = task.replace("    show:", f"{COMMANDS}    show:").replace(
        "[sh, check.sh],", '[sh, check.sh], pins: ["src/pinned/**"],'
    )
    task += f"forge: {{provider: github, repository: o/r, caps: {CAPS}}}\n"
    task += "limits: {state: 4KiB}\nlocked_requirements: [{id: keep, value: Keep the file names.}]\n"
    (folder / "task.yaml").write_text(task)
    base = charter(read_task(folder / "task.yaml"))
    specs = (*base.specs, FILLED)  # of an agent with and without tools of its own at once
    base = replace(base, specs=specs, checkers={spec.name: Checker(spec.args) for spec in specs})
    schemas = [(name, StateSchema.builtin(name)) for name in BUILTIN]
    schemas += [(f"generated {number}", StateSchema(schema(rng))) for number in range(generated)]
    return [
        Law(replace(base, schema=made, schemas={1: made}, task=_task(base, number)), name)
        for number, (name, made) in enumerate(schemas)
    ]


def _task(base: Charter, number: int) -> Any:
    approvals = Approvals.model_validate(BOUNDARIES[number % len(BOUNDARIES)])
    return base.task.model_copy(update={"approvals": approvals, "commit_mode": MODES[number % len(MODES)]})


FACT = {
    "type": "object", "additionalProperties": False, "required": ["value", "source"],
    "properties": {"value": {"type": "string", "maxLength": 20}, "source": {"type": "string", "maxLength": 20}},
}  # fmt: skip


def schema(rng: random.Random) -> dict[str, Any]:
    """A state schema: all that a schema can say, with sizes and some of its fields left to chance."""
    key = {"pattern": "^[a-z0-9-]{1,12}$"}

    def whole(most: int, least: int = 0) -> dict[str, Any]:
        return {"type": "integer", "minimum": least, "maximum": most}

    text = {"type": "string", "maxLength": rng.choice([40, 300, 900])}
    scored = {
        "type": "object", "additionalProperties": False, "required": ["score"],
        "properties": {"score": whole(9), "text": {"type": "string", "maxLength": 60}},
    }  # fmt: skip

    def keyed(entry: Any, most: int, **more: Any) -> dict[str, Any]:
        found = {"type": "object", "maxProperties": most, "propertyNames": key, "default": {}}
        return found | {"additionalProperties": entry} | more

    free: dict[str, Any] = {
        "scored": keyed(scored, rng.randint(2, 5), **{"x-evict": "lowest:score"}),
        "recent": keyed({"type": "string", "maxLength": 20}, 12, **{"x-ttl-steps": rng.randint(1, 4)}),
        "mood": {"type": "string", "maxLength": 20, "x-ttl-steps": 2},
        "token": {"type": "string", "maxLength": 40, "x-sensitivity": "secret"},
        "vault": keyed({"type": "string", "maxLength": 60, "x-sensitivity": "secret"}, 3),
    }
    fixed: dict[str, Any] = {
        "goal": {"type": "string", "maxLength": 40, "x-owner": "user", "default": "tidy up"},
        "rules": {
            "type": "object", "additionalProperties": False, "x-change-policy": "locked",
            "properties": {"style": {"type": "string", "maxLength": 30}}, "default": {"style": "plain"},
        },
        "counter": {"type": "integer", "minimum": 0, "maximum": 9, "x-owner": "controller", "default": 0},
        "log": keyed({"type": "string", "maxLength": 20}, 60, **{"x-change-policy": "append-only"}),
        "facts": keyed(FACT, 5, **{"x-change-policy": "ask"}),
        "notes": keyed(text, rng.randint(3, 8), **{"x-evict": "oldest"}),
        "uses": keyed({"type": "string", "maxLength": 12}, 4),
        "seats": keyed({"type": "integer", "minimum": 0, "maximum": 30}, 6),
        "phase": {"enum": ["new", "open", "done"], "default": "new"},
        "level": {"type": "integer", "minimum": 0, "maximum": 99, "default": 0},
        "view": keyed(
            {
                "type": "object", "additionalProperties": False, "required": ["path", "from", "to"],
                "properties": {
                    "path": {"type": "string", "maxLength": 40},
                    "from": whole(99, 1), "to": whole(99, 1),
                },
            },
            4,
        ),
    }  # fmt: skip
    chosen = {name: each for name, each in free.items() if rng.random() < 0.6}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["goal", "counter", "log", "notes", "phase", "level"],
        "properties": fixed | chosen,
        "x-invariants": RULES,
    }  # fmt: skip
