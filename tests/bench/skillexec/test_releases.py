"""The repository with releases: its events are frozen and right, its memory is needed, its reader does not cheat."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.bench.skillexec import release_books, repository, warehouse
from tests.bench.skillexec.experiments import episode
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.releases import RELEASES, Generator, Released, events

FROZEN = {  # by seed, the digest of 200 events
    42: "4d7b039459f930c2fe7ad7a8d6a4888369c94f87ff1f46d6eb95f6224edef9d9",
    43: "ab538d42c0024e07a29dc858f33a227a9ef0232b62fc304390eb3090a0aad00b",
    44: "0cdde7fcfda368b98cc0bc7b2b6660bac469f60e4f340d1dba080c613671695a",
    45: "a92395d3f7f0b6f1940c9c77d6382a28c4c361abfc95957eac43e711c6fc70a6",
    46: "379cd6e45b229d0b054eb362aaee11b94e9dac40ddb12fb996836ff9927b8500",
}


@pytest.mark.parametrize("seed", warehouse.SEEDS)
def test_its_own_actions_are_always_right(seed: int) -> None:
    listed, features = events(seed, 300)
    assert warehouse.digest(listed[:200]) == FROZEN[seed]
    world = Released(listed, features)
    for at, event in enumerate(listed):
        fed = world.act(at, event.gold)
        assert fed.accepted and fed.strict and world.right(), (event, fed)
    verbs = Counter(event.gold.split()[0] for event in listed)
    assert all(verbs[verb] > 10 for verb in ("CherryPick", "RunTests", "CreateRelease", "Rollback")), verbs


def test_what_does_not_stand_is_refused() -> None:
    hub = Released([], []).real
    for action, said in {
        "CreateRelease R1": "main was not tested since it moved",
        "CreateRelease R7": "no release R7 is due",
        "Rollback R2 R1": "R2 is not the newest release",
        "CherryPick F1 R1": "F1 is not merged",
        "RunTests feature/F1": "unknown action",
    }.items():
        assert said in hub.do(action)[1], action
    assert hub.do("RunTests main")[0] and hub.do("CreateRelease R1")[0] and not hub.do("CreateRelease R1")[0]


@pytest.mark.parametrize("runtime", ["prompt", "memory", "stateful", "skill.state", "ours, paper"])
def test_a_perfect_reader_releases_and_goes_back(runtime: str) -> None:
    world = Released(*events(43, 45))
    outcome = episode(runtime, world, RELEASES)
    assert outcome.score() == 1.0 and outcome.desync is None


@pytest.mark.parametrize("runtime", ["prompt", "skill.state"])
def test_control_who_is_not_told_of_releases_goes_wrong(runtime: str) -> None:
    class Blind(Perfect):
        def reply(self, prompt: str) -> str:
            kept = re.sub(r"^Created release .*\n|\"R\d+\": \{[^}]*\},? ?", "", prompt, flags=re.MULTILINE)
            return super().reply(kept)

    listed, features = events(43, 45)
    assert episode(runtime, Released(listed, features), RELEASES, Blind(RELEASES.books)).score() < 1.0


@pytest.mark.parametrize("kind", repository.DRIFTS)
def test_drift_among_the_requests_is_told_and_recovered_from(kind: str) -> None:
    listed, features = repository.drifted(kind, 44, generator=Generator(44))
    steps = repository.recovery(listed, episode("skill.state", Released(listed, features), RELEASES).strict)
    assert steps == (None if kind == "closed" else 0)


def test_its_books_know_nothing_of_the_environment() -> None:
    tree = ast.parse(Path(str(release_books.__file__)).read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in names if name and name.startswith("tests")} == {"tests.bench.skillexec.books"}
