"""The repository with releases, a named extension: CherryPick, RunTests, CreateRelease and Rollback, which the paper
names and does not say more of. What is asked for hangs on what stands: whether main was tested since it last moved, and
which releases were not rolled back."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.bench.report import say
from tests.bench.skillexec import repository
from tests.bench.skillexec.domains import REPOSITORY, tool
from tests.bench.skillexec.episode import Event
from tests.bench.skillexec.experiments import EVERYBODY, episode
from tests.bench.skillexec.figures import Sized, over, told
from tests.bench.skillexec.release_books import KEPT, Releases
from tests.bench.skillexec.repository import Feature, Hub, Repository
from tests.bench.skillexec.warehouse import SEEDS

OFTEN = 0.3  # of the events that are about a release, once something was merged
ASKED = """\
- "Release RELEASE is due." If main's tests passed since its last merge: CreateRelease RELEASE; else: RunTests main
- "FEATURE is wanted in the newest release." The newest that was not rolled back: CherryPick FEATURE RELEASE
- "Production fails since the newest release." Go back from it to the one before that stands: Rollback RELEASE RELEASE
- The last six releases are kept.
"""
RULES = repository.RULES.replace("- Notices tell", f"{ASKED}- Notices tell")


@dataclass
class ReleaseHub(Hub):
    """The repository with its releases. `standing`: those that were not rolled back, the newest last."""

    tested: bool = False
    standing: list[str] = field(default_factory=list)
    made: int = 0

    def do(self, action: str) -> tuple[bool, str]:
        verb, *words = action.split()
        match verb, words:
            case "RunTests", ["main"]:
                self.tested = True
                return True, f"Tests of main passed at v{self.version}."
            case "CreateRelease", [name]:
                return self._create(name)
            case "CherryPick", [feature, name]:
                return self._pick(feature, name)
            case "Rollback", [name, to]:
                if self.standing[-2:] != [to, name]:
                    return (
                        False,
                        f"Error: {name} is not the newest release, or {to} does not stand before it.",
                    )
                self.standing.pop()
                return True, f"Rolled back {name}; {to} runs again."
            case (("RunTests" | "CreateRelease" | "CherryPick" | "Rollback"), _):
                return False, f"Error: unknown action {action[:60]!r}."
        done = super().do(action)
        if verb == "Merge" and done[0]:
            self.tested = False
        return done

    def _create(self, name: str) -> tuple[bool, str]:
        if name != f"R{self.made + 1}":
            return False, f"Error: no release {name} is due."
        if not self.tested:
            return False, "Error: main was not tested since it moved."
        self.made += 1
        self.standing = [*self.standing, name][-KEPT:]
        return True, f"Created release {name} from v{self.version}."

    def _pick(self, feature: str, name: str) -> tuple[bool, str]:
        found = self.features.get(feature)
        if found is None or found.stage != "merged":
            return False, f"Error: {feature} is not merged."
        if name not in self.standing:
            return False, f"Error: there is no release {name}."
        return True, f"Picked {feature} into {name}."


class Released(Repository):
    """episode.World."""

    hub = ReleaseHub

    def right(self) -> bool:
        assert isinstance(self.real, ReleaseHub) and isinstance(self._gold, ReleaseHub)
        return super().right() and self.real.standing == self._gold.standing


class Generator(repository.Generator):
    """Draws events of releases among the others."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.hub: ReleaseHub = ReleaseHub()
        self._also = random.Random(f"releases {seed}")

    def draw(self) -> Event:
        merged = [each.name for each in self.hub.features.values() if each.stage == "merged"]
        if not merged or self._also.random() >= OFTEN:
            return super().draw()
        kinds = ["due", "due"] + (["wanted"] if self.hub.standing else [])
        kinds += ["fails"] if len(self.hub.standing) > 1 else []
        kind = self._also.choice(kinds)
        if kind == "due":
            name = f"R{self.hub.made + 1}"
            gold = f"CreateRelease {name}" if self.hub.tested else "RunTests main"
            return self._done(Event(f"Release {name} is due.", gold, name))
        newest = self.hub.standing[-1]
        if kind == "wanted":
            feature = self._also.choice(merged)
            text = f"{feature} is wanted in the newest release."
            return self._done(Event(text, f"CherryPick {feature} {newest}", newest))
        text, to = "Production fails since the newest release.", self.hub.standing[-2]
        return self._done(Event(text, f"Rollback {newest} {to}", newest))


def events(seed: int, horizon: int) -> tuple[list[Event], list[Feature]]:
    """The events of one episode, and the features that they speak of."""
    return repository.drawn(Generator(seed), horizon)


FEATURE, RELEASE = "^F[0-9]{1,5}$", "^R[0-9]{1,4}$"


def _named(**patterns: str) -> dict[str, Any]:
    return {
        name: {"type": "string", "pattern": pattern, "maxLength": 6} for name, pattern in patterns.items()
    }


RELEASES = replace(
    REPOSITORY,
    rules=RULES,
    books=Releases,
    specs=(
        *REPOSITORY.specs,
        tool("runtests", _named(of="^main$"), "let main's tests run", '{"of":"main"}'),
        tool("createrelease", _named(of=RELEASE), "release what main is", '{"of":"R1"}'),
        tool(
            "cherrypick",
            _named(of=FEATURE, to=RELEASE),
            "bring a feature into a release",
            '{"of":"F1","to":"R1"}',
        ),
        tool(
            "rollback",
            _named(of=RELEASE, to=RELEASE),
            "go back to an earlier release",
            '{"of":"R2","to":"R1"}',
        ),
    ),
    verbs=REPOSITORY.verbs
    | {
        "runtests": "RunTests",
        "createrelease": "CreateRelease",
        "cherrypick": "CherryPick",
        "rollback": "Rollback",
    },
    state=("branches", "prs", "main", "releases"),
    kept=re.compile(rf"(?:{REPOSITORY.kept.pattern})|(Tests of main|Created release|Rolled back) .*"),
)


def released(lengths: Iterable[int], seeds: Iterable[int] = SEEDS) -> dict[str, Any]:
    """Information and cost by the number of events, and what drifts among the pull requests meanwhile."""
    found: dict[str, Any] = {}
    lengths, seeds = list(lengths), list(seeds)
    for runtime in EVERYBODY:
        for length in lengths:
            worlds = [Released(*events(seed, length)) for seed in seeds]
            cell = [episode(runtime, world, RELEASES) for world in worlds]
            found[f"{runtime}, T={length}"] = told([Sized.of(each) for each in cell])
            found[f"{runtime}, T={length}, delivered"] = over(world.delivered() for world in worlds)
        for kind in repository.DRIFTS:
            steps = []
            for seed in seeds:
                listed, features = repository.drifted(kind, seed, generator=Generator(seed))
                outcome = episode(runtime, Released(listed, features), RELEASES)
                steps.append(repository.recovery(listed, outcome.strict))
            found[f"{kind}, {runtime}"] = steps
        say(f"releases: {runtime}")
    return found
