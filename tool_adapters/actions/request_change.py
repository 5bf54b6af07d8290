"""request_change: by the time it is run a person has said yes; the commit of its step makes the change."""

from __future__ import annotations

from contracts.actions import ActionCall, ActionResult, Block
from contracts.text import clean, line
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Repeatable


class RequestChange(Repeatable):
    spec = SPECS["request_change"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        if call.answer is None:
            return ActionResult(ok=False, code="request_change.undecided", say="nobody has agreed yet")
        return ActionResult(
            blocks=(Block(title=line(f"agreed: {call.args['at']}", 400), text=clean(call.answer)),)
        )
