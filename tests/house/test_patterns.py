"""Regular expressions that mean the same in every Python that is supported."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import contracts
import controller
import reconcilers
import tool_adapters

ONE = (kinds.IN, kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY)


def patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    """Those in a value of a module, and in what it is made of."""
    match value:
        case re.Pattern():
            yield value
        case dict():
            yield from (each for inner in value.values() for each in patterns(inner))
        case tuple() | list() | frozenset():
            yield from (each for inner in value for each in patterns(inner))
        case _ if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
            yield from patterns(list(vars(value).values()) if hasattr(value, "__dict__") else [])


def modules() -> Iterator[Any]:
    for package in (contracts, controller, reconcilers, tool_adapters):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def groups_repeated(parsed: Any) -> Iterator[Any]:
    """Possessive repeats of more than one character: Python before 3.11.5 matches them wrongly."""
    for kind, what in parsed:
        if kind is kinds.POSSESSIVE_REPEAT and (len(what[2]) > 1 or what[2][0][0] not in ONE):
            yield what
        for inner in what if isinstance(what, tuple | list) else [what]:
            if isinstance(inner, parser.SubPattern):
                yield from groups_repeated(inner)
            elif kind is kinds.BRANCH and isinstance(inner, list):
                yield from (each for branch in inner for each in groups_repeated(branch))


@pytest.mark.parametrize("wrong", [r"(?:ab){0,3}+", r"x|(?:a(?!b)|c)*+", r"(?=(?:a|bc)?+)"])
def test_a_possessive_repeat_of_a_group_is_found(wrong: str) -> None:
    assert list(groups_repeated(parser.parse(wrong)))


def test_no_pattern_repeats_a_group_possessively() -> None:
    known = {
        each.pattern: module.__name__
        for module in modules()
        for value in vars(module).values()
        for each in patterns(value)
    }
    assert len(known) > 100 and any("PRIVATE KEY" in str(each) for each in known)
    assert [(name, each) for each, name in known.items() if list(groups_repeated(parser.parse(each)))] == []
