"""pr_open, pr_update, pr_merge: the pull request of the run's branch. Its description carries the mark of each deed, by
which it is found again; a second one is never made."""

from __future__ import annotations

from collections.abc import Callable

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Probed
from contracts.deed_rules import HEAD, REQUEST, number_in
from contracts.forge_api import Call, harmless
from contracts.forge_marks import SHORT, marked, unmarked
from contracts.forge_reading import Request
from contracts.tools import SPECS
from tool_adapters.forge.client import Sent
from tool_adapters.forge.deed import Deed
from tool_adapters.forge.forum import undone, untold


class RequestDeed(Deed):
    """A deed on the branch's pull request."""

    code = "request"
    advice = "Do not try it again as it is"

    async def run(self, call: ActionCall) -> ActionResult:
        return await anyio.to_thread.run_sync(self.act, call, abandon_on_cancel=True)

    async def probe(self, call: ActionCall) -> Probed:
        return await anyio.to_thread.run_sync(self.look, call, abandon_on_cancel=True)

    def act(self, call: ActionCall) -> ActionResult:
        raise NotImplementedError

    def look(self, call: ActionCall) -> Probed:
        """Whether a pull request of the branch carries the deed's mark."""
        return self.found(lambda each: call.key[:SHORT] in each.keys)

    def found(self, wanted: Callable[[Request], bool]) -> Probed:
        """Whether there is such a pull request of the branch."""
        sent = self.client.all(self.api.requests(self.forum.branch))
        if sent.kind != "done":
            return untold(sent)
        requests = (self.api.request(each) for each in sent.body)
        for each in requests:
            if each is not None and wanted(each):
                return Probed(kind="happened", result=ActionResult(say=f"{each.said} {each.url}".rstrip()))
        return Probed(kind="not_yet", why="no pull request of the branch shows it")

    def sent(self, call: Call, say: Callable[[Sent], str]) -> ActionResult:
        """What came of a request that does the deed."""
        sent = self.client.send(call)
        return ActionResult(say=say(sent)) if sent.kind == "done" else undone(self.code, sent, self.advice)

    def body(self, call: ActionCall, text: str, before: tuple[str, ...] = ()) -> str:
        return marked(harmless(text), call.run, call.key, before)


class PrOpen(RequestDeed):
    spec = SPECS["pr_open"]
    code = "pr_open"

    def act(self, call: ActionCall) -> ActionResult:
        args, forum = call.args, self.forum
        body = self.body(call, str(args["body"]))
        made = self.api.make(
            forum.branch, forum.base, harmless(str(args["title"])), body, bool(args.get("draft"))
        )

        def say(sent: Sent) -> str:
            request = self.api.request(sent.body) if isinstance(sent.body, dict) else None
            return f"{request.said} {request.url}".rstrip() if request else "opened"

        return self.sent(made, say)


class PrUpdate(RequestDeed):
    """The description is written anew only as it was when the gate looked: what a person wrote since stays."""

    spec = SPECS["pr_update"]
    code = "pr_update"

    def act(self, call: ActionCall) -> ActionResult:
        number, then = number_in(call.basis), call.basis[REQUEST].rpartition(" ")[2]
        here = self.client.send(self.api.request_at(number))
        request = self.api.request(here.body) if here.kind == "done" and isinstance(here.body, dict) else None
        if request is None:
            return undone(self.code, here, self.advice)
        if request.body != then:
            say = f"the description of pull request {number} was edited since: look at it again"
            return ActionResult(ok=False, code="pr_update.moved", say=say)
        title, text = call.args.get("title"), call.args.get("body")
        kept = unmarked(self.api.text(here.body))
        body = self.body(call, text, request.keys) if text else marked(kept, call.run, call.key, request.keys)
        change = self.api.change(number, harmless(title) if title else None, body)
        return self.sent(change, lambda _: f"pull request {number} is changed")


class PrMerge(RequestDeed):
    """Merges exactly the commit that the gate saw: the forge refuses any other."""

    spec = SPECS["pr_merge"]
    code = "pr_merge"
    advice = "A person has to look at it: `ask`"

    def act(self, call: ActionCall) -> ActionResult:
        number = number_in(call.basis)
        merge = self.api.merge(number, call.basis[HEAD])
        return self.sent(merge, lambda _: f"pull request {number} is merged at {call.basis[HEAD][:12]}")

    def look(self, call: ActionCall) -> Probed:
        number = number_in(call.basis)
        return self.found(lambda each: each.number == number and each.state == "merged")
