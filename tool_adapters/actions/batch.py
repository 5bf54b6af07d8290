"""batch: edits as one transaction, then at most one run, then reads that see the tree after them."""

from __future__ import annotations

import time
from functools import partial

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block, Probed
from contracts.base import JsonObject, digest
from contracts.grammar import batch_problem, inner_actions
from contracts.text import size
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Inside
from tool_adapters.actions.draft import edit_worktree, edited_before
from tool_adapters.actions.edit_files import edited, failed
from tool_adapters.actions.files import Files, Refused
from tool_adapters.actions.list_files import ListFiles
from tool_adapters.actions.read_files import ReadFiles
from tool_adapters.actions.recall import Recall
from tool_adapters.actions.run import Run
from tool_adapters.actions.search import Search

_EDITS = ("edit_files", "apply_patch")


class Batch(Inside):
    """The probe of a batch without a run is that of its edits; what it reads is read again. A batch with a run
    is done again as a whole: commands with an outside effect can't stand in one, and the controller first puts
    the worktree back."""

    spec = SPECS["batch"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx
        self._run = Run(ctx)
        self._reads: dict[str, ReadFiles | ListFiles | Search | Recall] = {
            "read_files": ReadFiles(ctx),
            "list_files": ListFiles(ctx),
            "search": Search(ctx),
            "recall": Recall(ctx),
        }

    async def run(self, call: ActionCall) -> ActionResult:
        begun = time.monotonic()
        wrong = batch_problem(call.args, self.ctx.commands)
        if wrong:
            return failed(Refused("batch.order", wrong), begun, self.ctx)
        inner = list(inner_actions("batch", call.args))
        done = ActionResult()
        if any(tool in _EDITS for tool, _ in inner):
            try:
                draft = await anyio.to_thread.run_sync(partial(edit_worktree, self.ctx, "batch", call.args))
            except Refused as refused:
                return failed(refused, begun, self.ctx)
            done = edited(draft, begun)
        for tool, args in inner:
            if tool == "run":
                done = _joined(done, await self._run.within(args, self._room(done, inner, "run"), call))
                if not done.ok:
                    return done.model_copy(update={"took": time.monotonic() - begun})
                done = await anyio.to_thread.run_sync(self._recheck, done)
        done = await self._read(inner, done)
        return done.model_copy(update={"took": time.monotonic() - begun})

    async def probe(self, call: ActionCall) -> Probed:
        begun = time.monotonic()
        inner = list(inner_actions("batch", call.args))
        if any(tool == "run" for tool, _ in inner):
            return Probed(kind="not_yet", why="the batch holds a run and is done again as a whole")
        if not any(tool in _EDITS for tool, _ in inner):
            return Probed(kind="not_yet", why="the batch changes nothing and is done again")
        draft = await anyio.to_thread.run_sync(
            partial(edited_before, self.ctx, "batch", call.args, call.head)
        )
        if draft is None:
            return Probed(kind="not_yet", why="the files do not hold what the edits promise")
        return Probed(kind="happened", result=await self._read(inner, edited(draft, begun)))

    async def _read(self, inner: list[tuple[str, JsonObject]], done: ActionResult) -> ActionResult:
        reads = [(tool, args) for tool, args in inner if tool in self._reads]
        for left, (tool, args) in zip(range(len(reads), 0, -1), reads, strict=True):
            room = (self.ctx.room - _size(done.blocks)) // left
            done = _joined(done, await self._reads[tool].within(args, max(room, 512)))
        return done

    def _room(self, done: ActionResult, inner: list[tuple[str, JsonObject]], tool: str) -> int:
        """Half of what is left, so that the reads after a run get theirs."""
        room = self.ctx.room - _size(done.blocks)
        return room // 2 if any(name in self._reads for name, _ in inner) else room

    def _recheck(self, done: ActionResult) -> ActionResult:
        """Without the promises that the command has overwritten (a formatter does): what stands there now is
        the command's doing, and the block says so."""
        files = Files(self.ctx.root, self.ctx.paths)
        changed: list[str] = []
        for path, promise in done.promised.items():
            try:
                now = files.before(path)
            except Refused:
                now = None
            if (digest(now.data) if now else None) != promise:
                changed.append(path)
        if not changed:
            return done
        kept = {path: promise for path, promise in done.promised.items() if path not in changed}
        note = Block(title="changed by the command after the edits", text="\n".join(changed[:40]))
        return done.model_copy(update={"promised": kept, "blocks": (*done.blocks, note)})


def _size(blocks: tuple[Block, ...]) -> int:
    return sum(size(block.title) + size(block.text) + 6 for block in blocks)


def _joined(first: ActionResult, second: ActionResult) -> ActionResult:
    """Both results as one; the second decides whether it went well."""
    return second.model_copy(
        update={
            "blocks": (*first.blocks, *second.blocks),
            "promised": {**first.promised, **second.promised},
            "ran": (*first.ran, *second.ran),
        }
    )
