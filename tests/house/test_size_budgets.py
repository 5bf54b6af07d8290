"""The budgets hold, and the measure can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.size_budgets import ROOT, breaches, file_breaches


def test_the_project_keeps_its_budgets() -> None:
    assert list(breaches(ROOT)) == []


def function(lines: int, name: str = "f", head: str = "") -> str:
    return f"def {name}():\n{head}" + "".join(f"    x{n} = call()\n" for n in range(lines))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("contracts/a.py", "x = 1\n" * 400, ""),
        ("contracts/a.py", "x = 1\n" * 401, "401 lines"),
        ("tests/a.py", "x = 1\n" * 401, "401 lines"),
        ("contracts/a.py", function(59), ""),
        ("contracts/a.py", function(60), "f() has 61 lines"),
        (
            "contracts/a.py",
            "class A:\n" + function(60).replace("\n", "\n ").replace("def", " def"),
            "f() has 61",
        ),
        ("contracts/a.py", "async " + function(60), "f() has 61 lines"),
        ("contracts/a.py", "@a\n@b\n" + function(59), ""),
        ("contracts/a.py", function(57).replace("()", "(\n    a=1,\n)", 1), ""),
        ("contracts/a.py", function(58).replace("()", "(\n    a=1,\n)", 1), "f() has 61 lines"),
        ("contracts/a.py", function(59, head='    """' + "text\n" * 30 + '    """\n'), ""),
        ("contracts/a.py", function(60, head='    """' + "text\n" * 30 + '    """\n'), "has 61"),
        ("contracts/a.py", function(27, head="    t = {\n" + "        'a': 1,\n" * 30 + "    }\n"), ""),
        ("contracts/a.py", function(28, head="    t = {\n" + "        'a': 1,\n" * 30 + "    }\n"), "has 61"),
        ("controller/step.py", function(39, "step"), ""),
        ("controller/step.py", function(40, "step"), "step() has 41 lines, at most 40"),
        ("controller/loop.py", function(40, "step"), ""),
        ("contracts/a.py", "def f():\n    import os\n", "an import inside f()"),
        ("reconcilers/a.py", "class A:\n    async def f(self):\n        from os import path\n", "inside f()"),
        ("controller/surfaces/cli.py", "def f():\n    import rich\n", ""),
        ("controller/__main__.py", "def f():\n    import rich\n", ""),
        ("tests/a.py", "def f():\n    import os\n", ""),
        ("contracts/a.py", "import os\n", ""),
        ("contracts/a.py", "def f(:\n", "a.py:1: this is no Python"),
        ("contracts/utils.py", "", "'utils' says nothing"),
        ("tool_adapters/common/a.py", "", "'common' says nothing"),
        ("tests/helpers.py", "", "'helpers' says nothing"),
    ],
)
def test_the_measure(name: str, text: str, said: str) -> None:
    found = list(file_breaches(name, text))
    assert bool(found) == bool(said), found
    assert not said or any(said in line for line in found), found


def test_every_folder_is_looked_at(tmp_path: Path) -> None:
    for folder in ("contracts", "controller/stores", "tool_adapters", "reconcilers", "tests/x", "examples/x"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "long.py").write_text("x = 1\n" * 500)
    assert len(list(breaches(tmp_path))) == 6
