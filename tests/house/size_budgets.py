"""The budgets for the code itself. `python -m tests.house.size_budgets` names each breach and exits 1."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("contracts", "controller", "tool_adapters", "reconcilers")
FILE_LINES, FUNCTION_LINES, STEP_LINES = 400, 60, 40
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers"}

# Where an import may stand in a function, and why.
LAZY = {
    "controller/surfaces/": "typer and rich cost 300 ms: only the command that needs them pays",
    "controller/__main__.py": "the fast path of --version and status",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def breaches(root: Path) -> Iterator[str]:
    """One line for each breach in the Python files of the project at `root`."""
    for folder in (*PRODUCT, "tests", "examples", "scripts"):
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            if "/data/" in name or "/node_modules/" in name or "/.venv/" in name:
                continue
            yield from file_breaches(name, path.read_text(encoding="utf-8"))


def file_breaches(name: str, text: str) -> Iterator[str]:
    """One line for each breach in the file `name` (relative to the root, with /)."""
    lines = len(text.splitlines())
    if lines > FILE_LINES:
        yield f"{name}: {lines} lines, at most {FILE_LINES}"
    for part in name.removesuffix(".py").split("/"):
        if part in BANNED_NAMES:
            yield f"{name}: {part!r} says nothing of what is in it"
    product = name.split("/")[0] in PRODUCT
    lazy = any(name.startswith(place) for place in LAZY)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield f"{name}:{error.lineno}: this is no Python: {error.msg}"
        return
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        limit = STEP_LINES if (name, function.name) == ("controller/step.py", "step") else FUNCTION_LINES
        if (length := lines_of(function)) > limit:
            yield f"{name}:{function.lineno}: {function.name}() has {length} lines, at most {limit}"
        if product and not lazy:
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield f"{name}:{node.lineno}: an import inside {function.name}()"


def lines_of(function: Function) -> int:
    """Lines of a function from its `def` to its end: the signature counts, decorators and docstring do not."""
    first = function.body[0]
    told = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return _lines(function) - (_lines(first) if told else 0)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


if __name__ == "__main__":
    found = list(breaches(ROOT))
    print("\n".join(found) or "within the budgets")
    sys.exit(bool(found))
