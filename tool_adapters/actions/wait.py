"""wait: acts on nothing. The authority that is read afterwards says whether the wait is over."""

from __future__ import annotations

from contracts.actions import ActionCall, ActionResult
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Repeatable


class Wait(Repeatable):
    spec = SPECS["wait"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        return ActionResult()
