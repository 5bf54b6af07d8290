"""Whether a file still parses: feedback after an edit, never a reason to refuse it."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from pathlib import PurePosixPath

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

_MAX = 1024 * 1024
_MAX_YAML = 64 * 1024


def syntax_error(path: str, data: bytes) -> str | None:
    """`line 12: message` where the file's language (Python, JSON, TOML, YAML) is known and it does not parse."""
    suffix = PurePosixPath(path).suffix.lower()
    if len(data) > (_MAX_YAML if suffix in (".yaml", ".yml") else _MAX):
        return None
    try:
        if suffix in (".py", ".pyi"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(data, filename=path)
        elif suffix == ".json" and not PurePosixPath(path).name.startswith(("tsconfig", "jsconfig")):
            json.loads(data)
        elif suffix == ".toml":
            tomllib.loads(data.decode())
        elif suffix in (".yaml", ".yml"):
            # Composing builds no objects: an anchor bomb stays small, and unknown tags are no errors.
            for _ in YAML(typ="safe", pure=True).compose_all(data.decode()):
                pass
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        return f"{where}{getattr(error, 'problem', None) or 'does not parse'}"
    except (ValueError, RecursionError, MemoryError, AttributeError) as error:
        return str(error)[:200] or type(error).__name__
    return None
