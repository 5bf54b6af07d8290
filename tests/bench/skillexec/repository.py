"""The repository: features are asked for, committed, proposed, repaired and merged, one event a step.

The paper leaves its generator open, so this one is ours: of every feature that is under way its next event may come,
and of a new one its issue. A merge makes the CI of open pull requests that touch one of its files stale, and says
nothing of it: whoever merges such a one without a new run breaks main.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.bench.skillexec.episode import Event, Fed

RULES = """\
You look after a repository. Each step you read what came of your last action and one event, and reply with one action.
- "Issue assigned: FEATURE, touching FILES." Write it: Commit FEATURE
- "Commit pushed on branch BRANCH." Propose it: CreatePR BRANCH
- "CI pipeline failed for PR #N." Repair it: FixCI #N
- "PR #N was approved, its CI passed." Merge it: Merge #N. But if another pull request that touches one of its files was
  merged since its CI last ran, or its branch or CI was changed from outside, that says nothing: FixCI #N first.
- A pull request that was closed by somebody can't be merged: open one for its branch again: CreatePR BRANCH
- Notices tell what has changed and ask for nothing: Wait
- Background telemetry means nothing.
An action that can't be done is answered by an error and changes nothing."""
BRIEF = """\
Each step: one event, one action. The state says which branches and pull requests are open once the action is done.
Issue assigned: commit the feature. Commit pushed: createpr its branch. CI failed: fixci the PR. Approved, CI passed:
merge it; but fixci first where another PR that touches one of its files was merged since its CI last ran, or its branch
or CI was changed from outside. A closed PR can't be merged: createpr its branch again.
Notice: correct the state, stay. Telemetry means nothing."""
FILES = ("api.py", "cli.py", "core.py", "db.py", "docs.md", "io.py", "log.py", "web.py")
UNDER_WAY = 8
Stage = Literal["asked", "pushed", "running", "merged"]


@dataclass
class Feature:
    """One feature on its way. `pr` is its open pull request, 0 without one; `fresh`: its CI ran on what main and the
    branch are now; `fails`: the next run of it fails."""

    name: str
    files: tuple[str, ...]
    stage: Stage = "asked"
    pr: int = 0
    fresh: bool = True
    fails: bool = False
    closed: bool = False

    @property
    def branch(self) -> str:
        return f"feature/{self.name}"


@dataclass
class Hub:
    """The repository as it is. `broken`: something was merged on a CI that said nothing."""

    features: dict[str, Feature] = field(default_factory=dict)
    version: int = 0
    prs: int = 0
    broken: int = 0

    def of(self, number: str) -> Feature | None:
        return next((each for each in self.features.values() if f"#{each.pr}" == number), None)

    def do(self, action: str) -> tuple[bool, str]:
        """(whether it was done, what is said of it)."""
        verb, _, what = action.partition(" ")
        if verb == "Wait":
            return True, "Waited."
        if verb == "Commit":
            found = self.features.get(what)
            if found is None or found.stage != "asked":
                return False, f"Error: there is nothing to commit for {what}."
            found.stage = "pushed"
            return True, f"Committed {what} on {found.branch}."
        if verb == "CreatePR":
            return self._propose(what)
        found = self.of(what)
        if found is None or found.stage != "running":
            return False, f"Error: there is no open PR {what}."
        if found.closed:
            return False, f"Error: PR {what} is closed."
        if verb == "FixCI":
            found.fresh, found.fails = True, False
            return True, f"CI of PR {what} was repaired and runs again."
        if verb == "Merge":
            return self._merge(found)
        return False, f"Error: unknown action {action[:60]!r}."

    def _propose(self, branch: str) -> tuple[bool, str]:
        found = next((each for each in self.features.values() if each.branch == branch), None)
        if found is None or not (found.stage == "pushed" or found.closed):
            return False, f"Error: there is nothing to propose on {branch}."
        self.prs += 1
        found.stage, found.pr, found.closed, found.fresh = "running", self.prs, False, True
        return True, f"Opened PR #{found.pr} for {branch}."

    def _merge(self, found: Feature) -> tuple[bool, str]:
        self.broken += not found.fresh
        self.version += 1
        found.stage = "merged"
        for other in self.features.values():
            if other.stage == "running" and set(other.files) & set(found.files):
                other.fresh = False
        return True, f"Merged PR #{found.pr} for {found.branch}; main is v{self.version}."

    def happen(self, name: str, feature: str) -> None:
        """A change from outside."""
        found = self.features[feature]
        if name in ("forced", "flaky"):
            found.fresh = False
        elif name == "closed":
            found.closed = True


