"""The built-in tools as data: argument schemas, what each writes and reads, and the text the model is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from contracts.actions import ActionSpec, closed
from contracts.base import JsonObject, canonical
from contracts.commands import Command, Param
from contracts.patch import PatchError, headers, parse
from contracts.recall import KINDS, MAX_QUERY, MAX_RECALLED

MAX_RANGES = 6
MAX_RANGE_LINES = 400
MAX_RANGE_BYTES = 12 * 1024
MAX_BATCH = 8
MAX_PAYLOAD = 64 * 1024
MAX_HITS = 80
MAX_HITS_PER_FILE = 5
MAX_TREE_LINES = 200

_WRITES = ("edit_files", "apply_patch")
_READS = ("read_files", "list_files", "search", "recall")
BATCHED = (*_WRITES, "run", *_READS)

_PATH: JsonObject = {"type": "string", "minLength": 1, "maxLength": 500}
_GLOB: JsonObject = {"type": "string", "minLength": 1, "maxLength": 200}
_LINE: JsonObject = {"type": "integer", "minimum": 1, "maximum": 100_000_000}
_TIMES: JsonObject = {"type": "integer", "minimum": 1, "maximum": 100_000}
_FLAG: JsonObject = {"type": "boolean"}
_BODY: JsonObject = {"type": "string", "maxLength": MAX_PAYLOAD}
_OLD: JsonObject = {"type": "string", "minLength": 1, "maxLength": MAX_PAYLOAD}


def _const(value: str) -> JsonObject:
    return {"type": "string", "const": value}


def _list(items: JsonObject, most: int) -> JsonObject:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}


_EDITS: JsonObject = {
    "anyOf": [
        closed(
            {"op": _const("replace"), "path": _PATH, "old": _OLD, "new": _BODY, "count": _TIMES},
            ("op", "path", "old", "new"),
        ),
        closed({"op": _const("write"), "path": _PATH, "content": _BODY}, ("op", "path", "content")),
        closed({"op": _const("delete"), "path": _PATH}, ("op", "path")),
        closed(
            {"op": _const("copy"), "path": _PATH, "source": _PATH, "from": _LINE, "to": _LINE, "move": _FLAG},
            ("op", "path", "source"),
        ),
        closed(
            {"op": _const("replace_all"), "glob": _GLOB, "old": _OLD, "new": _BODY, "expect": _TIMES},
            ("op", "glob", "old", "new", "expect"),
        ),
    ]
}

SPECS: dict[str, ActionSpec] = {
    spec.name: spec
    for spec in (
        ActionSpec(
            "read_files",
            closed(
                {
                    "files": _list(
                        closed({"path": _PATH, "from": _LINE, "to": _LINE}, ("path",)),
                        MAX_RANGES,
                    )
                },
                ("files",),
            ),
            "line ranges of up to 6 files, 400 lines or 12 KiB each; a large file without a range gives its "
            "outline; path `artifact:ID` reads a kept output",
        ),
        ActionSpec(
            "list_files",
            closed({"path": _PATH, "depth": {"type": "integer", "minimum": 1, "maximum": 12}, "glob": _GLOB}),
            "folders and files with counts, depth 2 unless told; with `glob` the matching paths",
        ),
        ActionSpec(
            "search",
            closed(
                {
                    "pattern": {"type": "string", "minLength": 1, "maxLength": 500},
                    "paths": _list(_GLOB, 10),
                    "regex": {"type": "boolean"},
                    "ignore_case": {"type": "boolean"},
                },
                ("pattern",),
            ),
            "lines that hold a text (or match a Python regular expression); `paths` are globs",
        ),
        ActionSpec(
            "recall",
            closed(
                {
                    "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY},
                    "kinds": _list({"type": "string", "enum": list(KINDS)}, len(KINDS)),
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RECALLED},
                },
                ("query",),
            ),
            "words in what this run knew or saw and is shown no more: state entries since removed, actions, "
            "outputs, decisions",
        ),
        ActionSpec(
            "edit_files",
            closed({"edits": _list(_EDITS, 60)}, ("edits",)),
            "all edits or none, in order; `old` must occur exactly `count` times (1 unless told); at most 64 KiB; copy "
            "appends lines of a file (or of `artifact:ID`) to another, `move` takes them out of the first",
            effect="edit",
        ),
        ActionSpec(
            "apply_patch",
            closed({"patch": {"type": "string", "minLength": 1, "maxLength": MAX_PAYLOAD}}, ("patch",)),
            "a unified diff, all or nothing; context must match exactly",
            effect="edit",
        ),
        ActionSpec(
            "batch",
            closed(
                {
                    "actions": _list(
                        closed(
                            {"tool": {"type": "string", "enum": list(BATCHED)}, "args": {"type": "object"}},
                            ("tool", "args"),
                        ),
                        MAX_BATCH,
                    )
                },
                ("actions",),
            ),
            "up to 8 actions in this order: edits, then at most one run, then reads, which see the tree "
            "after the edits",
            effect="command",
            alone=True,
        ),
        ActionSpec(
            "run",
            closed(
                {
                    "command": {"type": "string", "maxLength": 40},
                    "params": {
                        "type": "object",
                        "maxProperties": 16,
                        "additionalProperties": {"type": "string", "maxLength": 1000},
                    },
                },
                ("command",),
            ),
            "one of the named commands, and nothing else",
            effect="command",
        ),
        ActionSpec(
            "ask",
            closed(
                {
                    "question": {"type": "string", "minLength": 1, "maxLength": 2000},
                    "options": _list({"type": "string", "minLength": 1, "maxLength": 200}, 6),
                },
                ("question",),
            ),
            "a question to a person; the run waits for the answer",
            effect="none",
            alone=True,
        ),
        ActionSpec(
            "finish",
            closed({"summary": {"type": "string", "minLength": 1, "maxLength": 4000}}, ("summary",)),
            "says that the goal is reached; all checks are run, and only they decide",
            effect="none",
            alone=True,
        ),
    )
}


def specs(allow: Iterable[str], commands: Mapping[str, Command]) -> tuple[ActionSpec, ...]:
    """The built-in tools among `allow`, in its order, with `run` and `batch` closed over `commands`. `run` is
    left out when there is no command, `batch` when nothing could stand in it."""
    allowed = [name for name in dict.fromkeys(allow) if name in SPECS]
    made: dict[str, ActionSpec] = {}
    for name in allowed:
        if name == "run":
            if commands:
                made[name] = _with_args(SPECS[name], _run_args(commands))
        elif name != "batch":
            made[name] = SPECS[name]
    inner = [made[name] for name in BATCHED if name in made]
    # What has an effect outside the worktree stands alone, so that its outcome can be told.
    quiet = {name: command for name, command in commands.items() if not command.effects}
    inner = [
        _with_args(spec, _run_args(quiet)) if spec.name == "run" else spec
        for spec in inner
        if spec.name != "run" or quiet
    ]
    if "batch" in allowed and inner:
        branches = [closed({"tool": _const(s.name), "args": s.args}, ("tool", "args")) for s in inner]
        args = closed({"actions": _list({"anyOf": branches}, MAX_BATCH)}, ("actions",))
        made["batch"] = _with_args(SPECS["batch"], args)
    return tuple(made[name] for name in allowed if name in made)


def _with_args(spec: ActionSpec, args: JsonObject) -> ActionSpec:
    return ActionSpec(spec.name, args, spec.summary, spec.effect, spec.alone)


def _run_args(commands: Mapping[str, Command]) -> JsonObject:
    return {"anyOf": [_command_args(name, command) for name, command in commands.items()]}


def _command_args(name: str, command: Command) -> JsonObject:
    if not command.params:
        return closed({"command": _const(name)}, ("command",))
    params = {key: _param_args(param) for key, param in command.params.items()}
    return closed({"command": _const(name), "params": closed(params, tuple(params))}, ("command", "params"))


def _param_args(param: Param) -> JsonObject:
    if param.enum is not None:
        return {"type": "string", "enum": list(param.enum)}
    pattern = param.pattern or ""
    # JSON Schema searches, a param is matched whole; an alternative would escape plain anchors.
    anchored = pattern.startswith("^") and pattern.endswith("$") and not pattern.endswith("\\$")
    if not anchored or "|" in pattern:
        pattern = f"^(?:{pattern})$"
    return {"type": "string", "pattern": pattern, "maxLength": 1000}


# ---- rules that a schema can't say -------------------------------------------------------------------------


def inner_actions(tool: str, args: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The plain actions within an action: those of a batch, else the action itself."""
    if tool != "batch":
        yield tool, args
        return
    for each in args.get("actions", ()):
        if isinstance(each, dict) and isinstance(each.get("args"), dict):
            yield str(each.get("tool")), each["args"]


