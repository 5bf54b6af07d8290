"""Whether the worktree's set-up holds: its failure after a step changed its inputs is shown to the agent, and
nothing is finished on an environment of before."""

from __future__ import annotations

import json
from pathlib import Path

from contracts.ports import Ask
from contracts.readings import CommandReading


class SetupReconciler:
    """Reads the marker that the workspace leaves in the runtime folder; no marker: nothing to set up."""

    name = "setup"
    when = ("step",)

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    async def read(self, ask: Ask) -> CommandReading:
        try:
            failed = str(json.loads(self._marker.read_text()).get("failed", ""))
        except (OSError, ValueError, AttributeError):
            failed = ""
        return CommandReading(name=self.name, ok=not failed, exit=None, text=failed, total=len(failed))
