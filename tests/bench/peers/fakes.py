"""Subjects that the bench is tried with."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.peers.work import State, merged, patch, start


class Kept:
    """Writes the state after each step, and `keeps` bytes beside it."""

    keeps = 512

    def __init__(self, folder: Path) -> None:
        self._file, self._past = folder / "state.json", folder / "past"

    def begin(self) -> int:
        if not self._file.exists():
            self._file.write_text(json.dumps(start()))
        self._states: list[State] = [json.loads(self._file.read_text())]
        return int(self.state()["done"]) + 1

    def turns(self, count: int) -> None:
        for _ in range(count):
            state = self.state()
            self._states.append(merged(state, patch(state["done"] + 1)))
            self._file.write_text(json.dumps(self.stored()))
            with self._past.open("ab") as past:
                past.write(b"x" * self.keeps)

    def stored(self) -> State:
        return self.state()

    def state(self) -> State:
        return self._states[-1]


class Careless(Kept):
    """Keeps what nobody needs, and has the last two steps in memory only."""

    keeps = 64 * 1024

    def stored(self) -> State:
        return self._states[-3:][0]


class Wrong(Kept):
    def state(self) -> State:
        return super().state() | {"more": 1}
