"""pr_comment, issue_comment: what the agent has to say where people read it, once."""

from __future__ import annotations

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Probed
from contracts.deed_rules import number_in
from contracts.forge_api import Thread, harmless
from contracts.forge_marks import SHORT, marked
from contracts.tools import SPECS
from tool_adapters.forge.deed import Deed
from tool_adapters.forge.forum import undone, untold


class CommentDeed(Deed):
    """A comment with the deed's mark on one thread."""

    thread: Thread

    def number(self, call: ActionCall) -> int:
        raise NotImplementedError

    async def run(self, call: ActionCall) -> ActionResult:
        return await anyio.to_thread.run_sync(self._say, call, abandon_on_cancel=True)

    async def probe(self, call: ActionCall) -> Probed:
        return await anyio.to_thread.run_sync(self._look, call, abandon_on_cancel=True)

    def _say(self, call: ActionCall) -> ActionResult:
        text = marked(harmless(str(call.args["body"])), call.run, call.key)
        sent = self.client.send(self.api.say(self.thread, self.number(call), text))
        if sent.kind != "done":
            return undone(call.tool, sent, "Do not try it again as it is")
        return ActionResult(say=self._where(call))

    def _look(self, call: ActionCall) -> Probed:
        sent = self.client.all(self.api.comments(self.thread, self.number(call)))
        if sent.kind != "done":
            return untold(sent)
        comments = (self.api.comment(each) for each in sent.body)
        if any(each is not None and call.key[:SHORT] in each.keys for each in comments):
            return Probed(kind="happened", result=ActionResult(say=self._where(call)))
        return Probed(kind="not_yet", why="no comment shows it")

    def _where(self, call: ActionCall) -> str:
        what = "pull request" if self.thread == "request" else "issue"
        return f"commented on {what} {self.number(call)}"


class PrComment(CommentDeed):
    spec = SPECS["pr_comment"]
    thread: Thread = "request"

    def number(self, call: ActionCall) -> int:
        return number_in(call.basis)


class IssueComment(CommentDeed):
    spec = SPECS["issue_comment"]
    thread: Thread = "issue"

    def number(self, call: ActionCall) -> int:
        return int(call.args["issue"])
