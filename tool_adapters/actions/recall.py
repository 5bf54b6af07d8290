"""recall: what this run knew, did or saw and is shown no more, found by words."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import accumulate

from contracts.actions import ActionCall, ActionResult, Block
from contracts.base import JsonObject
from contracts.errors import ControllerError
from contracts.recall import KINDS, MAX_RECALLED, Hit, Recalled
from contracts.text import clean, cut, share, size
from contracts.tools import SPECS
from tool_adapters.actions.context import ActionContext, Repeatable

SHOWN_STEPS = 4
HEAD, LEAST = 400, 80  # bytes: of what is said of the whole, and of a hit, without which it is not shown


class Recall(Repeatable):
    spec = SPECS["recall"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        begun = time.monotonic()
        try:
            blocks = await self._blocks(call.args, self.ctx.room)
        except ControllerError as error:
            say = f"nothing can be recalled now: {error}"
            return ActionResult(ok=False, code="recall.unavailable", say=say, took=time.monotonic() - begun)
        return ActionResult(blocks=blocks, took=time.monotonic() - begun)

    async def within(self, args: JsonObject, room: int) -> ActionResult:
        """The result in at most `room` bytes. Always ok: within a batch a past that can't be asked undoes no
        edit; the block says it."""
        begun = time.monotonic()
        try:
            blocks = await self._blocks(args, room)
        except ControllerError as error:
            blocks = (Block(title=f"{_title(args)}: nothing can be recalled now: {clean(str(error))}"),)
        return ActionResult(blocks=blocks, took=time.monotonic() - begun)

    async def _blocks(self, args: JsonObject, room: int) -> tuple[Block, ...]:
        if self.ctx.memory is None:
            return (Block(title=f"{_title(args)}: this run keeps nothing that could be asked"),)
        kinds = [kind for kind in KINDS if kind in args.get("kinds", KINDS)]
        limit = int(args.get("limit") or MAX_RECALLED)
        found = await self.ctx.memory.recall(str(args["query"]), kinds, limit)
        titles = [_hit_title(number, hit) for number, hit in enumerate(found.hits, start=1)]
        least = [
            size(title) + 8 + min(size(hit.text), LEAST)
            for title, hit in zip(titles, found.hits, strict=True)
        ]
        shown = max(1, sum(total <= room - HEAD for total in accumulate(least)))
        found = replace(found, hits=found.hits[:shown])
        head = Block(title=f"{_title(args)}: {_summary(found)}", text="\n".join(_hints(found)))
        room -= size(head.title) + size(head.text) + 8 + sum(size(title) + 8 for title in titles[:shown])
        rooms = share([size(hit.text) for hit in found.hits], max(LEAST, room))
        return (
            head,
            *(
                Block(title=title, text=cut(clean(hit.text), part), total=size(hit.text))
                for title, hit, part in zip(titles, found.hits, rooms, strict=False)
            ),
        )


def _title(args: JsonObject) -> str:
    return f"recall {clean(str(args['query']))[:60]!r}"


def _summary(found: Recalled) -> str:
    if not found.words:
        return "there is no word to look for: give letters or digits, no patterns"
    if not found.hits:
        return "nothing found"
    shown = f", the best {len(found.hits)}" if found.found > len(found.hits) else ""
    some = "" if found.all_words else " hold some of the words, none all of them"
    return f"{found.found:,} found{some}{shown}"


def _hints(found: Recalled) -> list[str]:
    if found.hits:
        named = any(hit.artifact and not hit.gone for hit in found.hits)
        return [
            "true at its step, perhaps not now; keep in the state what you need"
            + ("; read_files path artifact:ID reads on" if named else ""),
            *found.limits,
        ]
    held = ", ".join(f"{count:,} {kind}" for kind, count in found.held.items())
    return [
        f"searched: {held or 'nothing, there is no past of these kinds yet'}",
        "a word's beginning is enough; try a name as it stood in a file or message, fewer words, or all kinds; "
        "what is in the state now is not searched",
        *found.limits,
    ]


def _hit_title(number: int, hit: Hit) -> str:
    """What was found, and where the rest of it can be read; the important first, since a title may be cut."""
    lines = f"line {hit.first:,}" if hit.first == hit.last else f"lines {hit.first:,}–{hit.last:,}"
    where = f", artifact:{hit.artifact} {lines} of {hit.total:,}" if hit.artifact else ""
    gone = " (no longer kept)" if hit.gone else ""
    steps = sorted(hit.also)[-SHOWN_STEPS:]
    also = f"; the same at {len(hit.also)} more steps, {', '.join(map(str, steps))}" if steps else ""
    more = f"; {hit.more} more places in it" if hit.more else ""
    return clean(f"recall {number}: {hit.kind} of step {hit.step}{where}{gone}: {hit.place[:90]}{more}{also}")