def problem(
    tool: str, args: JsonObject, commands: Mapping[str, Command] | None = None
) -> tuple[str, str] | None:
    """What is wrong with arguments that fit their schema: (code, what to do instead), or None. Covers the
    order within a batch, the size of edits, and patches that are no unified diff."""
    if tool == "batch" and (say := batch_problem(args, commands)):
        return "batch.order", say
    if payload(tool, args) > MAX_PAYLOAD:
        return (
            "edit.too_large",
            "the edits are larger than 64 KiB: split them over steps, or use a named command",
        )
    for name, inner in inner_actions(tool, args):
        if name == "apply_patch":
            try:
                parse(str(inner.get("patch", "")))
            except PatchError as error:
                return "patch.invalid", str(error)
    return None


def batch_problem(args: JsonObject, commands: Mapping[str, Command] | None = None) -> str | None:
    """Why these actions may not stand in one batch, with the rule; None when they may."""
    rule = "a batch holds edits first, then at most one run, then reads, 8 actions in all"
    actions = args.get("actions")
    if not isinstance(actions, list) or not 1 <= len(actions) <= MAX_BATCH:
        return f"{rule}: give 1 to 8 actions"
    rank = 0
    for place, each in enumerate(actions, start=1):
        tool = each.get("tool") if isinstance(each, dict) else None
        if tool not in BATCHED:
            return f"{rule}: action {place} ({str(tool)[:40]!r}) can't stand in a batch"
        here = 0 if tool in _WRITES else 1 if tool == "run" else 2
        if here < rank:
            return f"{rule}: action {place} ({tool}) comes too late"
        if here == rank == 1:
            return f"{rule}: action {place} is a second run"
        rank = here
        name = each["args"].get("command") if tool == "run" and isinstance(each.get("args"), dict) else None
        if name and commands and name in commands and commands[name].effects:
            return (
                f"command {name!r} acts outside the worktree, so it stands alone: run it in a step of its own"
            )
    return None


