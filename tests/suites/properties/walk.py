"""Walks: one run after another of generated replies, decisions of people and evidence; each verdict is held against
the oracle.

The gate, the queue and the record's next state are the product's own (`gate`, `RunRecord.folded`, `advance`); only
readings, replies and evidence are made up. No file, process, clock or network."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contracts.base import canonical
from contracts.forge_reading import CiRun, ForgeReading, Request
from contracts.queue import Answer, Decision, Entry, Post
from contracts.readings import CiReading, GitReading, Readings, UnknownReading
from contracts.record import Observation, RunRecord
from contracts.reply import Reply
from contracts.verdicts import Allow, Confirm, Gated, Proven, Refuted, Reject, Verified
from controller import gate as judging
from controller.advance import Tree, advance
from tests.suites.properties import moves, oracle
from tests.suites.properties.codes import INVARIANTS
from tests.suites.properties.laws import Law

LENGTH = 80  # replies to a run
OWN = ("invariants.state_size", "invariants.secret", "invariants.view_range")


@dataclass
class Found:
    """What came of all walks. `codes` are those that rejected; `wrong` the first violations with what was said,
    `violations` how many there were in all."""

    cases: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    evicted: int = 0
    patches: int = 0
    violations: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def rules(self) -> set[str]:
        """The codes without the names that schemas give to their invariants."""
        return {
            INVARIANTS if code.startswith(INVARIANTS) and code not in OWN else code for code in self.codes
        }

    def blame(self, faults: Sequence[str], law: Law, said: Any) -> None:
        self.violations += len(faults)
        if len(self.wrong) < 5:
            self.wrong += [f"{fault} [{law.name}]: {str(said)[:600]}" for fault in faults]

    def line(self) -> str:
        codes = ", ".join(f"{code} {count}" for code, count in sorted(self.codes.items()))
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.verdicts.items()))
        return (
            f"properties: {self.cases:,} replies ({kinds}), {self.patches:,} patches, {self.evicted:,} evictions, "
            f"{self.violations} violations; {len(self.codes)} codes: {codes}"
        )


def walked(laws: Sequence[Law], cases: int, seed: int) -> Found:
    """Walk over the laws in turn until `cases` replies were judged."""
    rng, found, number = random.Random(seed), Found(), 0
    while found.cases < cases:
        walk = _Walk(laws[number % len(laws)], rng, found)
        for _ in range(min(LENGTH, cases - found.cases)):
            walk.one()
        number += 1
    return found


class _Walk:
    def __init__(self, law: Law, rng: random.Random, found: Found) -> None:
        self.law, self.rng, self.found, self.now = law, rng, found, 1000.0
        self.refused: Any = None  # the action to which somebody said no last
        self.decides = rng.choice([0.25, 0.25, 0.0])  # how often people look at what waits
        self.record = RunRecord(
            task="tidy", run="tidy@a#1", opened=1.0, base="a" * 40, branch="b", head="b" * 40,
            state=law.charter.schema.initial(), step=1,
        )  # fmt: skip

    def one(self) -> None:
        """One reply, or approved entry, judged; what follows from it."""
        rng, found = self.rng, self.found
        self.now += 10
        self._decide()
        entry = self.record.approved
        if entry is None:
            self.record = self.record.model_copy(update={"step": self.record.step + 1})
        elif rng.random() < 0.1:  # a record that somebody wrote another action, or another patch, into
            other = rng.choice([{"action": moves.read(rng)}, {"state_patch": {"notes": {"x": "other"}}}])
            entry = entry.model_copy(update={"transition": entry.transition | other})
        said: Reply | Entry = entry or moves.reply(self.law, self.record, rng)
        if entry is None and self.refused is not None and rng.random() < 0.2:  # who does not take a no
            said = said.model_copy(update={"transition": {"state_patch": {}, "action": self.refused}})
        seen, fresh = self._readings(entry)
        before = canonical(self.record.state)
        gated = judging.gate(self.record, seen, fresh, said, self.law.charter)
        verdict = gated.verdict
        found.cases += 1
        found.verdicts[verdict.kind] += 1
        if canonical(self.record.state) != before:
            found.blame(["judging changed the state"], self.law, gated.transition)
        if isinstance(verdict, Reject):
            found.codes[verdict.code] += 1
            if any(secret in verdict.say + verdict.excerpt for secret in oracle.PLANTED):
                found.blame(["a credential is quoted"], self.law, verdict.say)
        if isinstance(verdict, Allow):
            self._allowed(gated, verdict, seen, fresh, entry)
        elif isinstance(verdict, Confirm) and len(self.record.queue) >= 8:
            found.blame(["more than eight wait"], self.law, gated.transition)
        self._next(gated)

    def _allowed(
        self, gated: Gated, verdict: Allow, seen: Readings, fresh: Readings, entry: Entry | None
    ) -> None:
        staged = verdict.staged
        self.found.patches += bool(staged.transition["state_patch"])
        self.found.evicted += len(staged.forgotten.values)
        faults = list(oracle.faults(self.record, seen, fresh, staged, entry, self.law))
        faults += oracle.form(gated.transition)
        self.found.blame(faults, self.law, gated.transition)

    def _next(self, gated: Gated) -> None:
        """The record moved on: parked, corrected, or staged and then proven or refuted."""
        rng = self.rng
        after, _ = advance(self.record, gated, Tree(head=self.record.head), {}, wall=0.0, now=self.now)
        if not isinstance(gated.verdict, Allow):
            held = (self.record.state, self.record.confirmed)
            if (after.state, after.confirmed) != held or after.staged is not None:
                self.found.blame(["not allowed, and the state is another"], self.law, gated.transition)
        if after.staged is not None:
            proven = rng.random() < 0.75
            head = f"{rng.getrandbits(160):040x}" if proven and rng.random() < 0.3 else after.head
            evidence = Proven() if proven else Refuted(code="evidence.made_up", say="it did not happen")
            seen = Observation(step=after.step, tool=after.staged.tool, head="done") if proven else None
            change = Verified(evidence=evidence, observation=seen, at=self.now)
            intent, allowed = after.staged.intent, after.staged
            earlier = self.record
            after, _ = advance(after, change, Tree(head=head), {}, wall=0.0, now=self.now)
            if after.intent != earlier.intent and intent is None:
                self.found.blame(["the intent changed by itself"], self.law, gated.transition)
            if allowed.mode == "staged" and not proven and after.state != earlier.state:
                self.found.blame(["refuted, and the state is another"], self.law, gated.transition)
            for state in (after.state, after.known):
                self.found.blame(list(oracle._valid(state, self.law)), self.law, state)
        self.record = after.model_copy(
            update={"halt": None, "progress": type(after.progress)(), "rejections": 0, "failures": 0}
        )

    def _decide(self) -> None:
        """People say something: rightly, too late, about something else, or without being asked to."""
        rng, queue = self.rng, [entry for entry in self.record.queue if entry.status == "open"]
        if not queue or rng.random() > self.decides:
            return
        entry = rng.choice(queue)
        by, hash = rng.choice(["ana", "ana", "eve"]), rng.choice([entry.hash] * 4 + ["0" * 64])
        body: Any = Decision(entry=entry.id, hash=hash, yes=rng.random() < 0.85, by=by, at=self.now)
        if entry.kind == "ask":
            body = Answer(entry=entry.id, text="this one", by=by, at=self.now)
        if isinstance(body, Decision) and not body.yes:
            self.refused = entry.transition["action"]
        folded = self.record.folded((Post(id=1, body=body),))
        self.record = folded.model_copy(update={"inbox": ()})

    def _readings(self, entry: Entry | None) -> tuple[Readings, Readings]:
        """The world before and after the agent thought: mostly the same, and what an entry rests on mostly unmoved."""
        rng, at = self.rng, self.now
        values: dict[str, Any] = {
            "repository": "r", "branch": "b", "base": "a" * 40, "head": self.record.head, "tree": "t",
            "links": {"src/link": "../../elsewhere", "src/out": "../task.yaml", "src/in": "b.txt"},
        }  # fmt: skip
        if entry is not None:
            touched = (rng.choice(moves.PATHS),) if rng.random() < 0.2 else ()
            values["changed"] = dict.fromkeys(entry.commits, touched)
            at += 10**6 if rng.random() < 0.1 else 0
        outside = {"forge": self._forge(at), "ci": self._ci()}
        values["changed"] = {moves.OLD: ("src/b.txt",)} | values.get("changed", {})
        seen = Readings(at=at, items={"git": GitReading(**values), **outside})
        luck = rng.random()
        if luck < 0.03:
            return seen, Readings(at=at, items={"git": UnknownReading(name="git", why="locked"), **outside})
        if luck < 0.08:
            return seen, Readings(at=at, items={"git": GitReading(**values | {"tree": "other"}), **outside})
        if luck < 0.11:
            other: dict[str, Any] = rng.choice(
                [{"forge": self._forge(at)}, {"forge": UnknownReading(name="forge", why="cut")}]
            )
            return seen, Readings(at=at, items={**seen.items, **other})
        return seen, seen

    def _forge(self, at: float) -> ForgeReading:
        """The forge as it may stand: pushed to or not, by others or not, with a pull request or without."""
        rng, head = self.rng, self.record.head
        request = Request(
            number=rng.randint(1, 3),
            state=rng.choice(["open", "open", "merged", "closed"]),
            draft=rng.random() < 0.2,
            title="Tidy",
            head=rng.choice([head, head, "c" * 40]),
            base="main",
            body=rng.choice(["x", "y"]),
            run=rng.choice([self.record.run, "other@a#1"]),
        )
        runs = [
            CiRun(
                id=n,
                name=f"run {n}",
                attempt=rng.randint(1, 3),
                failed=rng.random() < 0.6,
                over=rng.random() < 0.8,
            )
            for n in range(rng.randint(0, 2))
        ]
        return ForgeReading(
            provider="github", place="o/r", branch="b", base="main", sha=head,
            tip=rng.choice([head, head, head, "c" * 40, None]),
            holds=rng.random() < 0.6,
            foreign=("eve: a commit",),
            request=request if rng.random() < 0.6 else None,
            opened=rng.choice([0, 0, 1, 2, None]),
            recent=rng.choice([(), (), (at - 60,), (at - 4000,), None]),
            opens=rng.choice([None, None, None, at + 600]),
            runs=tuple(run.model_copy(update={"over": run.over or run.failed}) for run in runs),
        )  # fmt: skip

    def _ci(self) -> CiReading:
        state = self.rng.choice(["passed", "passed", "failed", "pending"])
        return CiReading(name="ci", provider="github", sha=self.record.head, state=state, why="so it says")
