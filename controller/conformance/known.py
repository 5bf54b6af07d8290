"""What is known of the versions that an adapter was measured on: a file of facts beside the adapter.

`KIND.known.json` in the package of the adapter's module: version -> how it is asked (Subject.mode) -> case -> fact ->
value.
`controller agents test KIND --record FILE` writes it. `broken` true: the promise of the case is not kept; "sometimes",
written by hand: now and then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import orjson

from contracts.base import JsonObject
from contracts.errors import ConfigError

Cases = Mapping[str, JsonObject]
# Bytes that differ from machine to machine: the length of a folder's name, of a user's id.
ALIKE = {"overhead": 0.05, "added": 0.05}
LITTLE = 40


@dataclass(frozen=True)
class Known:
    """The facts of an adapter's versions, oldest version first."""

    versions: Mapping[str, Mapping[str, Cases]] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: Any) -> Known:
        """Those of an adapter's class; none where it ships no file. Raises ConfigError for a file that is none."""
        package = str(kind.__module__).rpartition(".")[0] or str(kind.__module__)
        try:
            file = resources.files(package).joinpath(f"{kind.kind}.known.json")
            return cls.read(file.read_bytes())
        except (FileNotFoundError, ModuleNotFoundError, TypeError, NotADirectoryError):
            return cls()

    @classmethod
    def read(cls, data: bytes) -> Known:
        """From the bytes of such a file."""
        try:
            found = orjson.loads(data)
            return cls({name: found[name] for name in sorted(found, key=_numbers)})
        except (orjson.JSONDecodeError, TypeError) as error:
            raise ConfigError(f"the known facts can't be read: {error}") from error

    def near(self, version: str) -> str | None:
        """The known version that `version` is held against: itself, else the newest one; None when there is none."""
        return version if version in self.versions else next(reversed(list(self.versions)), None)

    def facts(self, version: str | None, mode: str) -> Cases:
        """Case -> facts of a known version; empty for a mode that was not measured."""
        return {} if version is None else self.versions.get(version, {}).get(mode, {})

    def write(self, path: Path, version: str, mode: str, cases: Cases) -> None:
        """These facts beside the others, in a file."""
        other = self.versions.get(version, {})
        made = {**self.versions, version: {**other, mode: {**other.get(mode, {}), **cases}}}
        path.write_bytes(orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


def differing(expected: JsonObject, seen: JsonObject) -> list[str]:
    """The facts that are not as expected."""
    return [name for name in expected if not _alike(name, expected[name], seen.get(name))]


def _alike(name: str, one: Any, other: Any) -> bool:
    if name in ALIKE and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= max(LITTLE, one * ALIKE[name])
    return bool(one == other)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
