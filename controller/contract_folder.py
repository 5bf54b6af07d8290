"""Reads the contract folder: what the user wants, the state's schema, the skill. Each fault has its name."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contracts.base import JsonObject, digest
from contracts.criteria import criteria
from contracts.errors import ConfigError
from contracts.intent import IntentContract
from controller import yamltree
from controller.taskfile import LoadedTask, read_capped

INTENT, STATE_SCHEMA, SKILL = "intent-contract.json", "state.schema.json", "skill-spec.md"
FILES = (INTENT, STATE_SCHEMA, SKILL)
MAX_BYTES = 256 * 1024


@dataclass(frozen=True)
class Contract:
    """What the folder holds; None for a file that is not there. `digests`: file name -> hex sha256."""

    intent: IntentContract | None = None
    state_schema: JsonObject | None = None
    skill: str | None = None
    digests: dict[str, str] = field(default_factory=dict)


def read_contract(folder: Path | str, *, required: Collection[str] = FILES) -> Contract:
    """The files of `folder`, each at most 256 KiB of UTF-8. Raises ConfigError for one that is required and
    missing, or there and damaged; `where` is its path, with line and column where they are known."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError(
            f"there is no contract folder {folder}", where=str(folder), hint="`contract:` names it"
        )
    texts: dict[str, str] = {}
    for name in FILES:
        if not (folder / name).exists() and not (folder / name).is_symlink():
            if name in required:
                raise ConfigError(f"the contract folder has no {name}", where=str(folder / name))
            continue
        texts[name] = _text(folder / name)
    return Contract(
        intent=_intent(folder / INTENT, texts[INTENT]) if INTENT in texts else None,
        state_schema=_object(folder / STATE_SCHEMA, texts[STATE_SCHEMA]) if STATE_SCHEMA in texts else None,
        skill=texts.get(SKILL),
        digests={name: digest(text) for name, text in texts.items()},
    )


def contract_of(loaded: LoadedTask) -> Contract:
    """The contract of a task: its folder when it names one, and the intent that stands in the task itself.
    `intent` is never None. Raises ConfigError when it stands in both, or a file is missing or damaged."""
    own = loaded.task.intent()
    folder = folder_of(loaded)
    if own is not None and (wrong := _no_checks(own, loaded)):
        raise loaded.error(wrong, "success_criteria")
    if folder is None:
        return Contract(intent=own)
    found = read_contract(folder, required=() if own else (INTENT,))
    if own is None:
        if found.intent is not None and (wrong := _no_checks(found.intent, loaded)):
            raise ConfigError(wrong, where=str(folder / INTENT))
        return found
    if found.intent is not None:
        raise loaded.error(
            f"the goal stands here and in {loaded.task.contract}/{INTENT}", "goal", hint="keep one of them"
        )
    return replace(found, intent=own)


def _no_checks(intent: IntentContract, loaded: LoadedTask) -> str:
    """The proof of a criterion that is no check of the task; empty when there is none."""
    names = [check.name for check in loaded.task.checks]
    for each in criteria(intent, names):
        if each.unknown:
            return f"success criterion {each}: its proof {each.unknown[0]!r} is no check; there are {', '.join(names)}"
    return ""


def json_object(path: Path) -> JsonObject:
    """The one JSON object in a file of at most 256 KiB. Raises ConfigError with its place."""
    return _object(path, _text(path))


def folder_of(loaded: LoadedTask) -> Path | None:
    """The contract folder of a task that names one."""
    named = loaded.task.contract
    return None if named is None else loaded.base_dir / Path(named).expanduser()


def _text(path: Path) -> str:
    text, found = yamltree.decode(read_capped(path, MAX_BYTES))
    for place, problem in found:
        raise ConfigError(problem.message, where=f"{path}:{place.line}:{place.column}", hint=problem.hint)
    if not text.strip():
        raise ConfigError("the file is empty", where=str(path), hint="restore it from Git")
    return text


def _object(path: Path, text: str) -> JsonObject:
    def pairs(items: list[tuple[str, Any]]) -> JsonObject:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"the key {twice!r} stands twice in one object", where=str(path))
        return found

    def constant(word: str) -> Any:
        raise ConfigError(f"{word} is not JSON", where=str(path))

    try:
        found = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise ConfigError(f"this is no JSON: {error.msg}", where=where, hint="restore it from Git") from None
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"this JSON can't be read: {str(error)[:200]}", where=str(path)) from None
    if not isinstance(found, dict):
        raise ConfigError("expected a JSON object: { … }", where=str(path))
    return found


def _intent(path: Path, text: str) -> IntentContract:
    try:
        return IntentContract.model_validate(_object(path, text))
    except ValidationError as error:
        said = [
            f"{'.'.join(map(str, detail['loc'])) or 'the contract'}: {detail['msg']}"
            for detail in error.errors(include_url=False)
        ]
        raise ConfigError("\n".join(said[:20]), where=str(path)) from None
