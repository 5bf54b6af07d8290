"""Actions as data: what a tool is called, which arguments it takes, what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from contracts.base import Frozen, JsonObject
from contracts.readings import Printed

Effect = Literal["none", "read", "edit", "command", "outside"]


@dataclass(frozen=True)
class ActionSpec:
    """One tool of the grammar.

    `args` is the JSON Schema of the canonical arguments: a closed object. `effect` says what it may change:
    `none` (ask, finish, wait), `read`, `edit` (files of the worktree, promised digests), `command` (a named
    command), `outside` (the world beyond the worktree). `alone`: may not stand inside a `batch`.
    `summary` is the line that the model reads, `example` shows it the arguments (absent: it reads their schema).
    """

    name: str
    args: JsonObject = field(hash=False)
    summary: str
    effect: Effect = "read"
    alone: bool = False
    example: str = ""


class Block(Frozen):
    """A piece of an observation. `text` is already cut to its limit; `total` is the size before the cut, in
    bytes; `artifact` names the full text where one was kept, `first` is the number of the text's first line in it,
    where that is known."""

    title: str
    text: str = ""
    total: int | None = None
    artifact: str | None = None
    first: int | None = None


class RanCommand(Frozen):
    """A named command that was run. `exit` is None when it was ended by us; `must` as the task declares it; `id`
    names it with its parameters, `printed` is what its next run is compared with."""

    name: str
    exit: int | None
    timed_out: bool = False
    must: Literal["any", "pass"] = "any"
    took: float = 0.0
    id: str = ""
    printed: Printed | None = None


class ActionCall(Frozen):
    """A staged action handed to its adapter. `key` is the idempotency key, `step` its number, `answer` what a
    person said to an `ask`, `head` the commit that the step began on (a probe compares with it), `printed` what the
    commands in it printed last, by `RanCommand.id`, `files` what an approved change of the state's schema writes, by
    name, `basis` what else it rests on, as it was when it was allowed, `run` the run's id."""

    tool: str
    args: JsonObject
    key: str
    step: int
    answer: str | None = None
    head: str = "HEAD"
    printed: dict[str, Printed] = {}
    files: dict[str, str] = {}
    basis: dict[str, str] = {}
    run: str = ""


class ActionResult(Frozen):
    """What the adapter says it did (a claim until a reading confirms it).

    ok        False: nothing (or not all) was done; `code` and `say` teach the model what to do instead.
    promised  path -> sha256 hex of the bytes that must now be there, or None where the file must be gone.
    blocks    what the next observation shows.
    ran       the named commands that were run.
    committed the commit that already holds this deed, after a crash between commit and record.
    late      it ended after we had been told to end: what it did is still looked at and stored.
    not_before  with ok False: it was not done, or nobody knows (code MAYBE), for a reason that passes; UTC seconds
              of when to look and to try again.
    took      seconds.
    """

    ok: bool = True
    code: str = ""
    say: str = ""
    excerpt: str = ""
    blocks: tuple[Block, ...] = ()
    promised: dict[str, str | None] = {}
    ran: tuple[RanCommand, ...] = ()
    committed: str | None = None
    late: bool = False
    not_before: float | None = None
    took: float = 0.0


MAYBE, UNKNOWN = "act.maybe", "act.unknown"  # codes: nobody knows whether it was done


class Probed(Frozen):
    """What `Action.probe` found: `happened` (with the result to verify), `not_yet`, or `unknown`: then `not_before`
    (UTC seconds) is when it may be told, None where nothing but a person can tell."""

    kind: Literal["happened", "not_yet", "unknown"]
    result: ActionResult | None = None
    why: str = ""
    not_before: float | None = None


def closed(properties: JsonObject, required: tuple[str, ...] = (), **more: Any) -> JsonObject:
    """A closed object schema: the only kind of object that the grammar has."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def const(value: str) -> JsonObject:
    return {"type": "string", "const": value}


def listed(items: JsonObject, most: int) -> JsonObject:
    """A list of 1 to `most` items."""
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}
