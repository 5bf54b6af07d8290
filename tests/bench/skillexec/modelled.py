"""The experiments with a real model as the reader: few, short, each call costs. What comes out are scores of that model
by runtime, noise and drift: the only ones here."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.bench.report import say
from tests.bench.skillexec import repository, warehouse
from tests.bench.skillexec.domains import REPOSITORY, WAREHOUSE, Domain
from tests.bench.skillexec.episode import Outcome, World
from tests.bench.skillexec.experiments import EVERYBODY, Noise, episode, quiet, stored
from tests.bench.skillexec.figures import Sized, told
from tests.bench.skillexec.models import Tape, reader_of
from tests.bench.skillexec.noise import telemetry
from tests.bench.skillexec.ours import Halted
from tests.bench.skillexec.readers import Reader

LENGTHS, SEEDS = (10, 25), 2
Readers = Callable[[Domain], Reader]


def modelled(
    reader: Readers,
    lengths: Iterable[int],
    seeds: Iterable[int],
    runtimes: Iterable[str] = EVERYBODY,
    noise: Iterable[int] = (0,),
    drifts: Iterable[str] = (),
) -> dict[str, Any]:
    """Scores and costs by runtime: the warehouse at each length and level of noise, the repository at each length, and
    steps until the first right answer on what drifted."""
    found: dict[str, Any] = {}
    lengths, seeds, noise, drifts = list(lengths), list(seeds), list(noise), list(drifts)
    for runtime in runtimes:
        asked = reader(WAREHOUSE)
        for length in lengths:
            for lines in noise:
                cell = [
                    _episode(runtime, stored(seed, length), asked, partial(telemetry, seed, lines=lines))
                    for seed in seeds
                ]
                found[f"{runtime}, T={length}, noise={lines}"] = told([Sized.of(each) for each in cell])
            worlds = [repository.Repository(*repository.events(seed, length)) for seed in seeds]
            cell = [_episode(runtime, world, reader(REPOSITORY), domain=REPOSITORY) for world in worlds]
            found[f"{runtime}, repository, T={length}"] = told([Sized.of(each) for each in cell])
        for kind in drifts:
            listed = [warehouse.drifted(kind, seed) for seed in seeds]
            found[f"{runtime}, {kind}, alert"] = [
                warehouse.recovery(each, _episode(runtime, warehouse.Warehouse(each), asked).strict)
                for each in listed
            ]
        say(f"model: {runtime}")
    return found


def _episode(
    runtime: str, world: World, asked: Reader, noise: Noise = quiet, domain: Domain = WAREHOUSE
) -> Outcome:
    """A model may get stuck, which ends a run of ours: what is left is then missed."""
    try:
        return episode(runtime, world, domain, asked, noise)
    except Halted as halted:
        say(f"model: {runtime}: {halted}")
        halted.outcome.abandoned()
        return halted.outcome


def options(parser: argparse.ArgumentParser) -> None:
    """What a call says of the model."""
    of = parser.add_argument_group(
        "a model as the reader", "instead of all else; it costs what the model costs, unless it is replayed"
    )
    of.add_argument(
        "--reader", help="an agent (claude, codex, pi, … or as --task names it), or the URL of a server"
    )
    of.add_argument("--task", type=Path, help="the task file that has the agent's entry")
    of.add_argument("--model", default="default", help="of a server: the model's name there")
    of.add_argument("--key-env", default="", help="of a server: the variable that holds the key")
    of.add_argument(
        "--record", type=Path, help="keep the replies there; what is there already is not asked again"
    )
    of.add_argument("--replay", type=Path, help="take the replies from there, and ask nobody")
    of.add_argument("--length", type=int, action="append", help="events of an episode; may be given again")
    of.add_argument("--seeds", type=int, default=SEEDS, choices=range(1, 6), help="how many")
    of.add_argument("--runtime", action="append", choices=EVERYBODY, help="instead of all")
    of.add_argument("--noise", type=int, action="append", help="lines of telemetry an event")
    of.add_argument(
        "--drift", action="append", choices=warehouse.DRIFTS, help="a change that nobody is told of"
    )


def asked_for(asked: argparse.Namespace) -> dict[str, Any]:
    """The figures of a call that names a model, or a tape. Raises NoReply."""
    with tempfile.TemporaryDirectory() as folder:

        @cache
        def reader(domain_name: str) -> Reader:
            domain = REPOSITORY if domain_name == REPOSITORY.schema else WAREHOUSE
            if asked.replay:
                return Tape(asked.replay)
            home = Path(folder) / domain_name
            found = reader_of(asked.reader, asked.task, domain, home, asked.model, asked.key_env)
            return Tape(asked.record, found) if asked.record else found

        return modelled(
            lambda domain: reader(domain.schema),
            asked.length or LENGTHS,
            warehouse.SEEDS[: asked.seeds],
            asked.runtime or EVERYBODY,
            asked.noise or (0,),
            asked.drift or (),
        )
