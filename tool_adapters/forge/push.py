"""git_push: the run's commits to its branch on the remote, by a lease on the commit that was seen there."""

from __future__ import annotations

import time

import anyio.to_thread

from contracts.actions import MAYBE, ActionCall, ActionResult, Probed
from contracts.deed_rules import BRANCH, HEAD, NONE
from contracts.errors import ConfigError, Permanent, Temporary
from contracts.tools import SPECS
from tool_adapters.forge.client import AGAIN
from tool_adapters.forge.deed import Deed

PROTECTED = "Do not try it again: `ask`, or go on with other work"


class GitPush(Deed):
    """Never forced: the branch moves from the commit that the gate saw, or not at all."""

    spec = SPECS["git_push"]

    async def run(self, call: ActionCall) -> ActionResult:
        return await anyio.to_thread.run_sync(self._push, call, abandon_on_cancel=True)

    def _push(self, call: ActionCall) -> ActionResult:
        forum, head, then = self.forum, call.basis[HEAD], call.basis[BRANCH]
        try:
            pushed = forum.remote().push({forum.ref: (head, None if then == NONE else then)})
        except ConfigError as error:
            return ActionResult(ok=False, code="push.refused", say=str(error))
        due = time.time() + AGAIN
        match pushed.kind:
            case "done":
                return ActionResult(say=f"{forum.branch} on the remote is at {head[:12]}")
            case "moved":
                say = f"somebody else was there: {forum.branch} is not at {then[:12]} any more. Look at `forge` again"
                return ActionResult(ok=False, code="push.moved", say=say)
            case "refused":
                say = f"the remote refuses it, and would again: {pushed.why}. {PROTECTED}"
                return ActionResult(ok=False, code="push.refused", say=say)
            case "later":
                return ActionResult(ok=False, code="push.later", say=pushed.why, not_before=due)
            case _:
                return ActionResult(ok=False, code=MAYBE, say=pushed.why, not_before=due)

    async def probe(self, call: ActionCall) -> Probed:
        return await anyio.to_thread.run_sync(self._probe, call, abandon_on_cancel=True)

    def _probe(self, call: ActionCall) -> Probed:
        forum, head = self.forum, call.basis[HEAD]
        try:
            remote = forum.remote()
            tip = remote.tips([forum.ref]).get(forum.ref)
            there = tip == head or (tip is not None and not remote.beyond(forum.ref, head, tip))
        except Temporary as error:
            return Probed(kind="unknown", why=str(error), not_before=time.time() + AGAIN)
        except (Permanent, ConfigError) as error:
            return Probed(kind="unknown", why=str(error))
        if not there:
            return Probed(kind="not_yet", why=f"{forum.branch} on the remote does not hold {head[:12]}")
        return Probed(
            kind="happened", result=ActionResult(say=f"{forum.branch} on the remote is at {head[:12]}")
        )
