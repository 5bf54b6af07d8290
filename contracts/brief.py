"""The grammar of a task as the layout `compact` tells it: a line per tool, its arguments as a signature. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contracts.actions import ActionSpec
from contracts.base import JsonObject
from contracts.commands import Command
from contracts.grammar import command_lines
from contracts.waiting import known_waits, said

SUMMARIES: dict[str, str] = {
    "read_files": "ranges of up to 6 files, 400 lines or 12 KiB each; a large file without one: its outline; `at`: on "
    "from that character of line `from`; path artifact:ID: a kept output",
    "list_files": "folders and files with counts, depth 2 unless told; with glob the matching paths",
    "search": "lines that hold a text (regex: Python's); paths are globs",
    "recall": "finds by words what this run knew or saw and is shown no more",
    "edit_files": "all or none, in order; `old` occurs exactly `count` times (1); 64 KiB at most; copy appends lines "
    "of a file (or artifact:ID) to another, move takes them out of the first",
    "apply_patch": "a unified diff, all or nothing, context exact",
    "batch": "up to 8: edits, then one run at most, then reads, which see the edits; nothing else may stand in it",
    "run": "a named command, nothing else:",
    "ask": "a person; the run waits",
    "wait": "until an authority is one of `is` (the first unless told), at most `until` (24h):",
    "finish": "the goal is reached; the checks decide",
}
_OPEN: dict[str, str] = {  # what a line per command or authority says, and a list of all other tools
    "batch": "actions: [{tool, args}]",
    "run": "command, params?",
    "wait": "authority, is?: [text], until?",
}


def describe_briefly(specs: Iterable[ActionSpec], commands: Mapping[str, Command]) -> str:
    """What `grammar.describe` says, in fewer words: a signature in the place of an example. Patterns and
    limits of arguments are left to the schema of the reply; whoever is not given that is corrected by the gate."""
    lines: list[str] = []
    for spec in specs:
        takes = _OPEN.get(spec.name) or _arguments(spec.args)
        said_of_it = SUMMARIES.get(spec.name, spec.summary)
        lines.append(f"{spec.name}({takes})" + (f": {said_of_it}" if said_of_it else ""))
        if spec.name == "run":
            lines += [f"  {row}" for row in command_lines(commands)]
        elif spec.name == "wait":
            lines += [f"  {row}" for row in said(known_waits(spec.args))]
    return "\n".join(lines)


def _arguments(node: JsonObject) -> str:
    return ", ".join(_entries(node)) if node.get("type") == "object" else signature(node)


def signature(node: Any) -> str:
    """A JSON Schema as one reads arguments: `{path, from?: int}`, `?` after what may be left out, a text unless said
    otherwise, `A | B` for a choice, `[A]` for a list of it, `{…: A}` for any keys."""
    if not isinstance(node, dict):
        return "any"
    if "const" in node:
        return json.dumps(node["const"], ensure_ascii=False)
    if "enum" in node:
        return "|".join(json.dumps(each, ensure_ascii=False) for each in node["enum"])
    for union in ("anyOf", "oneOf"):
        if union in node:
            return " | ".join(signature(each) for each in node[union])
    match node.get("type"):
        case "object":
            return "{" + ", ".join(_entries(node)) + "}"
        case "array":
            return f"[{signature(node.get('items'))}]"
        case "integer":
            return "int"
        case "boolean":
            return "bool"
        case "string" | "number" as plain:
            return "text" if plain == "string" else "number"
    return "any"


def _entries(node: JsonObject) -> Iterator[str]:
    required = node.get("required", ())
    for name, child in node.get("properties", {}).items():
        takes = signature(child)
        yield name + ("" if name in required else "?") + ("" if takes == "text" else f": {takes}")
    if isinstance(rest := node.get("additionalProperties"), dict):
        yield f"…: {signature(rest)}"
