"""What leads a state from one version of its schema to the next: RFC 6902 documents, forward and back.

Two additions to RFC 6902, both expanded into plain operations before anything is applied: `*` in a path stands for each
key of the map that is there, and `"if_present": true` leaves out what finds nothing. Everything else is stricter than
the RFC: no path may name what is not there, `add` replaces nothing, the root stays, nothing becomes null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Annotated, Any, Literal

import jsonpatch
import jsonpointer
from pydantic import ConfigDict, Field, field_validator, model_validator

from contracts.base import Frozen, JsonObject, canonical
from contracts.errors import ConfigError
from contracts.merge import Path, depth
from contracts.schema_refs import pointer
from contracts.state import ANY_KEY

MAX_OPS, MAX_PLAIN = 64, 4096  # operations of one direction as written, and as expanded
MAX_SAMPLES, MAX_DEPTH = 16, 16
MAX_STATE = 256 * 1024  # bytes of a state on its way
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")
_GONE = object()


class BadMigration(ConfigError):
    """A migration that can't be carried out on a state: which operation, and why."""


class Op(Frozen):
    """One operation of RFC 6902. `value` is never null, nor holds one: a patch could not set it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: Annotated[str, Field(pattern=r"^(/([^~/]|~[01])*)+$", max_length=500)]
    origin: Annotated[str | None, Field(alias="from", pattern=r"^(/([^~/]|~[01])*)+$", max_length=500)] = None
    value: Any = None
    if_present: bool = False

    @model_validator(mode="after")
    def _whole(self) -> Op:
        if (self.origin is not None) != (self.op in ("move", "copy")):
            raise ValueError(f"{self.op} {'needs' if self.origin is None else 'takes no'} `from`")
        if (self.value is not None) != (self.op in ("add", "replace", "test")):
            raise ValueError(
                f"{self.op} {'needs' if self.value is None else 'takes no'} `value` (never null)"
            )
        if self.value is not None and (why := _unfit(self.value)):
            raise ValueError(f"`value` {why}")
        stars = [_steps(each).count(ANY_KEY) for each in (self.path, self.origin) if each is not None]
        if len(set(stars)) > 1:
            raise ValueError(
                "`path` and `from` must hold `*` equally often: each key of one is the key of the other"
            )
        return self


class Migration(Frozen):
    """From version `source` (`from` in the file) to the next. `samples` are states of the old version that both
    directions are tried on. `lossy` says in words what `back` can't bring back; empty: it brings back everything."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)

    source: Annotated[int, Field(alias="from", ge=1, le=9998)]
    to: Annotated[int, Field(ge=2, le=9999)]
    why: Annotated[str, Field(min_length=1, max_length=500)]
    forward: Annotated[tuple[Op, ...], Field(max_length=MAX_OPS, strict=False)]
    back: Annotated[tuple[Op, ...], Field(max_length=MAX_OPS, strict=False)]
    samples: Annotated[tuple[JsonObject, ...], Field(max_length=MAX_SAMPLES, strict=False)] = ()
    lossy: Annotated[str, Field(max_length=500)] = ""

    @field_validator("lossy", "why")
    @classmethod
    def _words(cls, text: str) -> str:
        if text and not text.strip():
            raise ValueError("must be words")
        return text

    @model_validator(mode="after")
    def _next(self) -> Migration:
        if self.to != self.source + 1:
            raise ValueError(f"`to` must be the version after `from`: {self.source + 1}")
        return self

    def document(self) -> JsonObject:
        """The migration as its file says it."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def ops(self, forward: bool) -> tuple[Op, ...]:
        return self.forward if forward else self.back


# ---- one state --------------------------------------------------------------------------------------------
def migrated(state: JsonObject, ops: Sequence[Op]) -> JsonObject:
    """`state` with `ops` applied, in order; `state` itself is untouched. Raises BadMigration."""
    now, applied = deepcopy(state), 0
    for number, op in enumerate(ops, start=1):
        try:
            plain = list(expanded(op, now))
            applied += len(plain)
            if applied > MAX_PLAIN:
                raise BadMigration(f"more than {MAX_PLAIN:,} operations once each `*` is written out")
            for one in plain:
                _refused(one, now)
                now = jsonpatch.JsonPatch([one]).apply(now, in_place=True)
                if len(canonical(now)) > MAX_STATE:
                    raise BadMigration(f"the state grows beyond {MAX_STATE:,} bytes")
        except (BadMigration, jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            said = error.message if isinstance(error, BadMigration) else str(error)
            raise BadMigration(f"operation {number} ({op.op} {op.path}): {said[:300]}") from None
    return now


def expanded(op: Op, state: JsonObject) -> Iterator[JsonObject]:
    """The plain operations that `op` stands for on this state. Raises BadMigration for a `*` where no map is."""
    leads = _steps(op.path if op.origin is None else op.origin)
    for keys in _bindings(leads, state, op.if_present):
        path, origin = _bound(op.path, keys), None if op.origin is None else _bound(op.origin, keys)
        target = path if origin is None else origin
        if op.if_present and _at(state, target[:-1] if op.op == "add" else target) is _GONE:
            continue
        plain: JsonObject = {"op": op.op, "path": spelled(path)}
        if origin is not None:
            plain["from"] = spelled(origin)
        if op.value is not None:
            plain["value"] = deepcopy(op.value)
        yield plain


def _bindings(steps: Path, state: Any, if_present: bool, done: Path = ()) -> list[Path]:
    """The keys that each `*` of `steps` stands for, a tuple for each combination, in order of the keys."""
    if ANY_KEY not in steps:
        return [()]
    place = steps.index(ANY_KEY)
    held = _at(state, steps[:place])
    if held is _GONE and if_present:
        return []
    if not isinstance(held, dict):
        what = "nothing is there" if held is _GONE else "no map is there"
        raise BadMigration(f"`*` in {pointer((*done, *steps))}: {what}")
    rest, inside = steps[place + 1 :], sorted(held)
    return [
        (key, *more)
        for key in inside
        for more in _bindings(rest, held[key], if_present, (*done, *steps[:place], key))
    ]


def _bound(written: str, keys: Path) -> Path:
    left = iter(keys)
    return tuple(next(left) if step == ANY_KEY else step for step in _steps(written))


def _refused(plain: JsonObject, state: JsonObject) -> None:
    """What the RFC lets pass, or leaves to the library, and a migration may not do. Raises BadMigration."""
    path = _steps(plain["path"])
    if "from" in plain:
        origin = _steps(plain["from"])
        if _at(state, origin) is _GONE:
            raise BadMigration(f"there is nothing at {pointer(origin)}")
        if path[: len(origin)] == origin:
            raise BadMigration(f"{pointer(origin)} can't move into itself")
    holder, target = _at(state, path[:-1]), _at(state, path)
    if plain["op"] in ("add", "move", "copy"):
        if not isinstance(holder, dict | list):
            raise BadMigration(f"there is nothing at {pointer(path[:-1])} that could hold it")
        if isinstance(holder, dict) and target is not _GONE:
            raise BadMigration(f"there is something at {pointer(path)} already: `replace` or `move` it")
        if isinstance(holder, list) and path[-1] != "-" and not _INDEX.fullmatch(path[-1]):
            raise BadMigration(f"{path[-1]!r} is no place in a list")
    elif target is _GONE:
        raise BadMigration(f"there is nothing at {pointer(path)}")
    if plain["op"] == "test" and canonical(target) != canonical(plain["value"]):
        raise BadMigration(f"{pointer(path)} is another value")


def _at(node: Any, steps: Path) -> Any:
    for step in steps:
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list) and _INDEX.fullmatch(step) and int(step) < len(node):
            node = node[int(step)]
        else:
            return _GONE
    return node


def _steps(written: str) -> Path:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in written.split("/")[1:])


def spelled(path: Path) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def _unfit(value: Any) -> str:
    if depth(value) > MAX_DEPTH:
        return f"is nested deeper than {MAX_DEPTH} levels"
    todo = [value]
    while todo:
        node = todo.pop()
        if node is None:
            return "holds a null, which no patch could set"
        todo += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return ""
