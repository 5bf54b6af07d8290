"""The skeleton of a large file: its top-level definitions or sections, with line numbers."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import PurePosixPath

_MAX_PARSE = 1024 * 1024
_LONG = 120

_DEFINES = re.compile(
    r"(?:(?:export|default|declare|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|sealed|"
    r"async|unsafe|extern|inline|open|override|data)\s+)*"
    r"(?:class|def|func|function\*?|fn|struct|enum|union|trait|impl|interface|type|module|namespace|package|object|"
    r"record|protocol|extension|mod|macro_rules!|sub|proc|CREATE\s+\w+)\b"
)
_BINDS = re.compile(r"(?:export\s+)?(?:const|let|var|val|static)\s+\w+")
_C_FUNCTION = re.compile(r"[A-Za-z_][\w\s*&:<>,]*\([^;]*$")
_SECTION = re.compile(r"\[{1,2}[^\]]+\]{1,2}\s*$")
_HEADING = re.compile(r"#{1,4} \S")
_KEY = re.compile(r"[\w.\"'-]+\s*:(?:\s|$)")

_BY_SUFFIX: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys((".md", ".markdown", ".rst"), (_HEADING,)),
    **dict.fromkeys((".ini", ".cfg", ".toml", ".conf"), (_SECTION,)),
    **dict.fromkeys((".yaml", ".yml"), (_KEY,)),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".kt", ".scala"), (_DEFINES, _BINDS)),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp", ".cxx"), (_DEFINES, _C_FUNCTION)),
}


def outline(path: str, text: str) -> list[tuple[int, str]]:
    """(line number, line) of each top-level definition or section of a file. Python is parsed, everything
    else (and Python that does not parse) is read by its shape; methods of Python classes are included."""
    lines = text.split("\n")
    if PurePosixPath(path).suffix in (".py", ".pyi") and len(text) <= _MAX_PARSE:
        found = _python(text, lines)
        if found is not None:
            return found
    patterns = _BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), (_DEFINES,))
    return [
        (number, line[:_LONG].rstrip())
        for number, line in enumerate(lines, start=1)
        if line[:1].strip() and any(pattern.match(line[:_LONG]) for pattern in patterns)
    ]


def _python(text: str, lines: list[str]) -> list[tuple[int, str]] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    found: list[tuple[int, str]] = []
    for node in tree.body:
        if isinstance(node, functions | ast.ClassDef):
            found.append((node.lineno, lines[node.lineno - 1][:_LONG].rstrip()))
        if isinstance(node, ast.ClassDef):
            found += [
                (inner.lineno, lines[inner.lineno - 1][:_LONG].rstrip())
                for inner in node.body
                if isinstance(inner, functions)
            ]
    return found
