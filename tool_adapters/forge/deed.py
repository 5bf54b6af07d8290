"""What every deed has: its forum, and that ended midway it may have happened."""

from __future__ import annotations

from contracts.actions import ActionCall
from tool_adapters.actions.context import ActionContext
from tool_adapters.forge.forum import Forum


class Deed:
    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    @property
    def forum(self) -> Forum:
        forum = self.ctx.forum
        assert isinstance(forum, Forum), "a task with such an action has a forge"
        return forum

    def lasting(self, call: ActionCall) -> bool:
        return True
