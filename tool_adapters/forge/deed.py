"""What every deed has: its forum, and that ended midway it may have happened."""

from __future__ import annotations

from contracts.actions import ActionCall
from contracts.forge_api import Api
from tool_adapters.actions.context import ActionContext
from tool_adapters.forge.client import Client
from tool_adapters.forge.forum import Forum


class Deed:
    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    @property
    def forum(self) -> Forum:
        forum = self.ctx.forum
        assert isinstance(forum, Forum), "a task with such an action has a forge"
        return forum

    @property
    def api(self) -> Api:
        api = self.forum.api
        assert api is not None, "no task allows it with a remote alone"
        return api

    @property
    def client(self) -> Client:
        client = self.forum.client
        assert client is not None, "no task allows it with a remote alone"
        return client

    def lasting(self, call: ActionCall) -> bool:
        return True
