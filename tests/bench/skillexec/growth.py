"""A state that grows: shelves that fill up, and a field with a new entry each step, against the bound of its schema."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from contracts.bounds import check_bounded
from contracts.state import StateSchema
from tests.bench.report import say
from tests.bench.skillexec.books import Shelves
from tests.bench.skillexec.domains import WAREHOUSE
from tests.bench.skillexec.episode import Outcome
from tests.bench.skillexec.figures import over
from tests.bench.skillexec.ours import Halted, played
from tests.bench.skillexec.play import play
from tests.bench.skillexec.readers import Perfect
from tests.bench.skillexec.runtimes import SkillState
from tests.bench.skillexec.warehouse import SEEDS, SHELVES, Warehouse, events
from tests.bench.tokens import tokens

KEPT = 24  # entries of the growing field that its schema has room for
LOG: dict[str, Any] = {
    "description": "What was done, an entry a step.",
    "type": "object",
    "maxProperties": KEPT,
    "propertyNames": {"pattern": "^s[0-9]{1,6}$"},
    "additionalProperties": {"type": "string", "pattern": "^[A-Za-z0-9_ ]{0,60}$"},
}


def schema(shelves: int | None = None, log: dict[str, Any] | None = None) -> StateSchema:
    """The warehouse's schema with room for so many shelves, or with a log beside the inventory."""
    source = deepcopy(StateSchema.builtin("warehouse").source)
    if shelves is not None:
        source["properties"]["inventory"]["maxProperties"] = shelves
    if log is not None:
        source["properties"]["log"] = log
        source["required"].append("log")
    return StateSchema(source)


class Logging(Perfect):
    """Beside the inventory it writes each step what it does into `log`. `tidy`: it takes the oldest entries out itself,
    so that so many are left."""

    SHOWN = re.compile(r"^log: (\{.*\})$", re.MULTILINE)
    STATE = re.compile(r"^State: (\{.*\})$", re.MULTILINE)
    FENCED = re.compile(r"(?<=```json\n).*(?=\n```)")

    def __init__(self, tidy: int | None = None) -> None:
        super().__init__(Shelves)
        self._tidy = tidy

    def reply(self, prompt: str) -> str:
        said = super().reply(prompt)
        if shown := self.STATE.search(prompt):
            log, body = json.loads(shown[1]).get("log", {}), self.FENCED.findall(said)[0]
            return said.replace(body, self._with(json.loads(body), log))
        found = self.SHOWN.search(prompt)
        return self._with(json.loads(said), json.loads(found[1]) if found else {})

    def _with(self, body: dict[str, Any], log: dict[str, str]) -> str:
        keys = sorted(log, key=lambda key: int(key[1:]))
        new = f"s{int(keys[-1][1:]) + 1 if keys else 0}"
        action = body["action"]
        words = action if isinstance(action, str) else " ".join([action["tool"], *action["args"].values()])
        entries: dict[str, str | None] = {new: words}
        if self._tidy is not None:
            entries |= dict.fromkeys(keys[: max(0, len(keys) + 1 - self._tidy)])
        body["state_patch"]["log"] = entries
        return json.dumps(body)


def bounded(length: int = 100, seed: int = SEEDS[0]) -> dict[str, Any]:
    """A field that grows each step, `KEPT` entries allowed: what becomes of the run, and of the prompt's size."""
    unbound = {key: value for key, value in LOG.items() if key != "maxProperties"}
    ways: dict[str, tuple[dict[str, Any], int | None]] = {
        "bounded, the reader adds for ever": (LOG, None),
        "bounded, the reader takes old entries out": (LOG, KEPT),
        "x-evict": (LOG | {"x-evict": "oldest"}, None),
    }
    lacks = check_bounded(schema(log=unbound).source)
    found: dict[str, Any] = {
        "ours, no bound in the schema": {"validate refuses": [str(each) for each in lacks]}
    }
    for name, (log, tidy) in ways.items():
        try:
            outcome = played(
                Warehouse(events(seed, length)), Logging(tidy), WAREHOUSE, schema=schema(log=log)
            )
            found[f"ours, {name}"] = _sizes(outcome)
        except Halted as halted:
            found[f"ours, {name}"] = {"ended": halted.cause, "events answered": halted.at}
        say(f"growing field: ours, {name}: {found[f'ours, {name}']}")
    outcome = play(Warehouse(events(seed, length)), SkillState(WAREHOUSE), Logging())
    found["skill.state, no bound"] = _sizes(outcome)
    say(f"growing field: skill.state: {found['skill.state, no bound']}")
    return found


def _sizes(outcome: Outcome) -> dict[str, Any]:
    sizes = [tokens(turn.prompt) for turn in outcome.turns]
    tenth = max(1, len(sizes) // 10)
    return {
        "score, strict": outcome.score(),
        "tokens a prompt, first and last tenth": [
            round(statistics.mean(part)) for part in (sizes[:tenth], sizes[-tenth:])
        ],
        "retried": outcome.retried,
    }


def filled(
    weights: Iterable[int], length: int = 600, seeds: Iterable[int] = SEEDS[:1], runtime: str = "paper"
) -> dict[str, Any]:
    """Shelves that fill up, because shipments are so many times as likely to be drawn: tokens of a prompt by the
    shelves that are taken, and the line through them."""
    found: dict[str, Any] = {}
    wide = schema(shelves=SHELVES)
    for weight in weights:
        scores, taken, sizes = [], [], []
        for seed in seeds:
            world = Warehouse(events(seed, length, receive_weight=weight))
            outcome = played(world, Perfect(), WAREHOUSE, layout=runtime, schema=wide)
            scores.append(outcome.score())
            taken += [turn.prompt.count('"shelf_') for turn in outcome.turns]
            sizes += [tokens(turn.prompt) for turn in outcome.turns]
        line = statistics.linear_regression(taken, sizes)
        found[f"ours, receive_weight={weight}"] = {
            "score, strict": over(scores),
            "shelves taken, most": max(taken),
            "tokens a prompt, largest": max(sizes),
            "tokens a shelf, tokens without any": [round(line.slope, 1), round(line.intercept)],
        }
        say(f"shelves: receive_weight={weight}: {found[f'ours, receive_weight={weight}']}")
    return found
