"""Edits in memory: all of them work out, or no file is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from contracts.actions import Block
from contracts.base import JsonObject, digest
from contracts.controls import literal, lost, restored
from contracts.errors import Permanent
from contracts.grammar import inner_actions, payload
from contracts.line_ends import CONVERT, fitted, like, with_crlf
from contracts.patch import FilePatch, PatchError, parse
from contracts.patch_apply import HunkError, apply
from contracts.paths import compile_glob, normalise
from contracts.redact import LABEL, Redactor
from contracts.secret_scan import labels
from contracts.text import cut
from contracts.tools import MAX_PAYLOAD
from tool_adapters.actions.context import ActionContext
from tool_adapters.actions.files import Files, Found, Missing, Refused, artifact, is_binary
from tool_adapters.actions.nearest import nearest_names, no_match
from tool_adapters.actions.passages import encoded, exchanged, joined, taken
from tool_adapters.actions.syntax import syntax_error

_EXCERPT = 1800
_REPORT = 4 * 1024
_PARSED = 200


@dataclass
class Draft:
    """Files as they would be. `read` gives a file as it is now (or was, for a probe) and raises Refused where
    it may not be changed, `peek` one that may only be read; `names` all files that a glob can match;
    `redactor` takes the secrets out of what is shown of them; `kept` gives what `artifact:ID` names."""

    read: Callable[[str], Found | None]
    peek: Callable[[str], Found | None]
    names: Callable[[], Sequence[str]]
    redactor: Redactor
    kept: Callable[[str], bytes]
    before: dict[str, Found | None] = field(default_factory=dict)
    after: dict[str, bytes | None] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    report: list[str] = field(default_factory=list)

    def get(self, path: str) -> bytes | None:
        if path not in self.after:
            found = self.read(path)
            self.before[path] = found
            self.after[path] = found.data if found else None
        return self.after[path]

    def text(self, path: str) -> bytes:
        """The bytes of a file that must be there and be text."""
        data = self.get(path)
        if data is None:
            names = ", ".join(nearest_names(list(self.names()), path))
            raise Missing(
                "edit.missing_file", f"{path!r} does not exist" + (f"; near it: {names}" if names else "")
            )
        if b"\0" in data:
            raise Refused("edit.binary", f"{path!r} is binary: edits are for text")
        return data

    def changes(self) -> dict[str, bytes | None]:
        """What is to be written: path -> bytes, or None for a file that goes."""
        out: dict[str, bytes | None] = {}
        for path, data in self.after.items():
            was = self.before[path]
            if data != (was.data if was else None):
                out[path] = data
        return out

    def promised(self) -> dict[str, str | None]:
        """path -> hex sha256 of the bytes that must be there, None where the file must be gone."""
        return {path: None if data is None else digest(data) for path, data in self.changes().items()}

    def block(self) -> Block:
        """What was done, with what no longer parses (of the first 200 files)."""
        lines = list(self.report)
        for path, data in list(self.changes().items())[:_PARSED]:
            was = self.before[path]
            if data and (signs := literal(was.data if was else b"", data)):
                lines.append(f"{path}: holds {signs} as such, no control character: write that as \\u001b")
            problem = None if data is None else syntax_error(path, data)
            if problem:
                old = " (it did not parse before either)" if was and syntax_error(path, was.data) else ""
                lines.append(f"{path}: SYNTAX {problem}{old}")
        return Block(title="edited", text=cut("\n".join(lines), _REPORT))


def drafted(tool: str, args: JsonObject, draft: Draft) -> Draft:
    """`draft` with every edit of the action in it, a batch's included. Raises Refused at the first that does
    not work out."""
    if payload(tool, args) > MAX_PAYLOAD:
        raise Refused("edit.too_large", "the edits are larger than 64 KiB: split them over steps")
    for name, inner in inner_actions(tool, args):
        if name == "edit_files":
            for number, edit in enumerate(inner["edits"], start=1):
                try:
                    _edit(draft, edit)
                except Refused as refused:
                    say = f"edit {number} ({edit['op']}): {refused.say}. No file was changed"
                    raise Refused(refused.code, say, refused.excerpt) from None
        elif name == "apply_patch":
            _patch(draft, inner["patch"])
    if not draft.changes():
        dos = any(data and b"\r\n" in data for data in draft.after.values())
        kept = f"; a file keeps its CRLF line ends: {CONVERT}" if dos else ""
        raise Refused("edit.unchanged", f"the edits leave every file as it is: nothing was done{kept}")
    _keeps_secrets(draft)
    return draft


def _keeps_secrets(draft: Draft) -> None:
    """Raises Refused when marks of the redactor would take the place of what they stand for."""
    changes = draft.changes()
    was = {path: found.data for path in changes if (found := draft.before[path])}
    more = sum(labels(data) for data in changes.values() if data) - sum(map(labels, was.values()))
    if more <= 0:
        return
    hidden = [path for path, data in was.items() if labels(draft.redactor.redact(data)) > labels(data)]
    if hidden:
        raise Refused(
            "edit.redacted",
            f"{', '.join(hidden[:5])} would lose a secret: {LABEL}…] stands for one that you can't see. Replace only "
            "text around it. No file was changed",
        )


def edit_worktree(ctx: ActionContext, tool: str, args: JsonObject) -> Draft:
    """Makes all edits of the action in the worktree and returns what was made. Raises Refused with the files
    as they were. Blocks: call it in a worker thread."""
    files = Files(ctx.root, ctx.paths)
    draft = drafted(tool, args, Draft(files.before, files.read, ctx.git.files, ctx.redactor, _kept(ctx)))
    changes = draft.changes()
    try:
        ignored = sorted(ctx.git.ignored(list(changes)))
    except Permanent as error:
        if "submodule" not in str(error):
            raise
        raise Refused(
            "path.not_ours", f"Git does not take these paths: {error}. No file was changed"
        ) from None
    if ignored:
        raise Refused(
            "path.ignored",
            f"Git ignores {', '.join(ignored[:5])}: such files are never touched. No file was changed",
        )
    files.put(changes, draft.before, draft.executable)
    return draft


def _kept(ctx: ActionContext) -> Callable[[str], bytes]:
    return partial(artifact, ctx.artifacts)


def edited_before(ctx: ActionContext, tool: str, args: JsonObject, commit: str) -> Draft | None:
    """What the edits make of the files of `commit`, when the worktree already holds exactly that; else None.

    A replacement can't be told from its result, so the promise is worked out anew from the commit that the
    step began on. Blocks.
    """
    files = Files(ctx.root, ctx.paths)

    def peek(path: str) -> Found | None:
        data = ctx.git.show(commit, path)
        return None if data is None else Found(data, 0o644)

    def read(path: str) -> Found | None:
        return peek(files.writable(path))

    try:
        draft = drafted(tool, args, Draft(read, peek, ctx.git.files, ctx.redactor, _kept(ctx)))
        for path, data in draft.changes().items():
            now = files.before(path)
            if (now.data if now else None) != data:
                return None
    except Refused:
        return None
    return draft


# ---- one edit ----------------------------------------------------------------------------------------------


def _edit(draft: Draft, edit: JsonObject) -> None:
    match edit["op"]:
        case "replace":
            _replace(draft, _clean(edit["path"]), edit["old"], edit["new"], edit.get("count", 1))
        case "write":
            _write(draft, _clean(edit["path"]), edit["content"])
        case "delete":
            path = _clean(edit["path"])
            if draft.get(path) is None:
                names = ", ".join(nearest_names(list(draft.names()), path))
                raise Missing(
                    "edit.missing_file", f"{path!r} does not exist" + (f"; near it: {names}" if names else "")
                )
            draft.after[path] = None
            draft.report.append(f"{path}: deleted")
        case "copy":
            _copy(draft, edit)
        case "replace_all":
            _replace_all(draft, edit["glob"], edit["old"], edit["new"], edit["expect"])
        case other:
            raise Refused(
                "edit.op", f"{other!r} is no operation: use replace, write, delete, copy or replace_all"
            )


def _copy(draft: Draft, edit: JsonObject) -> None:
    """Lines of `source`, as it is after the edits before this one, at the end of `path`."""
    path, source, moved = _clean(edit["path"]), edit["source"], bool(edit.get("move"))
    kept = source.startswith("artifact:")
    source = source if kept else _clean(source)
    if source == path or (kept and moved):
        raise Refused("edit.source", "`source` is another file; an artifact can be copied, not moved")
    found = None if kept or moved or source in draft.after else draft.peek(source)
    data = draft.kept(source) if kept else found.data if found else draft.text(source)
    piece = taken(source, data, edit.get("from"), edit.get("to"))
    if kept and labels(piece.data):
        raise Refused(
            "edit.redacted", f"these lines of {source} hold {LABEL}…]: what stood there is not kept"
        )
    was = draft.get(path)
    if was is not None and b"\0" in was:
        raise Refused("edit.binary", f"{path!r} is binary: edits are for text")
    draft.after[path] = joined(was, like(piece.data, was))
    if moved:
        draft.after[source] = piece.rest or None
    draft.report.append(piece.told(source, path, moved, created=was is None))


def _clean(path: str) -> str:
    """One spelling for one file. What can't be normalised is refused by the policy, under its own name."""
    return normalise(path) or path


