"""Scalars of the task file: durations, sizes, commands, globs. Each error says what form is expected."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, StringConstraints
from pydantic.types import Strict
from pydantic_core import PydanticCustomError

T = TypeVar("T")

# A YAML or JSON list becomes a tuple, so that what is stored cannot change; the items stay strict.
Many = Annotated[tuple[T, ...], Strict(False)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000_000)]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SIZE = re.compile(r"([0-9]+)(B|KiB|MiB|GiB)")


def invalid(sentence: str) -> PydanticCustomError:
    """An error whose text reaches the user as it is."""
    return PydanticCustomError("task", "{sentence}", {"sentence": sentence})


def seconds(value: Any) -> float:
    """Seconds of "10m", "4h", "90s", "250ms", "1d", or of a plain number of seconds; at least 1ms."""
    form = 'expected a duration such as "90s", "10m" or "4h", or a number of seconds'
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        # Divided, not multiplied by 0.001: 3ms must be the float nearest to 0.003.
        amount, unit = float(match[1]), match[2]
        found = amount / 1000 if unit == "ms" else amount * _SECONDS[unit]
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        found = float(value)
    else:
        raise invalid(form)
    if not 0.001 <= found < math.inf:
        raise invalid(f"{form}, at least 1ms")
    return found


def as_duration(value: float) -> str:
    """The shortest exact text of a duration in seconds: 600.0 → "10m"."""
    for unit in ("d", "h", "m", "s"):
        if value >= _SECONDS[unit] and value % _SECONDS[unit] == 0:
            return f"{int(value // _SECONDS[unit])}{unit}"
    milliseconds = round(value * 1000)
    return f"{milliseconds}ms" if milliseconds and milliseconds / 1000 == value else f"{value:.9f}s"


def size(value: Any) -> int:
    """Bytes of "24KiB", "1MiB", "512B", or of a plain whole number of bytes; more than 0."""
    form = 'expected a size such as "24KiB" or "1MiB", or a whole number of bytes'
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        found = int(match[1]) * _BYTES[match[2]]
    elif isinstance(value, int) and not isinstance(value, bool):
        found = value
    else:
        raise invalid(form)
    if not 0 < found < 2**53:
        raise invalid(f"{form}, more than 0")
    return found


def as_size(value: int) -> str | int:
    """The shortest exact text of a size in bytes: 24576 → "24KiB"; a plain number where no unit fits."""
    for unit in ("GiB", "MiB", "KiB"):
        if value % _BYTES[unit] == 0:
            return f"{value // _BYTES[unit]}{unit}"
    return value


def argv(value: Any) -> tuple[str, ...]:
    """A command as a list of words, run as it is."""
    if not isinstance(value, list | tuple) or not value:
        raise invalid("expected a command as a list of words, such as [python3, -m, pytest]")
    for place, word in enumerate(value, start=1):
        if not isinstance(word, str):
            raise invalid(f"word {place} of the command is not text: write {_quoted(word)} in quotes")
    if not value[0]:
        raise invalid("the first word of a command is the program; it is empty here")
    return tuple(value)


def command_line(value: Any) -> str | tuple[str, ...]:
    """A command: a list of words, run as it is, or one text, run by `sh -c`."""
    if isinstance(value, str):
        if not value.strip():
            raise invalid("expected a command; this one is empty")
        return value
    if not isinstance(value, list | tuple):
        raise invalid(
            'expected a command: a list of words ([make, test]) or one text for sh -c ("make test")'
        )
    return argv(value)


def command_lines(value: Any) -> tuple[str | tuple[str, ...], ...]:
    """Several commands, in order; one text stands for one command."""
    if isinstance(value, str):
        return (command_line(value),)
    if not isinstance(value, list | tuple):
        raise invalid("expected a list of commands, such as [[npm, ci], [make, deps]]")
    words = len(value) > 1 and all(isinstance(item, str) for item in value)
    if words and (not any(" " in item for item in value) or any(item.startswith("-") for item in value)):
        # `run: [make, deps]` would run `make` and then `deps`, which nobody means.
        raise invalid("this looks like the words of one command; a list of commands is [[make, deps]]")
    return tuple(command_line(item) for item in value)


def argv_of(line: str | Sequence[str]) -> tuple[str, ...]:
    """The argv of a command line: a text is run by `sh -c`."""
    return ("sh", "-c", line) if isinstance(line, str) else tuple(line)


def _quoted(word: Any) -> str:
    if word is None or isinstance(word, bool):
        word = {None: "null", True: "true", False: "false"}[word]
    return '"…"' if isinstance(word, list | dict) else f'"{word}"'


def inside(path: str) -> str:
    """A path or glob that stays inside the repository: relative, "/"-separated, no ".." and no empty part."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or "\\" in path or "" in parts[:-1] or not path:
        raise invalid("expected a path inside the repository, relative, with / and without ..")
    return path


Duration = Annotated[
    float,
    BeforeValidator(
        seconds, json_schema_input_type=Annotated[str, Field(pattern=f"^{_DURATION.pattern}$")] | float
    ),
    PlainSerializer(as_duration, return_type=str, when_used="json"),
]
Size = Annotated[
    int,
    BeforeValidator(size, json_schema_input_type=Annotated[str, Field(pattern=f"^{_SIZE.pattern}$")] | int),
    PlainSerializer(as_size, return_type=str | int, when_used="json"),
]
CommandLine = Annotated[str | tuple[str, ...], BeforeValidator(command_line)]
CommandLines = Annotated[
    tuple[str | tuple[str, ...], ...],
    BeforeValidator(command_lines, json_schema_input_type=str | list[str | list[str]]),
]
Argv = Annotated[tuple[str, ...], BeforeValidator(argv)]
OptionalArgv = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: () if value in ([], ()) else argv(value))
]
Inside = Annotated[str, StringConstraints(max_length=1024), AfterValidator(inside)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
