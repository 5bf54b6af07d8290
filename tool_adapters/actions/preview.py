"""What edits would change, without touching a file: for a plan."""

from __future__ import annotations

import difflib
from functools import partial

from contracts.actions import ActionCall
from contracts.controls import visible
from contracts.grammar import paths_of
from contracts.submitted import SUBMIT
from contracts.text import cut
from tool_adapters.actions.context import ActionContext
from tool_adapters.actions.draft import Draft, drafted
from tool_adapters.actions.files import Files, Refused, artifact

MOST = 64 * 1024  # bytes of a diff that are shown


def preview(ctx: ActionContext, call: ActionCall) -> str:
    """The unified diff of the edits in an action, secrets redacted; empty for an action without edits. Of edits that
    would not work out the reason. Blocks."""
    if call.tool == SUBMIT:
        try:
            kept = artifact(ctx.artifacts, f"artifact:{call.args['diff']}")
        except Refused as refused:
            return f"what was submitted can't be shown: {refused.say}\n"
        return cut(visible(kept.decode("utf-8", "replace")), MOST)
    files = Files(ctx.root, ctx.paths)
    draft = Draft(files.before, files.read, ctx.git.files, ctx.redactor, partial(artifact, ctx.artifacts))
    if not paths_of(call.tool, call.args) and call.tool not in ("edit_files", "apply_patch", "batch"):
        return ""
    try:
        changes = drafted(call.tool, call.args, draft).changes()
    except Refused as refused:
        return "" if refused.code == "edit.unchanged" else f"the edits would not work out: {refused.say}\n"
    parts: list[str] = []
    for path, data in sorted(changes.items()):
        was = draft.before[path]
        old, new = (_lines(was.data if was else None, ctx), _lines(data, ctx))
        names = (f"a/{path}" if was else "/dev/null", f"b/{path}" if data is not None else "/dev/null")
        parts += difflib.unified_diff(old, new, *names)
    return cut("".join(parts), MOST)


def _lines(data: bytes | None, ctx: ActionContext) -> list[str]:
    text = visible(ctx.redactor.redact(data).decode("utf-8", "replace")) if data else ""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1:] = [lines[-1].removesuffix("\n")] if not text.endswith("\n") and text else []
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
