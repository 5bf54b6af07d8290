"""Reads task.yaml. All that is wrong with it is said at once, each with `file:line:column`."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from contracts.base import JsonObject, digest
from contracts.errors import ConfigError
from contracts.task import NO_GOAL, Task, json_schema
from contracts.task_problems import BUILT_IN_AGENTS, Problem, problems
from controller import yamltree
from controller.yamltree import Loc, Place, Tree


class TaskFileError(ConfigError):
    """`problems` has one line for each thing that is wrong; `where` is the place of the first."""

    def __init__(self, lines: list[str]) -> None:
        first, _, rest = lines[0].partition(": ")
        super().__init__("\n".join([rest, *lines[1:]]), where=first)
        self.problems = tuple(lines)


@dataclass(frozen=True)
class LoadedTask:
    """A task that is valid by itself. `path` is absolute, `base_dir` its folder, with symlinks followed;
    `text_digest` is the hex sha256 of the file's bytes; `tree` knows where each key stands."""

    task: Task
    path: Path
    base_dir: Path
    text_digest: str
    tree: Tree

    @property
    def positions(self) -> dict[Loc, tuple[int, int]]:
        """Line and column, from 1, of each value, by its keys and indexes from the root."""
        return {loc: (place.line, place.column) for loc, place in self.tree.values.items()}

    def where(self, *loc: str | int) -> str:
        """`task.yaml:12:3` of a key's value, or of the nearest thing above it that stands in the file."""
        return _where(self.path.name, self.tree.place(loc))

    def error(self, message: str, *loc: str | int, hint: str = "") -> ConfigError:
        """An error about `loc`, for rules that only others know."""
        return ConfigError(message, where=self.where(*loc), hint=hint)


def read_task(
    path: Path | str,
    *,
    actions: Collection[str] | None = None,
    agents: Collection[str] = BUILT_IN_AGENTS,
) -> LoadedTask:
    """The task in the file `path`. `actions` and `agents` are the names that are installed. Raises
    TaskFileError (a ConfigError), which names everything that is wrong."""
    path = Path(path)
    raw = read_capped(path, yamltree.MAX_BYTES)
    text, found = yamltree.decode(raw)
    tree = Tree(problems=found) if found else yamltree.parse(text)
    task = None
    if not tree.problems or tree.data is not None:
        task = _validate(tree)
    if task is not None:
        for problem in problems(task, actions=actions, agents=agents):
            tree.problems.append((tree.place(problem.loc), problem))
    if task is None or tree.problems:
        raise TaskFileError(_lines(path.name, tree))
    real = path.resolve()
    return LoadedTask(task, real, real.parent, digest(raw), tree)


def effective(task: Task) -> JsonObject:
    """The task with every default filled in, as JSON values that `read_task` would take again: durations and
    sizes as texts, absent values left out."""
    shown: JsonObject = task.model_dump(mode="json", exclude_none=True)
    shown["workspace"] |= {"branch": task.branch, "path": task.worktree}
    shown["agents"] = {
        name: task.agent_config(name).model_dump(mode="json", exclude_none=True)
        for name in dict.fromkeys([*task.agents, *task.agent.chain])
    }
    for budget in ("usd", "usd_per_day"):
        shown["budgets"].setdefault(budget, None)
    return shown


