"""⊕: how a patch changes the state. RFC 7396 JSON Merge Patch, and what a patch touches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, TypeAlias, cast

from contracts.base import canonical

JsonValue: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None
Path: TypeAlias = tuple[str, ...]


def merge(target: JsonValue, patch: JsonValue) -> JsonValue:
    """`target` with `patch` applied (RFC 7396): objects deep, arrays whole, `null` deletes.

    Neither argument is changed; the result shares what is unchanged with `target` and what is new with
    `patch`, so treat all three as immutable. Recursive: bound the patch with `depth` first.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def difference(old: JsonValue, new: JsonValue) -> JsonValue:
    """The smallest patch that makes `new` of `old`: `merge(old, difference(old, new)) == new` where `new` holds no
    null."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif canonical(old[key]) != canonical(value):  # true is not 1
            patch[key] = difference(old[key], value)
    return patch


def nested(path: Path, value: JsonValue) -> dict[str, Any]:
    """The patch that says `value` of what is at `path` (at least one step deep), and nothing else."""
    for key in reversed(path):
        value = {key: value}
    return cast(dict[str, Any], value)


def both(one: JsonValue, other: JsonValue) -> JsonValue:
    """Two patches as one, `other` after `one`; `null` stays in it."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: both(one.get(key), value) for key, value in other.items()}}


def value_at(node: Any, path: Path) -> Any:
    """What stands at a path of a value; None where there is nothing."""
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def depth(value: JsonValue) -> int:
    """Nesting of containers: 0 for a scalar, 1 for `{}` or `[]`. Iterative: safe on hostile input."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        node, level = todo.pop()
        if isinstance(node, (dict, list)):
            deepest = max(deepest, level)
            todo.extend((child, level + 1) for child in (node.values() if isinstance(node, dict) else node))
    return deepest


def touched_paths(patch: JsonValue) -> tuple[Path, ...]:
    """Paths that the patch sets or deletes, in its order: scalars, arrays, empty objects and nulls."""
    return tuple(path for path, _ in _leaves(patch, ()))


def removed_paths(patch: JsonValue) -> tuple[Path, ...]:
    """Paths that the patch deletes: its nulls, in its order."""
    return tuple(path for path, leaf in _leaves(patch, ()) if leaf is None)


def without(patch: dict[str, Any], paths: Collection[Path], at: Path = ()) -> dict[str, Any]:
    """The patch less what it says of these paths."""
    return {
        key: without(value, paths, (*at, key)) if isinstance(value, dict) else value
        for key, value in patch.items()
        if (*at, key) not in paths
    }


def _leaves(node: JsonValue, path: Path) -> Iterator[tuple[Path, JsonValue]]:
    if not isinstance(node, dict) or (path and not node):
        yield path, node
    else:
        for key, value in node.items():
            yield from _leaves(value, (*path, key))
