"""The headers that a range of lines stands inside."""

from __future__ import annotations

import pytest

from contracts.enclosing import enclosing, say_enclosing

PYTHON = """\
import os

class A(Base):
    \"\"\"Text.

Not the indentation of the code.
    \"\"\"

    def f(
        self,
        x,
    ):
        if x:
            return 1
        # a comment
        else:
            y = 2

            z = 3
"""
SCRIPT = """\
const a = 1;
class B {
  run(x) {
    for (const y of x) {
      if (y) {
        go(y);
      }
      stop();
    }
  }
}
"""


@pytest.mark.parametrize(
    ("text", "first", "inside"),
    [
        (PYTHON, 19, ["class A(Base):", "def f(", "if x:"]),
        (PYTHON, 18, ["class A(Base):", "def f(", "if x:"]),
        (PYTHON, 9, ["class A(Base):"]),
        (PYTHON, 3, []),
        (PYTHON, 1, []),
        (SCRIPT, 8, ["class B {", "run(x) {", "for (const y of x) {"]),
        (SCRIPT, 6, ["run(x) {", "for (const y of x) {", "if (y) {"]),
        (SCRIPT, 11, []),
        ("", 1, []),
        ("a\n", 9, []),
        ("\n" * 50, 1, []),
    ],
)
def test_the_nearest_headers_outermost_first(text: str, first: int, inside: list[str]) -> None:
    assert [header for _, header in enclosing(text.split("\n"), first)] == inside


def test_it_is_bounded_and_said_in_one_line() -> None:
    deep = [" " * n + "x" * 200 + ":" for n in range(60)]
    found = enclosing(deep, 60)
    assert [number for number, _ in found] == [57, 58, 59] and all(len(text) <= 65 for _, text in found)
    assert say_enclosing([(1, "class A:"), (1204, "def f():")]) == "in 1: class A: > 1,204: def f():"
    assert say_enclosing([]) == ""
