"""How far Σ and the world come apart in each commit mode, where one action in ten fails. Counts, no times.

A task of N items, a file each. A step does one item and says so in its own patch (`items/ID: done`), which the skill
advises against: that is the case in which the modes differ. Half of the actions are edits, half commands that must
pass. Of ten actions one fails, drawn with a seed: an edit whose text is not there, a command that ends with 1 and
changes nothing. The agent gets the prompt alone; it takes the next item that Σ does not call done, or that is not
confirmed, and finishes when there is none.

trusting    believes Σ
reading     takes an item back when the observation says that its action failed

After each step every item that Σ calls done is held against its file. `false` are the entries that say more than is so:
in all steps together (`entry_steps`), at the end (`at_end`), and in how many steps there were any (`steps`). In `dual`
the same for what is confirmed, and `unreported`: desired ones that are not kept apart as unconfirmed.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import orjson

from contracts.outcomes import Outcome
from contracts.record import RunRecord
from contracts.reply import Prompt
from contracts.words import unworded
from controller.loop import run
from controller.opening import Options
from tests.bench.report import report, say
from tests.controller.world import TASK, World, action, edit, part

MAKE = """\
    make:
      run: [sh, make.sh, "{item}", "{luck}"]
      must: pass
      params: {item: {pattern: "i[0-9]+"}, luck: {enum: [good, bad]}}
"""
SCRIPT = 'test "$2" = good && echo new > "src/$1.txt"\n'
STATE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "items": {
            "type": "object",
            "maxProperties": 100,
            "propertyNames": {"pattern": "^i[0-9]{1,3}$"},
            "additionalProperties": {"enum": ["to do", "done"]},
            "default": {},
        }
    },
}
BOUNDS = {
    "staged: no step after which Σ says more than is so": ("staged false steps", 0),
    "dual: nor what is confirmed": ("dual confirmed false steps", 0),
    "dual: nothing desired and not so that the prompt does not show": ("dual unreported", 0),
    "optimistic, trusting: some at the end, else this bench shows nothing": (
        "optimistic without a false entry",
        0,
    ),
}
WAYS = (
    ("staged", "staged", False),
    ("optimistic trusting", "optimistic", False),
    ("optimistic reading", "optimistic", True),
    ("dual", "dual", False),
)


class Doer:
    """The rule-based agent, and the luck of its actions."""

    def __init__(self, items: int, seed: int, reading: bool) -> None:
        self.items = [f"i{number}" for number in range(items)]
        self._luck, self._reading, self._at = random.Random(seed), reading, ""
        self.failures = self.unreported = 0
        self.busy, self._tries, self._bad = True, 0, 0

    def __call__(self, prompt: Prompt) -> dict[str, Any]:
        notes, known = self._notes(prompt.text)
        back: dict[str, Any] = {}
        if self._reading and "failed (" in part(prompt.text, "observation").split("\n", 1)[0]:
            back = {self._at: "to do"}
        done = {id for id in self.items if (notes | back).get(id) == "done" == known.get(id, notes.get(id))}
        self._at = next((id for id in self.items if id not in done), "")
        if not self._at:
            self.busy = False
            return action("finish", {"summary": "all done"}, items=back)
        if self._tries % 10 == 0:
            self._bad = self._luck.randrange(10)
        bad = self._tries % 10 == self._bad
        self._tries += 1
        self.failures += bad
        told = {"items": back | {self._at: "done"}}
        if self.items.index(self._at) % 2:
            return action(
                "run",
                {"command": "make", "params": {"item": self._at, "luck": "bad" if bad else "good"}},
                **told,
            )
        return edit(f"src/{self._at}.txt", "no such text" if bad else "old", "new", **told)

    def _notes(self, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What Σ says of the items, and what is confirmed, as the prompt shows it."""
        state = part(text, "state")
        found = re.search(r"^items: (.*)$", state, re.MULTILINE)
        notes = unworded(found[1]) if found else {}
        behind = re.search(r"^not confirmed:\n (.*)$", state, re.MULTILINE)
        patch = orjson.loads(behind[1]).get("items", {}) if behind else {}
        known = {id: text for id, text in (notes | patch).items() if text is not None}
        return notes, {id: known.get(id, "") for id in notes}


