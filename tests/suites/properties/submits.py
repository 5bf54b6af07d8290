"""What an agent that edits by itself hands in, as a walk draws it; and what must hold of it, said without the gate."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from contracts.readings import Readings
from contracts.submitted import Submitted

Json = Any
PLAIN = {"was": "100644", "mode": "100644", "binary": False}
ODD = (
    {"was": "000000", "mode": "120000"}, {"was": "100644", "mode": "160000"}, {"was": "100644", "mode": "100755"},
    {"binary": True},
)  # fmt: skip


def submit(rng: random.Random, head: str, paths: list[str], bad: float) -> Json:
    """An action with a candidate, filled in as the controller does."""
    files = [PLAIN | {"path": path} for path in dict.fromkeys(paths)]
    files[0] |= rng.choice([{}, {}, {"was": "000000"}, {"mode": "000000"}])
    args = {
        "summary": "did it", "base": head, "tree": "e" * 40, "kept": "refs/kept", "diff": "d" * 16,
        "bytes": 900, "count": len(files), "files": files, "own": [], "left": [], "secrets": [],
    }  # fmt: skip
    if rng.random() < bad:
        args |= rng.choice([
            {"own": ["HEAD at 0123"]}, {"left": ["sleep 9"]}, {"secrets": ["a token in src/a.txt line 1"]},
            {"count": 0, "files": []}, {"base": "f" * 40}, {"count": 401}, {"bytes": 2**21}, {"tree": ""},
            {"files": [files[0] | rng.choice(ODD)]}, {"files": "all"},
        ])  # fmt: skip
    return {"tool": "submit", "args": args}


def left_lying(rng: random.Random) -> Submitted | None:
    """What an agent changed now and then, and replies something else."""
    return Submitted(base="b" * 40, count=2) if rng.random() < 0.1 else None


def faults(args: Json, fresh: Readings, approved: bool) -> Iterator[str]:
    """What is wrong with a candidate that was allowed."""
    if args["own"] or args["left"] or args["secrets"]:
        yield "a candidate with commits, processes or secrets"
    if not args["tree"] or not 0 < args["count"] <= 400 or args["bytes"] > 1024 * 1024:
        yield "a candidate that is empty or too large"
    if not approved and (fresh.git is None or args["base"] != fresh.git.head):
        yield "a candidate for another commit"
    for each in args["files"]:
        modes = {each["was"], each["mode"]} - {"000000"}
        if modes & {"120000", "160000"} or len(modes) > 1 or (each["binary"] and each["mode"] != "000000"):
            yield f"{each['path']} is no text of the same mode"
