"""The grammar of a task: its tools closed over its commands, what an action writes and reads, how it is described."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from contracts.actions import ActionSpec, closed, const, listed
from contracts.base import JsonObject, canonical
from contracts.commands import Command, Param
from contracts.patch import PatchError, headers, parse
from contracts.submitted import SUBMIT
from contracts.tools import BATCHED, EXAMPLES, MAX_BATCH, MAX_PAYLOAD, SPECS, WRITES
from contracts.waiting import Waits, known_waits, said, wait_args


def specs(
    allow: Iterable[str], commands: Mapping[str, Command], waits: Waits | None = None
) -> tuple[ActionSpec, ...]:
    """The built-in tools among `allow`, in its order, with `run` and `batch` closed over `commands`, `wait` over
    `waits`. `run` is left out when there is no command, `wait` when there is nothing to wait for, `batch` when nothing
    could stand in it."""
    allowed = [name for name in dict.fromkeys(allow) if name in SPECS]
    made: dict[str, ActionSpec] = {}
    for name in allowed:
        if name == "run":
            if commands:
                made[name] = _with_args(SPECS[name], _run_args(commands))
        elif name == "wait":
            if waits:
                made[name] = _with_args(SPECS[name], wait_args(waits))
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
        branches = [closed({"tool": const(s.name), "args": s.args}, ("tool", "args")) for s in inner]
        args = closed({"actions": listed({"anyOf": branches}, MAX_BATCH)}, ("actions",))
        made["batch"] = _with_args(SPECS["batch"], args)
    return tuple(made[name] for name in allowed if name in made)


def _with_args(spec: ActionSpec, args: JsonObject) -> ActionSpec:
    return ActionSpec(spec.name, args, spec.summary, spec.effect, spec.alone)


def _run_args(commands: Mapping[str, Command]) -> JsonObject:
    return {"anyOf": [_command_args(name, command) for name, command in commands.items()]}


def _command_args(name: str, command: Command) -> JsonObject:
    if not command.params:
        return closed({"command": const(name)}, ("command",))
    params = {key: _param_args(param) for key, param in command.params.items()}
    return closed({"command": const(name), "params": closed(params, tuple(params))}, ("command", "params"))


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
        here = 0 if tool in WRITES else 1 if tool == "run" else 2
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
        elif name == SUBMIT:
            found.update(dict.fromkeys(str(each["path"]) for each in inner.get("files", ())))
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


def describe(specs: Iterable[ActionSpec], commands: Mapping[str, Command]) -> str:
    """The grammar as the model reads it: a line per tool, an example of its arguments, a line per command."""
    lines: list[str] = []
    known = tuple(specs)
    batched = any(spec.name == "batch" for spec in known)
    for spec in known:
        alone = batched and spec.effect in ("none", "outside")
        lines.append(f"- {spec.name}: {spec.summary}" + ("; stands alone" if alone else ""))
        if spec.name == "run":
            lines += [f"    {row}" for row in command_lines(commands)]
        elif spec.name == "wait":
            lines += [f"    {row}" for row in said(known_waits(spec.args))]
        elif example := EXAMPLES.get(spec.name) or spec.example:
            lines.append(f"    args {example}")
        else:
            lines.append(f"    args schema {canonical(spec.args).decode()}")
    return "\n".join(lines)


def command_lines(commands: Mapping[str, Command]) -> list[str]:
    """A line per command: the arguments of `run` that name it, what it runs, what it must do."""
    return [_describe_command(name, command) for name, command in commands.items()]


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