class Tally:
    """Σ held against the files, step by step."""

    def __init__(self, worktree: Path, items: list[str]) -> None:
        self._worktree, self._items = worktree, items
        self.steps = self.false_steps = self.false_entries = self.at_end = 0
        self.confirmed_false_steps = self.unreported = 0

    def after(self, record: RunRecord) -> None:
        so = {id for id in self._items if (self._worktree / f"src/{id}.txt").read_text() == "new\n"}
        claimed, known = (_done(state) - so for state in (record.state, record.known))
        self.steps += 1
        self.false_steps += bool(claimed)
        self.false_entries += len(claimed)
        self.confirmed_false_steps += bool(known)
        self.unreported += len(claimed & _done(record.known))
        self.at_end = len(claimed)


def _done(state: dict[str, Any]) -> set[str]:
    return {id for id, text in state.get("items", {}).items() if text == "done"}


def tried(
    folder: Path, mode: str, items: int, seed: int, *, reading: bool = False
) -> tuple[Tally, Doer, RunRecord]:
    """One run of the task in one mode. It ends when the agent finishes (whatever the checks say) or does not get on."""
    names = [f"i{number}" for number in range(items)]
    task = TASK.replace("checks:\n", f"{MAKE}checks:\n", 1).replace(
        "must_notice: src/a.txt", "must_notice: src/i0.txt"
    )
    task = task.replace("goal:", "contract: .agent-contract\ngoal:")
    task += f"commit_mode: {mode}\nbudgets: {{steps: {items * 3}, tokens: 1000000000, rejections: 1}}\n"
    files = {f"src/{id}.txt": "old\n" for id in names}
    files |= {
        ".agent-contract/state.schema.json": orjson.dumps(STATE).decode(),
        "make.sh": SCRIPT,
        "check.sh": 'test "$(LC_ALL=C tr -d -c "\\\\000" < src/i0.txt | wc -c)" -eq 0\n',
    }
    world = World(folder, task=task, files=files)
    doer = Doer(items, seed, reading)
    rig = world.rig([doer] * (items * 3))
    tally = Tally(world.worktree, names)

    def after(record: RunRecord) -> None:
        if doer.busy:
            tally.after(record)

    async def story() -> RunRecord:
        return (await run(rig, Options(patience=0.0), after)).record

    return tally, doer, anyio.run(story)


def figures(folder: Path, items: int, seeds: int) -> dict[str, Any]:
    """What each mode came to, all seeds together."""
    found: dict[str, Any] = {"items": items * seeds, "actions that fail in ten": 1}
    for name, mode, reading in WAYS:
        tallies = []
        for seed in range(seeds):
            tally, doer, record = tried(folder / f"{name}-{seed}", mode, items, seed, reading=reading)
            tallies.append((tally, doer, record))
            say(
                f"{name}, seed {seed}: {tally.steps} steps, {doer.failures} failed, false at the end {tally.at_end}"
            )
        found |= {
            f"{name} steps": sum(tally.steps for tally, _, _ in tallies),
            f"{name} failures": sum(doer.failures for _, doer, _ in tallies),
            f"{name} completed": sum(record.outcome is Outcome.completed for _, _, record in tallies),
            f"{name} false steps": sum(tally.false_steps for tally, _, _ in tallies),
            f"{name} false entry steps": sum(tally.false_entries for tally, _, _ in tallies),
            f"{name} false at the end": sum(tally.at_end for tally, _, _ in tallies),
        }
        if mode == "dual":
            found["dual confirmed false steps"] = sum(tally.confirmed_false_steps for tally, _, _ in tallies)
            found["dual unreported"] = sum(tally.unreported for tally, _, _ in tallies)
    found["optimistic without a false entry"] = int(found["optimistic trusting false at the end"] == 0)
    return found


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--items", type=int, default=40)
    words.add_argument("--seeds", type=int, default=5)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return report("modes", asked.seeds, figures(Path(folder), asked.items, asked.seeds), BOUNDS)


if __name__ == "__main__":
    sys.exit(main())
