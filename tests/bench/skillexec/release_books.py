"""The books of a reader of the repository with releases: what `books.Requests` keeps, whether main was tested, and
which releases stand. Like those, it knows the rules and the wording, and nothing of an environment's code."""

from __future__ import annotations

import re
from typing import Any

from tests.bench.skillexec.books import Requests

MAIN = re.compile(r"Merged PR #\d+ for \S+; main is (v\d+)\.")
TESTED = re.compile(r"Tests of main passed at (v\d+)\.")
CREATED = re.compile(r"Created release (R\d+) from (v\d+)\.")
ROLLED = re.compile(r"Rolled back (R\d+); (R\d+) runs again\.")
DUE = re.compile(r"Release (R\d+) is due\.")
WANTED = re.compile(r"(F\d+) is wanted in the newest release\.")
FAILS = "Production fails since the newest release."
KEPT = 6


class Releases(Requests):
    """The repository with what was released of it."""

    def __init__(self, state: dict[str, dict[str, Any]]) -> None:
        super().__init__(state)
        self.state |= {name: dict(state.get(name, {})) for name in ("main", "releases")}

    @property
    def standing(self) -> list[str]:
        """The releases that stand, the newest last."""
        return sorted(self.state["releases"], key=lambda name: int(name[1:]))

    def _sentence(self, line: str) -> None:
        super()._sentence(line)
        if found := MAIN.fullmatch(line):
            moved = self.state["main"].get("version") != found[1]
            self.state["main"] |= {"version": found[1]} | ({"ci": "unknown"} if moved else {})
        elif found := TESTED.fullmatch(line):
            self.state["main"] |= {"version": found[1], "ci": "green"}
        elif found := CREATED.fullmatch(line):
            self._released(found[1], found[2])
        elif found := ROLLED.fullmatch(line):
            self.state["releases"].pop(found[1], None)

    def _released(self, name: str, version: str) -> None:
        self.state["releases"][name] = {"status": "published", "from": version}
        for old in self.standing[:-KEPT]:
            del self.state["releases"][old]

    def answer(self, event: str) -> str:
        if found := DUE.fullmatch(event):
            tested = self.state["main"].get("ci") == "green"
            return f"CreateRelease {found[1]}" if tested else "RunTests main"
        if (found := WANTED.fullmatch(event)) and self.standing:
            return f"CherryPick {found[1]} {self.standing[-1]}"
        if event == FAILS and len(self.standing) > 1:
            return f"Rollback {self.standing[-1]} {self.standing[-2]}"
        return super().answer(event)

    def done(self, action: str) -> None:
        super().done(action)
        verb, *words = action.split()
        if verb == "Merge":
            self.state["main"]["ci"] = "unknown"
        elif verb == "RunTests":
            self.state["main"]["ci"] = "green"
        elif verb == "CreateRelease":
            self._released(words[0], str(self.state["main"].get("version", "")))
        elif verb == "Rollback":
            self.state["releases"].pop(words[0], None)

    def call(self, action: str) -> dict[str, Any]:
        verb, *words = action.split()
        if verb in ("CherryPick", "Rollback"):
            return {"tool": verb.lower(), "args": {"of": words[0], "to": words[1]}}
        return super().call(action)
