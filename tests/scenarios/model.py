"""The rule-based agent as a model behind the loopback gateway: what real agent binaries are answered with."""

from __future__ import annotations

from typing import Any

from contracts.dialects import Dialect
from controller.assemble import charter
from controller.taskfile import read_task
from tests.gateway import Recorded
from tests.scenarios.policy.decide import decide
from tests.scenarios.scenario import Scenario

Json = dict[str, Any]


class PolicyModel:
    """A gateway's policy. It sees the prompt as the model would; Codex is answered in its strict dialect, which
    the schema of `scenario` gives. Set `scenario` before the first request."""

    def __init__(self) -> None:
        self.scenario: Scenario | None = None
        self._strict: Dialect | None = None

    def __call__(self, prompt: str, schema: Json, request: Recorded) -> Json:
        transition = decide(prompt)
        return transition if request.api == "anthropic" else self.strict.encode(transition)

    @property
    def strict(self) -> Dialect:
        assert self.scenario is not None
        if self._strict is None:
            self._strict = charter(read_task(self.scenario.root / "task.yaml"), "codex").dialect
        return self._strict
