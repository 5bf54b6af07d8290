"""What this call as a whole was told, for whoever ends it."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.outcomes import EXIT_CODES, Outcome

# Nothing is wrong with these, so a job may end well by them.
MAY_BE_ZERO = (Outcome.waiting, Outcome.blocked, Outcome.busy, Outcome.budget_exhausted)


@dataclass
class Call:
    """debug: tracebacks are shown. json_lines: the last line on stdout is the outcome, also of a failure. zero: the
    outcomes by which it ends with code 0."""

    debug: bool = False
    json_lines: bool = False
    zero: frozenset[Outcome] = frozenset()

    def exit_code(self, outcome: Outcome | None) -> int:
        return 0 if outcome is None or outcome in self.zero else EXIT_CODES[outcome]


call = Call()