def payload(tool: str, args: JsonObject) -> int:
    """Bytes of all that edits would put into files, their search texts and paths included."""
    total = 0
    for name, inner in inner_actions(tool, args):
        if name == "apply_patch":
            total += len(str(inner.get("patch", "")).encode("utf-8", "surrogatepass"))
        elif name == "edit_files":
            for edit in inner.get("edits", ()):
                total += sum(
                    len(text.encode("utf-8", "surrogatepass"))
                    for text in edit.values()
                    if isinstance(text, str)
                )
    return total


def paths_of(tool: str, args: JsonObject) -> tuple[str, ...]:
    """Paths that the action names for writing, as given, without repeats, those of a batch included. A
    `replace_all` names a glob, not paths: see `globs_of`; its adapter holds every file it would change
    against the same policy."""
    found: dict[str, None] = {}
    for name, inner in inner_actions(tool, args):
        if name == "apply_patch":
            found.update(dict.fromkeys(headers(str(inner.get("patch", "")))))
        elif name == "edit_files":
            for edit in inner.get("edits", ()):
                for key in ("path", "source") if isinstance(edit, dict) and edit.get("move") else ("path",):
                    if isinstance(edit, dict) and isinstance(edit.get(key), str):
                        found[edit[key]] = None
    return tuple(found)


