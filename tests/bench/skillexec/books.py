"""The books of a reader: what it makes of the sentences that it reads. It knows the rules of the skill text and the
wording of events, and nothing of an environment's code: no import of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

STORED = re.compile(r"Stored (item_\d+) on (shelf_\d+)\.")
SHIPPED = re.compile(r"Shipped (item_\d+) from (shelf_\d+)\.")
MOVED = re.compile(r"Moved (item_\d+) from (shelf_\d+) to (shelf_\d+)\.")
AUDIT = re.compile(r"Audit: (shelf_\d+) holds (item_\d+)\.")
BARCODE = re.compile(r"Barcode update: (item_\d+) is now (item_\d+)\.")
CARRIED = re.compile(r"Notice: (item_\d+) is now on (shelf_\d+)\.")
CANCELLED = re.compile(r"order of (item_\d+): cancelled")
SHIPMENT = re.compile(r"Shipment arrived containing (item_\d+)\.")
ORDER = re.compile(r"Order received for (item_\d+)\.")
MAINTENANCE = re.compile(r"Maintenance required on (shelf_\d+)\.")


CALLS = {"Store": ("item", "to"), "Ship": ("item", "from"), "Move": ("item", "from", "to")}


class Shelves:
    """The warehouse: shelf -> item, as far as was read, and orders that an authority says are taken back."""

    def __init__(self, state: dict[str, dict[str, Any]]) -> None:
        self.state = {"inventory": dict(state.get("inventory", {}))}
        self.cancelled: set[str] = set()

    @property
    def shelves(self) -> dict[str, str]:
        return self.state["inventory"]

    def take(self, lines: Iterable[str]) -> None:
        """Takes sentences in, oldest first. One that says again what is known changes nothing."""
        for line in lines:
            self._sentence(line.strip())

    def _sentence(self, line: str) -> None:
        if found := STORED.fullmatch(line):
            self.shelves[found[2]] = found[1]
        elif found := SHIPPED.fullmatch(line):
            self._remove(found[1], found[2])
        elif found := MOVED.fullmatch(line):
            self._remove(found[1], found[2])
            self.shelves[found[3]] = found[1]
        elif found := AUDIT.fullmatch(line):
            self.shelves[found[1]] = found[2]
        elif found := BARCODE.fullmatch(line):
            if shelf := self.where(found[1]):
                self.shelves[shelf] = found[2]
        elif found := CARRIED.fullmatch(line):
            if shelf := self.where(found[1]):
                del self.shelves[shelf]
            self.shelves[found[2]] = found[1]
        elif found := CANCELLED.fullmatch(line):
            self.cancelled.add(found[1])

    def _remove(self, item: str, shelf: str) -> None:
        if self.shelves.get(shelf) == item:
            del self.shelves[shelf]

    def where(self, item: str) -> str | None:
        return next((shelf for shelf, held in self.shelves.items() if held == item), None)

    def empty(self) -> str:
        """The empty shelf with the lowest number."""
        taken = {int(shelf.removeprefix("shelf_")) for shelf in self.shelves}
        free = 0
        while free in taken:
            free += 1
        return f"shelf_{free}"

    def answer(self, event: str) -> str:
        """The action that the rules ask for. Where the books do not know, `Wait`."""
        if found := SHIPMENT.fullmatch(event):
            return f"Store {found[1]} {self.empty()}"
        if found := ORDER.fullmatch(event):
            shelf = self.where(found[1])
            return f"Ship {found[1]} {shelf}" if shelf and found[1] not in self.cancelled else "Wait"
        if (found := MAINTENANCE.fullmatch(event)) and (item := self.shelves.get(found[1])):
            return f"Move {item} {found[1]} {self.empty()}"
        return "Wait"

    def done(self, action: str) -> None:
        """What the books say once this action will have succeeded."""
        words = action.split()
        if words[0] in ("Ship", "Move"):
            self._remove(words[1], words[2])
        if words[0] in ("Store", "Move"):
            self.shelves[words[-1]] = words[1]

    def call(self, action: str) -> dict[str, Any]:
        verb, *args = action.split()
        if verb == "Wait":
            return {"tool": "stay", "args": {}}
        return {"tool": verb.lower(), "args": dict(zip(CALLS[verb], args, strict=True))}


ISSUE = re.compile(r"Issue assigned: (\w+), touching (.+)\.")
COMMITTED = re.compile(r"Committed (\w+) on (\S+)\.")
OPENED = re.compile(r"Opened PR #(\d+) for (\S+)\.")
REPAIRED = re.compile(r"CI of PR #(\d+) was repaired and runs again\.")
MERGED = re.compile(r"Merged PR #(\d+) for (\S+); main is v\d+\.")
STALE = re.compile(
    r"(?:Notice: the branch of PR #(\d+) was force-pushed.*|Notice: CI of PR #(\d+) turned red.*"
    r"|PR #(\d+): its CI is stale)"
)
CLOSED = re.compile(r"(?:Notice: PR #(\d+) was closed by somebody\.|PR #(\d+): closed)")
PUSHED = re.compile(r"Commit pushed on branch (\S+)\.")
FAILED = re.compile(r"CI pipeline failed for PR #(\d+)\.")
APPROVED = re.compile(r"PR #(\d+) was approved, its CI passed\.")


class Requests:
    """The repository: open branches with the files that they touch, open pull requests with what their CI says."""

    def __init__(self, state: dict[str, dict[str, Any]]) -> None:
        self.state = {name: dict(state.get(name, {})) for name in ("branches", "prs")}
        self._touched: dict[str, list[str]] = {}

    def take(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._sentence(line.strip())

    def _sentence(self, line: str) -> None:
        branches, prs = self.state["branches"], self.state["prs"]
        if found := ISSUE.fullmatch(line):
            self._touched[found[1]] = found[2].split(", ")
        elif found := COMMITTED.fullmatch(line):
            if found[1] in self._touched:
                branches.setdefault(found[2], self._branch(found[1]))
        elif found := OPENED.fullmatch(line):
            prs.setdefault(found[1], {"branch": found[2], "ci": "pending"})
        elif found := REPAIRED.fullmatch(line):
            self._ci(found[1], "pending")
        elif found := MERGED.fullmatch(line):
            self._merged(found[1])
        elif found := STALE.fullmatch(line):
            self._ci(found[1] or found[2] or found[3], "stale")
        elif found := CLOSED.fullmatch(line):
            self._ci(found[1] or found[2], "red")

    def _branch(self, feature: str) -> dict[str, Any]:
        return {"base": "main", "feature": feature, "files": self._touched[feature]}

    def _ci(self, pr: str, says: str) -> None:
        if pr in self.state["prs"]:
            self.state["prs"][pr] = {**self.state["prs"][pr], "ci": says}

    def _merged(self, pr: str) -> None:
        branch = self.state["prs"].pop(pr, {}).get("branch", "")
        files = set(self.state["branches"].pop(branch, {}).get("files", ()))
        for other, request in self.state["prs"].items():
            touched = self.state["branches"].get(request["branch"], {}).get("files", ())
            if files & set(touched) and request["ci"] != "red":
                self._ci(other, "stale")

    def answer(self, event: str) -> str:
        if found := ISSUE.fullmatch(event):
            return f"Commit {found[1]}"
        if found := PUSHED.fullmatch(event):
            return f"CreatePR {found[1]}"
        if found := FAILED.fullmatch(event):
            return f"FixCI #{found[1]}"
        if found := APPROVED.fullmatch(event):
            request = self.state["prs"].get(found[1], {})
            if request.get("ci") == "red":  # closed: what failed is told by an event of its own
                return f"CreatePR {request['branch']}"
            return f"FixCI #{found[1]}" if request.get("ci") == "stale" else f"Merge #{found[1]}"
        return "Wait"

    def done(self, action: str) -> None:
        verb, _, what = action.partition(" ")
        if verb == "Commit" and what in self._touched:
            self.state["branches"].setdefault(f"feature/{what}", self._branch(what))
        elif verb == "FixCI":
            self._ci(what.removeprefix("#"), "pending")
        elif verb == "Merge":
            self._merged(what.removeprefix("#"))
        elif verb == "CreatePR":  # its number comes with the answer; one that was closed before is gone
            prs = self.state["prs"]
            for pr in [pr for pr, request in prs.items() if request["branch"] == what]:
                del prs[pr]

    def call(self, action: str) -> dict[str, Any]:
        verb, _, what = action.partition(" ")
        return (
            {"tool": "stay", "args": {}} if verb == "Wait" else {"tool": verb.lower(), "args": {"of": what}}
        )
