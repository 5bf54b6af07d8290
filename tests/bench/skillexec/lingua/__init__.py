"""The rival ReAct + LLMLingua: the conversation, compressed to a budget by the published package. Its compressions are
recorded, so that nobody has to install several GB to see what it loses; `live` makes them anew."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.bench.report import say
from tests.bench.skillexec.domains import WAREHOUSE, Domain
from tests.bench.skillexec.figures import Sized, told
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.runtimes import Count, Prompt
from tests.bench.skillexec.warehouse import Warehouse, events
from tests.bench.tokens import tokens

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.jsonl"
HOME = HERE.parents[3] / ".cache/lingua"
BUDGETS, LENGTHS, SEEDS = (475, 1000), (10, 25), (42,)  # of which it was recorded
Compress = Callable[[str, int], str]


class Lingua(Prompt):
    """ReAct whose conversation is compressed as soon as the prompt would be larger than a budget of tokens."""

    def __init__(self, domain: Domain, budget: int, count: Count, compress: Compress) -> None:
        super().__init__(domain)
        self._budget, self._count, self._compress = budget, count, compress

    def _before(self) -> str:
        history = super()._before()
        if self._count(self._text(history)) <= self._budget:
            return history
        return self._compress(history, self._budget - self._count(self._text(""))) + "\n\n"


def key(text: str, target: int) -> str:
    return hashlib.sha256(f"{target}\n{text}".encode()).hexdigest()[:24]


@cache
def recorded() -> dict[str, str]:
    """What was compressed already, by its key."""
    if not RECORDED.is_file():
        return {}
    lines = (json.loads(line) for line in RECORDED.read_text("utf-8").splitlines())
    return {line["key"]: line["text"] for line in lines}


def replayed(text: str, target: int) -> str:
    """The recorded compression. Raises LookupError where there is none."""
    try:
        return recorded()[key(text, target)]
    except KeyError:
        raise LookupError(
            "this conversation was not compressed before: `scripts/bench skillexec --only lingua --live` does it"
        ) from None


def environment() -> Path:
    """The Python of an environment of its own with LLMLingua, made once below .cache (several GB)."""
    python, done = HOME / "bin/python", HOME / "installed"
    wanted = "".join((HERE / name).read_text("utf-8") for name in ("requirements.txt", "files.txt"))
    if not done.is_file() or done.read_text("utf-8") != wanted:
        say("lingua: installing LLMLingua with torch, several GB")
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
        pip = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        subprocess.run([*pip, "--no-deps", "-r", HERE / "files.txt"], check=True)
        done.write_text(wanted, "utf-8")
    return python


@contextmanager
def live() -> Iterator[Compress]:
    """LLMLingua itself, in a process of its own; what it makes is added to the record."""
    argv, environ = [environment(), HERE / "compress.py"], os.environ | {"HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        known = recorded()

        def compress(text: str, target: int) -> str:
            if (name := key(text, target)) not in known:
                print(json.dumps({"text": text, "target": target}), file=process.stdin, flush=True)
                known[name] = str(json.loads(process.stdout.readline())["text"])  # type: ignore[union-attr]
                with RECORDED.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": name, "text": known[name]}) + "\n")
                say(f"lingua: {len(known)} compressions")
            return known[name]

        yield compress
        process.stdin.close()


def compressed(compress: Compress = replayed, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """What is lost where LLMLingua brings the conversation to a budget of tokens (o200k)."""
    found: dict[str, Any] = {}
    seeds = list(seeds)
    for budget in BUDGETS:
        for length in LENGTHS:
            cell = []
            for seed in seeds:
                runtime = Lingua(WAREHOUSE, budget, tokens, compress)
                cell.append(Sized.of(play(Warehouse(events(seed, length)), runtime, Perfect())))
            found[f"LLMLingua, budget={budget}, T={length}"] = told(cell)
            say(f"lingua: budget={budget}, T={length}: {told(cell)['score, strict']}")
    return found


def measured(anew: bool) -> dict[str, Any]:
    """The same, from the record; or `anew`, by the package itself."""
    if not anew:
        return compressed()
    with live() as compress:
        return compressed(compress)
