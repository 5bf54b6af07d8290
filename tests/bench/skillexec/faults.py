"""Faulty replies: a reader whose replies break now and then, in the mix that the paper reports of small models: a key
of the patch that is lost (68 of 100), a value of the wrong type (20), JSON that is none (12)."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from tests.bench.skillexec.episode import Outcome
from tests.bench.skillexec.readers import Reader

MIX = {"key loss": 68, "wrong type": 20, "broken syntax": 12}
OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class Faulty:
    """A reader of which `rate` of the replies are broken. `faults`: per reply the kind of its fault, or nothing. A
    reply whose patch is empty can lose no key, and is left as it is."""

    def __init__(self, reader: Reader, rate: float, seed: int) -> None:
        self._reader, self._rate, self._rng = reader, rate, random.Random(seed)
        self.faults: list[str] = []

    def reply(self, prompt: str) -> str:
        said = self._reader.reply(prompt)
        found = OBJECT.search(said)
        kind = self._rng.choices(list(MIX), list(MIX.values()))[0] if self._rng.random() < self._rate else ""
        if found is None or not kind:
            self.faults.append("")
            return said
        body = json.loads(found[0])
        broken = self._broken(kind, body)
        self.faults.append(kind if broken is not None else "")
        return said if broken is None else said.replace(found[0], broken)

    def _broken(self, kind: str, body: dict[str, Any]) -> str | None:
        patch = body["state_patch"]
        if kind == "broken syntax":
            return json.dumps(body)[:-3]
        if not patch:
            return None
        field = self._rng.choice(sorted(patch))
        entries = patch[field]
        key = self._rng.choice(sorted(entries))
        if kind == "key loss":
            del entries[key]
        else:
            entries[key] = self._rng.choice([7, ["x"], {"a": True}, True])
        return json.dumps(body)


def committed(outcome: Outcome, reader: Faulty) -> dict[str, list[int]]:
    """Per kind of fault: [injected, taken into the state all the same]."""
    found = {kind: [0, 0] for kind in MIX}
    for turn, kind in zip(outcome.turns, reader.faults, strict=True):
        if kind:
            found[kind][0] += 1
            found[kind][1] += turn.fed is not None and turn.fed.accepted
    return found