def globs_of(tool: str, args: JsonObject) -> tuple[str, ...]:
    """Globs of files that the action may write."""
    return tuple(
        dict.fromkeys(
            edit["glob"]
            for name, inner in inner_actions(tool, args)
            if name == "edit_files"
            for edit in inner.get("edits", ())
            if isinstance(edit, dict) and isinstance(edit.get("glob"), str)
        )
    )


def reads_of(tool: str, args: JsonObject) -> tuple[str, ...]:
    """Paths of the worktree that the action names for reading."""
    return tuple(
        dict.fromkeys(
            entry["path"]
            for name, inner in inner_actions(tool, args)
            if name == "read_files"
            for entry in inner.get("files", ())
            if isinstance(entry, dict)
            and isinstance(entry.get("path"), str)
            and not entry["path"].startswith("artifact:")
        )
    )


# ---- what the model reads ----------------------------------------------------------------------------------

_EXAMPLES: dict[str, str] = {
    "read_files": '{"files":[{"path":"src/a.py","from":1,"to":120},{"path":"README.md"}]}',
    "list_files": '{"path":"src","depth":2}',
    "search": '{"pattern":"text_type","paths":["src/**/*.py"]}',
    "recall": '{"query":"tz naive","kinds":["state","output"],"limit":5}',
    "edit_files": '{"edits":[{"op":"replace","path":"a.py","old":"x = 1\\n","new":"x = 2\\n","count":1},'
    '{"op":"write","path":"b.py","content":"…"},{"op":"delete","path":"c.py"},'
    '{"op":"copy","path":"d.py","source":"a.py","from":40,"to":90,"move":true},'
    '{"op":"replace_all","glob":"src/**/*.py","old":"foo(","new":"bar(","expect":12}]}',
    "apply_patch": '{"patch":"--- a/x.py\\n+++ b/x.py\\n@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n"}',
    "ask": '{"question":"…","options":["yes","no"]}',
    "finish": '{"summary":"…"}',
    "batch": '{"actions":[{"tool":"edit_files","args":{…}},{"tool":"run","args":{…}},'
    '{"tool":"read_files","args":{…}}]}',
}


def describe(specs: Iterable[ActionSpec], commands: Mapping[str, Command]) -> str:
    """The grammar as the model reads it: a line per tool, an example of its arguments, a line per command."""
    lines: list[str] = []
    for spec in specs:
        lines.append(f"- {spec.name}: {spec.summary}" + ("; stands alone" if spec.effect == "none" else ""))
        if spec.name == "run":
            lines += [f"    {_describe_command(name, command)}" for name, command in commands.items()]
        elif spec.name in _EXAMPLES:
            lines.append(f"    args {_EXAMPLES[spec.name]}")
        else:
            lines.append(f"    args schema {canonical(spec.args).decode()}")
    return "\n".join(lines)


def _describe_command(name: str, command: Command) -> str:
    values = {key: _describe_param(param) for key, param in command.params.items()}
    args: JsonObject = {"command": name, **({"params": values} if values else {})}
    line = command.run if isinstance(command.run, str) else " ".join(command.run)
    notes = ["must exit 0"] if command.must == "pass" else []
    if command.effects:
        notes.append("acts outside the worktree, stands alone")
    return f"args {orjson.dumps(args).decode()} runs: {line[:200]}" + "".join(f"; {note}" for note in notes)


def _describe_param(param: Param) -> str:
    return "|".join(param.enum) if param.enum is not None else f"/{param.pattern}/"
