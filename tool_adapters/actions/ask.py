"""ask: a question to a person. By the time it is run, the answer is there."""

from __future__ import annotations

from contracts.actions import ActionCall, ActionResult, Block
from contracts.text import clean, cut
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Repeatable

_ANSWER = 8 * 1024


class Ask(Repeatable):
    spec = SPECS["ask"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        if call.answer is None:
            return ActionResult(ok=False, code="ask.unanswered", say="nobody has answered yet")
        question = clean(call.args["question"])[:500]
        answer = cut(clean(call.answer), _ANSWER)
        return ActionResult(blocks=(Block(title=f"answer to: {' '.join(question.split())}", text=answer),))
