"""Every schema that is shipped: closed, bounded, small, said to both kinds of agent, and changed by small patches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from contracts.base import JsonObject
from contracts.bounds import advice, check_bounded, worst_case_bytes
from contracts.merge import merge
from contracts.migrations import Migration
from contracts.state import ANY_KEY, BUILTIN, StateSchema, walk
from contracts.state_samples import samples
from contracts.versions import tried
from tests.contracts.tools import dialect
from tests.controller.versions import ONE, TWO

# States that no generator of ours finds: a condition between two fields.
KNOWN = {
    "ctf": {
        "tried": {"k": {"result": "confirmed", "evidence": "seen"}},
        "facts": {
            "f": {"value": "v", "source": "step:1", "from": "k"},
            "g": {"unknown": "u", "source": "step:1"},
        },
    }
}
KEYWORDS = {
    "x-version", "x-owner", "x-change-policy", "x-evict", "x-ttl-steps", "x-retention", "x-sensitivity",
    "x-freshness", "x-format", "x-invariants",
}  # fmt: skip
FIELDS = {
    "coding": {
        "source_authority", "current_change", "runtime_evidence", "decision_ledger", "open_questions",
        "tested_hypotheses", "next_action", "view",
    },
    "batch": {"items"},
    "ctf": {"target", "facts", "hypotheses", "tried", "flag"},
    "warehouse": {"inventory"},
    "repository": {"main", "features", "branches", "prs", "releases"},
}  # fmt: skip


def writable_places(schema: StateSchema) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Every field that the agent may write, its own or one that all entries of a map have."""
    locked = schema.locked_paths()
    for path, node in walk(schema.plain, ()):
        if path and path[-1] != ANY_KEY and not any(path[: len(each)] == each for each in locked):
            yield path, node


def donors(name: str) -> list[JsonObject]:
    schema = StateSchema.builtin(name)
    known = merge(schema.initial(), KNOWN.get(name, {}))
    assert isinstance(known, dict) and not schema.errors(known) and not schema.broken(None, known)
    return [known, *samples(schema)]


def patch_for(name: str, schema: StateSchema, path: tuple[str, ...]) -> JsonObject:
    """The smallest patch that writes `path`: the value, and beside it what its entry needs to be valid."""
    donor = next(state for state in reversed(donors(name)) if at(state, path) is not None)
    keys, value = concrete(donor, path)
    patch: Any = value
    for depth in range(len(keys) - 1, -1, -1):
        patch = {keys[depth]: patch}
        if ANY_KEY in path[depth:] or depth == 0 or path[depth - 1] != ANY_KEY:
            continue
        entry = at(donor, keys[:depth])
        needed = next(node for place, node in walk(schema.plain, ()) if place == path[:depth]).get(
            "required", ()
        )
        patch = {name: entry[name] for name in needed} | patch
    return patch


def concrete(state: JsonObject, path: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
    node: Any = state
    keys: list[str] = []
    for place, step in enumerate(path):
        if step == ANY_KEY:
            step = next(key for key in node if at(node[key], path[place + 1 :]) is not None)
        keys.append(step)
        node = node[step]
    return tuple(keys), node


def at(node: Any, path: tuple[str, ...]) -> Any:
    for place, step in enumerate(path):
        if not isinstance(node, dict):
            return None
        if step == ANY_KEY:
            return next((got for key in node if (got := at(node[key], path[place + 1 :])) is not None), None)
        node = node.get(step)
    return node


def test_all_that_must_be_there_is_there() -> None:
    assert set(BUILTIN) == set(FIELDS)
    for name, fields in FIELDS.items():
        assert fields <= set(StateSchema.builtin(name).plain["properties"])


@pytest.mark.parametrize("name", BUILTIN)
def test_it_is_closed_bounded_small_and_starts_valid(name: str) -> None:
    schema = StateSchema.builtin(name)
    assert check_bounded(schema.source) == [] and advice(schema.source) == []
    assert worst_case_bytes(schema.source) <= 24 * 1024
    start = schema.initial()
    assert schema.errors(start) == [] and len(orjson.dumps(start)) <= 200
    assert len(samples(schema)) >= 4


@pytest.mark.parametrize("name", BUILTIN)
def test_each_field_is_reached_by_a_small_patch_in_both_dialects(name: str) -> None:
    schema = StateSchema.builtin(name)
    dialects = [dialect("merge", schema), dialect("strict", schema)]
    full = max(samples(schema), key=lambda state: len(orjson.dumps(state)))
    places = list(writable_places(schema))
    assert places
    for path, _ in places:
        patch = patch_for(name, schema, path)
        if path[-1] in schema.plain["properties"] and len(path) == 1 and isinstance(patch[path[0]], dict):
            first = dict(list(patch[path[0]].items())[:1])  # of a whole collection one entry is enough
            patch = {path[0]: first} if not schema.errors(merge(full, {path[0]: first})) else patch
        assert len(orjson.dumps(patch)) <= 260, (path, patch)
        for before in (schema.initial(), full):
            after = merge(before, patch)
            assert schema.errors(after) == [] or len(before.get(path[0], ())) >= 8, (path, patch)
        transition = {"state_patch": patch, "action": {"tool": "finish", "args": {"summary": "s"}}}
        for each in dialects:
            assert each.decode(each.encode(transition)) == transition, (each.name, path)


def test_the_examples_of_the_documentation_are_what_they_say() -> None:
    text = (Path(__file__).parents[2] / "docs/schemas.md").read_text("utf-8")
    blocks = [orjson.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    patch, example, migration = blocks
    assert len(orjson.dumps(patch)) == 38 and "in 38 bytes" in text
    schema = StateSchema(example)
    assert check_bounded(example) == [] and advice(example) == []
    assert schema.errors(schema.initial()) == [] and schema.version == 1
    assert (
        tried(Migration.model_validate_json(orjson.dumps(migration)), StateSchema(ONE), StateSchema(TWO))
        == []
    )
    for keyword in re.findall(r"^\| `(x-[a-z-]+)` \|", text, re.MULTILINE):
        assert keyword in KEYWORDS, keyword
    assert set(re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE)) == set(BUILTIN)