class Repository:
    """episode.World."""

    hub = Hub

    def __init__(self, events: Sequence[Event], features: Sequence[Feature]) -> None:
        self.events = events
        self.real, self._gold = (
            self.hub({each.name: Feature(each.name, each.files) for each in features}) for _ in range(2)
        )

    def happen(self, at: int) -> None:
        if before := self.events[at].before:
            for hub in (self.real, self._gold):
                hub.happen(*before)

    def act(self, at: int, action: str) -> Fed:
        gold = self.events[at].gold
        self._gold.do(gold)
        broken = self.real.broken
        done, said = self.real.do(action)
        strict = done and action == gold
        return Fed(
            said,
            done,
            strict,
            strict or (done and self.real.broken == broken and action.split()[0] == gold.split()[0]),
        )

    def authority(self) -> str:
        """What the forge shows: pull requests that somebody closed, and CI that says nothing any more."""
        lines = []
        for each in self.real.features.values():
            if each.stage == "running" and each.closed:
                lines.append(f"PR #{each.pr}: closed")
            elif each.stage == "running" and not each.fresh:
                lines.append(f"PR #{each.pr}: its CI is stale")
        return "\n".join(lines)

    def right(self) -> bool:
        return [(each.stage, each.pr) for each in self.real.features.values()] == [
            (each.stage, each.pr) for each in self._gold.features.values()
        ]

    def delivered(self) -> float:
        """The share of features asked for that were merged with a green CI."""
        asked = sum(event.gold.startswith("Commit ") for event in self.events)
        merged = sum(each.stage == "merged" for each in self.real.features.values())
        return max(0, merged - self.real.broken) / asked if asked else 1.0


class Generator:
    """Draws events from the repository as it is when every action was right."""

    def __init__(self, seed: int) -> None:
        self.hub, self._rng = Hub(), random.Random(seed)
        self.untouched: set[str] = set()

    def draw(self) -> Event:
        under_way = [each for each in self.hub.features.values() if each.stage != "merged"]
        ready = [each for each in under_way if each.name not in self.untouched]
        kinds = ["issue"] if len(under_way) < UNDER_WAY or not ready else []
        kinds += ["next"] * 3 if ready else []
        if self._rng.choice(kinds) == "issue":
            return self._done(self.issue())
        return self._done(self.next(self._rng.choice(ready)))

    def issue(self) -> Event:
        name = f"F{len(self.hub.features) + 1}"
        files = tuple(sorted(self._rng.sample(FILES, self._rng.randrange(1, 4))))
        self.hub.features[name] = Feature(name, files)
        return Event(f"Issue assigned: {name}, touching {', '.join(files)}.", f"Commit {name}", name)

    def next(self, of: Feature) -> Event:
        """The next event of a feature under way."""
        if of.stage == "pushed":
            return Event(f"Commit pushed on branch {of.branch}.", f"CreatePR {of.branch}", of.name)
        if of.fails:
            return Event(f"CI pipeline failed for PR #{of.pr}.", f"FixCI #{of.pr}", of.name)
        gold = f"Merge #{of.pr}" if of.fresh else f"FixCI #{of.pr}"
        gold = f"CreatePR {of.branch}" if of.closed else gold
        return Event(f"PR #{of.pr} was approved, its CI passed.", gold, of.name)

    def _done(self, event: Event) -> Event:
        self.hub.do(event.gold)
        if event.gold.startswith("CreatePR"):
            self.hub.features[event.about].fails = self._rng.random() < 0.3
        return event


def drawn(generator: Generator, horizon: int) -> tuple[list[Event], list[Feature]]:
    """So many events, and the features that they speak of."""
    return [generator.draw() for _ in range(horizon)], list(generator.hub.features.values())


def events(seed: int, horizon: int) -> tuple[list[Event], list[Feature]]:
    """The events of one episode, and the features that they speak of."""
    return drawn(Generator(seed), horizon)


DRIFTS = ("forced", "flaky", "closed")
RECOVERABLE = DRIFTS[:2]
TOLD = {
    "forced": "Notice: the branch of PR #{0} was force-pushed, its CI was reset.",
    "flaky": "Notice: CI of PR #{0} turned red without a commit.",
    "closed": "Notice: PR #{0} was closed by somebody.",
}


def drifted(
    kind: str,
    seed: int,
    *,
    at: int = 15,
    delay: int = 3,
    horizon: int = 40,
    generator: Generator | None = None,
) -> tuple[list[Event], list[Feature]]:
    """An episode in which an open pull request changes unseen before event `at`. The alert comes `delay` events later,
    and after it the request's approval; of a closed one the alert comes after that."""
    generator = generator or Generator(seed)
    listed = [generator.draw() for _ in range(at)]
    while (found := _open(generator)) is None:
        listed.append(generator.draw())
    generator.untouched.add(found.name)
    change = (kind, found.name)
    generator.hub.happen(*change)
    told = Event(TOLD[kind].format(found.pr), about=found.name, alert=True)
    first = generator.draw()
    listed.append(Event(first.text, first.gold, first.about, change))
    listed += [generator.draw() for _ in range(delay - 1)]
    approved = generator._done(generator.next(found))
    listed += [approved, told] if kind == "closed" else [told, approved]
    generator.untouched.clear()
    listed += [generator.draw() for _ in range(horizon - len(listed))]
    return listed, list(generator.hub.features.values())


def _open(generator: Generator) -> Feature | None:
    ready = (each for each in generator.hub.features.values() if each.stage == "running" and not each.fails)
    return next((each for each in ready if each.fresh), None)


def recovery(listed: Sequence[Event], strict: Sequence[bool]) -> int | None:
    """How many actionable events on the drifted request went wrong after it could be known, until the first that was
    right; None where none was."""
    at = next(at for at, event in enumerate(listed) if event.before)
    name = listed[at].before[1]
    answers = [
        right
        for event, right in list(zip(listed, strict, strict=True))[at:]
        if event.about == name and event.actionable
    ]
    if "closed" in listed[at].before:
        return 0 if answers[:1] == [True] else None
    return next((wrong for wrong, right in enumerate(answers) if right), None)
