"""list_files: folders and files with counts, or the paths that match a glob."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block
from contracts.base import JsonObject
from contracts.controls import named
from contracts.paths import compile_glob, normalise
from contracts.text import clean, cut
from contracts.tools import MAX_TREE_LINES, SPECS
from tool_adapters.actions.context import ActionContext, Repeatable
from tool_adapters.actions.nearest import nearest_names


class ListFiles(Repeatable):
    spec = SPECS["list_files"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        return await self.within(call.args, self.ctx.room)

    async def within(self, args: JsonObject, room: int) -> ActionResult:
        """The result in at most `room` bytes. Always ok."""
        begun = time.monotonic()
        block = await anyio.to_thread.run_sync(self._block, args, room, abandon_on_cancel=True)
        return ActionResult(blocks=(block,), took=time.monotonic() - begun)

    def _block(self, args: JsonObject, room: int) -> Block:
        wanted = str(args.get("path", "."))
        top = "" if wanted in (".", "./") else normalise(wanted)
        if top is None:
            return Block(title=f"{clean(wanted)[:200]!r} is not a path inside the worktree")
        every = sorted(name for name in self.ctx.git.files() if os.path.lexists(self.ctx.root / name))
        names = [name for name in every if not top or name == top or name.startswith(f"{top}/")]
        shown = named(top) or "."
        if not names:
            near = ", ".join(nearest_names(every, top))
            return Block(title=f"{shown}: no such file or folder" + (f"; near it: {near}" if near else ""))
        if glob := args.get("glob"):
            pattern = compile_glob(str(glob))
            names = [n for n in names if pattern.match(n) or (top and pattern.match(n[len(top) + 1 :]))]
            title = f"{len(names):,} files match {clean(str(glob))!r}" + (f" in {shown}" if top else "")
            return Block(title=title, text=cut("\n".join(_flat([named(name) for name in names])), room))
        rows = _tree([named(name) for name in names], named(top), int(args.get("depth", 2)))
        return Block(title=f"{shown}: {len(names):,} files", text=cut("\n".join(rows), room))


def _flat(names: Sequence[str]) -> list[str]:
    if len(names) <= MAX_TREE_LINES:
        return list(names)
    rest = Counter(name.rpartition("/")[0] or "." for name in names[MAX_TREE_LINES - 60 :])
    more = [f"{folder}/: {count:,} more" for folder, count in sorted(rest.items())[:59]]
    return [
        *names[: MAX_TREE_LINES - 60],
        *more,
        *([f"… and {len(rest) - 59:,} more folders"] * (len(rest) > 59)),
    ]


def _tree(names: Sequence[str], top: str, depth: int) -> list[str]:
    """The entries of each level together under their folder, folders with the number of files below them;
    at most 200 rows: deeper levels give way first."""
    for level in range(depth, 0, -1):
        rows = _level(names, top, level)
        if len(rows) <= MAX_TREE_LINES:
            return rows if level == depth else [*rows, f"… depth {depth} has more than {MAX_TREE_LINES} rows"]
    return [
        *rows[: MAX_TREE_LINES - 1],
        f"… and {len(rows) - MAX_TREE_LINES + 1:,} more: give a path or a glob",
    ]


def _level(names: Sequence[str], top: str, depth: int) -> list[str]:
    below: Counter[str] = Counter()
    entries: dict[str, None] = {}
    skip = len(top) + 1 if top else 0
    for name in names:
        parts = name[skip:].split("/")
        for deep in range(1, min(len(parts), depth + 1)):
            folder = "/".join(parts[:deep]) + "/"
            below[folder] += 1
            entries[folder] = None
        if len(parts) <= depth:
            entries["/".join(parts)] = None
    rows = []
    for entry in sorted(entries):
        indent = "  " * entry.rstrip("/").count("/")
        name = entry.rstrip("/").rsplit("/", 1)[-1]
        rows.append(f"{indent}{name}/ ({below[entry]:,})" if entry in below else f"{indent}{name}")
    return rows
