"""Readers in a model's place: they see a prompt, a text, and nothing else.

The perfect reader shows whether everything that was needed stood in the prompt: it misses nothing and forgets the rest.
It says nothing about how well a model would do. The misreading one overlooks each fact with the same probability,
whatever the runtime, and is shown over the whole range of it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from tests.bench.skillexec.books import Shelves
from tests.bench.skillexec.episode import NOISE

T = TypeVar("T")
State = dict[str, dict[str, Any]]


class Books(Protocol):
    """What a reader makes of the sentences that it reads, in one environment. `state` is what it knows, as the state of
    a run shows it: a field, an id, a value."""

    state: State

    def take(self, lines: Iterable[str]) -> None: ...
    def answer(self, event: str) -> str: ...
    def done(self, action: str) -> None: ...
    def call(self, action: str) -> dict[str, Any]: ...


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
    """Reads every template of this bench and the product's own prompt. `rate`: the share of facts that it overlooks."""

    def __init__(self, books: Callable[[State], Books] = Shelves, rate: float = 0.0, seed: int = 0) -> None:
        self._books, self._rate, self._rng = books, rate, random.Random(seed)

    def reply(self, prompt: str) -> str:
        if is_ours(prompt):
            return self._transition(prompt)
        found = re.search(r"^State: (\{.*\})$", prompt, re.MULTILINE)
        before = self._overlooking(json.loads(found[1]) if found else {})
        # Who is shown all of the history needs no state; a history on top of it would be told twice.
        books = self._books({} if "\nHistory:\n" in prompt else _copy(before))
        books.take(self._seen(_plain(prompt.partition("\n\n")[2])))  # the rules come first
        event = observation(prompt)[-1].strip()
        action = books.answer(event)
        books.done(action)
        patch = changes(before, books.state)
        if "state_patch" in prompt:
            said = json.dumps({"state_patch": patch, "action": action})
            return f"{_thought(event)}\n```json\n{said}\n```"
        update = f"\nStateUpdate: {json.dumps(patch)}" if "StateUpdate:" in prompt else ""
        return f"{_thought(event)}{update}\nAction: {action}"

    def _transition(self, prompt: str) -> str:
        """The product's prompt, and its reply: one canonical transition. Where an action was refused, the next event
        comes with the correction."""
        shown = re.findall(r"^([a-z_]+): (.*)$", _section(prompt, "STATE"), re.MULTILINE)
        before = self._overlooking({field: _entries(text) for field, text in shown})
        books = self._books(_copy(before))
        lines = _plain(_section(prompt, "OBSERVATION")) + _plain(_section(prompt, "CORRECTION"))
        books.take(self._seen(_plain(_section(prompt, "AUTHORITIES")) + lines))
        action = books.answer(lines[-1].strip())
        books.done(action)
        return json.dumps({"state_patch": changes(before, books.state), "action": books.call(action)})

    def _seen(self, facts: list[T]) -> list[T]:
        return [fact for fact in facts if self._rng.random() >= self._rate]

    def _overlooking(self, state: State) -> State:
        """A state's entries are facts like others: each may be overlooked."""
        return {field: dict(self._seen(list(entries.items()))) for field, entries in state.items()}


def is_ours(prompt: str) -> bool:
    """Whether it is a prompt of the product, in either form of its headings."""
    return prompt.startswith(("=== ", "[skill]\n"))


def _section(prompt: str, name: str) -> str:
    """A section of the product's prompt, in either form of its headings."""
    if prompt.startswith("["):
        return re.split(r"\n\[[a-z ]+\]\n", f"{prompt}\n[end]\n".partition(f"[{name.lower()}]\n")[2])[0]
    return prompt.partition(f"=== {name} ===\n")[2].partition("\n=== ")[0]


def _entries(text: str) -> dict[str, Any]:
    """A field of the state: JSON, or in few words, `shelf_0=item_3 shelf_1=item_7`."""
    if text.startswith("{"):
        found: dict[str, Any] = json.loads(text)
        return found
    pairs = [pair.partition("=") for pair in text.split()]
    return {key: value for key, _, value in pairs}


def _copy(state: State) -> State:
    return {field: dict(entries) for field, entries in state.items()}


def changes(before: State, after: State) -> dict[str, Any]:
    """The merge patch from one state to the other."""
    patch: dict[str, Any] = {}
    for field, entries in after.items():
        old = before.get(field, {})
        new = {id: value for id, value in entries.items() if old.get(id) != value}
        new |= {id: None for id in old if id not in entries}
        if new:
            patch[field] = new
    return patch


def _thought(event: str) -> str:
    """About as many words as a model's short reasoning has: replies differ between runtimes by their form alone."""
    return f"Thought: the event is {event.strip()!r}. The rules say what to do; nothing else has changed that matters."
