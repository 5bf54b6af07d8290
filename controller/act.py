"""act: carry the staged action out, once. Probes first; never judges."""

from __future__ import annotations

import time

from contracts.actions import ActionCall, ActionResult, Block
from contracts.ports import Actions
from contracts.record import Staged


async def act(staged: Staged, actions: Actions) -> ActionResult:
    """What the adapter says it did. A transition staged by an earlier call may be half done: a commit that
    holds its key means done; a probe that can't tell is a failed result with code `act.unknown`; otherwise
    the worktree is put back first, and the deed is done now."""
    began = time.monotonic()
    call = ActionCall(
        tool=staged.tool,
        args=staged.args,
        key=staged.key,
        step=staged.step,
        answer=staged.answer,
        head=staged.before.head or "HEAD",
    )
    action = actions[staged.tool]
    if staged.resumed:
        if commit := await actions.find(staged.key):
            text = f"the controller was interrupted after this step's work was committed as {commit[:12]}"
            return ActionResult(blocks=(Block(title="recovered", text=text),), committed=commit)
        probed = await action.probe(call)
        if probed.kind == "happened" and probed.result is not None:
            return probed.result
        if probed.kind == "unknown":
            return ActionResult(ok=False, code="act.unknown", say=probed.why)
        await actions.reset(staged.before.head, f"interrupted/{staged.step}")
    result = await action.run(call)
    return result.model_copy(update={"took": time.monotonic() - began})
