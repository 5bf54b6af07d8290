"""The rival runtimes: what each puts into a prompt, and what it keeps of a reply. The prompts are those of the paper's
appendix A in substance; the rules are the same text for all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol

from contracts.merge import merge
from tests.bench.skillexec.domains import Domain
from tests.bench.skillexec.episode import Turn

Count = Callable[[str], int]
ACTION = re.compile(r"^Action: (.+)$", re.MULTILINE)
WINDOW, EVERY = 3, 5  # turns that Memory shows whole; turns after which its summary is made anew


class Runtime(Protocol):
    """`prompt` of an observation; `take` reads the reply and returns the action, or raises ValueError saying why it
    can't be used."""

    def prompt(self, observation: str) -> str: ...
    def take(self, turn: Turn) -> str: ...


def action_of(reply: str) -> str:
    found = ACTION.findall(reply)
    if len(found) != 1:
        raise ValueError("the reply must hold exactly one line `Action: …`")
    return found[0].strip()


class Prompt:
    """ReAct: the whole conversation so far, every time. `last` bounds it to the newest turns."""

    ASK = "Reply by one line `Thought: …` and one line `Action: …`."

    def __init__(self, domain: Domain) -> None:
        self.domain, self.rules = domain, domain.rules
        self.turns: list[str] = []

    def prompt(self, observation: str) -> str:
        self._observed = observation
        return self._text(self._before())

    def _before(self) -> str:
        return "".join(self.turns)

    def _text(self, before: str) -> str:
        history = f"History:\n{before}" if before else ""
        return f"{self.rules}\n{self.ASK}\n\n{history}\nObservation:\n{self._observed}\n\nReply:"

    def take(self, turn: Turn) -> str:
        action = action_of(turn.reply)
        self.turns.append(f"Observation:\n{self._observed}\n\n{turn.reply}\n\n")
        return action


class Window(Prompt):
    """The newest turns that fit a budget of tokens, the rest is dropped."""

    def __init__(self, domain: Domain, budget: int, count: Count) -> None:
        super().__init__(domain)
        self._budget, self._count = budget, count

    def _before(self) -> str:
        kept: list[str] = []
        room = self._budget - self._count(self._text(""))
        for turn in reversed(self.turns):
            room -= self._count(turn)
            if room < 0:
                break
            kept.insert(0, turn)
        return "".join(kept)


class Memory(Prompt):
    """A summary of what is older than the newest turns. It is made every `EVERY` turns; here by a log that drops what
    asks for nothing any more, which a model's summary would do at best. `budget` caps it: the oldest lines go."""

    def __init__(self, domain: Domain, budget: int | None = None, count: Count = len) -> None:
        super().__init__(domain)
        self._budget, self._count = budget, count
        self._summary: list[str] = []
        self._taken = 0

    def _before(self) -> str:
        due = len(self.turns) - WINDOW
        if due - self._taken >= EVERY or self._budget is not None:
            for turn in self.turns[self._taken : max(due, 0)]:
                self._summary += [line for line in turn.splitlines() if self.domain.kept.fullmatch(line)]
            self._taken = max(due, self._taken, 0)
        recent = "".join(self.turns[self._taken :])
        lines = self._summary
        if self._budget is not None:
            room = self._budget - self._count(self._text(recent))
            lines = []
            for line in reversed(self._summary):
                room -= self._count(line) + 1
                if room < 0:
                    break
                lines.insert(0, line)
        summary = "Summary:\n" + "\n".join(lines) + "\n\n" if lines else ""
        return summary + recent


class Stateful(Prompt):
    """ReAct beside a state that is shown and updated: history and state."""

    ASK = "Reply by one line `Thought: …`, one line `StateUpdate: {JSON merge patch of the state}` and one `Action: …`."
    UPDATE = re.compile(r"^StateUpdate: (\{.*\})$", re.MULTILINE)

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain)
        self.state: dict[str, Any] = {field: {} for field in domain.state}

    def _text(self, before: str) -> str:
        history = f"History:\n{before}" if before else ""
        state = f"State: {json.dumps(self.state)}"
        return f"{self.rules}\n{self.ASK}\n\n{history}{state}\n\nObservation:\n{self._observed}\n\nReply:"

    def take(self, turn: Turn) -> str:
        action = super().take(turn)
        found = self.UPDATE.search(turn.reply)
        if found:
            self.state = merge(self.state, json.loads(found[1]))
        return action


class SkillState:
    """The paper's own runtime (appendix A.4), Algorithm 1: the patch is merged before the action is carried out."""

    ASK = (
        "You keep no memory but the state. Reply by a short thought and one fenced JSON object with exactly two keys:\n"
        '```json\n{"state_patch": {…}, "action": "…"}\n```\n'
        "state_patch is a JSON merge patch of the state (null deletes): what is so once the action is done."
    )
    FENCED = re.compile(r"```json\n(.*?)\n```", re.DOTALL)

    def __init__(self, domain: Domain) -> None:
        self.rules = domain.rules
        self.state: dict[str, Any] = {field: {} for field in domain.state}

    def prompt(self, observation: str) -> str:
        state = f"State: {json.dumps(self.state)}"
        return f"{self.rules}\n{self.ASK}\n\n{state}\n\nObservation:\n{observation}\n\nReply:"

    def take(self, turn: Turn) -> str:
        found = self.FENCED.findall(turn.reply)
        if len(found) != 1:
            raise ValueError("the reply must hold exactly one fenced JSON object")
        try:
            said = json.loads(found[0])
        except json.JSONDecodeError as error:
            raise ValueError(f"the reply is no JSON: {error}") from error
        if not isinstance(said, dict) or said.keys() != {"state_patch", "action"}:
            raise ValueError("the JSON object must have exactly the keys state_patch and action")
        if not isinstance(said["state_patch"], dict) or not isinstance(said["action"], str):
            raise ValueError("state_patch must be an object, action a text")
        self.state = merge(self.state, said["state_patch"])
        return str(said["action"]).strip()
