"""The experiments on the warehouse. Each says of its figures what they are: whether everything needed stood in a
prompt, what it cost, or what a budget made it lose. None says how well a model would do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from tests.bench.report import say
from tests.bench.skillexec import repository, warehouse
from tests.bench.skillexec.domains import REPOSITORY, WAREHOUSE, Domain
from tests.bench.skillexec.episode import Outcome, World
from tests.bench.skillexec.faults import MIX, Faulty, committed
from tests.bench.skillexec.figures import Sized, exponent, over, told
from tests.bench.skillexec.noise import telemetry
from tests.bench.skillexec.ours import played
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect, Reader
from tests.bench.skillexec.runtimes import Memory, Prompt, Runtime, SkillState, Stateful, Window
from tests.bench.skillexec.warehouse import SEEDS, SHELVES, Warehouse
from tests.bench.tokens import tokens

RIVALS: dict[str, Callable[[Domain], Runtime]] = {
    "prompt": Prompt,
    "memory": Memory,
    "stateful": Stateful,
    "skill.state": SkillState,
}
OURS = ("ours, paper", "ours, compact", "ours, full")
SIZED = OURS[:2]  # those whose size has a bound
EVERYBODY = (*RIVALS, *OURS)
Noise = Callable[[int], list[str]]


def quiet(at: int) -> list[str]:
    return []


def episode(
    runtime: str | Runtime,
    world: World,
    domain: Domain = WAREHOUSE,
    reader: Reader | None = None,
    noise: Noise = quiet,
) -> Outcome:
    """One episode by one runtime; the perfect reader unless another is given."""
    reader = reader or Perfect(domain.books)
    if not isinstance(runtime, str):
        return play(world, runtime, reader, noise)
    if runtime in RIVALS:
        return play(world, RIVALS[runtime](domain), reader, noise)
    return played(world, reader, domain, layout=runtime.partition(", ")[2], noise=noise)


def stored(seed: int, length: int, shelves: int = SHELVES) -> Warehouse:
    return Warehouse(warehouse.events(seed, length, shelves), shelves)


def horizon(lengths: Iterable[int], seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """Information and cost by the number of events."""
    found: dict[str, Any] = {}
    lengths, seeds = list(lengths), list(seeds)
    for runtime in EVERYBODY:
        totals = []
        for length in lengths:
            cell = [Sized.of(episode(runtime, stored(seed, length))) for seed in seeds]
            found[f"{runtime}, T={length}"] = told(cell)
            totals.append(sum(each.prompt["o200k"] + each.reply["o200k"] for each in cell))
            say(f"horizon: {runtime}, T={length}: {told(cell)['score, strict']}")
        if len(lengths) > 1:
            found[f"{runtime}, growth exponent"] = exponent(lengths, totals)
    return found


def noisy(levels: Iterable[int], length: int = 50, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """Cost by lines of noise a step. That a perfect reader is not disturbed says nothing about a model."""
    found: dict[str, Any] = {}
    for runtime in EVERYBODY:
        for lines in levels:
            cell = []
            for seed in seeds:
                noise = partial(telemetry, seed, lines=lines)
                cell.append(Sized.of(episode(runtime, stored(seed, length), noise=noise)))
            found[f"{runtime}, noise={lines}"] = told(cell)
        say(f"noise: {runtime}")
    return found


def drift(seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """Steps until the first right answer on what drifted; None: never. With an alert, and without one."""
    found: dict[str, Any] = {}
    for kind in warehouse.DRIFTS:
        for alert in (True, False):
            for runtime in EVERYBODY:
                steps = []
                for seed in seeds:
                    listed = warehouse.drifted(kind, seed, alert=alert)
                    steps.append(warehouse.recovery(listed, episode(runtime, Warehouse(listed)).strict))
                found[f"{kind}, {'alert' if alert else 'no alert'}, {runtime}"] = steps
        say(f"drift: {kind}")
    return found


def budgeted(
    budgets: Iterable[int], lengths: Iterable[int] = (10, 25, 50, 100), seeds: Iterable[int] = SEEDS
) -> dict[str, Any]:
    """What is lost where a prompt may have so many tokens (o200k): the window's and the capped summary's loss."""
    found: dict[str, Any] = {}
    lengths, seeds = list(lengths), list(seeds)
    for budget in budgets:
        makers: dict[str, Callable[[], Runtime]] = {
            "window": lambda budget=budget: Window(WAREHOUSE, budget, tokens),  # type: ignore[misc]
            "summary": lambda budget=budget: Memory(WAREHOUSE, budget, tokens),  # type: ignore[misc]
        }
        for name, make in makers.items():
            for length in lengths:
                cell = [Sized.of(episode(make(), stored(seed, length))) for seed in seeds]
                found[f"{name}, budget={budget}, T={length}"] = told(cell)
            say(f"budget: {name} at {budget}")
    return found


def misread(
    rates: Iterable[float], lengths: Iterable[int] = (100,), seeds: Iterable[int] = SEEDS
) -> dict[str, Any]:
    """How a score falls where each line is overlooked with the same probability, whatever the runtime: a curve of
    sensitivity, and no stand-in for a model."""
    found: dict[str, Any] = {}
    lengths, seeds = list(lengths), list(seeds)
    for rate in rates:
        for length in lengths:
            for runtime in ("prompt", "memory", "skill.state", "ours, paper"):
                cell = [
                    Sized.of(episode(runtime, stored(seed, length), reader=Perfect(rate=rate, seed=seed)))
                    for seed in seeds
                ]
                found[f"{runtime}, misread={rate}, T={length}"] = told(cell)["score, strict"]
        say(f"misreading: {rate}")
    return found


def long(lengths: Iterable[int], shelves: int, seeds: Iterable[int] = SEEDS[:1]) -> dict[str, Any]:
    """Ours alone over long horizons, on so many shelves."""
    found: dict[str, Any] = {}
    lengths, seeds = list(lengths), list(seeds)
    for runtime in SIZED:
        totals = []
        for length in lengths:
            cell = [Sized.of(episode(runtime, stored(seed, length, shelves))) for seed in seeds]
            found[f"{runtime}, T={length}, {shelves} shelves"] = told(cell)
            totals.append(sum(each.prompt["o200k"] + each.reply["o200k"] for each in cell))
            say(f"long: {runtime}, T={length}, {shelves} shelves: {told(cell)['tokens a prompt, o200k']}")
        found[f"{runtime}, growth exponent, {shelves} shelves"] = exponent(lengths, totals)
    return found


def broken(rate: float = 0.2, length: int = 100, seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """Faults in replies, and how many were taken into the state all the same. A lost key can't be seen by a schema: it
    is counted, not promised."""
    found: dict[str, Any] = {}
    seeds = list(seeds)
    for runtime in ("skill.state", "ours, paper"):
        total = {kind: [0, 0] for kind in MIX}
        scores = []
        for seed in seeds:
            reader = Faulty(Perfect(), rate, seed)
            outcome = episode(runtime, stored(seed, length), reader=reader)
            scores.append(outcome.score())
            for kind, (injected, taken) in committed(outcome, reader).items():
                total[kind] = [total[kind][0] + injected, total[kind][1] + taken]
        found |= {f"{runtime}, {kind}, [injected, committed]": counts for kind, counts in total.items()}
        found[f"{runtime}, committed corruption of syntax and type"] = sum(
            total[kind][1] for kind in ("wrong type", "broken syntax")
        )
        found[f"{runtime}, score, strict"] = over(scores)
        say(f"faults: {runtime}: {total}")
    return found


def looked_after(lengths: Iterable[int], seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """The repository: information and cost by the number of events, and features merged on a CI that said something."""
    found: dict[str, Any] = {}
    lengths, seeds = list(lengths), list(seeds)
    for runtime in EVERYBODY:
        for length in lengths:
            worlds = [repository.Repository(*repository.events(seed, length)) for seed in seeds]
            cell = [Sized.of(episode(runtime, world, REPOSITORY)) for world in worlds]
            found[f"{runtime}, T={length}"] = told(cell)
            found[f"{runtime}, T={length}, delivered"] = over(world.delivered() for world in worlds)
        say(f"repository: {runtime}")
    for kind in repository.DRIFTS:
        for runtime in EVERYBODY:
            steps = []
            for seed in seeds:
                listed, features = repository.drifted(kind, seed)
                outcome = episode(runtime, repository.Repository(listed, features), REPOSITORY)
                steps.append(repository.recovery(listed, outcome.strict))
            found[f"{kind}, {runtime}"] = steps
        say(f"repository drift: {kind}")
    return found
