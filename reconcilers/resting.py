"""A check of the task that rests on an authority instead of on a command."""

from __future__ import annotations

import time

from contracts.checks import Check
from contracts.deployed import DeploymentReading
from contracts.errors import Permanent
from contracts.ports import Ask, Reconciler
from contracts.readings import CheckReading, CiReading
from contracts.telemetry import ValueReading
from contracts.text import cut, line

TEXT = 4096


class RestingCheck:
    """Passes when the authority gives positive evidence for the run's commit, and for nothing else."""

    def __init__(self, check: Check, authority: Reconciler) -> None:
        self.name, self.role = check.name, check.role
        self.when: tuple[str, ...] = {"finish": ("finish",), "edit": ("edit", "finish")}.get(
            check.when, ("step", "edit", "finish")
        )
        self._authority = authority

    async def read(self, ask: Ask) -> CheckReading:
        """The reading, now. Raises Permanent when the authority gives a reading that decides nothing."""
        began = time.monotonic()
        said = await self._authority.read(ask)
        if not isinstance(said, CiReading | DeploymentReading | ValueReading):
            raise Permanent(
                f"{self._authority.name}: a {said.kind} reading decides nothing, no check can rest on it"
            )
        passed = said.passes(ask.head)
        note = f" ({said.note})" if said.note else ""
        return CheckReading(
            name=self.name,
            role=self.role,
            passed=passed,
            why=line(f"{said.said}{note}", 300),
            exit=None,
            text=cut(said.text, TEXT),
            tree=ask.head,
            not_before=None if passed else said.not_before,
            took=time.monotonic() - began,
        )
