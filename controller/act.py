"""act: carry the staged action out, once. Probes first; never judges."""

from __future__ import annotations

import time

import anyio

from contracts.actions import MAYBE, UNKNOWN, ActionCall, ActionResult, Block, Probed, RanCommand
from contracts.ports import Action, Actions
from contracts.queue import HAPPENED
from contracts.record import Staged

GRACE = 20.0  # seconds that an action with an outside effect gets after an interrupt
CUT_SHORT = ("run.timeout", "run.flooded", MAYBE)
OVERTAKEN = "commits of somebody else came onto the branch before this was done: look at it again"


async def act(staged: Staged, actions: Actions) -> ActionResult:
    """What the adapter says it did. A transition staged by an earlier call may be half done: a commit that
    holds its key means done, else a person's word or a probe says; one that can't tell is a failed result with
    code `act.unknown`. Otherwise the worktree is put back first, and the deed is done now; not one that rests on
    files which others have changed since."""
    began = time.monotonic()
    call = ActionCall(
        tool=staged.tool,
        args=staged.args,
        key=staged.key,
        step=staged.step,
        answer=staged.answer,
        head=staged.before.head or "HEAD",
        printed=staged.printed,
        files=staged.files,
        basis=staged.before.basis,
        run=staged.run,
    )
    action = actions[staged.tool]
    if staged.resumed:
        if commit := await actions.find(staged.key):
            text = f"the controller was interrupted after this step's work was committed as {commit[:12]}"
            return ActionResult(blocks=(Block(title="recovered", text=text),), committed=commit)
        probed = await action.probe(call) if staged.ruling is None else _ruled(staged)
        if probed.kind == "happened" and probed.result is not None:
            return probed.result
        if probed.kind == "unknown":
            return ActionResult(ok=False, code=UNKNOWN, say=probed.why, not_before=probed.not_before)
        if staged.overtaken and "git" in staged.proof.names:
            return ActionResult(ok=False, code="act.overtaken", say=OVERTAKEN)
        await actions.reset(staged.before.head, f"interrupted/{staged.step}")
    result = await _carried_out(action, call)
    if not result.ok and result.code in CUT_SHORT and action.lasting(call):
        result = _known(await action.probe(call), result)
    return result.model_copy(update={"took": time.monotonic() - began})


def _ruled(staged: Staged) -> Probed:
    """A person looked and said whether it happened."""
    if staged.ruling != HAPPENED:
        return Probed(kind="not_yet", why="a person says that it did not happen")
    block = Block(title=f"{staged.tool}: a person says that it happened; its output is lost")
    ran = (RanCommand(name=staged.tool, exit=None),)
    return Probed(kind="happened", result=ActionResult(blocks=(block,), ran=ran))


def _known(probed: Probed, result: ActionResult) -> ActionResult:
    """What became of an action with an outside effect that was cut short."""
    match probed.kind:
        case "happened":
            return probed.result or result
        case "not_yet":
            return result
        case _:
            due = probed.not_before or result.not_before
            return ActionResult(ok=False, code=UNKNOWN, say=f"{result.say}; {probed.why}", not_before=due)


async def _carried_out(action: Action, call: ActionCall) -> ActionResult:
    """The action's result. When the step is cancelled meanwhile, an action with an outside effect gets 20 s to
    end by itself, and then its result is `late`; any other ends at once."""
    if not action.lasting(call):
        return await action.run(call)
    scope, over = anyio.CancelScope(shield=True), anyio.Event()
    results: list[ActionResult] = []

    async def work() -> None:
        with scope:
            results.append(await action.run(call))
        over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        try:
            await over.wait()
        except anyio.get_cancelled_exc_class():
            scope.deadline = anyio.current_time() + GRACE
            with anyio.CancelScope(shield=True):
                await over.wait()
            if not results:
                raise
            return results[0].model_copy(update={"late": True})
    return results[0]
