"""What must hold of the figures: the claims that this implementation makes."""

from __future__ import annotations

from typing import Any

from tests.bench.skillexec import repository, warehouse

RECOVERABLE = {*warehouse.RECOVERABLE, *repository.RECOVERABLE}
UNTOLD = {"cancelled", "closed"}  # told too late for whoever only reads what he is told
NEVER = 999
SIZES = {"horizon: ours, paper, T=200": 530, "horizon: ours, compact, T=200": 220}
"""The most tokens (o200k) that a prompt may have, in the mean of an episode and of the seeds."""
LOSES = {
    "failure: ours, optimistic, trusting",  # the paper's order of merging, kept for comparison
    "timeout: ours, optimistic, trusting",  # an action that nobody can look up
    "timeout: ours, optimistic, inferring",
    "timeout: ours, staged, trusting",
    "timeout: ours, staged, inferring",
    "contradiction: ours, paper, books to be read",  # a layout that shows no authority
}
"""Cells of ours in which a reader can't know all it needs."""
NONE = {
    "faults: ours, paper, committed corruption of syntax and type": "no reply of broken syntax or type gets into it",
    "malice: ours, orders that a rule can tell, in state or world": "no order of a tool's output that a rule can tell",
    "malice: ours, forged headings": "no line of a tool's output stands where a heading stands",
    "migration: ours, faults of the audit": "the audit holds over a migration",
}


def recovers(key: str) -> bool:
    """Whether these are steps of ours until it was right on what drifted, where that can be known in time: it was told,
    or an authority shows it."""
    experiment, _, named = key.partition(": ")
    kind, told = named.partition(", ")[0], experiment != "drift" or ", alert, " in named
    if experiment not in ("drift", "repository", "releases") or not told or "ours" not in named:
        return False
    return kind in RECOVERABLE or (kind in UNTOLD and named.endswith("ours, full"))


def bounded(figures: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """What must hold of these figures. Adds to them, of each cell of ours, what its reader missed."""
    bounds: dict[str, tuple[str, float]] = {said: (key, 0) for key, said in NONE.items() if key in figures}
    for key, cell in list(figures.items()):
        if "ours" in key and isinstance(cell, dict) and "score, strict" in cell and key not in LOSES:
            score = cell["score, strict"]
            figures[f"{key}: missed"] = round(1 - (score[0] if isinstance(score, list) else score), 4)
            bounds[f"{key}: a perfect reader finds all it needs"] = (f"{key}: missed", 0)
        if "growth exponent, 10 shelves" in key:
            bounds[f"{key}: with the horizon alone"] = (key, 1.05)
        if key in SIZES:
            figures[f"{key}: tokens a prompt"] = cell["tokens a prompt, o200k"][0]
            bounds[f"{key}: a prompt's mean size"] = (f"{key}: tokens a prompt", SIZES[key])
        if isinstance(cell, list) and recovers(key):
            figures[f"{key}: steps at most"] = max(NEVER if steps is None else steps for steps in cell)
            bounds[f"{key}: recovered from at once"] = (f"{key}: steps at most", 0)
        if key.startswith("failure: ours, staged"):
            figures[f"{key}: false"] = cell["prompts with a false state"]
            bounds[f"{key}: no failed action in the state"] = (f"{key}: false", 0)
    return bounds