def read_capped(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, never more than that read. Raises ConfigError."""
    where = path.name
    try:
        # O_NONBLOCK: opening a named pipe would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        hint = "`controller init` writes one" if path.suffix in (".yaml", ".yml") else ""
        raise ConfigError(f"there is no file {path}", where=where, hint=hint) from None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}", where=where) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{path} is not a regular file", where=where)
        with open(descriptor, "rb", closefd=False) as file:
            raw = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(raw) > limit:
        hint = "this is not the file you mean, or data belongs into files of its own"
        raise ConfigError(f"the file is larger than {limit // 1024} KiB", where=where, hint=hint)
    return raw


def _where(name: str, place: Place) -> str:
    return f"{name}:{place.line}:{place.column}"


def _lines(name: str, tree: Tree) -> list[str]:
    ordered = sorted(tree.problems, key=lambda pair: (pair[0].line, pair[0].column))
    lines = [
        f"{_where(name, place)}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
        for place, problem in ordered
    ]
    shown = list(dict.fromkeys(lines))
    return [*shown[:50], f"{name}: … and {len(shown) - 50} more"] if len(shown) > 50 else shown


def _validate(tree: Tree) -> Task | None:
    if tree.data is None:
        tree.problems.append(
            (Place(1, 1), Problem((), "the file is empty", "`controller init` writes a task"))
        )
        return None
    if not isinstance(tree.data, dict):
        tree.problems.append(
            (
                tree.place(()),
                Problem((), "a task is a mapping: lines of `key: value`", "start with `version: 1`"),
            )
        )
        return None
    try:
        return Task.model_validate(tree.data)
    except ValidationError as error:
        marked = {(place.line, place.column) for place, _ in tree.problems}
        for place, problem in _explained(error, tree):
            # What the YAML itself says of a value is the cause; its consequence would only repeat it.
            if (place.line, place.column) not in marked:
                tree.problems.append((place, problem))
    return None


def _explained(error: ValidationError, tree: Tree) -> Iterator[tuple[Place, Problem]]:
    schema = json_schema()
    details = error.errors(include_url=False)
    for detail in details:
        if detail["type"] == "too_short" and any(
            len(other["loc"]) > len(detail["loc"]) and other["loc"][: len(detail["loc"])] == detail["loc"]
            for other in details
        ):
            continue  # its entries are there, and each is named by itself
        loc = tuple(part for part in detail["loc"] if part != "[key]")
        is_key = detail["type"] == "extra_forbidden" or detail["loc"][-1:] == ("[key]",)
        yield tree.place(loc, key=is_key), Problem(loc, *_sentence(detail, loc, schema, tree))
    if isinstance(tree.data, dict) and not tree.data.keys() & {"goal", "contract"}:
        yield Place(1, 1), Problem((), "say what shall be reached: a `goal:` text, or a `contract:` folder")


def _sentence(detail: ErrorDetails, loc: Loc, schema: JsonObject, tree: Tree) -> tuple[str, str]:
    """What is wrong, and what to write instead."""
    kind, context = detail["type"], detail.get("ctx", {})
    name = _dotted(loc)
    raw = tree.place(loc).raw
    match kind:
        case "extra_forbidden":
            return f"unknown key `{name}`", _nearest_key(schema, loc)
        case "missing":
            return f"`{name}` is missing", NO_GOAL if loc == ("checks",) else _description(schema, loc)
        case "task":
            return f"`{name}`: {context['sentence']}" if loc else str(context["sentence"]), ""
        case "literal_error":
            expected = str(context["expected"]).replace("'", "").replace(" or ", ", ")
            near = get_close_matches(str(detail["input"]), expected.split(", "), n=1)
            hint = f"did you mean `{near[0]}`?" if near else ""
            return f"`{name}` is `{_short(detail['input'])}`; expected one of: {expected}", hint
        case "string_type" if raw:
            return (
                f"`{name}`: expected text, and `{raw[:80]}` is not text here",
                f'write "{raw[:80]}" in quotes',
            )
        case "string_pattern_mismatch":
            message = f"`{name}`: {_short(detail['input'])!r} does not match {context['pattern']}"
            return message, _description(schema, loc)
    form = _FORMS.get(kind) or str(detail["msg"]).replace("Input should be", "expected").replace(
        "Value error, ", ""
    )
    return f"`{name}`: {form}" + _bound(context), _hint(kind, detail["input"])


_FORMS = {
    "string_type": "expected text",
    "string_too_short": "expected text, and this is empty",
    "string_too_long": "this text is too long",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "finite_number": "expected a number that is not infinite",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list: [first, second]",
    "dict_type": "expected a mapping: lines of `key: value`",
    "model_type": "expected a mapping: lines of `key: value`",
    "too_short": "expected at least one entry",
    "too_long": "there are too many entries",
    "greater_than": "expected a number above the least",
    "greater_than_equal": "the number is too small",
    "less_than_equal": "the number is too large",
}


def _bound(context: dict[str, Any]) -> str:
    words = {"ge": "at least", "gt": "more than", "le": "at most", "max_length": "at most"}
    return next((f"; {word} {context[key]}" for key, word in words.items() if key in context), "")


def _hint(kind: str, value: Any) -> str:
    if isinstance(value, str) and kind in ("int_type", "float_type") and value.strip("-").isdigit():
        return f"write {value} without quotes"
    if isinstance(value, str) and kind == "bool_type" and value.lower() in ("true", "false"):
        return f"write {value.lower()} without quotes"
    return ""


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _dotted(loc: Loc) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _node(schema: JsonObject, loc: Loc) -> JsonObject:
    """The part of the JSON Schema that describes `loc`; empty when there is none."""
    node: JsonObject = schema
    for part in (None, *loc):
        if isinstance(part, int):
            node = node.get("items", {})
        elif part is not None:
            free = [*node.get("patternProperties", {}).values(), node.get("additionalProperties") or {}]
            node = node.get("properties", {}).get(part) or free[0]
        said = node.get("description")
        for branch in node.get("anyOf", ()):
            if "$ref" in branch or branch.get("type") in ("array", "object"):
                node = branch
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        node = node | {"description": said} if said else node
    return node


def _keys(schema: JsonObject, loc: Loc) -> list[str]:
    return list(_node(schema, loc).get("properties", {}))


def _nearest_key(schema: JsonObject, loc: Loc) -> str:
    """What the unknown key at `loc` may be meant as: a key of the same mapping, or of a section."""
    word, known = str(loc[-1]), _keys(schema, loc[:-1])
    elsewhere = {
        key: f"{section}.{key}" for section in _keys(schema, ()) for key in _keys(schema, (section,))
    }
    for names in ({key: key for key in known}, elsewhere):
        if near := get_close_matches(word, names, n=1, cutoff=0.6):
            return f"did you mean `{names[near[0]]}`?"
    return "known here: " + ", ".join(known)


def _description(schema: JsonObject, loc: Loc) -> str:
    return str(_node(schema, loc).get("description", ""))
