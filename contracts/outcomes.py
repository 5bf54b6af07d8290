"""How a run ends or halts, and the exit code that a CI job sees."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class Outcome(StrEnum):
    """`completed` and `nothing_to_do` close a run; any other is a halt, lifted when its cause is gone."""

    completed = "completed"
    nothing_to_do = "nothing_to_do"
    internal_error = "internal_error"
    config_error = "config_error"
    failed = "failed"
    stuck = "stuck"
    budget_exhausted = "budget_exhausted"
    blocked = "blocked"
    waiting = "waiting"
    busy = "busy"
    unavailable = "unavailable"
    interrupted = "interrupted"
    terminated = "terminated"


CLOSING = frozenset({Outcome.completed, Outcome.nothing_to_do})

EXIT_CODES = MappingProxyType(
    {
        Outcome.completed: 0,
        Outcome.nothing_to_do: 0,
        Outcome.internal_error: 1,
        Outcome.config_error: 2,
        Outcome.failed: 3,
        Outcome.stuck: 3,
        Outcome.budget_exhausted: 4,
        Outcome.blocked: 5,
        Outcome.waiting: 6,
        Outcome.busy: 7,
        Outcome.unavailable: 8,
        Outcome.interrupted: 130,
        Outcome.terminated: 143,
    }
)

# Causes of `blocked` that no answer lifts: what the run is judged by was edited. The value: the options of `run` by
# which a person takes it as it is.
EDITED = MappingProxyType(
    {
        "task_edited": ("--retry",),
        "intent_edited": ("--accept-new-intent",),
        "task_and_intent_edited": ("--accept-new-intent", "--retry"),
    }
)
