"""search: the lines that hold a text or match a regular expression, and exact counts of all."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from functools import partial
from typing import Any

import anyio.to_thread

from contracts.actions import ActionCall, ActionResult, Block
from contracts.base import JsonObject
from contracts.controls import either, marks, named, visible
from contracts.paths import matches
from contracts.redact import LABEL
from contracts.text import clean, cut, size
from contracts.tools import MAX_HITS, MAX_HITS_PER_FILE, SPECS
from tool_adapters.actions import scan
from tool_adapters.actions.context import ActionContext, Repeatable
from tool_adapters.actions.files import Files, Refused

SECONDS = 20.0
_CAP = 4 * 1024 * 1024


class Search(Repeatable):
    """A text is looked for here; a regular expression in a child that can be ended, since Python's engine may
    take for ever and can't be interrupted."""

    spec = SPECS["search"]

    def __init__(self, ctx: ActionContext) -> None:
        self.ctx = ctx

    async def run(self, call: ActionCall) -> ActionResult:
        return await self.within(call.args, self.ctx.room)

    async def within(self, args: JsonObject, room: int) -> ActionResult:
        """The result in at most `room` bytes. Always ok: what can't be searched is said in the block."""
        begun = time.monotonic()
        block = await self._block(args, room)
        return ActionResult(blocks=(block,), took=time.monotonic() - begun)

    async def _block(self, args: JsonObject, room: int) -> Block:
        pattern, regex = str(args["pattern"]), bool(args.get("regex", False))
        title = f"search {visible(pattern)[:120]!r}"
        if "\n" in pattern and not regex:
            return Block(title=f"{title}: a line break never matches, lines are searched one by one")
        names, secret = await anyio.to_thread.run_sync(
            self._names, tuple(args.get("paths", ())), abandon_on_cancel=True
        )
        sought = None if regex else either(pattern)
        request = {
            "root": str(self.ctx.root),
            "files": names,
            "pattern": sought or pattern,
            "regex": regex or sought is not None,
            "ignore_case": bool(args.get("ignore_case", False)),
            "hits": MAX_HITS,
            "each": MAX_HITS_PER_FILE if len(names) > 1 else MAX_HITS,
        }
        if regex:
            found = await self._in_a_child(request)
        else:
            found = await anyio.to_thread.run_sync(partial(scan.scan, request), abandon_on_cancel=True)
        if "error" in found:
            return Block(title=f"{title}: {clean(str(found['error']))}")
        found["hits"] = await anyio.to_thread.run_sync(self._safe, found["hits"], abandon_on_cancel=True)
        where = f"{len(names):,} files" + (" that match `paths`" if "paths" in args else "")
        unread = f"; {secret:,} that may hold secrets not searched" if secret else ""
        return _shown(title, found, f"{where} searched{unread}", room)

    def _names(self, globs: tuple[str, ...]) -> tuple[list[str], int]:
        """The files to search, and how many more would be but may hold secrets."""
        every = [name for name in self.ctx.git.files() if not globs or matches(name, globs)]
        names = [name for name in every if not self.ctx.paths.secret(name)]
        return names, len(every) - len(names)

    def _safe(self, hits: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
        """The hits without secrets. Each file is looked at as a whole: a line alone does not tell that it is
        part of a key, nor does what was cut out of a long line."""
        files = Files(self.ctx.root, self.ctx.paths)
        lines: dict[str, tuple[list[bytes], list[bytes]] | None] = {}
        out: list[tuple[str, int, str]] = []
        for path, number, text in hits:
            if path not in lines:
                lines[path] = self._both(files, path)
            both = lines[path]
            if both is not None and both[0][number - 1 : number] != both[1][number - 1 : number]:
                row = b"".join(both[1][number - 1 : number]).decode("utf-8", "replace").removesuffix("\r")
                text = scan.around(row, max(0, row.find(LABEL))) if LABEL in row else f"{LABEL}more of it]"
            out.append((path, number, text))
        return out

    def _both(self, files: Files, path: str) -> tuple[list[bytes], list[bytes]] | None:
        """The lines of a file as they are and without secrets; None when there are none."""
        try:
            data = files.read(path).data
        except Refused:
            return None
        safe = self.ctx.redactor.redact(data, keep_lines=True)
        return None if safe == data else (data.split(b"\n"), safe.split(b"\n"))

    async def _in_a_child(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            re.compile(request["pattern"])
        except (re.error, OverflowError, RecursionError) as error:
            return {
                "error": f"not a Python regular expression: {error}; without `regex` the text itself is sought"
            }
        ran = await self.ctx.runner.run(
            [sys.executable, "-I", str(scan.__file__)],
            cwd=self.ctx.root,
            env=self.ctx.env,
            stdin=json.dumps(request).encode(),
            timeout=SECONDS,
            cap=_CAP,
            redact=False,  # JSON of our own; the hits in it are redacted beside their files
        )
        if ran.timed_out:
            return {
                "error": f"not done after {SECONDS:.0f} s: take a simpler pattern, or fewer files by `paths`"
            }
        try:
            found = json.loads(ran.out.data)
        except ValueError:
            return {"error": f"the search broke off: {ran.err.text[-300:] or ran.missing or ran.exit}"}
        return found if isinstance(found, dict) else {"error": "the search broke off"}


def _shown(title: str, found: dict[str, Any], where: str, room: int) -> Block:
    files, lines = found["files"], found["lines"]
    title += f": {lines:,} hits in {files:,} files ({where})"
    if found["skipped"]:
        title += f" ({found['skipped']:,} could not be searched)"
    if shown := marks("".join(text for _, _, text in found["hits"])):
        title += f"; control characters are shown as {shown}"
    rows = [f"{named(path)}:{number}|{visible(text)}" for path, number, text in found["hits"]]
    listed = Counter(path for path, _, _ in found["hits"])
    more = [(path, count - listed[path]) for path, count in found["counts"].items() if count > listed[path]][
        :40
    ]
    rows += [f"{path}: {count:,} more" for path, count in more]
    told = len(listed.keys() | {path for path, _ in more})
    rows += [f"… and {files - told:,} more files"] if files > told else []
    text = clean("\n".join(rows))
    return Block(title=title, text=cut(text, room), total=size(text))
