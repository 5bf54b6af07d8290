"""request_change: by the time it is run a person has said yes; the commit of its step makes the change. A field more
for the state is a version more of its schema: its files are written here, the controller takes them up after it."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block
from contracts.errors import Unavailable
from contracts.text import clean, line
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Repeatable
from tool_adapters.durable import replace


class RequestChange(Repeatable):
    spec = SPECS["request_change"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        if call.answer is None:
            return ActionResult(ok=False, code="request_change.undecided", say="nobody has agreed yet")
        if call.files and self.ctx.schemas is not None:
            await anyio.to_thread.run_sync(_written, self.ctx.schemas, call.files)
        return ActionResult(
            blocks=(Block(title=line(f"agreed: {call.args['at']}", 400), text=clean(call.answer)),)
        )


def _written(folder: Path, files: dict[str, str]) -> None:
    """Each file whole or not at all, in order; the migration comes last. Raises Unavailable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            replace(folder / name, text.encode())
    except OSError as error:
        raise Unavailable(f"can't write the schema: {error.strerror}", where=str(folder)) from error
