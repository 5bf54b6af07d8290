"""Two rule-based agents that get nothing but a prompt: one ships orders, one works for a pull request.

`python decide.py` reads a prompt on stdin and prints the transition that follows from it. It knows no shelf, no item
and no order; where a prompt shows no authority it goes by what it was told at the start and by what it remembers."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

Json = dict[str, Any]
_ORDER = re.compile(
    r"^ ?(?P<id>\d+) \((?P<status>open|closed);[^\n]*\): ship the (?P<item>\S+)$", re.MULTILINE
)
_TOLD = re.compile(r"order (?P<id>\d+): ship the (?P<item>\w+)")
_STOCK = re.compile(r"^ (?P<shelf>\S+) holds (?P<item>\S+)$", re.MULTILINE)
_REQUEST = re.compile(r"^ \d+ \((open|draft|closed|merged);", re.MULTILINE)


def section(prompt: str, name: str) -> str:
    return prompt.partition(f"=== {name} ===\n")[2].partition("\n=== ")[0]


def state(prompt: str) -> Json:
    rows = (
        row.partition(": ") for row in section(prompt, "STATE").split("\n") if re.match(r"[a-z_]+: ", row)
    )
    return {name: json.loads(value) for name, _, value in rows}


def act(tool: str, args: Json, patch: Json | None = None) -> Json:
    return {"state_patch": patch or {}, "action": {"tool": tool, "args": args}}


def decide(prompt: str) -> Json:
    """The transition. The same prompt, the same reply."""
    return _request(prompt) if "pull request" in section(prompt, "INTENT") else _order(prompt)


# ---- orders -----------------------------------------------------------------------------------------------
def _order(prompt: str) -> Json:
    intent, held = section(prompt, "INTENT"), state(prompt)["inventory"]
    shelves, out = (re.search(rf"{what}[^.,]* in (\S+)/", intent)[1] for what in ("shelf", "shipped"))  # type: ignore[index]
    seen = {stock["shelf"]: stock["item"] for stock in _STOCK.finditer(section(prompt, "OBSERVATION"))}
    if not held and not seen and "run" not in section(prompt, "OBSERVATION"):
        return act("run", {"command": "stock"})
    learned = {shelf: item for shelf, item in seen.items() if shelf not in held}
    held = learned | held
    for id, status, item in _orders(prompt):
        shelf = next((shelf for shelf, each in held.items() if each == item), None)
        if status == "open" and shelf is not None:
            edits = [
                {"op": "delete", "path": f"{shelves}/{shelf}"},
                {"op": "write", "path": f"{out}/{id}", "content": f"{item}\n"},
            ]
            return act("edit_files", {"edits": edits}, {"inventory": learned | {shelf: None}})
        if status == "closed" and shelf is None:
            edits = [
                {"op": "delete", "path": f"{out}/{id}"},
                {"op": "write", "path": f"{shelves}/back-{id}", "content": f"{item}\n"},
            ]
            return act("edit_files", {"edits": edits}, {"inventory": learned | {f"back-{id}": item}})
    return act("finish", {"summary": "No order is left."}, {"inventory": learned})


def _orders(prompt: str) -> list[tuple[str, str, str]]:
    """What the authority says of the orders; without one, what was told at the start."""
    said = [
        (each["id"], each["status"], each["item"]) for each in _ORDER.finditer(section(prompt, "AUTHORITIES"))
    ]
    told = [(each["id"], "open", each["item"]) for each in _TOLD.finditer(section(prompt, "INTENT"))]
    return sorted(said or told)


# ---- a pull request ---------------------------------------------------------------------------------------
def _request(prompt: str) -> Json:
    """One line of the worklist after the other, as long as the request is open."""
    said = section(prompt, "AUTHORITIES")
    stands = _REQUEST.search(said)
    if stands is not None and stands[1] == "closed":
        return act("ask", {"question": "The pull request was closed: shall the work go on?"})
    left = re.search(r"^remaining: \d+ left[^\n]*\n ([^:\n]+):(\d+):([^\n]*)", said, re.MULTILINE)
    if left is None:
        return act("finish", {"summary": "Nothing is left."})
    old, new = re.search(r"Replace every `(\S+)` by `(\S+)`", section(prompt, "INTENT")).groups()  # type: ignore[union-attr]
    edit = {"op": "replace", "path": left[1], "old": left[3], "new": left[3].replace(old, new)}
    return act("edit_files", {"edits": [edit]})


if __name__ == "__main__":
    json.dump(decide(sys.stdin.read()), sys.stdout)
