"""Reads what benchmarks printed: one line of JSON each, kept in files. Where several files have the same experiment,
all of it is taken from one: that of the most runs, then not a quick one, then the newest. Figures of two are never
mixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.bench.report import FORMAT

AGAIN = "run scripts/bench {name} again"
PARTED = ("skillexec", "conversation")


class BadResult(Exception):
    """A file that can't be read as the result of a benchmark; says which, why and what to do."""


@dataclass(frozen=True)
class Result:
    """One run of a benchmark. `figures` by their keys, `bounds` as they were judged, `options` as it was called."""

    bench: str
    file: str
    machine: str
    runs: int
    at: str
    options: tuple[str, ...]
    figures: dict[str, Any]
    bounds: dict[str, dict[str, Any]]
    falls_short: tuple[str, ...]

    @property
    def command(self) -> str:
        return " ".join(["scripts/bench", self.bench, *self.options])


@dataclass(frozen=True, eq=False)
class Experiment:
    """The figures of one experiment, keys without its name, and the run that they are from."""

    name: str
    source: Result
    figures: dict[str, Any]


def read(path: Path) -> Result:
    """The result kept in a file. Raises BadResult."""
    try:
        data = orjson.loads(path.read_bytes())
    except OSError as error:
        raise BadResult(f"{path}: {error.strerror}; give the files that scripts/bench kept") from error
    except orjson.JSONDecodeError as error:
        raise BadResult(
            f"{path}: no JSON ({error}); a result is the one line that scripts/bench prints"
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get("bench"), str) or "figures" not in data:
        raise BadResult(f"{path}: JSON, but no result of a benchmark: it has no `bench` and `figures`")
    again = AGAIN.format(name=data["bench"])
    if data.get("format") != FORMAT:
        raise BadResult(f"{path}: of format {data.get('format', 'unknown')}, this reads {FORMAT}; {again}")
    try:
        return Result(
            bench=data["bench"],
            file=path.name,
            machine=str(data["machine"]),
            runs=int(data["runs"]),
            at=str(data["at"]),
            options=tuple(data["options"]),
            figures=dict(data["figures"]),
            bounds=dict(data["bounds"]),
            falls_short=tuple(data["falls_short"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadResult(f"{path}: incomplete ({error!r}); {again}") from error


def _worth(result: Result) -> tuple[int, bool, str]:
    return result.runs, "--quick" not in result.options, result.at


class Results:
    """The experiments of all results. A key of `PARTED` begins with its experiment's name; what does not (a model as
    the reader) is named by the options of its run. Any other benchmark is one experiment of its own name."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._found: dict[tuple[str, str], Experiment] = {}
        for result in sorted(results, key=_worth):
            parts: dict[str, dict[str, Any]] = {}
            for key, value in result.figures.items():
                name, part, rest = key.partition(": ") if result.bench in PARTED else (result.bench, ":", key)
                name, rest = (name, rest) if part else (" ".join(result.options) or "in all", key)
                parts.setdefault(name, {})[rest] = value
            for name, figures in parts.items():
                self._found[result.bench, name] = Experiment(name, result, figures)

    def get(self, bench: str, name: str) -> Experiment | None:
        return self._found.get((bench, name))

    def of(self, bench: str) -> list[Experiment]:
        """All experiments of a benchmark."""
        return [each for (whose, _), each in sorted(self._found.items()) if whose == bench]

    def __iter__(self) -> Iterator[Experiment]:
        return (self._found[key] for key in sorted(self._found))

    @property
    def sources(self) -> list[Result]:
        """The runs that something is taken from."""
        return list({each.source.file: each.source for each in self}.values())
