"""What views save on real work: five published repositories, each with a maintenance task carried through by a
rule-based agent, with `view` in the state and without, and without it but with the agent noting its ranges itself."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.ranges import Hunk, followed, hunks
from tests.bench.report import report, say
from tests.scenarios import fetch
from tests.scenarios.repositories import REPOSITORIES, Repository, Upkeep, Working

Json = dict[str, Any]
NAMES: dict[Working, str] = {"view": "with view", "none": "without view", "noted": "ranges noted by hand"}
QUICK = "path-browserify"
BLOCK = re.compile(r"^--- (?:\S+: )?(\S+) lines ([\d,]+)–([\d,]+) of [\d,]+", re.M)


@dataclass
class Known:
    """The lines of files that the agent has been shown, where they stand now."""

    ranges: dict[str, list[tuple[int, int]]]

    def move(self, changed: dict[str, list[Hunk]]) -> None:
        """Follow an edit."""
        for path, changes in changed.items():
            self.ranges[path] = [followed(first, last, changes) for first, last in self.ranges.get(path, [])]

    def holds(self, path: str, first: int, last: int) -> bool:
        """Whether at least half of the range has been shown before."""
        lines = range(first, last + 1)
        known = sum(any(begin <= line <= end for begin, end in self.ranges.get(path, [])) for line in lines)
        return 2 * known >= len(lines)

    def add(self, path: str, first: int, last: int) -> None:
        self.ranges.setdefault(path, []).append((first, last))


def readings(upkeep: Upkeep) -> tuple[int, int]:
    """How many ranges the agent read, and how many of them it had been shown before, by a reading or a view."""
    prompts = [path.read_text("utf-8") for path in sorted(upkeep.prompts.glob("*.prompt"))]
    edits = _edits(upkeep)
    known, read, again = Known({}), 0, 0
    for number, prompt in enumerate(prompts, 1):  # prompt N shows what step N-1 did
        known.move(edits.get(number - 1, {}))
        views, _, rest = prompt.partition("=== VIEWS ===")[2].partition("=== OBSERVATION ===")
        observed = rest or prompt.partition("=== OBSERVATION ===")[2]
        if "=== CORRECTION ===" not in prompt:  # else the same observation is shown once more
            for path, first, last in _blocks(observed):
                read += 1
                again += known.holds(path, first, last)
                known.add(path, first, last)
        for piece in _blocks(views):
            known.add(*piece)
    return read, again


def _blocks(text: str) -> list[tuple[str, int, int]]:
    return [
        (path, int(first.replace(",", "")), int(last.replace(",", "")))
        for path, first, last in BLOCK.findall(text)
    ]


def _edits(upkeep: Upkeep) -> dict[int, dict[str, list[Hunk]]]:
    """What each step changed, from the run's branch."""
    found: dict[int, dict[str, list[Hunk]]] = {}
    for row in upkeep.git("log", "--format=%H", f"main..{upkeep.branch}").split():
        step = re.search(r"^Skill-State-Step: (\d+)$", upkeep.git("show", "-s", "--format=%B", row), re.M)
        diff = fetch.git(upkeep.root, "diff", "-U0", f"{row}^", row)
        if step:
            found[int(step[1])] = hunks(diff.encode())
    return found


def carried(upkeep: Upkeep) -> Json:
    """One run to its end, in figures."""
    items = len(upkeep.items())
    bound = upkeep.controller("validate", "--json").lines[-1]["prompt_bytes"]
    began = time.perf_counter()
    call = upkeep.controller("run", "--json")
    took = time.perf_counter() - began
    sizes = [path.stat().st_size for path in upkeep.prompts.glob("*.prompt")]
    if not sizes:
        raise SystemExit(f"{upkeep.root}: no step was made\n{call.err[-2000:]}")
    rows = [row for row in upkeep.controller("log", "--json").lines if row["kind"] == "step"]
    verdicts = Counter(row["tool_result"] for row in rows if row["validator_result"] == "allow")
    verdicts += Counter(row["validator_result"] for row in rows if row["validator_result"] != "allow")
    read, again = readings(upkeep)
    steps = call.lines[-1]["step"]
    return {
        "outcome": call.outcome,
        "items": items,
        "steps": steps,
        "launches": len(sizes),
        "steps per item": round(steps / items, 2),
        "ranges read": read,
        "read again per item": round(again / items, 2),
        "prompt bytes, mean": round(sum(sizes) / len(sizes)),
        "prompt bytes, max": max(sizes),
        "prompt bytes, bound": bound,
        "prompt bytes, all": sum(sizes),
        "changed nothing": {code: count for code, count in verdicts.items() if code != "ok"},
        "seconds": round(took, 1),
        "tree": upkeep.git("rev-parse", f"{upkeep.branch}^{{tree}}"),
    }


def measure(name: str, repository: Repository, folder: Path) -> Json:
    """The three runs of one task, with what the bounds are about."""
    runs: dict[Working, Json] = {}
    for working, label in NAMES.items():
        place = folder / f"{name}-{working}"
        place.mkdir()
        runs[working] = carried(Upkeep(repository, place, working))
        found = runs[working]
        say(
            f"{name}, {label}: {found['outcome']}, {found['items']} items in {found['steps']} steps "
            f"({found['steps per item']} an item), {found['read again per item']} read again an item, prompt "
            f"{found['prompt bytes, mean']:,} bytes, at most {found['prompt bytes, max']:,} of "
            f"{found['prompt bytes, bound']:,}, {found['seconds']} s"
        )
    every = list(runs.values())
    return {
        **{f"{name}, {label}": runs[working] for working, label in NAMES.items()},
        f"{name}, steps more with view": runs["view"]["steps"] - runs["none"]["steps"],
        f"{name}, not completed": sum(each["outcome"] != "completed" for each in every),
        f"{name}, trees more than one": len({each["tree"] for each in every}) - 1,
        f"{name}, bytes over the bound": max(
            0, *(each["prompt bytes, max"] - each["prompt bytes, bound"] for each in every)
        ),
        f"{name}, items over 80": max(0, every[0]["items"] - 80),
        f"{name}, items under 20": max(0, 20 - every[0]["items"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(REPOSITORIES), action="append", help="this task only")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} only")
    asked = parser.parse_args()
    names = asked.only or ([QUICK] if asked.quick else list(REPOSITORIES))
    figures: Json = {}
    bounds: dict[str, tuple[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for name in names:
            found = measure(name, REPOSITORIES[name], Path(folder).resolve())
            figures |= found
            bounds |= {key: (key, 0) for key in found if not isinstance(found[key], dict)}
            bounds[f"{name}, steps more with view"] = (f"{name}, steps more with view", -1)
    return report("tasks", 1, figures, bounds)


if __name__ == "__main__":
    sys.exit(main())
