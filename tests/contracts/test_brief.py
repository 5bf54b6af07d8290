"""The grammar in few words: it names all that the long one names, and its signatures are those of the schemas."""

from __future__ import annotations

import re

import pytest

from contracts.actions import ActionSpec, closed
from contracts.brief import describe_briefly, signature
from contracts.grammar import describe
from contracts.tools import EXAMPLES, SPECS
from tests.contracts.test_grammar import ALL, COMMANDS, OF_COMMANDS


def test_it_names_every_tool_command_and_parameter_in_fewer_words() -> None:
    text = describe_briefly(ALL, COMMANDS)
    assert [line.partition("(")[0] for line in text.split("\n") if line[0] != " "] == [
        each.name for each in ALL
    ]
    for word in OF_COMMANDS:
        assert word in text
    assert len(text) < 0.75 * len(describe(ALL, COMMANDS))


@pytest.mark.parametrize("tool", [name for name in SPECS if "{…}" not in EXAMPLES.get(name, "{…}")])
def test_a_signature_names_every_argument_that_the_example_has(tool: str) -> None:
    (told,) = describe_briefly([SPECS[tool]], {}).split("\n")
    names = set(re.findall(r'"(\w+)":', EXAMPLES[tool]))
    assert names <= set(re.findall(r"\w+", told.partition("): ")[0]))


def test_signatures() -> None:
    args = closed(
        {
            "path": {"type": "string"},
            "from": {"type": "integer"},
            "op": {"const": "write"},
            "kind": {"enum": ["a", "b"]},
            "one": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "number"}}]},
            "params": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        ("path", "op"),
    )
    told = 'path, from?: int, op: "write", kind?: "a"|"b", one?: bool | [number], params?: {…: text}'
    assert signature(args) == f"{{{told}}}"
    assert describe_briefly([ActionSpec("do", args, "does it")], {}) == f"do({told}): does it"
    assert describe_briefly([ActionSpec("stay", closed({}), "")], {}) == "stay()"
