"""An environment with what runtimes and readers need to know of it: rules, tools, state, and what a summary keeps."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contracts.actions import ActionSpec, closed
from tests.bench.skillexec import noise, repository, warehouse
from tests.bench.skillexec.books import Requests, Shelves
from tests.bench.skillexec.readers import Books

ITEM = {"type": "string", "pattern": "^item_[0-9]{1,6}$", "maxLength": 11}
SHELF = {"type": "string", "pattern": "^shelf_[0-9]{1,3}$", "maxLength": 9}


@dataclass(frozen=True)
class Domain:
    """rules: the skill text, the same for every runtime; brief: the same in few words, for ours in the layout `compact`
    alone. books: how a reader keeps account. specs: the tools that ours is given, `verbs` what each is called in the
    environment. state: the fields that rivals begin with; schema: the built-in one of ours. kept: lines that a summary
    keeps. telemetry: what its noise is made of."""

    rules: str
    brief: str
    books: Callable[[dict[str, dict[str, Any]]], Books]
    specs: tuple[ActionSpec, ...]
    verbs: dict[str, str]
    state: tuple[str, ...]
    schema: str
    kept: re.Pattern[str]
    telemetry: tuple[str, ...]


def tool(name: str, args: dict[str, Any], said: str, example: str) -> ActionSpec:
    return ActionSpec(name, closed(args, tuple(args)), said, "outside", example=example)


STAY = ActionSpec("stay", closed({}), "nothing is to be done", "none", example="{}")

WAREHOUSE = Domain(
    rules=warehouse.RULES.format(last=warehouse.SHELVES - 1),
    brief=warehouse.BRIEF.format(last=warehouse.SHELVES - 1),
    books=Shelves,
    specs=(
        tool(
            "store", {"item": ITEM, "to": SHELF}, "put an item on a shelf", '{"item":"item_1","to":"shelf_0"}'
        ),
        tool("ship", {"item": ITEM, "from": SHELF}, "send an item out", '{"item":"item_1","from":"shelf_0"}'),
        tool(
            "move",
            {"item": ITEM, "from": SHELF, "to": SHELF},
            "take an item elsewhere",
            '{"item":"item_1","from":"shelf_0","to":"shelf_2"}',
        ),
        STAY,
    ),
    verbs={"store": "Store", "ship": "Ship", "move": "Move", "stay": "Wait"},
    state=("inventory",),
    schema="warehouse",
    kept=re.compile(r"(Stored|Shipped|Moved|Audit:|Barcode update:|Notice:) .*"),
    telemetry=noise.WAREHOUSE,
)


def _named(pattern: str, length: int) -> dict[str, Any]:
    return {"of": {"type": "string", "pattern": pattern, "maxLength": length}}


REPOSITORY = Domain(
    rules=repository.RULES,
    brief=repository.BRIEF,
    books=Requests,
    specs=(
        tool("commit", _named("^F[0-9]{1,5}$", 6), "write a feature", '{"of":"F1"}'),
        tool("createpr", _named("^feature/F[0-9]{1,5}$", 14), "propose a branch", '{"of":"feature/F1"}'),
        tool("fixci", _named("^#[0-9]{1,6}$", 7), "repair a pull request's CI and let it run", '{"of":"#1"}'),
        tool("merge", _named("^#[0-9]{1,6}$", 7), "merge a pull request", '{"of":"#1"}'),
        STAY,
    ),
    verbs={"commit": "Commit", "createpr": "CreatePR", "fixci": "FixCI", "merge": "Merge", "stay": "Wait"},
    state=("branches", "prs"),
    schema="repository",
    kept=re.compile(r"(Issue assigned:|Committed|Opened|CI of|Merged|Notice:) .*"),
    telemetry=noise.SYSLOG,
)
