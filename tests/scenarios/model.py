"""The rule-based agent as a model behind the loopback gateway: what real agent binaries are answered with."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from contracts.dialects import Dialect
from controller.assemble import charter
from controller.taskfile import read_task
from tests.gateway import Recorded
from tests.scenarios.policy.decide import decide

Json = dict[str, Any]
REFUSED: Json = {  # setup.cfg is outside of what the task may change
    "state_patch": {},
    "action": {
        "tool": "edit_files",
        "args": {"edits": [{"op": "write", "path": "setup.cfg", "content": "[metadata]\n"}]},
    },
}


class PolicyModel:
    """A gateway's policy. It sees the prompt as the model would; Codex is answered in its strict dialect, as the
    task file `task` compiles it (set it before the first request). `bad` are numbers of requests, from 1, that
    are answered with an action out of scope; what a correction says of that is passed over."""

    def __init__(self, bad: Collection[int] = ()) -> None:
        self.task: Path | None = None
        self.bad, self.asked = bad, 0
        self._strict: Dialect | None = None

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Json:
        self.asked += 1
        transition = (
            REFUSED if self.asked in self.bad else decide(_uncorrected(prompt) if self.bad else prompt)
        )
        # Of those that speak this API only Codex has no tool for the answer: it is asked in its strict dialect.
        codex = request.api == "responses" and not request.answer_tool
        return self._codex().encode(transition) if codex else transition

    def _codex(self) -> Dialect:
        assert self.task is not None
        if self._strict is None:
            self._strict = charter(read_task(self.task), "codex").dialect
        return self._strict


def _uncorrected(prompt: str) -> str:
    before, mark, after = prompt.partition("=== CORRECTION ===\n")
    return before + after[after.index("=== ") :] if mark else prompt
