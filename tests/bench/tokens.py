"""Sizes of texts by tokenizers that ship their vocabulary: nothing is fetched. The token counts of a vendor's model may
differ; two unlike vocabularies show by how much a figure rests on the choice."""

from __future__ import annotations

from functools import cache
from typing import Any

import bpe_openai

NAMES = ("o200k", "cl100k")
CACHED = 0.1  # the price of a token that was read from a cache, beside one that was not


@cache
def _encoding(name: str) -> Any:
    return bpe_openai.get_encoding(f"{name}_base")


def tokens(text: str, name: str = NAMES[0]) -> int:
    return len(_encoding(name).encode(text))


def shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def weighted(prompts: list[str], name: str = NAMES[0]) -> float:
    """Tokens of consecutive prompts where a provider's cache holds what each has in common with the one before."""
    total, before = 0.0, ""
    for prompt in prompts:
        known = prompt[: shared(before, prompt)]
        total += tokens(prompt, name) - (1 - CACHED) * tokens(known, name)
        before = prompt
    return total
