"""What `request_change` proposes: a change of the intent, or of a locked field of the state. Pure; a person decides,
and the commit of the approved entry makes the change."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from pydantic import ValidationError

from contracts.added_field import adding
from contracts.base import JsonObject, digest
from contracts.bounds import worst_case_bytes
from contracts.controls import exact
from contracts.intent import SECTIONS, IntentContract, Item, removed, replaced
from contracts.merge import nested
from contracts.pointers import misformed
from contracts.schema_refs import BadSchema
from contracts.state import ANY_KEY, StateSchema
from contracts.text import shown_json, size

GROWTH = 4096  # bytes by which approved changes may lengthen the intent as it is rendered, in all
FIELD = 4096  # bytes by which one more field may lengthen the longest state
WHERE = (
    "at is /intent/goal, /intent/SECTION/ITEM (its id or number; - adds one), /state/FIELD… or /schema/FIELD…"
)


class BadChange(ValueError):
    """Not something that could be approved: a sentence that says what would be."""


@dataclass(frozen=True)
class Proposed:
    """`say` in one line, `diff` as people read it; what would become of the intent, and the merge patch of the state;
    None: nothing. `files`, by name: the next version of the state's schema, its migration, and the version before.
    `key` is the same for whatever would make the same of the same, for what reason ever."""

    say: str
    diff: str
    intent: IntentContract | None = None
    patch: JsonObject | None = None
    files: dict[str, str] = field(default_factory=dict)
    key: str = ""


def proposed(
    args: JsonObject,
    state: JsonObject,
    intent: IntentContract,
    schema: StateSchema,
    origin: str,
    longest: int,
) -> Proposed:
    """The change that `args` (`at`, `value` or none to remove, `why`) ask for. `origin` becomes the source of a new
    item; `longest` are the bytes that the rendered intent may have. Raises BadChange."""
    at, value = str(args.get("at", "")), args.get("value")
    if value is not None and not str(value).strip():
        raise BadChange(f"{at}: the value is blank: leave it out to remove what is there")
    if value is not None and exact(str(value)) != str(value):
        raise BadChange(f"{at}: the value holds characters that nobody sees: {exact(str(value))[:200]}")
    head, *rest = [_unescaped(part) for part in at.split("/")[1:]] if at.startswith("/") else [""]
    match head, rest:
        case "intent", ["goal"]:
            if not value:
                raise BadChange("the goal can't be removed: say what it should be")
            after = _intent(intent, {"goal": str(value)})
            told = Proposed(f"change the goal: {value}", _diff(at, intent.goal, value), intent=after)
        case "intent", [section, item] if section in SECTIONS:
            told = _item(intent, section, item, None if value is None else str(value), at, origin)
        case "schema", [_, *_]:
            told = _grown(schema, tuple(rest), value, at, str(args.get("why", "")))
        case "state", [_, *_] if _secret(tuple(rest), schema):
            raise BadChange(f"{at} is secret: only the user sets it, and it is shown to nobody")
        case "state", [_, *_] if schema.locks(tuple(rest)):
            told = _field(state, tuple(rest), value, at)
        case "state", [_, *_]:
            raise BadChange(f"{at} is yours to change: use state_patch")
        case _:
            raise BadChange(f"{at[:100]!r} is no place that can be changed: {WHERE}")
    if (against := args.get("source")) is not None:
        if why := misformed(str(against)):
            raise BadChange(f"source: {why}")
        told = replace(told, diff=f"{told.diff}\nagainst it speaks {against}")
    if told.intent is not None and (length := size(told.intent.render())) > longest:
        raise BadChange(
            f"the intent would have {length:,} bytes, at most {longest:,} can be shown: say it shorter"
        )
    return replace(told, key=_key(at, rest, value, intent))


def _key(at: str, path: list[str], value: Any, intent: IntentContract) -> str:
    if at.startswith("/intent/"):
        if (meant := _meant(intent, *path)) is not None and meant.id:
            at = f"/intent/{path[0]}/{meant.id}"
        return digest([at, None if value is None else " ".join(str(value).split()).casefold()])
    return digest([at, None if value is None else orjson.loads(str(value))])


def _meant(intent: IntentContract, section: str, name: str = "") -> Item | None:
    """The item of this id or number, counted as they are shown: without what was superseded."""
    shown = intent.shown(section) if section in SECTIONS else ()
    return next((each for n, each in enumerate(shown, start=1) if name in (each.id, str(n))), None)


def _item(
    intent: IntentContract, section: str, name: str, value: str | None, at: str, origin: str
) -> Proposed:
    items: list[Item] = list(getattr(intent, section))
    if name == "-":
        if value is None:
            raise BadChange(f"{at}: a new item needs a value")
        new = Item(value=value, source=origin)
        return Proposed(
            f"add to {_words(section)}: {value}",
            _diff(at, None, value),
            _with(intent, section, [*items, new]),
        )
    old = _meant(intent, section, name)
    if old is None:
        known = (
            ", ".join(each.id or str(n) for n, each in enumerate(intent.shown(section), start=1)) or "none"
        )
        raise BadChange(f"{at}: {_words(section)} has no item {name!r}; there are {known}")
    found = next(n for n, each in enumerate(items) if each is old)
    if value is None:
        rest = removed(items, old)
        return Proposed(
            f"remove from {_words(section)}: {old.value}",
            _diff(at, old.value, None),
            _with(intent, section, rest),
        )
    # The old value stays in the contract, superseded: what was wanted before is not forgotten.
    new = old.model_copy(update={"value": value, "source": origin})
    taken = {each.id for each in intent.items()}
    after = [*items[:found], *replaced(old, new, section, taken), *items[found + 1 :]]
    return Proposed(
        f"change {_words(section)}: {value}", _diff(at, old.value, value), _with(intent, section, after)
    )


def _field(state: JsonObject, path: tuple[str, ...], value: Any, at: str) -> Proposed:
    if value is not None:
        try:
            value = orjson.loads(str(value))
        except orjson.JSONDecodeError as error:
            raise BadChange(f"{at}: value must be JSON ({error})") from None
    old: Any = state
    for name in path:
        old = old.get(name) if isinstance(old, dict) else None
    shown = None if old is None else shown_json(orjson.dumps(old))
    new = None if value is None else shown_json(orjson.dumps(value))
    return Proposed(
        f"{'remove' if value is None else 'set'} {at}", _diff(at, shown, new), patch=nested(path, value)
    )


def _grown(schema: StateSchema, path: tuple[str, ...], value: Any, at: str, why: str) -> Proposed:
    try:
        node = orjson.loads(str(value))
        most = worst_case_bytes(schema.source) + FIELD
        after, migration = adding(schema, path, node, why=why[:500], most=most)
    except orjson.JSONDecodeError as error:
        raise BadChange(f"{at}: value must be the JSON Schema of the field ({error})") from None
    except BadSchema as error:
        raise BadChange("; ".join(error.problems[:5])) from None
    name = re.sub("[^a-z0-9]+", "-", path[-1].lower()).strip("-") or "field"
    files = {
        f"state.schema.v{schema.version}.json": schema.source,
        f"state.schema.v{after.version}.json": after.source,
        f"{after.version:04d}-adds-{name}.json": migration.document(),
    }
    texts = {
        each: orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n" for each, found in files.items()
    }
    shown = shown_json(orjson.dumps(node))
    return Proposed(f"add {at} to what the state may hold", _diff(at, None, shown), files=texts)


def _with(intent: IntentContract, section: str, items: list[Item]) -> IntentContract:
    return _intent(intent, {section: [each.model_dump(exclude_none=True) for each in items]})


def _intent(intent: IntentContract, changed: JsonObject) -> IntentContract:
    try:
        return IntentContract.model_validate(json.loads(intent.model_dump_json(exclude_none=True)) | changed)
    except ValidationError as error:
        raise BadChange(f"the intent would not be valid: {error.errors()[0]['msg']}") from None


def _diff(at: str, old: str | None, new: Any) -> str:
    lines = [at]
    lines += [f"- {line}" for line in (old or "").splitlines()] if old is not None else []
    lines += [f"+ {line}" for line in str(new).splitlines()] if new is not None else []
    return "\n".join(lines)


def _words(section: str) -> str:
    return section.replace("_", " ")


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _secret(path: tuple[str, ...], schema: StateSchema) -> bool:
    """Whether a field at, above or below `path` is one whose value is never shown."""
    return any(
        all(one in (ANY_KEY, other) for one, other in zip(secret, path, strict=False))
        for secret in schema.secrets
    )
