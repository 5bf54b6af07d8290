"""One domain of τ²-bench behind stdin and stdout, in the environment of requirements.txt: `office.py DOMAIN`.

A request and its answer are a line of JSON each:

    ["tasks"]             the published tasks: {id, actions: [[tool, arguments]], told, writes}; `told` is what the user
                          has to be told, `writes` which of the actions write
    ["open", ID]          data as they were published: {policy, asks, tools: [{name, summary, args, writes}]}
    ["call", TOOL, ARGS]  what the domain answers to the agent: {text, error}
    ["say", TEXT]         the agent speaks to the user, who hangs up whatever it is
    ["reward"]            {reward, by}: what the benchmark's own scoring says of the conversation so far
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
from types import ModuleType
from typing import Any

ABSENT = {
    "litellm": ("completion", "completion_cost"),
    "litellm.caching": (),
    "litellm.caching.caching": ("Cache",),
    "litellm.main": ("ModelResponse", "Usage"),
}


class Refused:
    """In the place of what would ask a model."""

    def __init__(self, *_: object, **__: object) -> None:
        raise RuntimeError("no model is asked here")


def without_models() -> None:
    """The package imports its way of asking models, and all that hangs on it, wherever it is used for anything."""
    for name, has in ABSENT.items():
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(has, Refused), disable_cache=lambda: None)
        sys.modules[name] = module


without_models()

from loguru import logger  # noqa: E402
from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage  # noqa: E402
from tau2.data_model.simulation import SimulationRun, TerminationReason  # noqa: E402
from tau2.data_model.tasks import Task  # noqa: E402
from tau2.environment.toolkit import ToolType  # noqa: E402
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation  # noqa: E402
from tau2.registry import registry  # noqa: E402

KEPT = "kept"  # the domain under another name, its data read from disk once and copied for each use
STOP = "###STOP###"


class Office:
    """A domain and the conversation in it."""

    def __init__(self, domain: str) -> None:
        made = registry.get_env_constructor(domain)
        pristine = pickle.dumps(made().tools.db)  # read from it a third as long as a deep copy takes
        registry.register_domain(
            lambda solo_mode=False: made(db=pickle.loads(pristine), solo_mode=solo_mode), KEPT
        )
        self._known: dict[str, Task] = {task.id: task for task in registry.get_tasks_loader(domain)()}
        self._fresh = registry.get_env_constructor(KEPT)
        self._at = self._fresh()

    def tasks(self) -> list[dict[str, Any]]:
        return [self._described(task) for task in self._known.values()]

    def _described(self, task: Task) -> dict[str, Any]:
        wanted = task.evaluation_criteria
        actions = (wanted.actions if wanted else None) or []
        return {
            "id": task.id,
            "actions": [[action.name, action.arguments] for action in actions],
            "told": (wanted.communicate_info if wanted else None) or [],
            "writes": [self._writes(action.name) for action in actions],
        }

    def _writes(self, tool: str) -> bool:
        return self._at.tools.tool_type(tool) == ToolType.WRITE

    def open(self, id: str) -> dict[str, Any]:
        self._task, self._at = self._known[id], self._fresh()
        asks = str(self._task.user_scenario.instructions)
        self._said = [
            AssistantMessage(role="assistant", content="Hi! How can I help you today?"),
            UserMessage(role="user", content=asks),
        ]
        tools = []
        for tool in self._at.get_tools():
            args = tool.openai_schema["function"]["parameters"]
            about = {"name": tool.name, "summary": tool.short_desc, "writes": self._writes(tool.name)}
            tools.append({**about, "args": args})
        return {"policy": self._at.get_policy(), "asks": asks, "tools": tools}

    def call(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        call = ToolCall(id=f"call_{len(self._said)}", name=tool, arguments=args)
        answer = self._at.get_response(call)
        self._said += [AssistantMessage(role="assistant", tool_calls=[call]), answer]
        return {"text": answer.content, "error": answer.error}

    def say(self, text: str) -> dict[str, Any]:
        self._said += [
            AssistantMessage(role="assistant", content=text),
            UserMessage(role="user", content=STOP),
        ]
        return {"text": STOP, "error": False}

    def reward(self) -> dict[str, Any]:
        run = SimulationRun(
            id="one",
            task_id=self._task.id,
            start_time="",
            end_time="",
            duration=0.0,
            termination_reason=TerminationReason.USER_STOP,
            messages=self._said,
        )
        found = evaluate_simulation(run, self._task, EvaluationType.ALL, solo_mode=False, domain=KEPT)
        by = {kind.value: reward for kind, reward in (found.reward_breakdown or {}).items()}
        return {"reward": found.reward, "by": by}


def main(domain: str) -> None:
    """Answers until stdin ends."""
    logger.remove()
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a tool prints is no answer
    office = Office(domain)
    gc.freeze()
    for line in sys.stdin:
        name, *args = json.loads(line)
        does = {"tasks": office.tasks, "open": office.open, "call": office.call, "say": office.say}
        answer = {**does, "reward": office.reward}[name](*args)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
