"""submit: what an agent changed in its own copy, made in the run's worktree; all of it or nothing."""

from __future__ import annotations

import time
from functools import partial

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block, Probed
from contracts.base import digest
from contracts.submitted import FILLED, GONE, PROGRAM, read
from tool_adapters.actions.context import ActionContext, Inside
from tool_adapters.actions.edit_files import failed
from tool_adapters.actions.files import Files, Refused


class Submit(Inside):
    """Writes the files of the candidate's tree, which Git keeps, through the same door as every edit. The probe
    compares the worktree with that tree."""

    spec = FILLED

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        begun = time.monotonic()
        try:
            return await anyio.to_thread.run_sync(partial(self._apply, call, begun))
        except Refused as refused:
            return failed(refused, begun, self.ctx)

    async def probe(self, call: ActionCall) -> Probed:
        return await anyio.to_thread.run_sync(partial(self._found, call, time.monotonic()))

    def _apply(self, call: ActionCall, begun: float) -> ActionResult:
        files = Files(self.ctx.root, self.ctx.paths)
        wanted = self._wanted(call)
        before = {path: files.before(path) for path in wanted}
        programs = {each.path for each in read(call.args).files if each.mode == PROGRAM}
        files.put(wanted, before, programs)
        return _done(call, wanted, begun)

    def _found(self, call: ActionCall, begun: float) -> Probed:
        files = Files(self.ctx.root, self.ctx.paths)
        try:
            wanted = self._wanted(call)
            for path, data in wanted.items():
                now = files.before(path)
                if (now.data if now else None) != data:
                    return Probed(kind="not_yet", why=f"{path} does not hold what was submitted")
        except Refused as refused:
            return Probed(kind="not_yet", why=refused.say)
        return Probed(kind="happened", result=_done(call, wanted, begun))

    def _wanted(self, call: ActionCall) -> dict[str, bytes | None]:
        """path -> the bytes that must be there, None where the file must be gone. Raises Refused."""
        found = read(call.args)
        wanted: dict[str, bytes | None] = {}
        for each in found.files:
            data = None if each.mode == GONE else self.ctx.git.show(found.tree, each.path)
            if data is None and each.mode != GONE:
                say = f"what was submitted is not kept here any more ({found.kept}): do it anew"
                raise Refused("submit.gone", say)
            wanted[each.path] = data
        return wanted


def _done(call: ActionCall, wanted: dict[str, bytes | None], begun: float) -> ActionResult:
    text = str(call.args.get("summary", ""))
    return ActionResult(
        say=f"{len(wanted)} file{'s' * (len(wanted) != 1)} as submitted",
        blocks=(Block(title="submitted", text=text),),
        promised={path: None if data is None else digest(data) for path, data in wanted.items()},
        took=time.monotonic() - begun,
    )
