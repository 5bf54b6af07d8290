"""A field more: what a run found that it needs while it was at work, as a new version of its state schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from contracts.base import JsonObject, canonical
from contracts.bounds import check_bounded, worst_case_bytes
from contracts.merge import Path, depth
from contracts.migrations import MAX_DEPTH, Migration, Op, spelled
from contracts.schema_refs import BadSchema, inline_refs, pointer
from contracts.state import ANY_KEY, StateSchema, walk
from contracts.versions import tried

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,39}")


def adding(
    schema: StateSchema, path: Path, node: JsonObject, *, why: str, most: int | None = None
) -> tuple[StateSchema, Migration]:
    """The next version of `schema`, with one more optional field, and the migration to it.

    `path` ends with the field's name and holds `*` for the entries of a map (`("items", "*", "owner")`). No state
    changes by it; back, the field is removed where it is. Raises BadSchema for a field that is there already,
    unbounded, required of nobody's agent (`x-owner`, locked), or with which the worst case exceeds `most` bytes.
    """
    source = deepcopy(inline_refs(schema.source))
    problems = list(_unsuitable(source, path, node))
    if problems:
        raise BadSchema(problems)
    _holder(source, path)["properties"][path[-1]] = deepcopy(node)
    source["x-version"] = schema.version + 1
    after = StateSchema(source)
    if found := [str(one) for one in check_bounded(source)]:
        raise BadSchema(found)
    if most is not None and (size := worst_case_bytes(source)) > most:
        raise BadSchema(
            [f"{pointer(path)}: the state could have {size:,} bytes with it, at most {most:,} are allowed"]
        )
    back = Op(op="remove", path=spelled(path), if_present=True)
    migration = Migration(
        source=schema.version, to=schema.version + 1, why=why, forward=(), back=(back,),
        lossy=f"what stands in {spelled(path)}",
    )  # fmt: skip
    if found := tried(migration, schema, after):
        raise BadSchema(found)
    return after, migration


def _unsuitable(source: JsonObject, path: Path, node: JsonObject) -> Iterator[str]:
    if not path or not _NAME.fullmatch(path[-1]):
        yield f"{pointer(path)}: a field's name is of letters, digits, _ . and -, at most 40"
        return
    holder = _holder(source, path)
    if not isinstance(holder.get("properties"), dict):
        yield f"{pointer(path[:-1])}: there is no object with named fields"
    elif path[-1] in holder["properties"]:
        yield f"{pointer(path)}: is there already"
    if not isinstance(node, dict) or "$ref" in canonical(node).decode() or "$defs" in node:
        yield f"{pointer(path)}: write its schema out"
        return
    for place, inner in walk(node, ()):
        if inner.get("x-owner", "agent") != "agent" or inner.get("x-change-policy") == "locked":
            yield f"{pointer((*path, *place))}: a field that is proposed belongs to the agent"
    if depth(node) > MAX_DEPTH:
        yield f"{pointer(path)}: its schema is nested deeper than {MAX_DEPTH} levels"


def _holder(source: JsonObject, path: Path) -> JsonObject:
    """The schema of the object that holds the last step of `path`; empty when there is none."""
    node: Any = source
    for step in path[:-1]:
        node = node.get("additionalProperties") if step == ANY_KEY else node.get("properties", {}).get(step)
        if not isinstance(node, dict):
            return {}
    return node if isinstance(node, dict) else {}
