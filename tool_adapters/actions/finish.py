"""finish: acts on nothing. The checks that are read afterwards decide whether the goal is reached."""

from __future__ import annotations

from contracts.actions import ActionCall, ActionResult
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Repeatable


class Finish(Repeatable):
    spec = SPECS["finish"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        return ActionResult()
