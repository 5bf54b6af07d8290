"""Readers in a model's place: they see a prompt, a text, and nothing else.

The perfect reader shows whether everything that was needed stood in the prompt: it misses nothing and forgets the rest.
It says nothing about how well a model would do. The misreading one overlooks each fact with the same probability,
whatever the runtime, and is shown over the whole range of it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any, Protocol

from tests.bench.skillexec.books import Books
from tests.bench.skillexec.episode import NOISE

Edit = Callable[[list[str]], list[str]]


class Reader(Protocol):
    """Replies to a prompt in the form that it asks for."""

    def reply(self, prompt: str) -> str: ...


def observation(prompt: str) -> list[str]:
    """The lines of the newest observation, noise left out."""
    tail = prompt.rpartition("\nObservation:\n")[2]
    tail = tail.partition("\n\n")[0]
    return _plain(tail)


def _plain(text: str) -> list[str]:
    """The lines of a text without what stands under a telemetry heading."""
    lines, quiet = [], False
    for line in text.splitlines():
        if line.strip() == NOISE:
            quiet = True
        elif not line.strip() or line.endswith(":"):
            quiet = False
        elif not quiet:
            lines.append(line)
    return lines


class Perfect:
    """Reads every template of this bench and the product's own prompt. `lost`: facts that it does not take in."""

    def __init__(self, lost: Edit | None = None) -> None:
        self._lost = lost or (lambda lines: lines)

    def reply(self, prompt: str) -> str:
        if prompt.startswith("=== "):
            return self._transition(prompt)
        if "state_patch" in prompt:
            return self._patch(prompt)
        before, books = self._read(prompt)
        lines = observation(prompt)
        action = self._decide(books, lines)
        if "StateUpdate:" in prompt:
            update = json.dumps(_changes(before, books))
            return f"{_thought(lines[-1])}\nStateUpdate: {update}\nAction: {action}"
        return f"{_thought(lines[-1])}\nAction: {action}"

    def _read(self, prompt: str) -> tuple[Books, Books]:
        """(what the shown state says, what all of the prompt says): state, summary, history, newest observation."""
        found = re.search(r"^State: (\{.*\})$", prompt, re.MULTILINE)
        before = self._state(json.loads(found[1]).get("inventory", {}) if found else {})
        books = Books(dict(before.shelves))
        books.take(self._lost(_plain(prompt.partition("\n\n")[2])))  # the rules come first
        return before, books

    def _state(self, inventory: dict[str, str]) -> Books:
        """A state's entries are facts like others: each may be overlooked."""
        books = Books()
        books.take(self._lost([f"Stored {item} on {shelf}." for shelf, item in inventory.items()]))
        return books

    def _decide(self, books: Books, lines: list[str]) -> str:
        action = books.answer(lines[-1].strip())
        books.done(action)
        return action

    def _patch(self, prompt: str) -> str:
        """The paper's form: one fenced JSON object, the action a sentence."""
        before, books = self._read(prompt)
        lines = observation(prompt)
        action = self._decide(books, lines)
        said = {"state_patch": _changes(before, books), "action": action}
        return f"{_thought(lines[-1])}\n```json\n{json.dumps(said)}\n```"

    def _transition(self, prompt: str) -> str:
        """The product's prompt, and its reply: one canonical transition."""
        state = prompt.partition("=== STATE ===\n")[2].partition("\n=== ")[0]
        found = re.search(r"^inventory: (\{.*\})$", state, re.MULTILINE)
        before = self._state(json.loads(found[1]) if found else {})
        books = Books(dict(before.shelves))
        told = prompt.partition("=== AUTHORITIES ===\n")[2].partition("\n=== ")[0]
        tail = prompt.partition("=== OBSERVATION ===\n")[2].partition("\n=== ")[0]
        newer = prompt.partition("=== CORRECTION ===\n")[2].partition("\n=== ")[0]
        lines = _plain(tail) + _plain(
            newer
        )  # where an action was refused, the next event comes with the correction
        books.take(self._lost(_plain(told) + lines))
        verb, *args = self._decide(books, lines).split()
        names = {
            "Store": ("item", "to"),
            "Ship": ("item", "from"),
            "Move": ("item", "from", "to"),
            "Wait": (),
        }
        tool = "stay" if verb == "Wait" else verb.lower()
        call: dict[str, Any] = {"tool": tool, "args": dict(zip(names[verb], args, strict=True))}
        return json.dumps({"state_patch": _changes(before, books), "action": call})


def _changes(before: Books, after: Books) -> dict[str, Any]:
    """The merge patch from one inventory to the other."""
    inventory: dict[str, str | None] = {
        shelf: item for shelf, item in after.shelves.items() if before.shelves.get(shelf) != item
    }
    inventory |= {shelf: None for shelf in before.shelves if shelf not in after.shelves}
    return {"inventory": inventory} if inventory else {}


def _thought(event: str) -> str:
    """About as many words as a model's short reasoning has: replies differ between runtimes by their form alone."""
    return f"Thought: the event is {event.strip()!r}. The rules say what to do; nothing else has changed that matters."


def misreading(rate: float, seed: int) -> Perfect:
    """A reader that overlooks each line with facts with probability `rate`."""
    rng = random.Random(seed)
    return Perfect(lambda lines: [line for line in lines if rng.random() >= rate])
