"""The work that every subject does: a state of 20 KB, of which each step changes one note, and 1 KB of text that
each step brings. All of it follows from the number of the step, so that a stored state can be told to be right."""

from __future__ import annotations

import hashlib
import json
from typing import Any

NOTES, NOTE_BYTES, TEXT_BYTES = 200, 92, 1024
PROSE = "the shelf of this part holds what was moved there before and is counted again at each turn, "

State = dict[str, Any]


def filled(number: int, size: int) -> str:
    """`size` characters of prose that begin with the number."""
    return f"{number} {PROSE[number % len(PROSE) :]}{PROSE * (size // len(PROSE) + 1)}"[:size]


def start() -> State:
    """The state before the first step: about 20 KB of JSON."""
    return {"done": 0, "notes": {f"n{at:03}": filled(at, NOTE_BYTES) for at in range(NOTES)}}


def patch(number: int) -> State:
    """What step `number` (from 1 on) changes, as a merge patch."""
    return {"done": number, "notes": {f"n{number % NOTES:03}": filled(number, NOTE_BYTES)}}


def text(number: int) -> str:
    """What step `number` brings beside."""
    return filled(number, TEXT_BYTES)


def merged(state: State, change: State) -> State:
    """`state` as `change` leaves it; of an empty one all of `change`."""
    return {**state, **change, "notes": {**state.get("notes", {}), **change["notes"]}}


def after(number: int) -> str:
    """The digest of the state that `number` steps leave."""
    state = start()
    for each in range(max(1, number - NOTES), number + 1):
        state = merged(state, patch(each))
    return shown(state)


def shown(state: State) -> str:
    """The digest of a state."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
