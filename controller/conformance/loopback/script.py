"""Answers as a file has them: what kinds there are, and how each is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from controller.conformance.loopback.answers import NAMES, Answer, Text


def read_script(path: Path) -> list[Answer]:
    """The answers of a file, in their order. Raises ValueError, with what mends it."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, list) or not found:
        raise ValueError(f"{path} is not a JSON list of answers, at least one")
    answers = []
    for number, value in enumerate(found, 1):
        try:
            answers.append(answer_from_json(value))
        except ValueError as error:
            raise ValueError(f"{path}: answer {number}: {error}") from None
    return answers


def answer_from_json(value: Any) -> Answer:
    """`{"kind": "ApiError", "status": 429}` is that answer, a text is prose, any object without `kind` is the reply
    itself. Raises ValueError."""
    if isinstance(value, str):
        return Text(value)
    if not isinstance(value, dict):
        raise ValueError(f"an answer is an object or a text, not {json.dumps(value)[:80]}")
    if "kind" not in value:
        return value
    given = {name: each for name, each in value.items() if name != "kind"}
    kind = NAMES.get(value["kind"]) if isinstance(value["kind"], str) else None
    if kind is None:
        raise ValueError(f"there is no kind {json.dumps(value['kind'])[:80]}; there are {', '.join(NAMES)}")
    known = [each.name for each in fields(kind)]
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{kind.__name__} has no {unknown[0]!r}; it has {', '.join(known)}")
    try:
        made: Answer = TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        [first, *_] = error.errors()
        raise ValueError(f"{kind.__name__}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return made


def described() -> Iterator[tuple[str, str]]:
    """(how it is written, what it is) of each kind, a default shown where a field has one."""
    for name, kind in NAMES.items():
        form = ", ".join([f'"kind": "{name}"', *map(_field, fields(kind))])
        yield f"{{{form}}}", " ".join(str(kind.__doc__).split())


def _field(each: Field[Any]) -> str:
    if each.default is not MISSING:
        return f'"{each.name}": {json.dumps(each.default)}'
    return f'"{each.name}": ' + ("{}" if each.default_factory is not MISSING else "…")