def _replace(draft: Draft, path: str, old: str, new: str, count: int) -> None:
    if old == new:
        raise Refused("edit.unchanged", f"`old` and `new` are the same: {path!r} would stay unchanged")
    data = draft.text(path)
    made, lines = exchanged(data, old, new)
    if not lines:
        raise no_match(path, draft.redactor.redact(data, keep_lines=True), old)
    if len(lines) != count:
        shown = ", ".join(map(str, lines[:60])) + ("…" if len(lines) > 60 else "")
        raise Refused(
            "edit.count",
            f"`old` occurs {len(lines)} times in {path!r}, not {count}: lines {shown}; give more of the text around "
            "it, or the right count",
        )
    if made == data and b"\r\n" in data:
        raise Refused(
            "edit.unchanged", f"{path!r} keeps its CRLF line ends and would stay unchanged; {CONVERT}"
        )
    draft.after[path] = made
    draft.report.append(f"{path}: {_times(len(lines))}, {_at(lines)}")


def _times(count: int) -> str:
    return f"{count:,} replacement" + ("s" if count != 1 else "")


def _at(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:20])) + ("…" if len(lines) > 20 else "")
    return f"line{'s' if len(lines) > 1 else ''} {shown}"


def _write(draft: Draft, path: str, content: str) -> None:
    was = draft.get(path)
    data = encoded(restored(content, was or b""))
    kept = ""
    if was is not None and b"\r\n" in was and b"\r\n" not in data:
        data = with_crlf(data) if was.count(b"\r\n") == was.count(b"\n") else fitted(was, data)
        kept = "; it keeps its CRLF line ends"
    if was == data:
        say = f"{path!r} holds this content already" + (f"{kept}: {CONVERT}" if kept else "")
        raise Refused("edit.unchanged", say)
    draft.after[path] = data
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    if was is None:
        draft.report.append(f"{path}: created, {lines:,} lines, {len(data):,} bytes")
        return
    gone = f"; control characters that it held are gone: {chars}" if (chars := lost(was, data)) else ""
    draft.report.append(f"{path}: rewritten, {lines:,} lines, {len(data):,} bytes{kept}{gone}")


