"""edit_files: replacements, new contents and deletions; all of them or none."""

from __future__ import annotations

import time
from functools import partial

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Probed
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Inside
from tool_adapters.actions.draft import Draft, edit_worktree, edited_before
from tool_adapters.actions.files import Refused


class Edits(Inside):
    """What edit_files and apply_patch share: one transaction on the worktree, promised digests, and a probe.

    The probe compares the worktree with what the edits make of the commit that the step began on
    (`ActionCall.head`, the worktree's HEAD unless the controller names it): all equal means it happened. Any
    other tree gives `not_yet`, also a half-written one; before it runs the action again, the controller puts
    the worktree back to that commit, as it does before every step.
    """

    tool: str

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        begun = time.monotonic()
        try:
            # Not abandoned when cancelled: a transaction that has begun is brought to its end.
            draft = await anyio.to_thread.run_sync(partial(edit_worktree, self.ctx, self.tool, call.args))
        except Refused as refused:
            return failed(refused, begun, self.ctx)
        return edited(draft, begun)

    async def probe(self, call: ActionCall) -> Probed:
        begun = time.monotonic()
        draft = await anyio.to_thread.run_sync(
            partial(edited_before, self.ctx, self.tool, call.args, call.head)
        )
        if draft is None:
            return Probed(kind="not_yet", why="the files do not hold what the edits promise")
        return Probed(kind="happened", result=edited(draft, begun))


class EditFiles(Edits):
    tool = "edit_files"
    spec = SPECS["edit_files"]


def edited(draft: Draft, begun: float) -> ActionResult:
    """The result of a draft that is in the worktree."""
    return ActionResult(blocks=(draft.block(),), promised=draft.promised(), took=time.monotonic() - begun)


def failed(refused: Refused, begun: float, ctx: ActionContext) -> ActionResult:
    """The result of an action that was refused and changed nothing."""
    safe = ctx.redactor.redact_text
    return ActionResult(
        ok=False,
        code=refused.code,
        say=safe(refused.say),
        excerpt=safe(refused.excerpt),
        took=time.monotonic() - begun,
    )
