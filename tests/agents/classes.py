"""For every agent and reply class, how it is known to be told: the files below fixtures/classes.

`proof`: `real` (reached on the real program), `recording` (what the real program was recorded to do), or `cannot
happen`, with the reason in `why`. `real`: the case of `tests.agents.cases` that reaches it (of another agent: `of`),
with a shorter `idle` or `timeout`, or a `signal` that is sent to the process; where it is absent, a real process plays
the `ends`. `recordings`: cases that end so. `wordings`: what the agent says on its own error channel when a launch
failed.
`ends`: other ends of its process: `stdout` (a text, or JSON objects one a line), `stderr`, how it `end`s, as a line of
shell; `like`: a recording, with other `fields`. `resets`: when the limit ends; `lifted_by`: who can end it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.reply import ReplyClass

Json = dict[str, Any]
FOLDER = Path(__file__).parent / "fixtures/classes"
KEYS = {"proof", "real", "why", "recordings", "wordings", "ends"}


@dataclass(frozen=True)
class Told:
    """One file: a class of one agent."""

    agent: str
    cls: ReplyClass
    proof: str
    real: Json
    why: str
    recordings: tuple[str, ...]
    wordings: tuple[Json, ...]
    ends: tuple[Json, ...]

    def __str__(self) -> str:
        return f"{self.agent}-{self.cls}"


def told(agent: str) -> dict[ReplyClass, Told]:
    """Every file of `agent`. Raises AssertionError for one that is no class, or has a key that nobody reads."""
    found: dict[ReplyClass, Told] = {}
    for path in sorted((FOLDER / agent).glob("*.json")):
        data, cls = json.loads(path.read_text("utf-8")), ReplyClass(path.stem)
        assert set(data) <= KEYS, f"{path}: {set(data) - KEYS}"
        found[cls] = Told(
            agent=agent,
            cls=cls,
            proof=data["proof"],
            real=data.get("real", {}),
            why=data.get("why", ""),
            recordings=tuple(data.get("recordings", ())),
            wordings=tuple(data.get("wordings", ())),
            ends=tuple(data.get("ends", ())),
        )
    return found


def recorded_as(agent: str) -> dict[str, ReplyClass]:
    """The class of each recording of `agent`."""
    pairs = [(name, each.cls) for each in told(agent).values() for name in each.recordings]
    assert len(dict(pairs)) == len(pairs), "a recording has one class"
    return dict(pairs)