def _replace_all(draft: Draft, glob: str, old: str, new: str, expect: int) -> None:
    if old == new:
        raise Refused("edit.unchanged", "`old` and `new` are the same: nothing would change")
    pattern = compile_glob(glob)
    names = dict.fromkeys([*draft.names(), *draft.after])
    matched = [name for name in names if pattern.match(name)]
    if not matched:
        raise Refused("edit.no_match", f"no file matches the glob {glob!r}")
    hits: dict[str, list[int]] = {}
    blocked: list[str] = []
    made: dict[str, bytes] = {}
    for path in matched:
        try:
            data = draft.get(path)
        except Refused as refused:
            if refused.code != "path.symlink" and _holds(draft, path, old):
                blocked.append(f"{path}: {refused.say}")
            continue
        if data is None or is_binary(data):
            continue
        fresh, lines = exchanged(data, old, new)
        if lines:
            hits[path], made[path] = lines, fresh
    if blocked:
        raise Refused(
            "edit.blocked",
            f"{glob!r} also matches {len(blocked)} files that hold `old` and may not be changed: take a narrower glob",
            cut("\n".join(blocked[:20]), _EXCERPT),
        )
    total = sum(map(len, hits.values()))
    counts = "\n".join(f"{path}: {len(lines)}, {_at(lines)}" for path, lines in list(hits.items())[:40])
    if total != expect:
        code = "edit.count" if total else "edit.no_match"
        raise Refused(
            code,
            f"`old` occurs {total:,} times in the {len(matched):,} files that match {glob!r}, not {expect:,}; search "
            "first, then give the right `expect` or a narrower glob",
            cut(counts, _EXCERPT),
        )
    draft.after.update(made)
    draft.report += [f"{path}: {_times(len(lines))}, {_at(lines)}" for path, lines in hits.items()]


def _holds(draft: Draft, path: str, old: str) -> bool:
    try:
        found = draft.peek(path)
    except Refused:
        return False
    return found is not None and bool(exchanged(found.data, old, "")[1])


# ---- a patch -----------------------------------------------------------------------------------------------


def _patch(draft: Draft, text: str) -> None:
    try:
        files = parse(text)
    except PatchError as error:
        raise Refused("patch.invalid", f"{error}. No file was changed") from None
    for each in files:
        path = _clean(each.path)
        try:
            was = draft.get(path) if each.kind == "new" else draft.text(path)
            safe = draft.redactor.redact(was, keep_lines=True) if was else None
            draft.after[path] = apply(each, was, safe)
        except HunkError as error:
            anew = (
                "" if error.hidden else "; read the lines anew and give the patch for the file as it is now"
            )
            say = f"{error}. No file was changed{anew}"
            raise Refused("patch.failed", say, cut(error.diff, _EXCERPT)) from None
        except Refused as refused:
            raise Refused(refused.code, f"{refused.say}. No file was changed", refused.excerpt) from None
        if each.executable:
            draft.executable.add(path)
        draft.report.append(_patched(each, path))


def _patched(patch: FilePatch, path: str) -> str:
    added = sum(line.tag == "+" for hunk in patch.hunks for line in hunk.lines)
    removed = sum(line.tag == "-" for hunk in patch.hunks for line in hunk.lines)
    what = {"new": "created", "delete": "deleted", "modify": "changed"}[patch.kind]
    hunks = f"{len(patch.hunks)} hunk" + ("s" if len(patch.hunks) != 1 else "")
    return f"{path}: {what}, {hunks}, +{added} −{removed}"
